"""Why a webhook gave no answer, in Go's words."""

from __future__ import annotations

import socket

from proreus.net.client.transport_error import ConnectFailed
from proreus.server.webhooks.client import failure_text


def test_a_host_that_nobody_knows_is_named() -> None:
    error = ConnectFailed("https://nowhere.example/", "Name or service not known")
    error.__cause__ = socket.gaierror(-2, "Name or service not known")

    assert failure_text(error, "nowhere.example:443") == (
        "dial tcp: lookup nowhere.example: no such host"
    )
