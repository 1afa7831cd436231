"""One table per API, in the notation of kafpy.protocol.schema; versions, types and tags as in Kafka 4.3."""
