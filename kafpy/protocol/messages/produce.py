"""Produce (0). Topic ids since 13 (KIP-516), leader hints since 10 (KIP-951), errors per record since 8 (KIP-467)."""

from kafpy.protocol.table import Api

PRODUCE = Api(
    0,
    "Produce",
    valid="3-13",
    flexible="9+",
    request="""
        transactional_id    string?     = null
        acks                int16
        timeout_ms          int32
        topic_data          [Topic]
            name            string      0-12
            topic_id        uuid        13+
            partition_data  [Partition]
                index       int32
                records     records?
    """,
    response="""
        responses                   [Topic]
            name                    string          0-12
            topic_id                uuid            13+
            partition_responses     [Partition]
                index               int32
                error_code          int16
                base_offset         int64
                log_append_time_ms  int64           = -1
                log_start_offset    int64           5+      = -1
                record_errors       [RecordError]   8+
                    batch_index     int32
                    batch_index_error_message   string?     = null
                error_message       string?         8+      = null
                current_leader      Leader          10+ #0
                    leader_id       int32           = -1
                    leader_epoch    int32           = -1
        throttle_time_ms            int32
        node_endpoints              [Endpoint]      10+ #0
            node_id                 int32
            host                    string
            port                    int32
            rack                    string?         = null
    """,
)
