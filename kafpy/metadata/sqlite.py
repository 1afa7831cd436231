"""The embedded store: one SQLite file, for a broker that is alone.

WAL with synchronous=FULL: a commit is on disk when it returns. One connection, used by one thread at a time under
a lock.
"""

import json
import logging
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from kafpy.metadata.client_quota import Entity
from kafpy.metadata.errors import MetadataError, StoreError
from kafpy.metadata.image import Image, Partition, Topic

logger = logging.getLogger(__name__)

UNKNOWN_TOPIC_OR_PARTITION = 3
TOPIC_ALREADY_EXISTS = 36
KAFKA_STORAGE_ERROR = 56
TOLD_AGAIN_S = 60.0

_SCHEMA = """
CREATE TABLE version (version INTEGER NOT NULL);
CREATE TABLE cluster (
    cluster_id TEXT NOT NULL, epoch INTEGER NOT NULL, next_producer_id INTEGER NOT NULL
);
CREATE TABLE topic (topic_id BLOB PRIMARY KEY, name TEXT NOT NULL UNIQUE) WITHOUT ROWID;
CREATE TABLE partition (
    topic_id BLOB NOT NULL REFERENCES topic ON DELETE CASCADE,
    partition INTEGER NOT NULL, leader INTEGER NOT NULL, leader_epoch INTEGER NOT NULL,
    replicas TEXT NOT NULL, isr TEXT NOT NULL,
    PRIMARY KEY (topic_id, partition)
) WITHOUT ROWID;
CREATE TABLE topic_config (
    topic_id BLOB NOT NULL REFERENCES topic ON DELETE CASCADE,
    name TEXT NOT NULL, value TEXT NOT NULL,
    PRIMARY KEY (topic_id, name)
) WITHOUT ROWID;
CREATE TABLE deleted_topic (topic_id BLOB PRIMARY KEY) WITHOUT ROWID;
"""

_STEPS = [
    """
    CREATE TABLE broker_config (
        broker TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
        PRIMARY KEY (broker, name)
    ) WITHOUT ROWID;
    """,
    """
    CREATE TABLE client_quota (
        entity TEXT NOT NULL, name TEXT NOT NULL, value REAL NOT NULL,
        PRIMARY KEY (entity, name)
    ) WITHOUT ROWID;
    """,
]
"""What each format adds to the one before it; the first is _SCHEMA alone. Steps that were released stay as they are."""

SCHEMA_VERSION = 1 + len(_STEPS)


