"""PodLogOptions ⇄ the query string: what ``kubectl logs`` asks and a kubelet is asked. Pure."""

from __future__ import annotations

from urllib.parse import urlencode

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.api.status import BadRequest
from proreus.api.values.timestamp import TimeError, canonical_time, parse_time
from proreus.api.wire.query import Query, boolean, first, integer
from proreus.lazy_dataclass import dataclass

LOG_STREAMS = ("All", "Stderr", "Stdout")


@dataclass(frozen=True, slots=True, kw_only=True)
class PodLogOptions:
    """None: not asked for. ``since_time`` is a time of the wire.

    ``insecureSkipTLSVerifyBackend`` is not read: kubelets sign for themselves, so there is nothing
    to verify that could be skipped.
    """

    container: str = ""
    follow: bool = False
    previous: bool = False
    since_seconds: int | None = None
    since_time: str = ""
    timestamps: bool = False
    tail_lines: int | None = None
    limit_bytes: int | None = None
    stream: str = "All"

    def violations(self) -> list[FieldError]:
        found: list[FieldError] = []
        if self.tail_lines is not None and self.tail_lines < 0:
            text = "must be greater than or equal to 0"
            found.append(field_error.invalid("tailLines", self.tail_lines, text))
        if self.limit_bytes is not None and self.limit_bytes < 1:
            found.append(
                field_error.invalid("limitBytes", self.limit_bytes, "must be greater than 0")
            )
        if self.since_seconds is not None and self.since_time:
            text = "at most one of `sinceTime` or `sinceSeconds` may be specified"
            found.append(field_error.forbidden("[]", text))
        elif self.since_seconds is not None and self.since_seconds < 1:
            found.append(
                field_error.invalid("sinceSeconds", self.since_seconds, "must be greater than 0")
            )
        return found + self._stream_violations()

    def _stream_violations(self) -> list[FieldError]:
        if self.stream not in LOG_STREAMS:
            return [field_error.not_supported("stream", self.stream, LOG_STREAMS)]
        if self.stream != "All" and self.tail_lines is not None:
            text = "`tailLines` and specific `stream` are mutually exclusive for now"
            return [field_error.forbidden("tailLines", text)]
        return []

    def since(self, now: float) -> float | None:
        """The earliest time wanted, in unix time."""
        if self.since_seconds is not None:
            return now - self.since_seconds
        return parse_time(self.since_time) if self.since_time else None

    def encode(self) -> str:
        """As a kubelet is asked: without the container, which is in the path."""
        pairs: list[tuple[str, str | int]] = []
        for name, is_set in (
            ("follow", self.follow),
            ("previous", self.previous),
            ("timestamps", self.timestamps),
        ):
            if is_set:
                pairs.append((name, "true"))
        for name, number in (
            ("sinceSeconds", self.since_seconds),
            ("tailLines", self.tail_lines),
            ("limitBytes", self.limit_bytes),
        ):
            if number is not None:
                pairs.append((name, number))
        if self.since_time:
            pairs.append(("sinceTime", self.since_time))
        if self.stream != "All":
            pairs.append(("stream", self.stream))
        return urlencode(pairs)


def decode_log_options(query: Query) -> PodLogOptions:
    """Raises BadRequest for what cannot be read; combinations are not validated here."""
    since_time = first(query, "sinceTime")
    if since_time:
        try:
            since_time = canonical_time(since_time)
        except TimeError as error:
            raise BadRequest(str(error)) from error
    return PodLogOptions(
        container=first(query, "container"),
        follow=boolean(query, "follow"),
        previous=boolean(query, "previous"),
        since_seconds=integer(query, "sinceSeconds"),
        since_time=since_time,
        timestamps=boolean(query, "timestamps"),
        tail_lines=integer(query, "tailLines"),
        limit_bytes=integer(query, "limitBytes"),
        stream=first(query, "stream") or "All",
    )
