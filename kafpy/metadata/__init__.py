"""What the cluster has agreed on: one interface, its stores, the image brokers read."""
