"""The compiled core: one documented stub per module; sources in core/."""
