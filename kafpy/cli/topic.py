"""`kafpy topic`: kafka-topics, verb by verb, with its flags its output lines, and what rpk adds to them."""

import click

from kafpy.cli.lazy_group import lazy_group

VERBS = {
    "create": ("kafpy.cli.topic_create:create", "Create topics."),
    "list": ("kafpy.cli.topic_describe:list_topics", "List topics."),
    "describe": ("kafpy.cli.topic_describe:describe", "Describe topics, their partitions and what is not default."),
    "alter": ("kafpy.cli.topic_alter:alter", "Give topics more partitions, or say where replicas go."),
    "add-partitions": ("kafpy.cli.topic_alter:add_partitions", "Add so many partitions to topics."),
    "delete": ("kafpy.cli.topic_alter:delete", "Delete topics."),
    "trim": ("kafpy.cli.topic_trim:trim", "Delete records below an offset or a time."),
    "analyze": ("kafpy.cli.topic_analyze:analyze", "Records, bytes, batches and rates over a time range."),
}


@click.group("topic", cls=lazy_group(VERBS))
def command() -> None:
    """Create, list, describe, alter, delete, trim and analyze topics."""
