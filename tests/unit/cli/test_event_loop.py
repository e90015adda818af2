"""What commands report of their event loop."""

from __future__ import annotations

import asyncio
import logging

import pytest

from proreus.cli.event_loop import report_failure

_FAILURE = RuntimeError("unable to perform operation; the handler is closed")


async def test_a_connection_that_was_closed_while_tls_began_is_no_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(asyncio.Protocol, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    transport, _ = await loop.create_connection(asyncio.Protocol, "127.0.0.1", port)
    failed = {"message": "Fatal error on SSL protocol", "exception": _FAILURE}

    with caplog.at_level(logging.ERROR, "asyncio"):
        report_failure(loop, {**failed, "transport": transport})
        transport.abort()
        report_failure(loop, {**failed, "transport": transport, "message": "not heard of"})
        report_failure(loop, {**failed, "message": "without a connection"})
    server.close()

    said = [record.message.splitlines()[0] for record in caplog.records]
    assert said == ["Fatal error on SSL protocol", "without a connection"]
