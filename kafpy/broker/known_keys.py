"""Kafka's server.properties keys that change nothing in this broker: accepted where their value is one that Kafka
takes, with a line at the start that says why. A few values ask for what would be missed, and are refused instead.

One line a key: name, kind, default. A kind is one of KINDS, with a least and a greatest value where there are any.
"""

from collections.abc import Callable
from typing import NamedTuple

from kafpy.broker.setting_types import INT_MAX, LONG_MAX, Choice, Flag, Fraction, Kind, Text, Whole, Words

_REASONS = {
    "a broker alone decides for itself, without a controller quorum": """
        process.roles                                       list
        controller.quorum.voters                            list
        controller.quorum.bootstrap.servers                 list
        controller.quorum.election.timeout.ms               int       1000
        controller.quorum.fetch.timeout.ms                  int       2000
        controller.quorum.election.backoff.max.ms           int       1000
        controller.quorum.append.linger.ms                  int       25
        controller.quorum.auto.join.enable                  flag      false
        controller.quorum.request.timeout.ms                int       2000
        controller.quorum.retry.backoff.ms                  int       20
        broker.heartbeat.interval.ms                        int       2000
        broker.session.timeout.ms                           int       9000
        initial.broker.registration.timeout.ms              int       60000
        inter.broker.listener.name                          text
        security.inter.broker.protocol                      text      PLAINTEXT
        metadata.log.dir                                    text
        metadata.log.segment.bytes                          int:8388608   1073741824
        metadata.log.segment.ms                             long      604800000
        metadata.max.retention.ms                           long:-1   604800000
        metadata.max.retention.bytes                        long:-1   104857600
        metadata.log.max.retention.ms                       long:-1   604800000
        metadata.log.max.snapshot.interval.ms               long:0    3600000
        metadata.log.max.record.bytes.between.snapshots     long:1    20971520
        metadata.max.idle.interval.ms                       int:0     500
        server.max.startup.time.ms                          long:0    9223372036854775807
        reserved.broker.max.id                              int:0     1000
        broker.id.generation.enable                         flag      true
        early.start.listeners                               text
    """,
    "there are no other brokers to replicate to or from": """
        unclean.leader.election.enable                      flag      false
        unclean.leader.election.interval.ms                 long:1    300000
        auto.leader.rebalance.enable                        flag      true
        leader.imbalance.check.interval.seconds             long:1    300
        leader.imbalance.per.broker.percentage              int       10
        replica.lag.time.max.ms                             long      30000
        num.replica.fetchers                                int       1
        replica.fetch.max.bytes                             int:0     1048576
        replica.fetch.wait.max.ms                           int       500
        replica.fetch.min.bytes                             int       1
        replica.fetch.response.max.bytes                    int:0     10485760
        replica.fetch.backoff.ms                            int:0     1000
        replica.socket.timeout.ms                           int       30000
        replica.socket.receive.buffer.bytes                 int       65536
        replica.high.watermark.checkpoint.interval.ms       long      5000
        replica.selector.class                              text
        controlled.shutdown.enable                          flag      true
        replication.quota.window.num                        int:1     11
        replication.quota.window.size.seconds               int:1     1
        offsets.topic.replication.factor                    int:1     3
        socket.connection.setup.timeout.ms                  long:0    10000
        socket.connection.setup.timeout.max.ms              long:0    30000
        request.timeout.ms                                  int       30000
    """,
    "threads and queues are laid out differently here (see num.network.threads)": """
        num.io.threads                                      int:1     8
        background.threads                                  int:1     10
        queued.max.requests                                 int:1     500
        num.replica.alter.log.dirs.threads                  int
        group.coordinator.threads                           int:1     4
        group.coordinator.append.linger.ms                  int:-1    -1
        share.coordinator.threads                           int:1     1
    """,
    "the broker leaves it to the kernel when files reach the disk (see log.flush.interval.messages)": """
        log.flush.interval.ms                               long
        log.flush.scheduler.interval.ms                     long      9223372036854775807
        log.flush.start.offset.checkpoint.interval.ms       int:0     60000
        log.preallocate                                     flag      false
    """,
    "a failed log directory is offline at once": """
        log.dir.failure.timeout.ms                          long:1    30000
        cordoned.log.dirs                                   list
    """,
    "there is no compaction yet": """
        log.cleaner.enable                                  flag      true
        log.cleaner.threads                                 int:0     1
        log.cleaner.dedupe.buffer.size                      long      134217728
        log.cleaner.io.buffer.size                          int:0     524288
        log.cleaner.io.buffer.load.factor                   double    0.9
        log.cleaner.io.max.bytes.per.second                 double    1.7976931348623157E308
        log.cleaner.backoff.ms                              long:0    15000
        log.cleaner.min.cleanable.ratio                     fraction  0.5
        log.cleaner.delete.retention.ms                     long:0    86400000
        log.cleaner.min.compaction.lag.ms                   long:0    0
        log.cleaner.max.compaction.lag.ms                   long:1    9223372036854775807
    """,
    "both protocols of consumer groups are always on": """
        group.coordinator.rebalance.protocols               list      classic,consumer,streams
    """,
    "regular expressions are matched anew whenever topics change": """
        group.consumer.regex.refresh.interval.ms            int:10000 600000
    """,
    "there are no share groups yet": """
        group.share.delivery.count.limit                    int:2     5
        group.share.min.delivery.count.limit                int:2     2
        group.share.max.delivery.count.limit                int:2     10
        group.share.record.lock.duration.ms                 int:1000  30000
        group.share.min.record.lock.duration.ms             int:1000  15000
        group.share.max.record.lock.duration.ms             int:1000  60000
        group.share.partition.max.record.locks              int:100   2000
        group.share.max.size                                int:1     200
        group.share.max.share.sessions                      int:1     2000
        group.share.session.timeout.ms                      int:1     45000
        group.share.min.session.timeout.ms                  int:1     45000
        group.share.max.session.timeout.ms                  int:1     60000
        group.share.heartbeat.interval.ms                   int:1     5000
        group.share.min.heartbeat.interval.ms               int:1     5000
        group.share.max.heartbeat.interval.ms               int:1     15000
        share.coordinator.state.topic.num.partitions        int:1     50
        share.coordinator.state.topic.replication.factor    int:1     3
        share.coordinator.state.topic.min.isr               int:1     2
        share.coordinator.state.topic.segment.bytes         int:1     104857600
    """,
    "there are no streams groups yet": """
        group.streams.session.timeout.ms                    int:1     45000
        group.streams.heartbeat.interval.ms                 int:1     5000
        group.streams.num.standby.replicas                  int:0     0
        group.streams.initial.rebalance.delay.ms            int:0     3000
        group.streams.max.size                              int:1     2147483647
    """,
    "there are no transactions yet": """
        transaction.state.log.num.partitions                int:1     50
        transaction.state.log.replication.factor            int:1     3
        transaction.state.log.min.isr                       int:1     2
        transaction.state.log.segment.bytes                 int:1     104857600
        transaction.max.timeout.ms                          int:1     900000
        transactional.id.expiration.ms                      int:1     604800000
        transaction.abort.timed.out.transaction.cleanup.interval.ms   int:1   10000
        transaction.remove.expired.transaction.cleanup.interval.ms    int:1   3600000
        transaction.partition.verification.enable           flag      true
        transaction.two.phase.commit.enable                 flag      false
    """,
    "ids of producers expire when they are looked at": """
        producer.id.expiration.check.interval.ms            int:1     600000
    """,
    "listeners are PLAINTEXT: there is no TLS and no authentication yet": """
        connection.failed.authentication.delay.ms           int:0     100
        super.users                                         text
        allow.everyone.if.no.acl.found                      flag      false
        sasl.enabled.mechanisms                             list      GSSAPI
        sasl.mechanism.inter.broker.protocol                text      GSSAPI
        sasl.mechanism.controller.protocol                  text      GSSAPI
        sasl.jaas.config                                    text
        connections.max.reauth.ms                           long      0
        sasl.server.max.receive.size                        int       524288
        principal.builder.class                             text
        ssl.protocol                                        text      TLSv1.3
        ssl.enabled.protocols                               list      TLSv1.2,TLSv1.3
        ssl.client.auth                                     text      none
        ssl.keystore.type                                   text      JKS
        ssl.keystore.location                               text
        ssl.keystore.password                               text
        ssl.keystore.key                                    text
        ssl.keystore.certificate.chain                      text
        ssl.key.password                                    text
        ssl.truststore.type                                 text      JKS
        ssl.truststore.location                             text
        ssl.truststore.password                             text
        ssl.truststore.certificates                         text
        ssl.cipher.suites                                   list
        ssl.endpoint.identification.algorithm               text      https
        ssl.principal.mapping.rules                         text      DEFAULT
        delegation.token.secret.key                         text
        delegation.token.max.lifetime.ms                    long:1    604800000
        delegation.token.expiry.time.ms                     long:1    86400000
        delegation.token.expiry.check.interval.ms           long:1    3600000
        password.encoder.secret                             text
    """,
    "there is no tiered storage": """
        log.local.retention.ms                              long:-2   -2
        log.local.retention.bytes                           long:-2   -2
        remote.log.manager.task.interval.ms                 long:1    30000
    """,
    "metrics are served by kafpy.http.listener, not by Java's reporters": """
        metric.reporters                                    list      org.apache.kafka.common.metrics.JmxReporter
        auto.include.jmx.reporter                           flag      true
        metrics.num.samples                                 int:1     2
        metrics.sample.window.ms                            long:1    30000
        metrics.recording.level                             text      INFO
        telemetry.max.bytes                                 int:1     1048576
    """,
    "classes of Java are not loaded": """
        config.providers                                    list
    """,
    "DescribeTopicPartitions is bounded by the client alone": """
        max.request.partition.size.limit                    int:1     2000
    """,
}

