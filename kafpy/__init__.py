"""kafpy: a Kafka broker in Python with a compiled storage core."""

__version__ = "0.1.0"
