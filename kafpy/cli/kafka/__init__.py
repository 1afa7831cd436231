"""Kafka's scripts by their names: its flags, its output and its exit statuses over kafpy's own commands."""
