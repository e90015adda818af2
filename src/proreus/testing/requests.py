"""What a server was asked, by whom, and what it answered: ``server.requests``.

    async def test_a_website_is_served(server):
        ...
        server.requests.by("website-operator").of("patch", "websites/status").happened(times=1)
        server.requests.of("delete", "persistentvolumeclaims").never_happened()

Each part narrows the requests down; ``happened`` and ``never_happened`` are assertions, whose
failure shows the history. Between two of them ``len``, iteration and ``[-1]`` work as on a list.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from proreus.api.json_types import JsonObject
from proreus.api.wire import json

_KEPT = 10_000
_SHOWN = 40
_WRITES = frozenset({"create", "update", "patch", "delete", "deletecollection"})
_READS = frozenset({"get", "list", "watch"})


@dataclass(slots=True, eq=False)
class RecordedRequest:
    """One request. ``status`` is 0 until it is answered (a watch: until it ends), and stays 0 if it
    was broken off. ``revision_before`` and ``revision_after``: of all that is stored, when it came
    and when it was answered."""

    number: int
    at_s: float
    method: str
    verb: str
    path: str
    query: str
    user_agent: str
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    user: str = ""
    status: int = 0
    is_over: bool = False
    is_long_running: bool = False  # a watch, a log, a stream
    revision_before: int = 0
    revision_after: int = 0
    events_sent: int = 0  # of a watch
    as_of: int = 0  # of a list: the revision that a fault lets it show; 0: what it asked for
    body: bytearray = field(default_factory=bytearray, repr=False)
    answer: bytes = field(default=b"", repr=False)

    @property
    def is_write(self) -> bool:
        return self.verb in _WRITES

    @property
    def is_in_flight(self) -> bool:
        return not self.is_over

    @property
    def object(self) -> JsonObject | None:
        """What was sent, decoded; None without a body of JSON."""
        return _decoded(bytes(self.body))

    @property
    def reason(self) -> str:
        """Of a refusal: ``Conflict``, ``NotFound``; "" of success."""
        found = _decoded(self.answer) if self.status >= 400 else None
        return str(found.get("reason") or "") if found else ""

    def __str__(self) -> str:
        what = f"{self.path}?{self.query}" if self.query else self.path
        outcome = str(self.status) if self.status else "broken off" if self.is_over else "in flight"
        if self.reason:
            outcome += f" {self.reason}"
        if self.verb == "watch":
            outcome += f", {self.events_sent} events"
        if self.as_of:
            outcome += f", as of version {self.as_of}"
        who = self.user_agent.partition(" ")[0] or "?"
        return f"{self.at_s:9.3f}s {who} ({self.user or '?'}) {self.method} {what} → {outcome}"


@dataclass(frozen=True, slots=True)
class Which:
    """Which requests are meant. ``verb``: a verb, an HTTP method, ``read``, ``write`` or ``*``.
    ``resource``: as kubectl names it, with a subresource behind a slash; ``pods`` alone means the
    objects, ``pods/*`` their subresources too. ``user_agent`` and ``user`` are patterns, and a
    user agent's beginning is enough."""

    verb: str = "*"
    resource: str = "*"
    name: str = "*"
    namespace: str = "*"
    user_agent: str = ""
    user: str = ""

    def matches(self, asked: RecordedRequest) -> bool:
        return (
            self._has_verb(asked)
            and self._is_of_resource(asked)
            and self.is_named(asked.name, asked.namespace)
            and self.is_by(asked)
        )

    def is_named(self, name: str, namespace: str) -> bool:
        return fnmatchcase(name, self.name) and fnmatchcase(namespace, self.namespace)

    def is_by(self, asked: RecordedRequest) -> bool:
        agent, user = self.user_agent, self.user
        return (
            not agent or asked.user_agent.startswith(agent) or fnmatchcase(asked.user_agent, agent)
        ) and (not user or fnmatchcase(asked.user, user))

    def _has_verb(self, asked: RecordedRequest) -> bool:
        match self.verb:
            case "*":
                return True
            case "read":
                return asked.verb in _READS
            case "write":
                return asked.is_write
            case verb:
                return verb in (asked.verb, asked.method)

    def _is_of_resource(self, asked: RecordedRequest) -> bool:
        if self.resource == "*":
            return True
        named, _, subresource = self.resource.partition("/")
        plural, _, group = named.partition(".")
        return (
            fnmatchcase(asked.resource, plural)
            and (not group or fnmatchcase(asked.group, group))
            and fnmatchcase(asked.subresource, subresource)
        )

    def __str__(self) -> str:
        text = f"{self.verb} {self.resource}"
        if self.name != "*":
            text += f" {self.name}"
        if self.namespace != "*":
            text += f" in {self.namespace}"
        by = " and ".join(filter(None, (self.user_agent, self.user)))
        return f"{text} by {by}" if by else text


class Requests:
    """See the module. A selection shares its history, and follows it."""

    def __init__(self, history: deque[RecordedRequest] | None = None, *which: Which) -> None:
        self._history: deque[RecordedRequest] = deque(maxlen=_KEPT) if history is None else history
        self._which = which

    def of(
        self, verb: str = "*", resource: str = "*", name: str = "*", namespace: str = "*"
    ) -> Requests:
        return self._narrowed(Which(verb, resource, name, namespace))

    def by(self, user_agent: str = "", *, user: str = "") -> Requests:
        return self._narrowed(Which(user_agent=user_agent, user=user))

    def answered(self, status: int) -> list[RecordedRequest]:
        return [asked for asked in self if asked.status == status]

    @property
    def in_flight(self) -> list[RecordedRequest]:
        """Begun and not answered, watches and streams aside."""
        return [asked for asked in self if asked.is_in_flight and not asked.is_long_running]

    @property
    def newest(self) -> int:
        """The number of the last request there was."""
        return self._history[-1].number if self._history else 0

    @property
    def writes(self) -> list[RecordedRequest]:
        return [asked for asked in self if asked.is_write]

    def happened(self, times: int | None = None) -> Requests:
        """Asserts that there was such a request, or so many."""
        count = len(self)
        if (count == 0) if times is None else (count != times):
            wanted = "at least one" if times is None else str(times)
            raise AssertionError(
                f"expected {wanted} of {self._description()}, found {count}; {self._history_text()}"
            )
        return self

    def never_happened(self) -> None:
        self.happened(times=0)

    def clear(self) -> None:
        self._history.clear()

    def add(self, asked: RecordedRequest) -> None:
        self._history.append(asked)

    def __iter__(self) -> Iterator[RecordedRequest]:
        return (
            asked for asked in self._history if all(which.matches(asked) for which in self._which)
        )

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, place: int) -> RecordedRequest:
        return list(self)[place]

    def __bool__(self) -> bool:
        return any(True for _ in self)

    def _narrowed(self, which: Which) -> Requests:
        return Requests(self._history, *self._which, which)

    def _description(self) -> str:
        return " and ".join(map(str, self._which)) or "all requests"

    def _history_text(self) -> str:
        return history_text(self._history)

    def __str__(self) -> str:
        return "\n".join(map(str, self))

    def __repr__(self) -> str:
        return f"<Requests: {len(self)} of {self._description()}>"


def history_text(history: Iterable[RecordedRequest]) -> str:
    """The last requests, a line each, for an assertion that failed."""
    told = list(history)
    shown = "\n  ".join(map(str, told[-_SHOWN:]))
    older = f"\n  ({len(told) - _SHOWN} before)" if len(told) > _SHOWN else ""
    return f"the server was asked:{older}\n  {shown}" if told else "the server was asked nothing"


def _decoded(text: bytes) -> JsonObject | None:
    try:
        found = json.decode(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
