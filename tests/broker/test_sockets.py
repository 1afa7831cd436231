import socket

import pytest

from kafpy.broker.listeners import Listener
from kafpy.broker.sockets import BindError, bind


def test_a_free_port_is_named() -> None:
    bound = bind(Listener("PLAINTEXT", "127.0.0.1", 0))
    bound.listen(5)
    assert bound.port > 0
    assert bound.name == f"127.0.0.1:{bound.port}"
    socket.create_connection(("127.0.0.1", bound.port), 5).close()
    bound.close()


def test_every_address_of_the_machine() -> None:
    bound = bind(Listener("PLAINTEXT", "", 0))
    bound.listen(5)
    assert bound.name == f"0.0.0.0:{bound.port}"
    socket.create_connection(("127.0.0.1", bound.port), 5).close()
    if socket.has_dualstack_ipv6():
        socket.create_connection(("::1", bound.port), 5).close()
    bound.close()


def test_all_addresses_of_a_host_get_one_port() -> None:
    bound = bind(Listener("PLAINTEXT", "localhost", 0))
    assert len({each.getsockname()[1] for each in bound.sockets}) == 1
    bound.close()


def test_a_port_in_use_says_what_to_do() -> None:
    first = bind(Listener("PLAINTEXT", "127.0.0.1", 0))
    first.listen(5)
    with pytest.raises(BindError, match=f"port {first.port} is in use: .* --port"):
        bind(Listener("PLAINTEXT", "127.0.0.1", first.port)).listen(5)
    first.close()


def test_a_host_that_is_not_here() -> None:
    with pytest.raises(BindError, match="has no address here"):
        bind(Listener("PLAINTEXT", "no-such-host.invalid", 0))
    with pytest.raises(BindError, match="no address of this machine"):
        bind(Listener("PLAINTEXT", "192.0.2.1", 0))
