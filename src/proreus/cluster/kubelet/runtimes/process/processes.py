"""A process group on this machine: started, waited for, signalled, never left behind.

Each is a session of its own. From the moment its program runs, its first process is killed by the
kernel when the kubelet dies, however that happens (PR_SET_PDEATHSIG); when the first process ends,
the rest of its group is killed, as the end of a container's first process ends the container. What
escaped to a session of its own is found by ``leftovers``, by its environment or its mark. Linux
only: pidfds say when a process has ended.
"""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import errno
import fcntl
import os
import resource
import shutil
import signal
import stat
import struct
import subprocess
import termios
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from proreus.cluster.kubelet.runtimes.process.descriptors import DescriptorReader, DescriptorWriter
from proreus.cluster.kubelet.runtimes.process.guard import LIMIT
from proreus.cluster.kubelet.runtimes.process.marks import UNMARKED

_PR_SET_PDEATHSIG = 1
_prctl = ctypes.CDLL(None, use_errno=True).prctl
SIGNALLED = 128


class CannotExecute(Exception):
    """The command is not there or cannot be run; the text is for the user."""


@dataclass(frozen=True, slots=True)
class Command:
    """``mark`` is inherited by all that it starts (``marks``)."""

    arguments: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    mark: int = UNMARKED


@dataclass(frozen=True, slots=True)
class Ends:
    """Our ends of a process's descriptors. With a terminal, all three are one."""

    stdin: DescriptorWriter | None
    stdout: DescriptorReader
    stderr: DescriptorReader | None
    terminal: int | None

    def close(self) -> None:
        for end in (self.stdin, self.stdout, self.stderr):
            if end is not None:
                end.close()


class Process:
    """Made by ``spawn``. ``wait`` reaps; it may be called by many."""

    def __init__(self, started: subprocess.Popen[bytes], ends: Ends) -> None:
        self.pid = started.pid
        self.ends = ends
        self._started = started
        self._pidfd = os.pidfd_open(started.pid)
        loop = asyncio.get_running_loop()
        self._ended: asyncio.Future[int] = loop.create_future()
        loop.add_reader(self._pidfd, self._reap, loop)

    @property
    def exit_code(self) -> int | None:
        return self._ended.result() if self._ended.done() else None

    async def wait(self) -> int:
        """The exit code; 128 and the signal's number for a process that was killed."""
        return await asyncio.shield(self._ended)

    def signal(self, number: int, *, to_group: bool = False) -> None:
        """To the first process alone, which knows what to do with those it started, or to all."""
        if not self._ended.done():
            with contextlib.suppress(ProcessLookupError):
                (os.killpg if to_group else os.kill)(self.pid, number)

    def kill(self) -> None:
        """The whole group, at once."""
        self.signal(signal.SIGKILL, to_group=True)

    def resize(self, width: int, height: int) -> None:
        terminal = self.ends.terminal
        if terminal is not None and not self._ended.done():
            size = struct.pack("HHHH", height & 0xFFFF, width & 0xFFFF, 0, 0)
            with contextlib.suppress(OSError):
                fcntl.ioctl(terminal, termios.TIOCSWINSZ, size)

    def _reap(self, loop: asyncio.AbstractEventLoop) -> None:
        loop.remove_reader(self._pidfd)
        os.close(self._pidfd)
        # Before it is reaped, so that the group's number cannot have become another's.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        code = self._started.wait()
        if not self._ended.done():
            self._ended.set_result(code if code >= 0 else SIGNALLED - code)

    def __repr__(self) -> str:
        return f"<Process {self.pid}, {'running' if self.exit_code is None else self.exit_code}>"


