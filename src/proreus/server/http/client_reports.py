"""What clients report of themselves: informers, queues and reconciles. Kept while they go on.

Reports are posted by the clients, since the server cannot reach into their processes: every
few seconds while somebody looks at this page, seldom otherwise. Bounds: so many clients, so many of
one user, so many bytes each; what is not renewed is forgotten. A report is shown under the user who
sent it, so that nobody can speak for another.
"""

from __future__ import annotations

from dataclasses import field
from typing import Any

from proreus.api.json_types import JsonObject
from proreus.api.status import BadRequest, TooLarge
from proreus.api.values.timestamp import format_micro_time
from proreus.api.wire import json
from proreus.lazy_dataclass import dataclass

REPORT_BYTES_MAX = 256 * 1024
_CLIENTS_MAX, _OF_USER_MAX = 200, 50
_IDENTITY_CHARS_MAX = 253
_WATCHED_S = 30.0  # so long after a look somebody counts as looking
_SOON_S, _SELDOM_S = 2.0, 15.0
_FORGOTTEN_S = 60.0


@dataclass(frozen=True, slots=True)
class ClientReport:
    user: str
    user_agent: str
    identity: str
    informers: list[Any] = field(repr=False)
    controllers: list[Any] = field(repr=False)
    received_s: float  # by the monotonic clock
    received_at: float  # by the calendar

    def to_wire(self) -> JsonObject:
        return {
            "identity": self.identity,
            "user": self.user,
            "userAgent": self.user_agent,
            "updatedAt": format_micro_time(self.received_at),
            "informers": self.informers,
            "controllers": self.controllers,
        }


class ClientReports:
    def __init__(self) -> None:
        self._reports: dict[tuple[str, str], ClientReport] = {}  # the newest at the end
        self._looked_s = -_WATCHED_S

    def take(self, report: ClientReport) -> float:
        """Seconds after which the next one is wanted."""
        now_s = report.received_s
        self._forget_old(now_s)
        key = (report.user, report.identity)
        self._reports.pop(key, None)
        own = [other for other in self._reports if other[0] == report.user]
        if len(own) >= _OF_USER_MAX:
            del self._reports[own[0]]
        elif len(self._reports) >= _CLIENTS_MAX:
            del self._reports[next(iter(self._reports))]
        self._reports[key] = report
        return _SOON_S if now_s - self._looked_s < _WATCHED_S else _SELDOM_S

    def look(self, now_s: float) -> list[ClientReport]:
        self._looked_s = now_s
        self._forget_old(now_s)
        return sorted(self._reports.values(), key=lambda report: (report.user, report.identity))

    def all(self) -> list[ClientReport]:
        """For metrics, which are no reason to report more often."""
        return list(self._reports.values())

    def _forget_old(self, now_s: float) -> None:
        for key, report in list(self._reports.items()):
            if now_s - report.received_s > _FORGOTTEN_S:
                del self._reports[key]

    def __repr__(self) -> str:
        return f"<ClientReports of {len(self._reports)} clients>"


def read_report(
    body: bytes, *, user: str, user_agent: str, now_s: float, now: float
) -> ClientReport:
    """Raises BadRequest, TooLarge."""
    if len(body) > REPORT_BYTES_MAX:
        raise TooLarge(f"Request entity too large: limit is {REPORT_BYTES_MAX}")
    try:
        report = json.decode(body)
    except json.JSONDecodeError as error:
        raise BadRequest("a report must be JSON") from error
    if not isinstance(report, dict):
        raise BadRequest("a report must be an object")
    identity = report.get("identity")
    if not isinstance(identity, str) or not 0 < len(identity) <= _IDENTITY_CHARS_MAX:
        raise BadRequest(f"identity: must have 1 to {_IDENTITY_CHARS_MAX} characters")
    informers, controllers = report.get("informers"), report.get("controllers")
    if not isinstance(informers, list) or not isinstance(controllers, list):
        raise BadRequest("informers, controllers: must be lists")
    try:
        json.encode([[[[report]]]])  # deeper than it will be shown
    except json.JSONEncodeError as error:
        raise BadRequest(
            "a report must not be nested deeply, nor have numbers of any size"
        ) from error
    return ClientReport(user, user_agent, identity, informers, controllers, now_s, now)