_KINDS: dict[str, Callable[[int, int], Kind]] = {
    "int": lambda low, high: Whole(low, min(high, INT_MAX)),
    "long": lambda low, high: Whole(low, high),
    "flag": lambda *_: Flag(),
    "list": lambda *_: Words(),
    "text": lambda *_: Text(),
    "double": lambda *_: Fraction(-float("inf"), float("inf")),
    "fraction": lambda *_: Fraction(),
}
_LEAST = {"int": -(2**31), "long": -LONG_MAX - 1}


class Inert(NamedTuple):
    kind: Kind
    default: str
    reason: str


def _inert() -> dict[str, Inert]:
    found = {}
    for reason, text in _REASONS.items():
        for line in text.split("\n"):
            if line.strip():
                name, kind, *default = line.split()
                word, _, low = kind.partition(":")
                made = _KINDS[word](int(low) if low else _LEAST.get(word, 0), LONG_MAX)
                found[name] = Inert(made, " ".join(default), reason)
    return found


WITHOUT_EFFECT = _inert()


class Refused(NamedTuple):
    kind: Kind
    allowed: tuple[str, ...]
    """Values that ask for nothing."""
    default: str
    why: str


REFUSED = {
    "authorizer.class.name": Refused(
        Text(), ("",), "", "this broker does not check permissions yet; remove the key to run without"
    ),
    "remote.log.storage.system.enable": Refused(
        Choice(("true", "false")), ("false",), "false", "there is no tiered storage; remove the key"
    ),
    "alter.config.policy.class.name": Refused(Text(), ("",), "", "classes of Java are not loaded; remove the key"),
    "create.topic.policy.class.name": Refused(Text(), ("",), "", "classes of Java are not loaded; remove the key"),
}
"""Keys whose other values would be missed by those who rely on them."""
