"""One life of a container: start, hooks, probes, output, end.

Receives: a command, from ``pod``.  Hands on: what happened, to the container's course.
Whatever ends it, no process of the container is left.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Sequence
from pathlib import Path

from proreus.aio.clock import deadline
from proreus.aio.gate import Gate
from proreus.aio.mailbox import Mailbox, MailboxClosed, MailboxFull
from proreus.aio.tasks import background
from proreus.client.event_recorder import NORMAL, WARNING
from proreus.cluster.kubelet.runtimes.process.asking import Target, ask
from proreus.cluster.kubelet.runtimes.process.course import ContainerCourse
from proreus.cluster.kubelet.runtimes.process.descriptors import DescriptorReader
from proreus.cluster.kubelet.runtimes.process.folders import ContainerFolder
from proreus.cluster.kubelet.runtimes.process.leftovers import record_of
from proreus.cluster.kubelet.runtimes.process.log_files import LogWriter
from proreus.cluster.kubelet.runtimes.process.log_format import Channel
from proreus.cluster.kubelet.runtimes.process.log_reading import tail_text
from proreus.cluster.kubelet.runtimes.process.probing import LifeSetting, Probing
from proreus.cluster.kubelet.runtimes.process.processes import (
    CannotExecute,
    Command,
    Process,
    spawn,
)
from proreus.cluster.kubelet.runtimes.states import Running, Terminated

_START_FAILED = 128
_AFTER_HOOK_S = 2.0  # what a container gets after a hook that took all of its grace
_LAST_OUTPUT_S = 2.0
_HOOK_MAX_S = 3600.0
_MESSAGE_BYTES, _MESSAGE_LINES, _MESSAGE_LOG_BYTES = 4096, 80, 2048
_LISTENER_PIECES = 256


class Listener:
    """What a container writes from now on, until it ends; one that is too slow is cut off."""

    def __init__(self) -> None:
        self.stdout: Mailbox[bytes] = Mailbox(limit=_LISTENER_PIECES)
        self.stderr: Mailbox[bytes] = Mailbox(limit=_LISTENER_PIECES)

    def close(self) -> None:
        self.stdout.close()
        self.stderr.close()

    def hear(self, channel: Channel, piece: bytes) -> None:
        try:
            (self.stdout if channel == "stdout" else self.stderr).put_nowait(piece)
        except MailboxFull:
            self.close()
        except MailboxClosed:
            return


class Life:
    """``run`` it once. ``stop`` may come at any time."""

    def __init__(
        self,
        course: ContainerCourse,
        folder: ContainerFolder,
        command: Command,
        setting: LifeSetting,
        container_id: str,
        log: LogWriter,
    ) -> None:
        self.course = course
        self.container_id = container_id
        self.log = log
        self.process: Process | None = None
        self._spec = course.spec
        self._folder = folder
        self._command = command
        self._set = setting
        self._number = course.next_restart
        self._listeners: set[Listener] = set()
        self._asked_to_stop = Gate()
        self._stop_by = float("inf")
        self._stop_moved = asyncio.Event()

    def command(self, arguments: Sequence[str], **variables: str) -> Command:
        """As the container itself would run it."""
        environment = {**self._command.environment, **variables}
        return Command(arguments, environment, self._command.folder)

    def stop(self, by: float, why: str = "") -> None:
        """End it until ``by``. Said again, it can only come earlier."""
        if by >= self._stop_by:
            return
        self._stop_by = by
        self._stop_moved.set()
        if not self._asked_to_stop.is_open:
            self._asked_to_stop.open()
            self._set.say(NORMAL, "Killing", why or f"Stopping container {self._spec.name}")

    def listen(self) -> Listener:
        listener = Listener()
        self._listeners.add(listener)
        if self._spec.content.get("tty"):
            listener.stderr.close()  # a terminal has but one output
        return listener

    def leave(self, listener: Listener) -> None:
        listener.close()
        self._listeners.discard(listener)

    async def run(self) -> None:
        begun, reason, message = self._set.clock.now(), "", ""
        try:
            self.process = self._start()
        except CannotExecute as failure:
            self._set.say(WARNING, "Failed", f"Error: {failure}")
            code, reason, message = _START_FAILED, "StartError", str(failure)
        else:
            code = await self._until_end(self.process)
        finally:
            self.log.close()
        state = self.course.state
        started_at = state.started_at if isinstance(state, Running) else begun
        message = message or self._last_words(code)
        now = self._set.clock.now()
        self.course.ended(Terminated(code, started_at, now, reason, message, self.container_id))
        self._set.changed()

    def _start(self) -> Process:
        content = self._spec.content
        stdin, tty = bool(content.get("stdin")), bool(content.get("tty"))
        process = spawn(self._command, stdin=stdin, tty=tty)
        self._set.say(NORMAL, "Created", f"Container created: {self._spec.name}")
        return process

    async def _until_end(self, process: Process) -> int:
        ends, is_clear = process.ends, False
        try:
            record_of(process.pid).write(self._folder.record)
            async with asyncio.TaskGroup() as group:
                pumps = [group.create_task(self._pump(ends.stdout, "stdout"))]
                if ends.stderr is not None:
                    pumps.append(group.create_task(self._pump(ends.stderr, "stderr")))
                async with background(self._attend(), self._end_when_asked(process)):
                    code = await process.wait()
                await self._kill_rest(process)
                is_clear = True
                with contextlib.suppress(TimeoutError):
                    async with deadline(self._set.clock, _LAST_OUTPUT_S):
                        await asyncio.wait(pumps)
                ends.close()
        finally:
            if not is_clear:
                await self._kill_rest(process)
            ends.close()
            self._folder.record.unlink(missing_ok=True)
            for listener in self._listeners:
                listener.close()
        return code

    async def _kill_rest(self, process: Process) -> None:
        """Also of what went to a session of its own."""
        process.kill()
        await process.wait()
        await self._set.sweep.clear(self._folder.root)

    async def _pump(self, reader: DescriptorReader, channel: Channel) -> None:
        async for piece in reader:
            self.log.write(channel, piece)
            for listener in self._listeners:
                listener.hear(channel, piece)

    async def _attend(self) -> None:
        """From the start on: the hook, then the probes."""
        target, clock = self._target(), self._set.clock
        hook = (self._spec.content.get("lifecycle") or {}).get("postStart")
        if hook:
            answer = await ask(hook, target, _HOOK_MAX_S)
            if not answer.is_success:
                said = f"PostStartHook failed: {answer.text}"
                self._set.say(WARNING, "FailedPostStartHook", said)
                self._kill(self._set.grace_s, f"FailedPostStartHook of {self._spec.name}")
                return
        self.course.runs(self.container_id, clock.now())
        self._set.say(NORMAL, "Started", f"Container started: {self._spec.name}")
        self._set.changed()
        await Probing(self.course, target, self._set, self._kill).run()

    def _kill(self, grace_s: float, why: str) -> None:
        self.stop(self._set.clock.now() + grace_s, why)

    async def _end_when_asked(self, process: Process) -> None:
        await self._asked_to_stop.wait_open()
        lifecycle, clock = self._spec.content.get("lifecycle") or {}, self._set.clock
        if hook := lifecycle.get("preStop"):
            left_s = max(self._stop_by - clock.now(), 0.0)
            answer = await ask(hook, self._target(), left_s + _AFTER_HOOK_S)
            if not answer.is_success:
                self._set.say(WARNING, "FailedPreStopHook", f"PreStopHook failed: {answer.text}")
            self._stop_by = max(self._stop_by, clock.now() + _AFTER_HOOK_S)
        process.signal(_stop_signal(lifecycle.get("stopSignal") or ""))
        while (left_s := self._stop_by - clock.now()) > 0:
            self._stop_moved.clear()
            with contextlib.suppress(TimeoutError):
                async with deadline(clock, left_s):
                    await self._stop_moved.wait()
        process.kill()

    def _target(self) -> Target:
        return Target(self._spec, self._set.pod_ip, self.command, self._set.clock)

    def _last_words(self, code: int) -> str:
        """``terminationMessagePath``, or the end of the log if the policy says so."""
        try:
            with self._folder.termination_log(self._spec).open("rb") as file:
                said = file.read(_MESSAGE_BYTES).decode("utf-8", "replace")
        except OSError:
            said = ""
        policy = self._spec.content.get("terminationMessagePolicy")
        if said or code == 0 or policy != "FallbackToLogsOnError":
            return said
        log: Path = self._folder.logs / str(self._number)
        return tail_text(log, lines=_MESSAGE_LINES, limit_bytes=_MESSAGE_LOG_BYTES)

    def __repr__(self) -> str:
        return f"<Life {self._number} of {self._spec.name}, {self.process}>"


def _stop_signal(name: str) -> int:
    found = getattr(signal, name, None) if name.startswith("SIG") else None
    return int(found) if found is not None else int(signal.SIGTERM)
