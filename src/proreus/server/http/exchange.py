"""One request on its way to its answer, and what the stages learn about it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from proreus.api.wire.path import Path, unescape
from proreus.api.wire.query import Query, first, parse_query
from proreus.net.http1.messages import Request, Response
from proreus.server.audit.event import AuditEvent
from proreus.server.http.request_info import info_of
from proreus.server.http.seats import NO_SEAT, Seat
from proreus.server.registry.user import ANONYMOUS, User

if TYPE_CHECKING:
    from proreus.server.http.stages.deadline import Deadline

_JSON = ("Content-Type", "application/json")
_NO_CACHE = ("Cache-Control", "no-cache, private")
_WARNING_BUDGET = 4096
_WARNING_SHORT = 256
_WARNINGS_MAX = _WARNING_BUDGET // 8  # more would never be sent: none is so short
# A warning that holds one is not sent at all, as Kubernetes does.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")

Header = tuple[str, str]


class Exchange:
    """Created per request; raises BadPathEscape for a path that cannot be read.

    ``info`` is shared by all requests that are alike but for the ``name`` of their object.
    """

    __slots__ = (
        "_query",
        "audit",
        "audit_id",
        "body_bytes",
        "deadline",
        "flow_headers",
        "headers",
        "info",
        "is_event_stream",
        "is_long_running",
        "is_read",
        "method",
        "name",
        "passed_at",
        "path",
        "request",
        "seat",
        "user",
        "verb",
        "warnings",
    )

    def __init__(self, request: Request) -> None:
        self.request = request
        self.method = request.method
        self.headers: Mapping[str, str] = request.headers
        self.path = unescape(request.raw_path_only)
        self._query: Query | None = None
        asks_watch = "watch" in request.raw_query and self._asks_watch()
        info, self.name = info_of(request.method, self.path, asks_watch=asks_watch)
        self.info = info
        self.verb, self.is_read = info.verb, info.is_read
        self.is_long_running = info.is_long_running
        self.user: User = ANONYMOUS
        self.seat: Seat = NO_SEAT
        self.flow_headers: tuple[Header, ...] = ()  # which schema and level it falls under
        self.warnings: list[str] = []
        self.audit_id = ""
        self.body_bytes = -1  # of its body, once that is read
        self.passed_at = 0.0  # when it left the last stage, by a monotonic clock
        self.audit: AuditEvent | None = None  # None: the request is not recorded
        self.deadline: Deadline | None = None
        self.is_event_stream = False  # a watch that is answered as Server-Sent Events

    @property
    def target(self) -> Path:
        """What the path names."""
        return self.info.target_of(self.name)

    @property
    def query(self) -> Query:
        if self._query is None:
            self._query = parse_query(self.request.raw_query)
        return self._query

    def resume_after(self, version: str) -> None:
        """A watch goes on after this resource version, whatever its query says."""
        query = {key: values for key, values in self.query.items() if key != "sendInitialEvents"}
        self._query = {**query, "resourceVersion": [version]}

    def read_at(self, version: str) -> None:
        """A list is answered as of this resource version, whatever its query says."""
        exactly = {"resourceVersion": [version], "resourceVersionMatch": ["Exact"]}
        self._query = {**self.query, **exactly}

    def warn(self, text: str) -> None:
        if len(self.warnings) < _WARNINGS_MAX and text not in self.warnings:
            self.warnings.append(text)

    def lift_deadline(self) -> None:
        """The request has become a stream."""
        if self.deadline is not None:
            self.deadline.ends = math.inf

    def user_agent(self) -> str:
        return self.headers.get("User-Agent", "")

    def head(
        self, *extra: Header, content: Header = _JSON, cache: Header = _NO_CACHE
    ) -> tuple[Header, ...]:
        """The headers every answer has, and the warnings gathered so far."""
        fixed = (("Audit-Id", self.audit_id), cache, content, *self.flow_headers, *extra)
        return fixed + tuple(_warning_headers(self.warnings)) if self.warnings else fixed

    def json(self, status: int, body: bytes, *extra: Header) -> Response:
        return Response(status, self.head(*extra), body)

    def text(self, status: int, text: str, *extra: Header) -> Response:
        """A plain answer from outside the API, as Go's http package writes it."""
        content = ("Content-Type", "text/plain; charset=utf-8")
        sniff = ("X-Content-Type-Options", "nosniff")
        return Response(status, self.head(sniff, *extra, content=content), text.encode())

    def _asks_watch(self) -> bool:
        values = self.query.get("watch")
        return bool(values) and first(self.query, "watch").lower() not in ("0", "false")


def _warning_headers(warnings: list[str]) -> list[Header]:
    """Each as ``299 - "text"``; too long together, they are shortened and the last dropped."""
    texts = warnings
    if sum(map(len, warnings)) > _WARNING_BUDGET:
        texts, written = [], 0
        for text in warnings:
            if written >= _WARNING_BUDGET:
                break
            texts.append(text[:_WARNING_SHORT])
            written += len(texts[-1])
    shown = [text for text in texts if text and not _CONTROL.search(text)]
    return [("Warning", f'299 - "{_quoted(text)}"') for text in shown]


def _quoted(text: str) -> str:
    """The bytes of a header are UTF-8, and written one for one."""
    quoted = text.replace("\\", "\\\\").replace('"', '\\"')
    return quoted if quoted.isascii() else quoted.encode().decode("latin-1")
