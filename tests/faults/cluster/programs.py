"""The programs of a cluster in processes of their own, to be killed and started again."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from proreus.client import Client, load_config
from tests.closing import all_closed
from tests.ports import reserved_port

END_TIMEOUT_S = 60


@dataclass(slots=True)
class Program:
    """``proreus NAME FLAGS``, or a test's own ``module``. What it says is in ``said``, what it
    logs in ``log``."""

    name: str
    flags: Sequence[str]
    log: Path
    module: str = ""
    process: subprocess.Popen[str] | None = None
    said: str = ""

    def start(self) -> None:
        assert self.process is None
        command = [self.module] if self.module else ["proreus.cli.main", self.name]
        with self.log.open("a") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", *command, *self.flags],
                stdout=subprocess.PIPE, stderr=log, text=True,
            )  # fmt: skip
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline()
        assert self.said, f"{self.name} ended at once: {self.log.read_text()}"

    def kill(self) -> None:
        """As a machine that fails would: no chance to say good-bye."""
        self._end(signal.SIGKILL)

    def stop(self) -> int:
        return self._end(signal.SIGINT)

    def freeze(self) -> None:
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        assert self.process is not None
        os.kill(self.process.pid, signal.SIGCONT)

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def _end(self, number: signal.Signals) -> int:
        process, self.process = self.process, None
        assert process is not None
        assert process.stdout is not None
        process.send_signal(number)
        try:
            return process.wait(timeout=END_TIMEOUT_S)
        finally:
            process.stdout.close()


@dataclass(slots=True)
class Cluster:
    """A server on a port that stays the same, and parts that are found by their names."""

    folder: Path
    main: Program
    parts: dict[str, Program] = field(default_factory=dict)

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "data" / "kubeconfig"

    @contextlib.asynccontextmanager
    async def client(self) -> AsyncIterator[Client]:
        async with Client(replace(load_config(self.kubeconfig), rate_limit=None)) as client:
            yield client
        await all_closed()

    def program(self, name: str) -> Program:
        return self.main if name == self.main.name else self.parts[name]

    def add(self, label: str, command: str, *flags: str) -> Program:
        """Start a part under a label of its own."""
        log = self.folder / f"{label}.log"
        program = Program(command, ["--kubeconfig", str(self.kubeconfig), *flags], log)
        self.parts[label] = program
        program.start()
        return program

    def remove(self, label: str) -> None:
        program = self.parts.pop(label)
        if program.process is not None:
            program.kill()


@contextlib.contextmanager
def cluster(folder: Path, command: str, *flags: str, module: str = "") -> Iterator[Cluster]:
    """``command`` is ``server`` or ``up``, on the same port each time it is started."""
    with reserved_port() as port:
        where = ["--data-dir", str(folder / "data"), "--port", str(port)]
        main = Program(command, [*where, *flags], folder / f"{command}.log", module)
        made = Cluster(folder, main)
        try:
            main.start()
            yield made
        finally:
            for program in (*made.parts.values(), main):
                if program.process is not None:
                    program.kill()
