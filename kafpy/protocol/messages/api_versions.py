"""ApiVersions (18). Client software since 3 (KIP-511), features since 3 (KIP-584)."""

from kafpy.protocol.table import Api

API_VERSIONS = Api(
    18,
    "ApiVersions",
    valid="0-4",
    flexible="3+",
    request="""
        client_software_name        string      3+
        client_software_version     string      3+
    """,
    response="""
        error_code                  int16
        api_keys                    [ApiVersion]
            api_key                 int16
            min_version             int16
            max_version             int16
        throttle_time_ms            int32       1+
        supported_features          [SupportedFeature]  3+ #0
            name                    string
            min_version             int16
            max_version             int16
        finalized_features_epoch    int64       3+ #1   = -1
        finalized_features          [FinalizedFeature]  3+ #2
            name                    string
            max_version_level       int16
            min_version_level       int16
        zk_migration_ready          bool        3+ #3
    """,
)
