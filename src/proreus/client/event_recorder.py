"""Writes Event objects about what a program did to other objects, for people to read.

    recorder = EventRecorder(client.core_v1.events, "my-operator")
    recorder.event(pod, "Warning", "FailedMount", "volume data is not there")

Recording never blocks and never fails: events wait in bounded mailboxes, and when they are full the
newest is dropped and counted. ``run`` writes them, in its owner's TaskGroup: a few at a time, those
about one object always by the same writer, so that an object's events are written in their order
and counted up one after the other. A writer rests after each, the longer the longer the server
took: one that is busy is left to what the events are about. At the end, what still waits gets one
short chance.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import random
import socket
from collections.abc import Mapping
from typing import Protocol

from proreus.aio.clock import Clock, SystemClock, deadline
from proreus.aio.mailbox import Mailbox, MailboxClosed, MailboxFull
from proreus.aio.tasks import raise_if_cancelled
from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject, ObjectLike
from proreus.api.status import AlreadyExists, ApiError, NotFound
from proreus.api.values.timestamp import format_time
from proreus.client.event_correlation import EventCorrelator, EventSubject, EventWrite, Occurrence
from proreus.net.client.transport_error import TransportError

log = logging.getLogger(__name__)

NORMAL = "Normal"
WARNING = "Warning"
WAITING_MAX = 1_000
TRIES = 12
RETRY_S = 10.0
WRITERS = 4  # more would only take the server's time from what the events are about
FLUSH_S = 1.0
_RESTS_PER_WRITE, _REST_MAX_S = 3, 1.0
_NAME_MAX = 253


class EventWriter(Protocol):
    """The events of one namespace."""

    async def create(self, body: JsonObject, /) -> KubeObject: ...

    async def patch(self, name: str, patch: JsonObject, /, *, type: str) -> KubeObject: ...  # noqa: A002


class Events(Protocol):
    """The events resource; called with a namespace it gives that namespace's."""

    def __call__(self, namespace: str, /) -> EventWriter: ...


