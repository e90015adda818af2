"""One run of a container: start, hooks, probes, output, end.

Receives: a command, from ``pod``.  Hands on: what happened, to the container's state machine.
Whatever ends it, no process of the container is left.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from proreus.aio.clock import deadline
from proreus.aio.gate import Gate
from proreus.aio.mailbox import Mailbox, MailboxClosed, MailboxFull
from proreus.aio.tasks import background
from proreus.client.event_recorder import NORMAL, WARNING
from proreus.cluster.kubelet.runtimes.process.descriptors import DescriptorReader
from proreus.cluster.kubelet.runtimes.process.folders import ContainerFolder
from proreus.cluster.kubelet.runtimes.process.handlers import HandlerTarget, call_handler
from proreus.cluster.kubelet.runtimes.process.log_files import LogWriter
from proreus.cluster.kubelet.runtimes.process.log_format import Channel
from proreus.cluster.kubelet.runtimes.process.log_reading import tail_text
from proreus.cluster.kubelet.runtimes.process.orphaned_processes import record_of
from proreus.cluster.kubelet.runtimes.process.probe_workers import ProbeWorkers, RunContext
from proreus.cluster.kubelet.runtimes.process.processes import (
    CannotExecute,
    Command,
    Process,
    spawn,
)
from proreus.cluster.kubelet.runtimes.process.state_machine import ContainerStateMachine
from proreus.cluster.kubelet.runtimes.states import (
    MESSAGE_BYTES,
    MESSAGE_LINES,
    MESSAGE_LOG_BYTES,
    Running,
    Terminated,
)
from proreus.cluster.untrusted_files import forget_record, read_regular

_START_FAILED = 128
_AFTER_HOOK_S = 2.0  # what a container gets after a hook that took all of its grace
_LAST_OUTPUT_S = 2.0
_HOOK_MAX_S = 3600.0
# What an attached client may leave unread of each output.
LISTENER_BYTES_MAX = 4 * 1024 * 1024
_PIECE_OVERHEAD = 128  # of memory, so that tiny pieces count for what they take


class OutputBuffer:
    """Output that waits for an attached client; bounded by its bytes."""

    def __init__(self) -> None:
        self._pieces: Mailbox[bytes] = Mailbox()
        self._waiting = 0

    def put_nowait(self, piece: bytes) -> None:
        """Raises MailboxFull, MailboxClosed."""
        size = len(piece) + _PIECE_OVERHEAD
        if self._waiting + size > LISTENER_BYTES_MAX:
            raise MailboxFull
        self._pieces.put_nowait(piece)
        self._waiting += size

    async def get(self) -> bytes:
        """Raises MailboxClosed."""
        piece = await self._pieces.get()
        self._waiting -= len(piece) + _PIECE_OVERHEAD
        return piece

    def close(self) -> None:
        self._pieces.close()


class OutputSubscriber:
    """The output of a container from now on; a subscriber that is too slow is closed."""

    def __init__(self) -> None:
        self.stdout = OutputBuffer()
        self.stderr = OutputBuffer()

    def close(self) -> None:
        self.stdout.close()
        self.stderr.close()

    def publish(self, channel: Channel, piece: bytes) -> None:
        try:
            (self.stdout if channel == "stdout" else self.stderr).put_nowait(piece)
        except MailboxFull:
            self.close()
        except MailboxClosed:
            return


class ContainerRun:
    """``run`` it once. ``stop`` may come at any time."""

    def __init__(
        self,
        machine: ContainerStateMachine,
        folder: ContainerFolder,
        command: Command,
        context: RunContext,
        container_id: str,
        log: LogWriter,
    ) -> None:
        self.machine = machine
        self.container_id = container_id
        self.log = log
        self.process: Process | None = None
        self._spec = machine.spec
        self._folder = folder
        self._command = command
        self._context = context
        self._number = machine.next_restart
        self._listeners: set[OutputSubscriber] = set()
        self._stop_requested = Gate()
        self._stop_by = float("inf")
        self._runs_stop_hook = True
        self._stop_moved = asyncio.Event()

    def command(self, arguments: Sequence[str], **variables: str) -> Command:
        """As the container itself would run it."""
        environment = {**self._command.environment, **variables}
        return replace(self._command, arguments=arguments, environment=environment)

    def stop(self, by: float, why: str = "", *, runs_hook: bool = True) -> None:
        """End it until ``by``. A further call can only shorten the time."""
        if by >= self._stop_by:
            return
        self._runs_stop_hook = runs_hook
        self._stop_by = by
        self._stop_moved.set()
        if not self._stop_requested.is_open:
            self._stop_requested.open()
            self._context.record_event(
                NORMAL, "Killing", why or f"Stopping container {self._spec.name}"
            )

    def subscribe(self) -> OutputSubscriber:
        listener = OutputSubscriber()
        self._listeners.add(listener)
        if self._spec.content.get("tty"):
            listener.stderr.close()  # a terminal has but one output
        return listener

    def unsubscribe(self, listener: OutputSubscriber) -> None:
        listener.close()
        self._listeners.discard(listener)

    async def run(self) -> None:
        begun, reason, message = self._context.clock.now(), "", ""
        try:
            self.process = self._start()
        except CannotExecute as failure:
            self._context.record_event(WARNING, "Failed", f"Error: {failure}")
            code, reason, message = _START_FAILED, "StartError", str(failure)
        else:
            code = await self._wait_end(self.process)
        finally:
            self.log.close()
        state = self.machine.state
        started_at = state.started_at if isinstance(state, Running) else begun
        message = message or await asyncio.to_thread(self._termination_message, code)
        now = self._context.clock.now()
        self.machine.ended(Terminated(code, started_at, now, reason, message, self.container_id))
        self._context.changed()

    def _start(self) -> Process:
        content = self._spec.content
        stdin, tty = bool(content.get("stdin")), bool(content.get("tty"))
        process = spawn(self._command, stdin=stdin, tty=tty)
        self._context.record_event(NORMAL, "Created", f"Container created: {self._spec.name}")
        return process

    async def _wait_end(self, process: Process) -> int:
        ends, is_clear = process.ends, False
        try:
            record_of(process.pid).write(self._folder.record)
            async with asyncio.TaskGroup() as group:
                pumps = [group.create_task(self._pump(ends.stdout, "stdout"))]
                if ends.stderr is not None:
                    pumps.append(group.create_task(self._pump(ends.stderr, "stderr")))
                async with background(self._run_hook_and_probes(), self._stop_when_asked(process)):
                    code = await process.wait()
                await self._kill_group(process)
                is_clear = True
                with contextlib.suppress(TimeoutError):
                    async with deadline(self._context.clock, _LAST_OUTPUT_S):
                        await asyncio.wait(pumps)
                ends.close()
        finally:
            if not is_clear:
                await self._kill_group(process)
            ends.close()
            forget_record(self._folder.record)
            for listener in self._listeners:
                listener.close()
        return code

    async def _kill_group(self, process: Process) -> None:
        """Also what went to a session of its own."""
        process.kill()
        await process.wait()
        await self._context.sweep.clear(self._folder.root, self._command.mark)

    async def _pump(self, reader: DescriptorReader, channel: Channel) -> None:
        async for piece in reader:
            self.log.write(channel, piece)
            for listener in self._listeners:
                listener.publish(channel, piece)

    async def _run_hook_and_probes(self) -> None:
        """From the start on: the hook, then the probes."""
        target, clock = self._target(), self._context.clock
        hook = (self._spec.content.get("lifecycle") or {}).get("postStart")
        if hook:
            answer = await call_handler(hook, target, _HOOK_MAX_S)
            if not answer.is_success:
                said = f"PostStartHook failed: {answer.text}"
                self._context.record_event(WARNING, "FailedPostStartHook", said)
                self._kill(self._context.grace_s, f"FailedPostStartHook of {self._spec.name}")
                return
        self.machine.set_running(self.container_id, clock.now())
        self._context.record_event(NORMAL, "Started", f"Container started: {self._spec.name}")
        self._context.changed()
        await ProbeWorkers(self.machine, target, self._context, self._kill).run()

    def _kill(self, grace_s: float, why: str) -> None:
        self.stop(self._context.clock.now() + grace_s, why)

    async def _stop_when_asked(self, process: Process) -> None:
        await self._stop_requested.wait_open()
        lifecycle, clock = self._spec.content.get("lifecycle") or {}, self._context.clock
        if self._runs_stop_hook and (hook := lifecycle.get("preStop")):
            left_s = max(self._stop_by - clock.now(), 0.0)
            answer = await call_handler(hook, self._target(), left_s + _AFTER_HOOK_S)
            if not answer.is_success:
                self._context.record_event(
                    WARNING, "FailedPreStopHook", f"PreStopHook failed: {answer.text}"
                )
            self._stop_by = max(self._stop_by, clock.now() + _AFTER_HOOK_S)
        process.signal(_stop_signal(lifecycle.get("stopSignal") or ""))
        while (left_s := self._stop_by - clock.now()) > 0:
            self._stop_moved.clear()
            with contextlib.suppress(TimeoutError):
                async with deadline(clock, left_s):
                    await self._stop_moved.wait()
        process.kill()

    def _target(self) -> HandlerTarget:
        return HandlerTarget(self._spec, self._context.pod_ip, self.command, self._context.clock)

    def _termination_message(self, code: int) -> str:
        """``terminationMessagePath``, or the end of the log if the policy says so. Reads files that
        may be long or on a slow disk: not on the loop."""
        try:
            found = read_regular(self._folder.termination_log(self._spec), MESSAGE_BYTES)
            said = found.decode("utf-8", "replace")
        except OSError:
            said = ""
        policy = self._spec.content.get("terminationMessagePolicy")
        if said or code == 0 or policy != "FallbackToLogsOnError":
            return said
        log: Path = self._folder.logs / str(self._number)
        return tail_text(log, lines=MESSAGE_LINES, limit_bytes=MESSAGE_LOG_BYTES)

    def __repr__(self) -> str:
        return f"<Life {self._number} of {self._spec.name}, {self.process}>"


def _stop_signal(name: str) -> int:
    found = getattr(signal, name, None) if name.startswith("SIG") else None
    return int(found) if found is not None else int(signal.SIGTERM)
