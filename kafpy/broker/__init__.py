"""The wiring of one broker."""
