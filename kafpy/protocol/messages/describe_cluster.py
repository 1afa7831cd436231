"""DescribeCluster (60, KIP-700). Controllers as endpoint since 1 (KIP-919), fenced brokers since 2 (KIP-1073)."""

from kafpy.protocol.table import Api

DESCRIBE_CLUSTER = Api(
    60,
    "DescribeCluster",
    valid="0-2",
    flexible="0+",
    request="""
        include_cluster_authorized_operations   bool
        endpoint_type               int8        1+      = 1
        include_fenced_brokers      bool        2+
    """,
    response="""
        throttle_time_ms            int32
        error_code                  int16
        error_message               string?     = null
        endpoint_type               int8        1+      = 1
        cluster_id                  string
        controller_id               int32       = -1
        brokers                     [Broker]
            broker_id               int32
            host                    string
            port                    int32
            rack                    string?     = null
            is_fenced               bool        2+
        cluster_authorized_operations   int32   = -0x80000000
    """,
)
