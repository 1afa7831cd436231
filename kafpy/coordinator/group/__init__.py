"""Consumer groups: membership, rebalances, committed offsets. Pure: no clock, no randomness, no I/O."""
