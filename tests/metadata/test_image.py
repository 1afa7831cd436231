from kafpy.metadata import Image, Partition, Topic

T = Topic("t", b"\1" * 16, (Partition(0, 1, 0, (1,), (1,)),), {})
U = Topic("u", b"\2" * 16, (), {"segment.bytes": "1048576"})


def test_a_change_leaves_the_old_image_alone() -> None:
    old = Image.of(3, [T])
    new = old.with_topic(U, 4)
    assert (old.epoch, set(old.topics)) == (3, {"t"})
    assert (new.epoch, set(new.topics)) == (4, {"t", "u"})
    assert new.topic_by_id(U.topic_id) is U
    gone = new.without_topic("t", 5)
    assert gone.topic("t") is None
    assert gone.topic_by_id(T.topic_id) is None
    assert new.topic("t") is T
