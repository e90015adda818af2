"""A reader at work: one shell per page, in an empty folder, and what runs in other terminals."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

from tests.documentation.blocks import Block
from tests.documentation.commands import Command, commands_of
from tests.documentation.transcript import Revisions, difference, line_matches
from tests.ports import reserved_port

DEADLINE_S = 90  # ends a broken run; nothing takes so long
END = "--end-of-command--"
SERVERS = ("proreus up", "proreus server")
UNTIL_WATCHED = (
    "until kubectl get --raw /metrics |"
    " grep -q '^apiserver_longrunning_requests{.*WATCH.* [1-9]'; do sleep 0.1; done"
)


class Terminal:
    """A command that runs beside the shell, and what it has printed."""

    def __init__(self, words: list[str], folder: Path, environment: dict[str, str]) -> None:
        self._process = subprocess.Popen(
            words,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.lines: list[str] = []
        self._changed = threading.Condition()
        self._has_ended = False
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            with self._changed:
                self.lines.append(line.rstrip("\n"))
                self._changed.notify_all()
        with self._changed:
            self._has_ended = True
            self._changed.notify_all()

    def wait_printed(self, said: str, revisions: Revisions) -> None:
        """Until the lines have come, in this order, others between them."""
        expected = [line for line in said.splitlines() if line.strip() != "…"]

        def has_come() -> bool:
            at = 0
            for seen in self.lines:
                if at < len(expected) and line_matches(expected[at], seen, revisions):
                    at += 1
            return at == len(expected)

        with self._changed:
            self._changed.wait_for(lambda: has_come() or self._has_ended, DEADLINE_S)
            assert has_come(), f"not printed in this order:\n{said}\nbut\n" + "\n".join(self.lines)

    def end(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGINT)
        try:
            self._process.wait(DEADLINE_S)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._reader.join()
            assert self._process.stdout
            self._process.stdout.close()


class Session:
    """Runs the blocks of a page in order. ``port`` is its server's, before a restart and after."""

    def __init__(self, folder: Path, port: int) -> None:
        self._folder = folder
        self._port = port
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        self._environment = {**os.environ, "HOME": str(folder), "PATH": path}
        self._environment.pop("KUBECONFIG", None)
        self._revisions = Revisions()
        self._terminals: list[tuple[Terminal, str]] = []
        self._shell = subprocess.Popen(
            ["bash", "--noprofile", "--norc"],
            cwd=folder,
            env=self._environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    def run(self, block: Block, printed: Block | None) -> None:
        """``printed`` is the block behind it, if that says what it prints."""
        if block.ends_the_last:
            last, said = self._terminals.pop()
            last.wait_printed(said, self._revisions)
            last.end()
        if block.title:
            path = self._folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
        elif block.language in {"console", "sh"}:
            for command in commands_of(block):
                self._command(block, command)
        elif block.language == "python":
            self._program(block, printed)
        elif block.language == "yaml":
            (self._folder / "block.yaml").write_text(block.text)
            self._sure("kubectl apply --dry-run=server -f block.yaml")

    def start(self, server: str) -> None:
        """A server that other sessions use too."""
        self._serve(Command(server, None, 0))

    def use(self, data_dir: Path) -> None:
        """The server that the page takes for granted."""
        (self._folder / data_dir.name).symlink_to(data_dir)
        self._sure(f"export KUBECONFIG=$PWD/{data_dir.name}/kubeconfig")

    def finish(self) -> None:
        """What was said of other terminals has been printed there."""
        for terminal, said in self._terminals:
            terminal.wait_printed(said, self._revisions)

    def close(self) -> None:
        for terminal, _ in reversed(self._terminals):
            terminal.end()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._shell.pid, signal.SIGKILL)
        self._shell.communicate()

    def _command(self, block: Block, command: Command) -> None:
        if command.text.startswith(SERVERS):
            self._serve(command)
        elif block.is_elsewhere:
            words = ["bash", "-c", f"exec {command.text}"]
            self._beside(words, command.printed or "")
            if "watch=1" in command.text:
                self._sure(UNTIL_WATCHED)  # who begins late misses what is written meanwhile
        elif command.printed is None:
            self._sure(command.text)
        else:
            code, seen = self._shell_run(command.text)
            wrong = difference(command.printed, seen, self._revisions)
            assert not wrong, f"$ {command.text}\n{wrong}"
            assert code == 0 or command.printed, f"$ {command.text}\nexit code {code}"

    def _program(self, block: Block, printed: Block | None) -> None:
        (self._folder / "block.py").write_text(block.text)
        seen = self._sure("python block.py")
        if printed is not None:
            wrong = difference(printed.text, seen, self._revisions)
            assert not wrong, wrong

    def _serve(self, command: Command) -> None:
        words = shlex.split(command.text, comments=True)
        words = [sys.executable, "-m", "proreus.cli.main", *words[1:], "--port", str(self._port)]
        terminal = self._beside(words, "")
        terminal.wait_printed("…KUBECONFIG=…", self._revisions)

    def _beside(self, words: list[str], said: str) -> Terminal:
        _, text = self._shell_run("env -0 | tr '\\0\\n' '\\n '")
        environment = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
        terminal = Terminal(words, self._folder, environment)
        self._terminals.append((terminal, said))
        return terminal

    def _sure(self, command: str) -> str:
        code, seen = self._shell_run(command)
        assert code == 0, f"$ {command}\nexit code {code}\n{seen}"
        return seen

    def _shell_run(self, command: str) -> tuple[int, str]:
        assert self._shell.stdin and self._shell.stdout
        body = f"{{ {command}\n}} </dev/null"
        self._shell.stdin.write(f"{body}\nprintf '\\n{END} %d\\n' $?\n")
        self._shell.stdin.flush()
        giving_up = threading.Timer(DEADLINE_S, os.killpg, (self._shell.pid, signal.SIGKILL))
        giving_up.start()
        seen: list[str] = []
        try:
            for line in self._shell.stdout:
                if line.startswith(END):
                    text = "".join(seen)
                    return int(line.split()[1]), text[:-1] if text.endswith("\n") else text
                seen.append(line)
        finally:
            giving_up.cancel()
        raise AssertionError(f"$ {command}\ndid not end; it printed\n{''.join(seen)}")


@contextlib.contextmanager
def session(folder: Path) -> Iterator[Session]:
    with reserved_port() as port:
        opened = Session(folder, port)
        try:
            yield opened
            opened.finish()
        finally:
            opened.close()
