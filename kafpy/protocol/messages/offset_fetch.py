"""OffsetFetch (9). One group until 7, many since 8 (KIP-709); members name themselves since 9 (KIP-848), topics have an
id instead of a name since 10.

The topics of both forms are the same struct, so that one form is easily made from the other.
"""

from kafpy.protocol.table import Api

OFFSET_FETCH = Api(
    9,
    "OffsetFetch",
    valid="1-10",
    flexible="6+",
    request="""
        group_id                    string      0-7
        topics                      [Topic]?2+  0-7
            topic_id                uuid        10+
            name                    string      0-9
            partition_indexes       [int32]
        groups                      [Group]     8+
            group_id                string
            member_id               string?     9+      = null
            member_epoch            int32       9+      = -1
            topics                  [Topic]?
        require_stable              bool        7+
    """,
    response="""
        throttle_time_ms            int32       3+
        topics                      [Topic]     0-7
            topic_id                uuid        10+
            name                    string      0-9
            partitions              [Partition]
                partition_index     int32
                committed_offset    int64
                committed_leader_epoch  int32   5+      = -1
                metadata            string?
                error_code          int16
        error_code                  int16       2-7
        groups                      [Group]     8+
            group_id                string
            topics                  [Topic]
            error_code              int16
    """,
)
