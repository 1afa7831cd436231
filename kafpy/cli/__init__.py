"""The `kafpy` command."""
