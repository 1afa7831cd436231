from typing import Any

import pytest

from kafpy.handlers.registry import SERVED, serves
from kafpy.protocol import api
from kafpy.protocol.errors import ErrorCode

NAMED = {"client_software_name": "kafpy-test", "client_software_version": "1.0"}


@pytest.mark.parametrize("version", api.API_VERSIONS.versions)
def test_advertises_what_is_served(broker: Any, version: int) -> None:
    answer = broker.ask(api.API_VERSIONS, version, **NAMED)
    ranges = {each.api_key: (each.min_version, each.max_version) for each in answer.api_keys}
    assert answer.error_code == 0
    assert ranges.pop(0) == (0, 13)
    assert ranges.pop(1) == (4, 18)
    assert ranges == {key: (served.min, served.max) for key, served in SERVED.items()}
    assert ranges == {
        2: (1, 11),
        3: (0, 13),
        8: (2, 10),
        9: (1, 10),
        10: (0, 6),
        11: (0, 9),
        12: (0, 4),
        13: (0, 5),
        14: (0, 5),
        15: (0, 6),
        16: (0, 5),
        18: (0, 4),
        19: (2, 7),
        20: (1, 6),
        21: (0, 2),
        22: (0, 5),
        23: (2, 4),
        32: (1, 4),
        33: (0, 2),
        34: (1, 2),
        35: (1, 5),
        37: (0, 3),
        42: (0, 2),
        44: (0, 1),
        47: (0, 0),
        48: (0, 1),
        49: (0, 1),
        60: (0, 2),
        61: (0, 0),
        68: (0, 1),
        69: (0, 1),
        74: (0, 1),
        75: (0, 0),
    }
    assert (answer.finalized_features, answer.finalized_features_epoch, answer.unknown_tags) == ([], -1, None)


@pytest.mark.parametrize("name", ["", "-x", "x-", "a b", "a\n", "é", "a_b"])
def test_software_names(broker: Any, name: str) -> None:
    for fields in ({**NAMED, "client_software_name": name}, {**NAMED, "client_software_version": name}):
        assert broker.ask(api.API_VERSIONS, 3, **fields).error_code == ErrorCode.INVALID_REQUEST
        assert broker.ask(api.API_VERSIONS, 2, **fields).error_code == 0


def test_one_handler_each() -> None:
    with pytest.raises(ValueError, match="Metadata is served already"):
        serves(api.METADATA)(lambda: None)
