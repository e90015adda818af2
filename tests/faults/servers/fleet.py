"""Several ``proreus server`` processes on one etcd, each stopped and started again at will."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from proreus.client import AuthSettings, ClientConfig
from proreus.net.private_files import write_private
from tests.faults.cluster.programs import Program
from tests.ports import reserved_ports


@dataclass(slots=True)
class Fleet:
    """``ports`` stay the same; over plain HTTP, with one token for all."""

    programs: list[Program]
    ports: list[int]
    token: str

    def config(self, port: int) -> ClientConfig:
        auth = AuthSettings(token=self.token, over_loopback_http=True)
        return ClientConfig(host=f"http://127.0.0.1:{port}", auth=auth, rate_limit=None)

    async def restart(self, index: int) -> None:
        """In good order, as whoever installs a new version does."""
        program = self.programs[index]
        assert await asyncio.to_thread(program.stop) == 0
        await asyncio.to_thread(program.start)

    async def kill(self, index: int) -> None:
        """As a machine that fails would, and comes back."""
        await asyncio.to_thread(self.programs[index].kill)
        await asyncio.to_thread(self.programs[index].start)


@contextlib.asynccontextmanager
async def fleet(count: int, etcd: Sequence[str], folder: Path) -> AsyncIterator[Fleet]:
    token = secrets.token_hex(16)
    with reserved_ports(count) as ports:
        programs = []
        for port in ports:
            data = folder / str(port)
            data.mkdir(mode=0o700)
            write_private(data / "admin.token", token.encode())
            flags = ["--data-dir", str(data), "--port", str(port), "--insecure-http"]
            flags += ["--etcd", ",".join(etcd)]
            programs.append(Program("server", flags, data / "said.log"))
        started = Fleet(programs, ports, token)
        try:
            await asyncio.gather(*(asyncio.to_thread(each.start) for each in programs))
            yield started
        finally:
            for each in programs:
                if each.process is not None:
                    await asyncio.to_thread(each.stop)
