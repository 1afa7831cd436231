"""Kafka's server.properties keys that this broker reads past: accepted, with a warning that they have no effect."""

WITHOUT_EFFECT = frozenset(
    """
    process.roles controller.quorum.voters controller.quorum.bootstrap.servers controller.quorum.election.timeout.ms
    controller.quorum.fetch.timeout.ms controller.quorum.election.backoff.max.ms controller.quorum.append.linger.ms
    controller.quorum.auto.join.enable controller.quorum.request.timeout.ms controller.quorum.retry.backoff.ms
    broker.heartbeat.interval.ms broker.session.timeout.ms initial.broker.registration.timeout.ms
    inter.broker.listener.name security.inter.broker.protocol num.io.threads background.threads
    connection.failed.authentication.delay.ms queued.max.requests request.timeout.ms log.roll.jitter.ms
    log.roll.jitter.hours log.retention.ms log.retention.minutes log.retention.hours log.retention.bytes
    log.retention.check.interval.ms log.initial.task.delay.ms log.flush.interval.ms log.flush.scheduler.interval.ms
    log.flush.start.offset.checkpoint.interval.ms log.preallocate log.dir.failure.timeout.ms cordoned.log.dirs
    log.cleaner.enable log.cleaner.threads log.cleaner.dedupe.buffer.size log.cleaner.io.buffer.size
    log.cleaner.io.buffer.load.factor log.cleaner.io.max.bytes.per.second log.cleaner.backoff.ms
    log.cleaner.min.cleanable.ratio log.cleaner.delete.retention.ms log.cleaner.min.compaction.lag.ms
    log.cleaner.max.compaction.lag.ms unclean.leader.election.enable unclean.leader.election.interval.ms
    auto.leader.rebalance.enable leader.imbalance.check.interval.seconds leader.imbalance.per.broker.percentage
    replica.lag.time.max.ms num.replica.fetchers num.replica.alter.log.dirs.threads replica.fetch.max.bytes
    replica.fetch.wait.max.ms replica.fetch.min.bytes replica.fetch.response.max.bytes replica.fetch.backoff.ms
    replica.socket.timeout.ms replica.socket.receive.buffer.bytes replica.high.watermark.checkpoint.interval.ms
    replica.selector.class controlled.shutdown.enable offsets.topic.replication.factor
    group.coordinator.rebalance.protocols group.coordinator.threads group.coordinator.append.linger.ms
    group.consumer.regex.refresh.interval.ms group.share.delivery.count.limit group.share.min.delivery.count.limit
    group.share.max.delivery.count.limit group.share.record.lock.duration.ms group.share.min.record.lock.duration.ms
    group.share.max.record.lock.duration.ms group.share.partition.max.record.locks group.share.max.size
    group.share.max.share.sessions group.share.session.timeout.ms group.share.min.session.timeout.ms
    group.share.max.session.timeout.ms group.share.heartbeat.interval.ms group.share.min.heartbeat.interval.ms
    group.share.max.heartbeat.interval.ms share.coordinator.state.topic.num.partitions
    share.coordinator.state.topic.replication.factor share.coordinator.state.topic.min.isr
    share.coordinator.state.topic.segment.bytes share.coordinator.threads group.streams.session.timeout.ms
    group.streams.heartbeat.interval.ms group.streams.num.standby.replicas group.streams.initial.rebalance.delay.ms
    group.streams.max.size transaction.state.log.num.partitions transaction.state.log.replication.factor
    transaction.state.log.min.isr transaction.state.log.segment.bytes transaction.max.timeout.ms
    transactional.id.expiration.ms transaction.abort.timed.out.transaction.cleanup.interval.ms
    transaction.remove.expired.transaction.cleanup.interval.ms transaction.partition.verification.enable
    transaction.two.phase.commit.enable producer.id.expiration.check.interval.ms replication.quota.window.num
    replication.quota.window.size.seconds authorizer.class.name early.start.listeners super.users
    allow.everyone.if.no.acl.found sasl.enabled.mechanisms sasl.mechanism.inter.broker.protocol
    sasl.mechanism.controller.protocol sasl.jaas.config connections.max.reauth.ms sasl.server.max.receive.size
    principal.builder.class ssl.protocol ssl.enabled.protocols ssl.client.auth ssl.keystore.type
    ssl.keystore.location ssl.keystore.password ssl.keystore.key ssl.keystore.certificate.chain ssl.key.password
    ssl.truststore.type ssl.truststore.location ssl.truststore.password ssl.truststore.certificates
    ssl.cipher.suites ssl.endpoint.identification.algorithm ssl.principal.mapping.rules
    remote.log.storage.system.enable log.local.retention.ms log.local.retention.bytes
    remote.log.manager.task.interval.ms metadata.log.dir metadata.log.segment.bytes metadata.log.segment.ms
    metadata.max.retention.ms metadata.max.retention.bytes metadata.log.max.retention.ms
    metadata.log.max.snapshot.interval.ms metadata.log.max.record.bytes.between.snapshots
    metadata.max.idle.interval.ms metric.reporters auto.include.jmx.reporter metrics.num.samples
    metrics.sample.window.ms metrics.recording.level telemetry.max.bytes alter.config.policy.class.name
    create.topic.policy.class.name config.providers max.request.partition.size.limit
    socket.connection.setup.timeout.ms socket.connection.setup.timeout.max.ms server.max.startup.time.ms
    delegation.token.secret.key delegation.token.max.lifetime.ms delegation.token.expiry.time.ms
    delegation.token.expiry.check.interval.ms password.encoder.secret reserved.broker.max.id
    broker.id.generation.enable
    """.split()  # noqa: SIM905 - one word per key reads best
)
