"""The settings that groups follow: Kafka's keys with underscores, and Kafka 4.3's defaults."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GroupConfig:
    group_min_session_timeout_ms: int = 6_000
    group_max_session_timeout_ms: int = 1_800_000
    group_initial_rebalance_delay_ms: int = 3_000
    group_max_size: int = 2_147_483_647
    offset_metadata_max_bytes: int = 4_096
    offsets_retention_minutes: int = 10_080
    offsets_retention_check_interval_ms: int = 600_000
    message_max_bytes: int = 1_048_588
    """Of `__consumer_offsets`: no record may be larger."""
    group_consumer_session_timeout_ms: int = 45_000
    group_consumer_min_session_timeout_ms: int = 45_000
    group_consumer_max_session_timeout_ms: int = 60_000
    group_consumer_heartbeat_interval_ms: int = 5_000
    group_consumer_min_heartbeat_interval_ms: int = 5_000
    group_consumer_max_heartbeat_interval_ms: int = 15_000
    group_consumer_max_size: int = 2_147_483_647
    group_consumer_assignors: tuple[str, ...] = ("uniform", "range")
    """The first one is used where members name none."""
    group_consumer_migration_policy: str = "bidirectional"

    @property
    def offsets_retention_ms(self) -> int:
        return self.offsets_retention_minutes * 60_000
