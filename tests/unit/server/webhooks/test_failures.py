"""Why a webhook gave no answer, in Go's words."""

from __future__ import annotations

import socket

import pytest

from proreus.net.client.http_client import Headers, HttpResponse
from proreus.net.client.transport_error import ConnectFailed
from proreus.server.webhooks.client import failure_text, rejection


def test_a_host_that_nobody_knows_is_named() -> None:
    error = ConnectFailed("https://nowhere.example/", "Name or service not known")
    error.__cause__ = socket.gaierror(-2, "Name or service not known")

    assert failure_text(error, "nowhere.example:443") == (
        "dial tcp: lookup nowhere.example: no such host"
    )


@pytest.mark.parametrize(
    ("code", "content", "body", "why"),
    [
        (302, "", b"", "the server responded with the status code 302 but did not return more "
         "information"),
        (403, "text/plain", b" leave me \n", "leave me"),
        (403, "application/json", b"{}", "unknown"),
        (406, "text/plain", b"", "the server was unable to respond with a content type that the "
         "client supports"),
        (409, "", b"", "the server reported a conflict"),
        (422, "", b"", "the server rejected our request due to an error in our request"),
        (429, "", b"", "the server has received too many requests and has asked us to try again "
         "later"),
        (500, "", b'oh "dear"\n', 'an error on the server ("oh \\"dear\\"") has prevented the '
         "request from succeeding"),
        (500, "application/json", b"{}", 'an error on the server ("unknown") has prevented the '
         "request from succeeding"),
        (500, "application/json", b'{"kind":"Status","message":"no"}', "no"),
    ],
)  # fmt: skip
def test_an_error_answered_is_worded_as_in_clients_of_kubernetes(
    code: int, content: str, body: bytes, why: str
) -> None:
    headers = Headers([("Content-Type", content)] if content else [])

    assert rejection(HttpResponse(code, headers, body)) == why