class SQLiteStore:
    def __init__(self, path: Path, new_cluster_id: str) -> None:
        """Opens the store, or makes it for a cluster of that id. StoreError when the file is not ours."""
        self._lock = threading.Lock()
        self._path = path
        self._told: dict[str, float] = {}
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        try:
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=FULL")
            self._db.execute("PRAGMA foreign_keys=ON")
            self._prepare(new_cluster_id)
        except sqlite3.DatabaseError as error:
            self._db.close()
            message = f"cannot use {path}: {error}; repair it, or choose another directory with --data DIR"
            raise StoreError(message) from error
        except StoreError:
            self._db.close()
            raise

    def _prepare(self, new_cluster_id: str) -> None:
        with self._transaction() as db:
            if db.execute("SELECT count(*) FROM sqlite_master WHERE name = 'version'").fetchone()[0] == 0:
                _execute_all(db, _SCHEMA)
                db.execute("INSERT INTO version VALUES (1)")
                db.execute("INSERT INTO cluster VALUES (?, 0, 0)", (new_cluster_id,))
            version = db.execute("SELECT version FROM version").fetchone()[0]
            if not 1 <= version <= SCHEMA_VERSION:
                raise StoreError(f"{self._path}: written in format {version}; this broker reads up to {SCHEMA_VERSION}")
            for step in _STEPS[version - 1 :]:
                _execute_all(db, step)
                db.execute("UPDATE version SET version = version + 1")

    @contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        """One transaction, for whoever asked: MetadataError 56 when the disk does not take it.

        A commit whose sync failed may still be found by the next start; nobody was told that it was made.
        """
        try:
            with self._transaction() as db:
                yield db
        except sqlite3.Error as error:
            self._tell(str(error))
            raise MetadataError(KAFKA_STORAGE_ERROR, f"The metadata cannot be written: {error}.") from error

    def _tell(self, why: str) -> None:
        """Once a minute for each reason: who is refused asks again."""
        now = time.monotonic()
        if now - self._told.get(why, -TOLD_AGAIN_S) >= TOLD_AGAIN_S:
            self._told[why] = now
            logger.error("%s: %s; the change was refused", self._path, why)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    with suppress(sqlite3.Error):
                        self._db.execute("ROLLBACK")
                raise

    def cluster_id(self) -> str:
        with self._lock:
            return str(self._db.execute("SELECT cluster_id FROM cluster").fetchone()[0])

    def load(self) -> Image:
        partitions: dict[bytes, list[Partition]] = {}
        configs: dict[bytes, dict[str, str]] = {}
        brokers: dict[str, dict[str, str]] = {}
        quotas: dict[Entity, dict[str, float]] = {}
        with self._lock:
            epoch = int(self._db.execute("SELECT epoch FROM cluster").fetchone()[0])
            names = self._db.execute("SELECT topic_id, name FROM topic ORDER BY name").fetchall()
            for topic_id, name, value in self._db.execute("SELECT topic_id, name, value FROM topic_config"):
                configs.setdefault(topic_id, {})[name] = value
            for broker, name, value in self._db.execute("SELECT broker, name, value FROM broker_config"):
                brokers.setdefault(broker, {})[name] = value
            for entity, name, value in self._db.execute("SELECT entity, name, value FROM client_quota"):
                quotas.setdefault(_entity(entity), {})[name] = value
            rows = self._db.execute(
                "SELECT topic_id, partition, leader, leader_epoch, replicas, isr"
                " FROM partition ORDER BY topic_id, partition"
            )
            for topic_id, index, leader, leader_epoch, replicas, isr in rows:
                partition = Partition(index, leader, leader_epoch, _nodes(replicas), _nodes(isr))
                partitions.setdefault(topic_id, []).append(partition)
        topics = [Topic(name, id_, tuple(partitions.get(id_, ())), configs.get(id_, {})) for id_, name in names]
        return Image.of(epoch, topics, brokers, quotas)

    def create_topic(self, topic: Topic) -> int:
        with self._change() as db:
            if db.execute("SELECT 1 FROM topic WHERE name = ?", (topic.name,)).fetchone():
                raise MetadataError(TOPIC_ALREADY_EXISTS, f"Topic '{topic.name}' already exists.")
            db.execute("INSERT INTO topic VALUES (?, ?)", (topic.topic_id, topic.name))
            _write_partitions(db, topic.topic_id, topic.partitions)
            _write_configs(db, topic.topic_id, topic.configs)
            return _next_epoch(db)

    def delete_topic(self, name: str) -> int:
        with self._change() as db:
            topic_id = _topic_id(db, name)
            db.execute("DELETE FROM topic WHERE topic_id = ?", (topic_id,))
            db.execute("INSERT INTO deleted_topic VALUES (?)", (topic_id,))
            return _next_epoch(db)

    def add_partitions(self, name: str, partitions: Iterable[Partition]) -> int:
        with self._change() as db:
            _write_partitions(db, _topic_id(db, name), partitions)
            return _next_epoch(db)

    def set_topic_configs(self, name: str, configs: Mapping[str, str]) -> int:
        with self._change() as db:
            topic_id = _topic_id(db, name)
            db.execute("DELETE FROM topic_config WHERE topic_id = ?", (topic_id,))
            _write_configs(db, topic_id, configs)
            return _next_epoch(db)

    def set_broker_configs(self, broker: str, configs: Mapping[str, str]) -> int:
        with self._change() as db:
            db.execute("DELETE FROM broker_config WHERE broker = ?", (broker,))
            rows = [(broker, name, value) for name, value in configs.items()]
            db.executemany("INSERT INTO broker_config VALUES (?, ?, ?)", rows)
            return _next_epoch(db)

    def set_client_quotas(self, changed: Mapping[Entity, Mapping[str, float]]) -> int:
        with self._change() as db:
            db.executemany("DELETE FROM client_quota WHERE entity = ?", [(json.dumps(entity),) for entity in changed])
            rows = [
                (json.dumps(each), name, value) for each, values in changed.items() for name, value in values.items()
            ]
            db.executemany("INSERT INTO client_quota VALUES (?, ?, ?)", rows)
            return _next_epoch(db)

    def deleted_topic_ids(self) -> frozenset[bytes]:
        with self._lock:
            return frozenset(row[0] for row in self._db.execute("SELECT topic_id FROM deleted_topic"))

    def forget_deleted_topics(self) -> None:
        with self._change() as db:
            db.execute("DELETE FROM deleted_topic")

    def allocate_producer_ids(self, count: int) -> int:
        with self._change() as db:
            first = int(db.execute("SELECT next_producer_id FROM cluster").fetchone()[0])
            db.execute("UPDATE cluster SET next_producer_id = ?", (first + count,))
            return first

    def close(self) -> None:
        with self._lock:
            self._db.close()


def _execute_all(db: sqlite3.Connection, statements: str) -> None:
    """executescript() would commit the open transaction first, and a crash could leave half a schema."""
    for statement in filter(str.strip, statements.split(";")):
        db.execute(statement)


def _topic_id(db: sqlite3.Connection, name: str) -> bytes:
    row = db.execute("SELECT topic_id FROM topic WHERE name = ?", (name,)).fetchone()
    if row is None:
        raise MetadataError(UNKNOWN_TOPIC_OR_PARTITION, "This server does not host this topic-partition.")
    return bytes(row[0])


def _write_partitions(db: sqlite3.Connection, topic_id: bytes, partitions: Iterable[Partition]) -> None:
    db.executemany(
        "INSERT INTO partition VALUES (?, ?, ?, ?, ?, ?)",
        [(topic_id, p.index, p.leader, p.leader_epoch, _text(p.replicas), _text(p.isr)) for p in partitions],
    )


def _write_configs(db: sqlite3.Connection, topic_id: bytes, configs: Mapping[str, str]) -> None:
    rows = [(topic_id, name, value) for name, value in configs.items()]
    db.executemany("INSERT INTO topic_config VALUES (?, ?, ?)", rows)


def _next_epoch(db: sqlite3.Connection) -> int:
    return int(db.execute("UPDATE cluster SET epoch = epoch + 1 RETURNING epoch").fetchone()[0])


def _entity(text: str) -> Entity:
    return tuple((kind, name) for kind, name in json.loads(text))


def _nodes(text: str) -> tuple[int, ...]:
    return tuple(int(node) for node in text.split(",") if node)


def _text(nodes: tuple[int, ...]) -> str:
    return ",".join(map(str, nodes))
