"""Which addresses are the API server's own."""

from __future__ import annotations

import pytest

from proreus.server.http.own_address import OwnAddress

OWN = OwnAddress(lambda: 6443, ["203.0.113.7", "2001:db8::7", "api.example.com"])


@pytest.mark.parametrize(
    "host",
    ["127.0.0.1", "127.1.2.3", "0.0.0.0", "::", "::1", "::ffff:127.0.0.1", "203.0.113.7",
     "::ffff:203.0.113.7", "2001:db8::7", "2001:0db8:0::0007"],
)  # fmt: skip
def test_this_machine_and_what_is_advertised_are_the_server_at_its_port(host: str) -> None:
    assert OWN.includes(host, 6443)
    assert not OWN.includes(host, 10250)


@pytest.mark.parametrize("host", ["203.0.113.8", "2001:db8::8", "::ffff:203.0.113.8"])
def test_another_machine_is_not(host: str) -> None:
    assert not OWN.includes(host, 6443)
