"""The head of an answer: its status and headers, and what they say about what follows.

Pure: bytes in, a head out. Strict where RFC 9112 leaves a choice, as ``http1/request_head`` is for
the server: line ends of two characters, nothing folded, chunks or one length and never both.
Cost: servers repeat most lines of their heads, so lines are remembered by their bytes; a usual head
of eight lines costs about 3 µs.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from proreus.net.client.response_body import UntilClose
from proreus.net.http1.request_body import Chunked, Framing, Sized
from proreus.net.http1.request_head import HEADER_LINES, LENGTH

HEADERS_MAX = 200
_STATUS_LINE = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: [^\x00-\x08\x0a-\x1f\x7f]*)?")
_BEGINNING = b"HTTP/1."
_REMEMBERED_MAX = 512
_REMEMBERED_BYTES_MAX = 256
# What differs from one answer to the next would only drive out what does not.
_EACH_TIME = frozenset({"audit-id", "content-length", "etag", "x-request-id"})
_OF_FRAMING = frozenset({"content-length", "transfer-encoding", "connection", "content-encoding"})
_PLAIN = re.compile(rb"[0-9A-Za-z\"/_.-]*")
_WITHOUT_BODY = frozenset({204, 304})
_SWITCHING = 101

Pair = tuple[str, str]


class BadResponse(Exception):
    """No answer of HTTP/1.1 looks like this."""


class ResponseHead(NamedTuple):
    """``pairs`` have names in lower case. ``length`` is None if chunks follow (``is_chunked``), or
    whatever comes until the connection ends."""

    status: int
    pairs: list[Pair]
    length: int | None = None
    is_chunked: bool = False
    keeps_alive: bool = True
    coding: str = ""  # of the content, in lower case

    @property
    def is_interim(self) -> bool:
        """Another head follows."""
        return self.status < 200 and self.status != _SWITCHING

    def framing(self, method: str) -> Framing:
        """Of the body, as an answer to a request of this method has it."""
        if self.status == _SWITCHING:
            return UntilClose()
        if method == "HEAD" or self.status in _WITHOUT_BODY:
            return Sized(0)
        if self.length is not None:
            return Sized(self.length)
        return Chunked() if self.is_chunked else UntilClose()


class ResponseHeads:
    """Shared by a client's connections; what it remembers is bounded."""

    def __init__(self) -> None:
        self._statuses: dict[bytes, tuple[int, bool]] = {}
        self._lines: dict[bytes, Pair] = {}
        self._each_time: dict[bytes, str] = {}  # names, as they were spelled

    def read(self, data: bytes, end: int) -> ResponseHead:
        """The head in ``data``, whose empty line begins at ``end``. Raises BadResponse."""
        first, *lines = data[:end].split(b"\r\n")
        status, is_newest = self._statuses.get(first) or self._status(first)
        if len(lines) > HEADERS_MAX:
            raise BadResponse("there are too many headers")
        known = self._lines
        pairs = [known.get(line) or self._pair(line) for line in lines]
        framing = [pair for pair in pairs if pair[0] in _OF_FRAMING]
        if is_newest and len(framing) == 1 and framing[0][0] == "content-length":
            return ResponseHead(status, pairs, _length(framing[0][1]))
        return _framed(status, pairs, framing, is_newest=is_newest)

    def _status(self, line: bytes) -> tuple[int, bool]:
        found = _STATUS_LINE.fullmatch(line)
        if found is None:
            raise BadResponse("the status line is malformed")
        status = int(found[2]), found[1] == b"1"
        if len(self._statuses) < _REMEMBERED_MAX and len(line) <= _REMEMBERED_BYTES_MAX:
            self._statuses[line] = status
        return status

    def _pair(self, line: bytes) -> Pair:
        name, _, value = line.partition(b": ")
        known = self._each_time.get(name)
        if known is not None and _PLAIN.fullmatch(value) is not None:
            return known, value.decode()
        if HEADER_LINES.fullmatch(line + b"\r\n") is None:
            raise BadResponse("a header is malformed")
        name, _, value = line.partition(b":")
        text = value.strip(b" \t").decode("utf-8", "surrogateescape")
        pair = (name.decode().lower(), text)
        if pair[0] in _EACH_TIME:
            if len(self._each_time) < _REMEMBERED_MAX:
                self._each_time[name] = pair[0]
        elif len(line) <= _REMEMBERED_BYTES_MAX:
            if len(self._lines) >= _REMEMBERED_MAX:
                self._lines.clear()
            self._lines[line] = pair
        return pair


def _framed(
    status: int, pairs: list[Pair], framing: list[Pair], *, is_newest: bool
) -> ResponseHead:
    lengths = {value for name, value in framing if name == "content-length"}
    codings = [value.lower() for name, value in framing if name == "transfer-encoding"]
    options = {
        option.strip().lower()
        for name, value in framing
        if name == "connection"
        for option in value.split(",")
    }
    if len(lengths) > 1:
        raise BadResponse("there are several lengths")
    if codings and (lengths or codings != ["chunked"] or not is_newest):
        raise BadResponse("a body comes in chunks alone")
    length = _length(lengths.pop()) if lengths else None
    keeps_alive = "close" not in options and (is_newest or "keep-alive" in options)
    coding = ",".join(value.lower() for name, value in framing if name == "content-encoding")
    return ResponseHead(status, pairs, length, bool(codings), keeps_alive, coding)


def _length(text: str) -> int:
    if LENGTH.fullmatch(text) is None:
        raise BadResponse("the length is malformed")
    return int(text)


def check_beginning(data: bytes) -> None:
    """So that noise is refused at once and not awaited to its end. Raises BadResponse."""
    if not data.startswith(_BEGINNING[: len(data)]):
        raise BadResponse("no answer begins like this")