def spawn(command: Command, *, stdin: bool = False, tty: bool = False) -> Process:
    """Raises ``CannotExecute``. Call it on the loop's thread: processes die with their starter."""
    if tty:
        ours, theirs = os.openpty()
        kept = [theirs]
        channels = (theirs, theirs, theirs)
    else:
        ours, kept = -1, []
        channels = (
            subprocess.PIPE if stdin else subprocess.DEVNULL,
            subprocess.PIPE,
            subprocess.PIPE,
        )
    try:
        _check_program(command)
        launcher = () if tty else _launcher_of(command.mark)
        started = subprocess.Popen(
            [*launcher, *command.arguments],
            stdin=channels[0],
            stdout=channels[1],
            stderr=channels[2],
            cwd=command.folder,
            env=dict(command.environment),
            start_new_session=True,
            preexec_fn=None
            if launcher
            else _in_child(os.getpid(), command.mark, with_terminal=tty),
        )
    except (OSError, ValueError, subprocess.SubprocessError) as failure:
        if tty:
            os.close(ours)
        raise CannotExecute(_why(command.arguments[0], failure)) from failure
    finally:
        for descriptor in kept:
            os.close(descriptor)
    try:
        return Process(started, _ends(started, ours, stdin=stdin, tty=tty))
    except OSError as failure:  # too many open files: better no process than one without us
        os.killpg(started.pid, signal.SIGKILL)
        started.communicate()
        raise CannotExecute(_why(command.arguments[0], failure)) from failure


def _ends(started: subprocess.Popen[bytes], terminal: int, *, stdin: bool, tty: bool) -> Ends:
    if tty:
        writer = DescriptorWriter(os.dup(terminal)) if stdin else None
        return Ends(writer, DescriptorReader(terminal), None, terminal)
    assert started.stdout is not None and started.stderr is not None
    pipes = [os.dup(pipe.fileno()) for pipe in (started.stdout, started.stderr)]
    writer = DescriptorWriter(os.dup(started.stdin.fileno())) if started.stdin else None
    for pipe in (started.stdin, started.stdout, started.stderr):
        if pipe is not None:
            pipe.close()
    return Ends(writer, DescriptorReader(pipes[0]), DescriptorReader(pipes[1]), None)


def _launcher_of(mark: int) -> tuple[str, ...]:
    asking, marking = _launcher(), _marker()
    if mark == UNMARKED or not asking:
        return asking
    return (*asking, *marking, f"--rttime={mark}:{mark}", "--") if marking else ()


@lru_cache(maxsize=1)
def _marker() -> tuple[str, ...]:
    """A program that sets a limit and becomes another; empty if there is none."""
    found = shutil.which("prlimit")
    if found is None:
        return ()
    tried = subprocess.run([found, "--rttime", "--", "true"], capture_output=True, check=False)
    return (found,) if tried.returncode == 0 else ()


@lru_cache(maxsize=1)
def _launcher() -> tuple[str, ...]:
    """A program that asks to die with its parent and becomes another; empty if there is none.

    Doing so ourselves takes a fork of this whole process, which is fifteen times slower (6 ms with
    128 MB) and holds up everything else. Until it has asked, only the ``guard`` would end it: a
    kubelet killed within that millisecond leaves it to that.
    """
    found = shutil.which("setpriv")
    if found is None:
        return ()
    launcher = (found, "--pdeathsig", "KILL", "--")
    tried = subprocess.run([*launcher, "true"], capture_output=True, check=False)
    return launcher if tried.returncode == 0 else ()


def _check_program(command: Command) -> None:
    """Raises what executing it would."""
    program = command.arguments[0]
    if "/" not in program:
        if shutil.which(program, path=command.environment.get("PATH", os.defpath)) is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), program)
        return
    path = command.folder / program
    status = path.stat()
    if not stat.S_ISREG(status.st_mode) or not os.access(path, os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), program)


def _in_child(kubelet: int, mark: int, *, with_terminal: bool) -> Callable[[], None]:
    """Runs between fork and exec, where other threads' locks may be held: system calls only."""

    def prepare() -> None:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != kubelet:
            os._exit(SIGNALLED + signal.SIGKILL)  # it died before prctl took effect
        if mark != UNMARKED:
            resource.setrlimit(LIMIT, (mark, mark))
        if with_terminal:
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    return prepare


def _why(program: str, failure: Exception) -> str:
    match failure:
        case FileNotFoundError() if "/" not in program:
            return f'exec: "{program}": executable file not found in $PATH'
        case OSError():
            return f'exec: "{program}": {(failure.strerror or str(failure)).lower()}'
        case _:
            return f'exec: "{program}": {failure}'
