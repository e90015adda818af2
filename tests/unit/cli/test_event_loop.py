"""What commands report of their event loop."""

from __future__ import annotations

import asyncio
import logging

import pytest

from proreus.cli.event_loop import report_failure


async def test_a_connection_that_was_closed_while_tls_began_is_no_failure(
    caplog: pytest.LogCaptureFixture,
) -> None:
    loop = asyncio.get_running_loop()
    closed = RuntimeError("unable to perform operation on a transport; the handler is closed")

    with caplog.at_level(logging.ERROR, "asyncio"):
        report_failure(loop, {"message": "Fatal error on SSL protocol", "exception": closed})
        report_failure(loop, {"message": "a bug", "exception": RuntimeError("of ours")})
        report_failure(loop, {"message": "no exception"})

    said = [record.message.splitlines()[0] for record in caplog.records]
    assert said == ["a bug", "no exception"]
