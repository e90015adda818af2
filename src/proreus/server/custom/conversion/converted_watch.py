"""A watch of a version that a webhook converts: the stage between watch cache and watcher.

    watch cache ─event─▶ ConvertedFrames ─frame─▶ ConvertedSink ─frame─▶ the watcher's sink
                              └──object──▶ Feed ──webhook──┘

The cache asks for a frame without waiting. If the object is not known in the wanted version yet, it
gets a frame that is still to come, and the object goes to the feed of that version: one call at a
time, for everything that came up since the last. The sink holds back a frame that is to come and
all behind it. So the order is the cache's, an object is converted once for all who watch, and a
slow webhook holds up only the watchers of this version. What waits counts as buffered: a
watcher whose frames wait too long is treated as any slow one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, Protocol

import structlog

from proreus.api.status import ApiError, InternalError
from proreus.server.custom.conversion.selected_watch import SelectedEvents
from proreus.server.custom.conversion.webhook import ConversionRefused
from proreus.server.watch_cache.object import CachedObject
from proreus.server.watch_cache.subscriber import Subscriber
from proreus.server.watch_cache.view import Burst, DeferredFrame, EncodingView, Frame, Sink

_log = structlog.get_logger(__name__)
BATCH_MAX = 500
ConvertBatch = Callable[[Sequence[CachedObject]], Awaitable[list[CachedObject]]]


class PendingConversion:
    """An object on its way to another version; ``result`` is what came of it."""

    __slots__ = ("_waiting", "obj", "result")

    def __init__(self, obj: CachedObject) -> None:
        self.obj = obj
        self.result: CachedObject | ApiError | None = None
        self._waiting: list[Callable[[], None]] = []

    def when_done(self, callback: Callable[[], None]) -> None:
        self._waiting.append(callback)

    def finish(self, result: CachedObject | ApiError) -> None:
        self.result = result
        waiting, self._waiting = self._waiting, []
        for callback in waiting:
            callback()


class ConversionQueue:
    """Objects to be converted, in order. Bounded by what the sinks that wait for them may hold."""

    def __init__(
        self, convert: ConvertBatch, start: Callable[[Coroutine[Any, Any, None]], None]
    ) -> None:
        self._convert = convert
        self._start = start
        self._queue: dict[tuple[str, int], PendingConversion] = {}
        self._is_running = False

    def submit(self, obj: CachedObject) -> PendingConversion:
        place = (obj.key, obj.revision)
        pending = self._queue.get(place)
        if pending is None:
            pending = self._queue[place] = PendingConversion(obj)
            if not self._is_running:
                self._is_running = True
                self._start(self._run())
        return pending

    async def _run(self) -> None:
        """Until nothing is left to convert."""
        try:
            while self._queue:
                batch = [*self._queue.values()][:BATCH_MAX]
                await self._work(batch)
        finally:
            self._is_running = False

    async def _work(self, batch: Sequence[PendingConversion]) -> None:
        try:
            made = await self._convert([pending.obj for pending in batch])
        except ConversionRefused as refused:
            if len(batch) > 1:
                # One that cannot be converted must not fail the others.
                for pending in batch:
                    await self._work((pending,))
                return
            _log.warning("watched object could not be converted", why=refused.message)
            self._finish(batch[0], refused)
        except ApiError as error:
            _log.warning("watched objects could not be converted", why=error.message)
            for pending in batch:
                self._finish(pending, error)
        except Exception as error:  # an unforeseen answer of a webhook ends watches only
            _log.exception("objects could not be converted", objects=len(batch))
            for pending in batch:
                self._finish(pending, InternalError.of(str(error)))
        else:
            for pending, obj in zip(batch, made, strict=True):
                self._finish(pending, obj)

    def _finish(self, pending: PendingConversion, result: CachedObject | ApiError) -> None:
        self._queue.pop((pending.obj.key, pending.obj.revision), None)
        pending.finish(result)

    def __repr__(self) -> str:
        return f"<ConversionQueue: {len(self._queue)} objects to convert>"


class PendingFrame(DeferredFrame):
    """Stands for an event's frame until its object is converted; counts as large as the object.

    Shared by all watchers of a view, like the frame that takes its place.
    """

    __slots__ = ("_encode", "_frame", "burst", "event_type", "pending")

    def __init__(
        self, pending: PendingConversion, event_type: str, encode: Callable[[CachedObject], bytes]
    ) -> None:
        self.pending = pending
        self.event_type = event_type
        self.burst: tuple[Burst, Burst] | None = None  # one it is in, and what became of that
        self._encode = encode
        self._frame: bytes | None = None

    @property
    def obj(self) -> CachedObject:
        result = self.pending.result
        assert isinstance(result, CachedObject), "the sink looks first"
        return result

    def __len__(self) -> int:
        return len(self.pending.obj.item)

    def encoded(self) -> bytes:
        if self._frame is None:
            self._frame = self._encode(self.obj)
        return self._frame


class ConvertedObjects(Protocol):
    """What the frames ask: ``WebhookVersions``, or a test's."""

    def known(self, obj: CachedObject) -> CachedObject | None: ...

    @property
    def feed(self) -> ConversionQueue: ...


