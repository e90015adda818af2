"""What a reflector does next: a state machine without I/O, time or chance.

    ┌─────────► StreamingList ── initial-events-end ──► Watching ◄─┐ closed, cut or silent:
    │             │ refused, anything else                 │  └────┘ reopen at last version
    │             ▼                                        │
    │           Listing ── last page ──► Watching          │ 410, very short, other errors
    │             │ error                                  ▼
    └───────── BackingOff ◄────────────────────────────────┘  (429 or refused: then reopen)

``ReflectorStateMachine`` keeps the last version, whether it is unavailable, if the server pages
and how often it failed to stream a list, and turns the end of each request into the next state.
``reflector`` carries the states out. Rules and their reasons: DESIGN.md beside this file.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TypeAlias

from proreus.api.status import ApiError, Expired, ResourceVersionTooLarge, TooManyRequests
from proreus.net.client.transport_error import ConnectFailed, StreamSilent, TransportError

PAGE_SIZE = 500
SHORT_STREAM_S = 1.0
UNFINISHED_LISTS_MAX = 2

Failure: TypeAlias = ApiError | TransportError


@dataclass(frozen=True, slots=True)
class Listing:
    """LIST one page. ``resource_version`` belongs to the first page; later ones have a token."""

    resource_version: str
    limit: int
    continue_token: str = ""
    list_version: str = ""  # the first page's, which is the whole list's

    @property
    def is_first_page(self) -> bool:
        return not self.continue_token


@dataclass(frozen=True, slots=True)
class StreamingList:
    """WATCH that begins with the whole collection and marks its end."""

    resource_version: str


@dataclass(frozen=True, slots=True)
class Watching:
    """WATCH for what comes after ``resource_version``."""

    resource_version: str


@dataclass(frozen=True, slots=True)
class BackingOff:
    """Back off, at least as long as the server asked, then go on."""

    then: Listing | StreamingList | Watching
    at_least_s: float = 0.0


State: TypeAlias = Listing | StreamingList | Watching | BackingOff


class Cause(StrEnum):
    """Why a request ended, for counters and logs."""

    CLOSED = "closed"  # by the server, as its timeout demands
    CUT = "cut"  # the connection broke
    SILENT = "silent"  # nothing came, not even a bookmark, until the deadline
    TOO_SHORT = "too short"  # closed at once, and empty
    REFUSED = "refused"  # or not to be reached at all
    THROTTLED = "throttled"
    EXPIRED = "expired"
    UNFINISHED = "unfinished"  # a streamed list without its end mark
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """How a stream ended. ``failure`` None: the server closed it."""

    failure: Failure | None
    was_open: bool
    lasted_s: float
    event_count: int
    is_silent: bool = False


@dataclass(frozen=True, slots=True)
class NextState:
    cause: Cause
    next: State


class ReflectorStateMachine:
    """The reflector's memory. Versions are opaque: remembered and repeated, never compared."""

    def __init__(
        self,
        *,
        stream_lists: bool = True,
        page_size: int = 0,
        begins_newest: bool = False,
        since: str = "",
    ) -> None:
        self._stream_lists = stream_lists
        self._page_size = page_size
        self._last_version = since
        self._resumes = bool(since)
        self._version_unavailable = begins_newest  # then the newest version is asked for
        self._server_pages = False  # even at version "0", so it has no watch cache
        self._unfinished_lists = 0
        self._short_streams = 0

    @property
    def last_version(self) -> str:
        return self._last_version

    def start(self) -> State:
        """After the version that was given, the first time; else with the collection."""
        resumes, self._resumes = self._resumes, False
        return self._watch() if resumes else self.begin()

    def begin(self) -> Listing | StreamingList:
        """A fresh pass: the whole collection, not older than what is known."""
        if self._stream_lists:
            return StreamingList(self._stream_version())
        return self._list()

    def advance(self, resource_version: str) -> None:
        """Everything up to ``resource_version`` has been received."""
        self._last_version = resource_version

    # LIST

    def page_listed(
        self, state: Listing, resource_version: str, continue_token: str
    ) -> Listing | Watching:
        """After a page: the next one, or Watching when the list is complete."""
        list_version = resource_version if state.is_first_page else state.list_version
        if continue_token:
            if state.is_first_page and state.resource_version == "0":
                self._server_pages = True
            return replace(state, continue_token=continue_token, list_version=list_version)
        return self.synced(list_version)

    def list_failed(self, state: Listing, failure: Failure) -> NextState:
        expired = isinstance(failure, Expired)
        if expired and not state.is_first_page:
            # The token outlived the server's history: once more, in one piece.
            return NextState(Cause.EXPIRED, Listing(state.resource_version, limit=0))
        if expired or isinstance(failure, ResourceVersionTooLarge):
            cause = Cause.EXPIRED if expired else Cause.FAILED
            if state.resource_version:
                self._version_unavailable = True
                return NextState(cause, self._list())
            return NextState(cause, self._back_off(self.begin(), failure))
        return NextState(_cause_of(failure), self._back_off(self.begin(), failure))

    # WATCH

    def synced(self, resource_version: str) -> Watching:
        """The whole collection has been received, as of ``resource_version``."""
        self._version_unavailable = False
        self._unfinished_lists = 0
        self._last_version = resource_version
        return Watching(resource_version)

    def stream_ended(self, state: StreamingList | Watching, end: StreamEnd) -> NextState:
        if isinstance(state, StreamingList):
            return self._list_stream_ended(end)
        return self._watch_ended(end)

    def _watch_ended(self, end: StreamEnd) -> NextState:
        failure = end.failure
        if isinstance(failure, TooManyRequests | ConnectFailed):
            return NextState(_cause_of(failure), self._back_off(self._watch(), failure))
        if isinstance(failure, ApiError) or (failure is not None and not end.was_open):
            return NextState(_cause_of(failure), self._back_off(self.begin(), failure))
        if end.lasted_s >= SHORT_STREAM_S:
            self._short_streams = 0
            return NextState(_cause_of_close(end), self._watch())
        if not end.event_count:
            return NextState(Cause.TOO_SHORT, BackingOff(self.begin()))
        # A stream that was short but not in vain is resumed at once; a row of them is paced.
        self._short_streams += 1
        paced = self._short_streams > 1
        return NextState(
            _cause_of_close(end), BackingOff(self._watch()) if paced else self._watch()
        )

    def _list_stream_ended(self, end: StreamEnd) -> NextState:
        failure = end.failure
        if isinstance(failure, TooManyRequests | ConnectFailed):
            again = StreamingList(self._stream_version())
            return NextState(_cause_of(failure), self._back_off(again, failure))
        if isinstance(failure, Expired | ResourceVersionTooLarge):
            if not self._version_unavailable:
                self._version_unavailable = True
                return NextState(_cause_of(failure), StreamingList(""))
            return NextState(_cause_of(failure), self._list())
        if isinstance(failure, ApiError) or not end.was_open:
            return NextState(_cause_of_close(end), self._list())
        return self._list_stream_unfinished(end)

    def _list_stream_unfinished(self, end: StreamEnd) -> NextState:
        """Open, but it ended or fell silent before the end mark. A server that does not know the
        option never sends the mark: then lists are asked for plainly, from now on."""
        if end.is_silent:
            self._unfinished_lists += 1
            if self._unfinished_lists >= UNFINISHED_LISTS_MAX:
                self._stream_lists = False
            return NextState(Cause.UNFINISHED, self._list())
        if end.lasted_s < SHORT_STREAM_S:
            if end.event_count:
                # Cut while the collection was coming: the same again would meet the same fate.
                return NextState(
                    Cause.UNFINISHED, BackingOff(StreamingList(self._stream_version()))
                )
            return NextState(Cause.TOO_SHORT, self._list())
        return NextState(Cause.UNFINISHED, StreamingList(self._stream_version()))

    # Requests

    def _watch(self) -> Watching:
        return Watching(self._last_version)

    def _stream_version(self) -> str:
        return "" if self._version_unavailable else self._last_version

    def _list(self) -> Listing:
        version = "" if self._version_unavailable else self._last_version or "0"
        if self._page_size:
            limit = self._page_size
        elif self._server_pages or version in ("", "0"):
            limit = PAGE_SIZE
        else:
            limit = 0  # so that the server's watch cache may answer
        return Listing(version, limit)

    @staticmethod
    def _back_off(then: Listing | StreamingList | Watching, failure: Failure | None) -> BackingOff:
        asked_s = failure.retry_after_s if isinstance(failure, ApiError) else 0
        return BackingOff(then, at_least_s=float(asked_s))


def _cause_of(failure: Failure | None) -> Cause:
    match failure:
        case ConnectFailed():
            return Cause.REFUSED
        case TooManyRequests():
            return Cause.THROTTLED
        case Expired():
            return Cause.EXPIRED
        case StreamSilent():
            return Cause.SILENT
        case TransportError():
            return Cause.CUT
        case _:
            return Cause.FAILED


def _cause_of_close(end: StreamEnd) -> Cause:
    if end.is_silent:
        return Cause.SILENT
    return Cause.CLOSED if end.failure is None else _cause_of(end.failure)
