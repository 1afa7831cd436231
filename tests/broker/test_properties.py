import pytest

from kafpy.broker.properties import PropertiesError, Property, parse


def pairs(text: str) -> list[tuple[str, str]]:
    return [(key, value) for key, value, _ in parse(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a=b", [("a", "b")]),
        ("a:b", [("a", "b")]),
        ("a b", [("a", "b")]),
        ("  a  =  b c ", [("a", "b c ")]),
        ("a", [("a", "")]),
        ("a=", [("a", "")]),
        ("a==b", [("a", "=b")]),
        ("a = :b", [("a", ":b")]),
        ("# c\n! c\n\n  # c \\\na=b", [("a", "b")]),
        ("a=b\\\n   c\\\n\td", [("a", "bcd")]),
        ("a=b\\\\\nc=d", [("a", "b\\"), ("c", "d")]),
        ("a\\=x\\:y\\ z=1", [("a=x:y z", "1")]),
        ("a=\\t\\n\\u0041\\q", [("a", "\t\nAq")]),
        ("a=1\r\nb=2\rc=3", [("a", "1"), ("b", "2"), ("c", "3")]),
        ("a=b\\", [("a", "b")]),
        ("listeners=PLAINTEXT://:9092,CONTROLLER://:9093", [("listeners", "PLAINTEXT://:9092,CONTROLLER://:9093")]),
    ],
)
def test_as_java_reads_it(text: str, expected: list[tuple[str, str]]) -> None:
    assert pairs(text) == expected


def test_lines_are_those_where_the_key_stands() -> None:
    assert parse("# x\na=\\\n  b\n\nc=d") == [Property("a", "b", 2), Property("c", "d", 5)]


def test_a_broken_escape_names_its_line() -> None:
    with pytest.raises(PropertiesError) as caught:
        parse("a=b\nc=\\u00g0")
    assert caught.value.line == 2
