"""`kafpy generate`: what is made from kafpy itself."""

import click

from kafpy.cli.lazy_group import lazy_group

WHAT = {
    "kafka-scripts": ("kafpy.cli.kafka_scripts", "Scripts with the names of Kafka's, over kafpy."),
    "command-reference": ("kafpy.cli.command_reference", "Every command with its options, as docs/commands.md."),
    "settings-reference": ("kafpy.cli.config_explain:settings_reference", "Every setting, as docs/settings.md."),
    "grafana-dashboard": ("kafpy.cli.grafana_dashboard", "A dashboard of a broker's metrics for Grafana."),
}


@click.group("generate", cls=lazy_group(WHAT))
def command() -> None:
    """Scripts with Kafka's names, references and a dashboard."""
