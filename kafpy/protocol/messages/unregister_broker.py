"""UnregisterBroker (64, KIP-631). Of KRaft clusters: a broker that is gone for good."""

from kafpy.protocol.table import Api

UNREGISTER_BROKER = Api(
    64,
    "UnregisterBroker",
    valid="0",
    flexible="0+",
    request="""
        broker_id           int32
    """,
    response="""
        throttle_time_ms    int32
        error_code          int16
        error_message       string?
    """,
)