class EventRecorder:
    """Records events of one component (Kubernetes: source, reporting controller).

    ``waiting_max`` is client-go's bound; who speaks for many components at once, as a process of
    several nodes does, needs more. ``writers``: how many events are written at once. ``turns``: who
    of several recorders writes; they take one for each event, and for the rest after it.
    """

    def __init__(
        self,
        events: Events,
        component: str,
        *,
        instance: str = "",
        waiting_max: int = WAITING_MAX,
        writers: int = WRITERS,
        turns: asyncio.Semaphore | None = None,
        clock: Clock | None = None,
        randomness: random.Random | None = None,
    ) -> None:
        self._events = events
        self._component = component
        self._instance = instance or socket.gethostname()
        self._clock = clock or SystemClock()
        self._random = randomness or random.Random()
        # One per writer; the limit holds for all of them together.
        self._mailboxes: list[Mailbox[EventWrite]] = [
            Mailbox(limit=waiting_max) for _ in range(writers)
        ]
        self._waiting_max = waiting_max
        self._turns = turns or asyncio.Semaphore(writers)
        self._correlator = EventCorrelator(self._new_name)
        self._begun: list[EventWrite] = []  # taken and not written yet: one per writer at most
        self._is_first_retry = True
        self._kept_out_count = 0
        self.dropped_count = 0  # mailbox full, too many alike, or refused by the server
        self.written_count = 0

    def event(
        self,
        obj: ObjectLike,
        type: str,  # noqa: A002  # the word of the API
        reason: str,
        message: str,
        *,
        annotations: Mapping[str, str] | None = None,
    ) -> None:
        """Something happened to ``obj``. ``type`` is Normal or Warning, ``reason`` CamelCase."""
        if type not in (NORMAL, WARNING):
            raise ValueError(f"an event is Normal or Warning, not {type!r}")
        extra = tuple(sorted(annotations.items())) if annotations else ()
        occurrence = Occurrence(
            _subject(obj), type, reason, message, self._clock.now(), annotations=extra
        )
        # Correlated before it is queued: a flood about one object must not keep out the others.
        write = self._correlator.correlate(occurrence)
        if write is None:
            self.dropped_count += 1
            return
        try:
            if self.waiting_count >= self._waiting_max:
                raise MailboxFull
            writer = hash(occurrence.subject.identity) % len(self._mailboxes)
            self._mailboxes[writer].put_nowait(write)
        except (MailboxFull, MailboxClosed):
            self.dropped_count += 1
            self._kept_out_count += 1
            # A flood of events must not become one of log lines: logged at 1, 2, 4, 8, …
            if self._kept_out_count & (self._kept_out_count - 1) == 0:
                log.warning(
                    "events dropped, too many wait: count=%d last_reason=%s last_message=%s",
                    self._kept_out_count, reason, message,
                )  # fmt: skip

    @property
    def waiting_count(self) -> int:
        return sum(map(len, self._mailboxes))

    async def run(self) -> None:
        """Write what is recorded, until cancelled; what still waits then gets one short chance."""
        try:
            await self._write_all(tries=TRIES)
        finally:
            for mailbox in self._mailboxes:
                mailbox.close()
            with contextlib.suppress(TimeoutError):
                async with deadline(self._clock, FLUSH_S):
                    for write in list(self._begun):
                        await self._record(write, tries=1)
                    await self._write_all(tries=1)

    async def _write_all(self, *, tries: int) -> None:
        async with asyncio.TaskGroup() as writers:
            for mailbox in self._mailboxes:
                writers.create_task(self._write_from(mailbox, tries=tries), name="events")

    async def _write_from(self, mailbox: Mailbox[EventWrite], *, tries: int) -> None:
        with contextlib.suppress(MailboxClosed):
            while True:
                write = await mailbox.get()
                self._begun.append(write)
                async with self._turns if not mailbox.is_closed else contextlib.nullcontext():
                    began = self._clock.monotonic()
                    await self._record(write, tries=tries)
                    self._begun.remove(write)
                    took_s = self._clock.monotonic() - began
                    if took_s > 0 and not mailbox.is_closed:
                        await self._clock.sleep(min(took_s * _RESTS_PER_WRITE, _REST_MAX_S))

    async def _record(self, write: EventWrite, *, tries: int) -> None:
        try:
            is_written = await self._write(write, tries)
        except (Exception, asyncio.CancelledError) as failure:
            # One event must not end the writing of all others.
            raise_if_cancelled(failure)
            log.exception("event given up: name=%s", write.name)
            is_written = False
        if is_written:
            self.written_count += 1
        else:
            self.dropped_count += 1

    async def _write(self, write: EventWrite, tries: int) -> bool:
        """A server that answers has decided; only one that does not is asked again."""
        for tried in range(tries):
            try:
                await self._write_once(write)
                return True
            except AlreadyExists:
                return True  # an earlier try, whose answer was lost
            except ApiError as refused:
                # What a namespace that is being deleted does not take is not missed.
                causes = {cause.get("reason") for cause in refused.causes}
                level = logging.INFO if "NamespaceTerminating" in causes else logging.WARNING
                log.log(level, "event refused: name=%s failure=%r", write.name, refused)
                return False
            except (TransportError, asyncio.CancelledError) as failure:
                raise_if_cancelled(failure)
                log.info("event not written: name=%s failure=%r", write.name, failure)
                if tried + 1 < tries:
                    await self._clock.sleep(self._pause_s())
        log.warning("event given up: name=%s tries=%d", write.name, tries)
        return False

    def _pause_s(self) -> float:
        """Spread over time at first, so that a server that comes back is not met by all at once."""
        first, self._is_first_retry = self._is_first_retry, False
        return RETRY_S * self._random.random() if first else RETRY_S

    async def _write_once(self, write: EventWrite) -> None:
        writer = self._events(write.occurrence.subject.namespace or "default")
        if write.is_repeat:
            try:
                await writer.patch(write.name, write.patch(), type="strategic")
                return
            except NotFound:
                write = self._correlator.recreated(write)
        await writer.create(self._content(write))

    def _content(self, write: EventWrite) -> JsonObject:
        occurrence = write.occurrence
        metadata: JsonObject = {
            "name": write.name,
            "namespace": occurrence.subject.namespace or "default",
        }
        if occurrence.annotations:
            metadata["annotations"] = dict(occurrence.annotations)
        return {
            "apiVersion": "v1",
            "kind": "Event",
            "metadata": metadata,
            "involvedObject": occurrence.subject.reference(),
            "type": occurrence.type,
            "reason": occurrence.reason,
            "message": occurrence.message,
            "firstTimestamp": format_time(write.first_at),
            "lastTimestamp": format_time(occurrence.at),
            "eventTime": None,  # of another way to count events; Go's clients write it too
            "count": write.count,
            "source": {"component": self._component, "host": self._instance},
            "reportingComponent": self._component,
            "reportingInstance": self._instance,
        }

    def _new_name(self, subject: EventSubject) -> str:
        """The object's name and the time in hexadecimal nanoseconds; random bits tell apart events
        of one moment."""
        unique = f"{int(self._clock.now() * 1e9) + self._random.getrandbits(20):x}"
        return f"{subject.name[: _NAME_MAX - len(unique) - 1]}.{unique}"

    def __repr__(self) -> str:
        return f"<EventRecorder {self._component}, {self.waiting_count} waiting>"


def _subject(obj: ObjectLike) -> EventSubject:
    """KubeObject or dict: what an event says about its object."""
    known = KubeObject.from_dict(obj)
    return EventSubject(
        api_version=known.api_version,
        kind=known.kind,
        namespace=known.namespace,
        name=known.name,
        uid=known.uid,
        resource_version=known.resource_version,
    )
