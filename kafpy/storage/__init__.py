"""What a log may keep: policy over the core logs."""
