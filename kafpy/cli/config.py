"""`kafpy config`: configs and quotas in a cluster, and what settings there are."""

import click

from kafpy.cli.lazy_group import lazy_group

VERBS = {
    "get": ("kafpy.cli.config_verbs:get", "Print the value that holds for a key."),
    "set": ("kafpy.cli.config_verbs:set_", "Set keys of a topic, a broker, a group, or quotas."),
    "unset": ("kafpy.cli.config_verbs:unset", "Take back what was set."),
    "list": ("kafpy.cli.config_verbs:list_", "List what was set, or with --all everything that holds."),
    "explain": ("kafpy.cli.config_explain:explain", "Tell what a setting of kafpy's broker does. Asks no broker."),
    "sample": ("kafpy.cli.config_explain:sample", "Print a server.properties with every setting. Asks no broker."),
}


@click.group("config", cls=lazy_group(VERBS))
def command() -> None:
    """Get, set and list configs of topics, brokers and groups, and quotas of users, clients and ips."""
