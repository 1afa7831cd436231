"""The APIs that kafpy speaks, by name and by key."""

from kafpy.protocol.messages.alter_client_quotas import ALTER_CLIENT_QUOTAS
from kafpy.protocol.messages.alter_configs import ALTER_CONFIGS
from kafpy.protocol.messages.alter_replica_log_dirs import ALTER_REPLICA_LOG_DIRS
from kafpy.protocol.messages.alter_user_scram_credentials import ALTER_USER_SCRAM_CREDENTIALS
from kafpy.protocol.messages.api_versions import API_VERSIONS
from kafpy.protocol.messages.consumer_group_describe import CONSUMER_GROUP_DESCRIBE
from kafpy.protocol.messages.consumer_group_heartbeat import CONSUMER_GROUP_HEARTBEAT
from kafpy.protocol.messages.create_partitions import CREATE_PARTITIONS
from kafpy.protocol.messages.create_topics import CREATE_TOPICS
from kafpy.protocol.messages.delete_groups import DELETE_GROUPS
from kafpy.protocol.messages.delete_records import DELETE_RECORDS
from kafpy.protocol.messages.delete_topics import DELETE_TOPICS
from kafpy.protocol.messages.describe_client_quotas import DESCRIBE_CLIENT_QUOTAS
from kafpy.protocol.messages.describe_cluster import DESCRIBE_CLUSTER
from kafpy.protocol.messages.describe_configs import DESCRIBE_CONFIGS
from kafpy.protocol.messages.describe_groups import DESCRIBE_GROUPS
from kafpy.protocol.messages.describe_log_dirs import DESCRIBE_LOG_DIRS
from kafpy.protocol.messages.describe_producers import DESCRIBE_PRODUCERS
from kafpy.protocol.messages.describe_topic_partitions import DESCRIBE_TOPIC_PARTITIONS
from kafpy.protocol.messages.describe_user_scram_credentials import DESCRIBE_USER_SCRAM_CREDENTIALS
from kafpy.protocol.messages.fetch import FETCH
from kafpy.protocol.messages.find_coordinator import FIND_COORDINATOR
from kafpy.protocol.messages.heartbeat import HEARTBEAT
from kafpy.protocol.messages.incremental_alter_configs import INCREMENTAL_ALTER_CONFIGS
from kafpy.protocol.messages.init_producer_id import INIT_PRODUCER_ID
from kafpy.protocol.messages.join_group import JOIN_GROUP
from kafpy.protocol.messages.leave_group import LEAVE_GROUP
from kafpy.protocol.messages.list_config_resources import LIST_CONFIG_RESOURCES
from kafpy.protocol.messages.list_groups import LIST_GROUPS
from kafpy.protocol.messages.list_offsets import LIST_OFFSETS
from kafpy.protocol.messages.metadata import METADATA
from kafpy.protocol.messages.offset_commit import OFFSET_COMMIT
from kafpy.protocol.messages.offset_delete import OFFSET_DELETE
from kafpy.protocol.messages.offset_fetch import OFFSET_FETCH
from kafpy.protocol.messages.offset_for_leader_epoch import OFFSET_FOR_LEADER_EPOCH
from kafpy.protocol.messages.produce import PRODUCE
from kafpy.protocol.messages.sasl_authenticate import SASL_AUTHENTICATE
from kafpy.protocol.messages.sasl_handshake import SASL_HANDSHAKE
from kafpy.protocol.messages.sync_group import SYNC_GROUP
from kafpy.protocol.messages.unregister_broker import UNREGISTER_BROKER
from kafpy.protocol.table import Api

__all__ = [
    "ALL",
    "ALTER_CLIENT_QUOTAS",
    "ALTER_CONFIGS",
    "ALTER_REPLICA_LOG_DIRS",
    "ALTER_USER_SCRAM_CREDENTIALS",
    "API_VERSIONS",
    "CONSUMER_GROUP_DESCRIBE",
    "CONSUMER_GROUP_HEARTBEAT",
    "CREATE_PARTITIONS",
    "CREATE_TOPICS",
    "DELETE_GROUPS",
    "DELETE_RECORDS",
    "DELETE_TOPICS",
    "DESCRIBE_CLIENT_QUOTAS",
    "DESCRIBE_CLUSTER",
    "DESCRIBE_CONFIGS",
    "DESCRIBE_GROUPS",
    "DESCRIBE_LOG_DIRS",
    "DESCRIBE_PRODUCERS",
    "DESCRIBE_TOPIC_PARTITIONS",
    "DESCRIBE_USER_SCRAM_CREDENTIALS",
    "FETCH",
    "FIND_COORDINATOR",
    "HEARTBEAT",
    "INCREMENTAL_ALTER_CONFIGS",
    "INIT_PRODUCER_ID",
    "JOIN_GROUP",
    "LEAVE_GROUP",
    "LIST_CONFIG_RESOURCES",
    "LIST_GROUPS",
    "LIST_OFFSETS",
    "METADATA",
    "OFFSET_COMMIT",
    "OFFSET_DELETE",
    "OFFSET_FETCH",
    "OFFSET_FOR_LEADER_EPOCH",
    "PRODUCE",
    "SASL_AUTHENTICATE",
    "SASL_HANDSHAKE",
    "SYNC_GROUP",
    "UNREGISTER_BROKER",
    "Api",
    "by_key",
]

ALL: dict[int, Api] = {api.key: api for api in list(globals().values()) if isinstance(api, Api)}


def by_key(key: int) -> Api:
    """KeyError for an API that kafpy does not speak."""
    return ALL[key]
