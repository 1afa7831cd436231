import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from kafpy.metadata import MetadataError, Partition, StoreError, Topic
from kafpy.metadata.sqlite import SQLiteStore

PARTITIONS = (Partition(0, 1, 0, (1,), (1,)), Partition(1, 2, 5, (2, 3, 1), (2, 1)))


def topic(name: str, number: int, **configs: str) -> Topic:
    return Topic(name, bytes([number]) * 16, PARTITIONS, configs)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SQLiteStore]:
    store = SQLiteStore(tmp_path / "m.sqlite", "cluster-one")
    yield store
    store.close()


def reopen(store: SQLiteStore, tmp_path: Path) -> SQLiteStore:
    store.close()
    return SQLiteStore(tmp_path / "m.sqlite", "cluster-two")


def test_everything_is_found_again(store: SQLiteStore, tmp_path: Path) -> None:
    made = topic("t", 1, **{"segment.bytes": "1048576"})
    assert store.create_topic(made) == 1
    assert store.create_topic(topic("u", 2)) == 2
    again = reopen(store, tmp_path)
    image = again.load()
    assert image.epoch == 2
    assert image.topics["t"] == made
    assert image.topics_by_id[made.topic_id] == made
    assert again.cluster_id() == "cluster-one"
    again.close()


def test_a_taken_name_changes_nothing(store: SQLiteStore) -> None:
    store.create_topic(topic("t", 1))
    with pytest.raises(MetadataError, match="already exists") as caught:
        store.create_topic(topic("t", 2))
    assert caught.value.code == 36
    assert store.load().epoch == 1
    assert store.load().topics["t"].topic_id == b"\1" * 16


def test_a_deleted_topic_is_remembered_until_forgotten(store: SQLiteStore, tmp_path: Path) -> None:
    store.create_topic(topic("t", 1, a="b"))
    assert store.delete_topic("t") == 2
    with pytest.raises(MetadataError) as caught:
        store.delete_topic("t")
    assert caught.value.code == 3
    again = reopen(store, tmp_path)
    assert again.load().topics == {}
    assert again.deleted_topic_ids() == {b"\1" * 16}
    again.create_topic(topic("t", 3))
    assert again.load().topics["t"].configs == {}
    again.forget_deleted_topics()
    assert again.deleted_topic_ids() == frozenset()
    again.close()


def test_configs_are_replaced_whole(store: SQLiteStore) -> None:
    store.create_topic(topic("t", 1, a="1", b="2"))
    assert store.set_topic_configs("t", {"b": "3"}) == 2
    assert store.load().topics["t"].configs == {"b": "3"}


def test_producer_ids_are_given_once(store: SQLiteStore, tmp_path: Path) -> None:
    firsts: list[int] = []
    threads = [threading.Thread(target=lambda: firsts.append(store.allocate_producer_ids(1000))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    again = reopen(store, tmp_path)
    assert sorted([*firsts, again.allocate_producer_ids(1)]) == [0, 1000, 2000, 3000, 4000]
    again.close()


def test_a_commit_is_durable_before_it_returns(store: SQLiteStore) -> None:
    assert store._db.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
    assert store._db.execute("PRAGMA synchronous").fetchone()[0] == 2


def test_another_format_is_refused(store: SQLiteStore, tmp_path: Path) -> None:
    store.close()
    with sqlite3.connect(tmp_path / "m.sqlite") as db:
        db.execute("UPDATE version SET version = 99")
    db.close()
    with pytest.raises(StoreError, match="written in format 99"):
        SQLiteStore(tmp_path / "m.sqlite", "c")


def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "m.sqlite").write_bytes(b"garbage" * 1000)
    with pytest.raises(StoreError, match=r"m\.sqlite"):
        SQLiteStore(tmp_path / "m.sqlite", "c")


def test_partitions_are_added(store: SQLiteStore) -> None:
    store.create_topic(topic("t", 1))
    added = (Partition(2, 1, 0, (1,), (1,)),)
    assert store.add_partitions("t", added) == 2
    assert store.load().topics["t"].partitions == PARTITIONS + added
    with pytest.raises(MetadataError):
        store.add_partitions("no", added)


def test_broker_configs_are_replaced_whole(store: SQLiteStore, tmp_path: Path) -> None:
    assert store.set_broker_configs("1", {"a": "1", "b": "2"}) == 1
    assert store.set_broker_configs("", {"a": "3"}) == 2
    assert store.set_broker_configs("1", {"b": "4"}) == 3
    again = reopen(store, tmp_path)
    assert again.load().broker_configs == {"1": {"b": "4"}, "": {"a": "3"}}
    again.close()


def test_the_first_format_is_brought_up_to_date(store: SQLiteStore, tmp_path: Path) -> None:
    store.create_topic(topic("t", 1, a="1"))
    store.close()
    with sqlite3.connect(tmp_path / "m.sqlite") as db:
        db.execute("DROP TABLE broker_config")
        db.execute("DROP TABLE client_quota")
        db.execute("UPDATE version SET version = 1")
    db.close()
    again = SQLiteStore(tmp_path / "m.sqlite", "c")
    assert again.load().topics["t"].configs == {"a": "1"}
    again.set_broker_configs("", {"a": "3"})
    assert again.load().broker_configs == {"": {"a": "3"}}
    again.close()
