"""A worker's line to its owner."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

from proreus.cli.owned_process.order import encoded_order, ended_with, receive_order
from proreus.cli.workers.messages import Answering, Failed, decoded_report, encoded_report
from proreus.server.config import ServerConfig
from proreus.server.worker import Worker


async def test_a_worker_is_asked_to_end_when_its_owner_is_gone() -> None:
    owner, own = socket.socketpair()
    asked = asyncio.Event()
    with own, ended_with(own, asked):
        await asyncio.sleep(0)
        assert not asked.is_set()

        owner.close()

        async with asyncio.timeout(60):
            await asked.wait()


def test_a_configuration_arrives_as_it_was_sent() -> None:
    config = ServerConfig(etcd=("http://127.0.0.1:1",), worker=Worker(2, 3, "run", Path("/here")))
    owner, own = socket.socketpair()
    with owner, own:
        owner.sendall(encoded_order(config))

        assert receive_order(own, ServerConfig) == config


def test_reports_arrive_as_they_were_sent_and_silence_is_a_failure() -> None:
    for report in (Answering(), Failed("etcd is away")):
        assert decoded_report(encoded_report(report)) == report
    assert decoded_report(b"") == Failed("it ended before it was ready")
