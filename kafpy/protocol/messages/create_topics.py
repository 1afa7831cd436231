"""CreateTopics (19). Configs in the reply since 5 (KIP-525), topic ids since 7 (KIP-516)."""

from kafpy.protocol.table import Api

CREATE_TOPICS = Api(
    19,
    "CreateTopics",
    valid="2-7",
    flexible="5+",
    request="""
        topics                      [Topic]
            name                    string
            num_partitions          int32
            replication_factor      int16
            assignments             [Assignment]
                partition_index     int32
                broker_ids          [int32]
            configs                 [Config]
                name                string
                value               string?
        timeout_ms                  int32       = 60000
        validate_only               bool
    """,
    response="""
        throttle_time_ms            int32
        topics                      [Topic]
            name                    string
            topic_id                uuid        7+
            error_code              int16
            error_message           string?
            topic_config_error_code int16       5+ #0
            num_partitions          int32       5+      = -1
            replication_factor      int16       5+      = -1
            configs                 [Config]?   5+
                name                string
                value               string?
                read_only           bool
                config_source       int8        = -1
                is_sensitive        bool
    """,
)
