"""What the cluster has agreed on: one interface, its stores, the image brokers read."""

from kafpy.metadata.errors import MetadataError, StoreError
from kafpy.metadata.image import Image, Partition, Topic
from kafpy.metadata.store import Store

__all__ = ["Image", "MetadataError", "Partition", "Store", "StoreError", "Topic"]