class ConvertedFrames:
    """A view of converted objects; equal for equal views of one version.

    ``is_selected``: the sink selects, so that it gets every event with its object.
    """

    __slots__ = ("_is_selected", "_objects", "_view")

    def __init__(
        self, view: EncodingView, objects: ConvertedObjects, *, is_selected: bool = False
    ) -> None:
        self._view = view
        self._objects = objects
        self._is_selected = is_selected

    def event(self, event_type: str, obj: CachedObject) -> Frame:
        return self._frame(obj, event_type, lambda made: self._view.event(event_type, made))

    def first_event(self, event_type: str, obj: CachedObject) -> Frame:
        return self._frame(obj, event_type, lambda made: self._view.first_event(event_type, made))

    def bookmark(self, revision: int, *, initial_events_end: bool) -> bytes:
        return self._view.bookmark(revision, initial_events_end=initial_events_end)

    def first_bookmark(self, revision: int, *, initial_events_end: bool) -> bytes:
        return self._view.first_bookmark(revision, initial_events_end=initial_events_end)

    def error(self, status: Mapping[str, Any]) -> bytes:
        return self._view.error(status)

    def _frame(
        self, obj: CachedObject, event_type: str, encode: Callable[[CachedObject], bytes]
    ) -> Frame:
        found = self._objects.known(obj)
        if found is None:
            return PendingFrame(self._objects.feed.submit(obj), event_type, encode)
        if not self._is_selected:
            return encode(found)
        pending = PendingConversion(obj)
        pending.finish(found)
        return PendingFrame(pending, event_type, encode)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, ConvertedFrames)
            and other._objects is self._objects
            and other._view == self._view
            and other._is_selected == self._is_selected
        )

    def __hash__(self) -> int:
        return hash((ConvertedFrames, id(self._objects), self._view, self._is_selected))

    def __repr__(self) -> str:
        return f"<ConvertedFrames of {self._view!r}>"


class ConvertedSink:
    """Holds back what is not converted yet. ``selected``: shows only what its watcher asked for."""

    def __init__(
        self, sink: Sink, view: EncodingView, selected: SelectedEvents | None = None
    ) -> None:
        self._sink = sink
        self._view = view
        self._selected = selected
        self._has_written = False
        self._subscriber: Subscriber | None = None
        self._waiting: deque[Burst] = deque()
        self._bytes = 0

    def begin(self, subscriber: Subscriber) -> None:
        """Nothing is written before this, as the watch cache promises."""
        self._subscriber = subscriber
        subscriber.when_closed(self._forget)

    def write(self, burst: Burst) -> None:
        to_come = [frame for frame in burst.frames if isinstance(frame, PendingFrame)]
        if not to_come and not self._waiting:
            self._sink.write(burst)
            return
        self._waiting.append(burst)
        self._bytes += _size(burst)
        for frame in to_come:
            if frame.pending.result is None:
                frame.pending.when_done(self._advance)
        self._advance()

    @property
    def buffered(self) -> int:
        return self._sink.buffered + self._bytes

    def close(self) -> None:
        self._sink.close()

    def _advance(self) -> None:
        """Write everything up to the first frame that is still to come."""
        while self._waiting:
            burst = self._waiting[0]
            results = [f.pending.result for f in burst.frames if isinstance(f, PendingFrame)]
            failure = next((found for found in results if isinstance(found, ApiError)), None)
            if failure is not None:
                self._fail(failure)
                return
            if None in results:
                return
            self._waiting.popleft()
            self._bytes -= _size(burst)
            self._pass_on(burst)

    def _pass_on(self, burst: Burst) -> None:
        if self._selected is None:
            self._sink.write(_resolved(burst))
            return
        frames = [self._select(frame, self._selected) for frame in burst.frames]
        if selected := tuple(frame for frame in frames if frame):
            self._sink.write(Burst(selected))

    def _select(self, frame: Frame, selected: SelectedEvents) -> bytes:
        """The frame this watcher gets; empty for none."""
        if not isinstance(frame, PendingFrame):
            return _encoded(frame)
        event = selected.event(frame.event_type, frame.obj)
        if event is None:
            return b""
        write = self._view.event if self._has_written else self._view.first_event
        self._has_written = True
        return write(*event)

    def _fail(self, failure: ApiError) -> None:
        """What was to come cannot come: the watch ends here, and its client tries again."""
        self._forget()
        assert self._subscriber is not None, "events come after the watch has begun"
        self._subscriber.end("conversion failed", InternalError(failure.message).status)

    def _forget(self) -> None:
        self._waiting.clear()
        self._bytes = 0


def _resolved(burst: Burst) -> Burst:
    """The burst with its frames, made once for all who wait for it."""
    first = next((frame for frame in burst.frames if isinstance(frame, PendingFrame)), None)
    if first is None:
        return burst
    if first.burst is None or first.burst[0] is not burst:
        frames = tuple(_encoded(f) for f in burst.frames)
        first.burst = (burst, Burst(frames))
    return first.burst[1]


def _encoded(frame: Frame) -> bytes:
    return frame if isinstance(frame, bytes) else frame.encoded()


def _size(burst: Burst) -> int:
    return sum(map(len, burst.frames))
