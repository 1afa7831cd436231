import pytest

from kafpy.metadata import MetadataError, topic_name


@pytest.mark.parametrize("name", ["a", "A-9._", "x" * 249, "...", "t-1", "x-0-delete", "x.log", "__consumer_offsets"])
def test_legal_names_pass(name: str) -> None:
    topic_name.check(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        ".",
        "..",
        "../../etc/passwd",
        "a/b",
        "a\\b",
        "a\0",
        "a b",
        "\u00e9",
        "\uff0e",
        "a\n",
        "\u202eabc",
        "\U0001f642",
        "x" * 250,
        "\u0661",
    ],
)
def test_illegal_names_are_refused_with_17(name: str) -> None:
    with pytest.raises(MetadataError, match="Topic name is invalid") as caught:
        topic_name.check(name)
    assert caught.value.code == 17


def test_dot_and_underscore_collide() -> None:
    with pytest.raises(MetadataError, match=r"Topic 'a_b' collides with existing topic: a\.b") as caught:
        topic_name.check_collision("a_b", ["x", "a.b"])
    assert caught.value.code == 17
    topic_name.check_collision("a.b", ["a.b", "ab", "a-b"])
    topic_name.check_collision("ab", ["a.b"])
