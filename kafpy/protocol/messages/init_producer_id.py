"""InitProducerId (22). Version 6 (two-phase commit, KIP-939) is unstable in Kafka 4.3 and not spoken here."""

from kafpy.protocol.table import Api

INIT_PRODUCER_ID = Api(
    22,
    "InitProducerId",
    valid="0-5",
    flexible="2+",
    request="""
        transactional_id        string?
        transaction_timeout_ms  int32
        producer_id             int64       3+      = -1
        producer_epoch          int16       3+      = -1
    """,
    response="""
        throttle_time_ms        int32
        error_code              int16
        producer_id             int64       = -1
        producer_epoch          int16
    """,
)
