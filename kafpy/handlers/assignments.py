"""A manual assignment of replicas, on a broker that is alone."""


def fault_of(replicas: list[int], node_id: int) -> str | None:
    """What is wrong with the replicas of one partition, in Kafka's words (ReplicationControlManager)."""
    if not replicas:
        return "The manual partition assignment includes an empty replica list."
    for broker_id in replicas:
        if broker_id != node_id:
            return f"The manual partition assignment includes broker {broker_id}, but no such broker is registered."
    if len(replicas) > 1:
        return f"The manual partition assignment includes the broker {node_id} more than once."
    return None
