"""DeleteTopics (20). By name until 5, by name or id since 6 (KIP-516)."""

from kafpy.protocol.table import Api

DELETE_TOPICS = Api(
    20,
    "DeleteTopics",
    valid="1-6",
    flexible="4+",
    request="""
        topics              [Topic]     6+
            name            string?     = null
            topic_id        uuid
        topic_names         [string]    0-5
        timeout_ms          int32
    """,
    response="""
        throttle_time_ms    int32
        responses           [Topic]
            name            string?6+
            topic_id        uuid        6+
            error_code      int16
            error_message   string?     5+      = null
    """,
)
