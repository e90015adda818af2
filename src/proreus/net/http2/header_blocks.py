"""Header blocks of HTTP/2: those of requests to a ``Head``, and those of answers from headers.

What RFC 9113, 8.2 and 8.3 say of a request's fields is checked here; the rest are the rules of
HTTP/1.1 (``http1/request_head``). Headers that came before are known, as there.

Answers keep no table: each field stands by itself, so that making it costs no search. Such a head
is some 200 bytes longer than it could be.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from hpack.hpack import encode_integer
from hpack.table import HeaderTable
from multidict import CIMultiDict, CIMultiDictProxy

from proreus.net.http1.messages import Head
from proreus.net.http1.request_head import (
    HEAD_BYTES_MAX,
    LENGTH,
    METHOD,
    TARGET,
    BadHead,
    Headers,
    check,
)
from proreus.net.http2.hpack_decoder import HeaderField, HpackDecoder

VERSION = (2, 0)
_PSEUDO = frozenset({":method", ":scheme", ":path", ":authority"})
# Those of one connection (RFC 9113, 8.2.2); in an answer they are left out.
_OF_CONNECTION = frozenset(
    {"connection", "keep-alive", "proxy-connection", "transfer-encoding", "upgrade"}
)
_KNOWN_MAX = 64
_KNOWN_FIELDS_MAX = 32


class HeadReader:
    """Of one connection: the table that both sides keep, and the headers that came before."""

    def __init__(self) -> None:
        self._decoder = HpackDecoder(HEAD_BYTES_MAX)
        self._known: dict[tuple[HeaderField, ...], Headers] = {}

    def read(self, block: bytes) -> Head:
        """Raises BadBlock, BadHead."""
        pseudo: dict[str, str] = {}
        length: HeaderField | None = None
        others: list[HeaderField] = []  # the authority among them
        is_headers = False
        for field in self._decoder.decode(block):
            name = field.name
            if name in _PSEUDO:
                if is_headers or name in pseudo or not field.is_good:
                    raise BadHead("a pseudo-header is malformed, given twice or behind a header")
                pseudo[name] = field.value
                if name == ":authority":
                    others.append(field)
                continue
            is_headers = True
            if name == "content-length" and length is None:
                length = field
            else:
                others.append(field)
        return _head(pseudo, self._headers(tuple(others), length))

    def _headers(self, fields: tuple[HeaderField, ...], length: HeaderField | None) -> Headers:
        """Raises BadHead."""
        headers = self._known.get(fields)
        if headers is None:
            headers = _made(fields)
            if len(fields) <= _KNOWN_FIELDS_MAX:
                if len(self._known) >= _KNOWN_MAX:
                    self._known.clear()
                self._known[fields] = headers
        if length is None:
            return headers
        if LENGTH.fullmatch(length.value) is None or "Content-Length" in headers:
            raise BadHead("the length is malformed or given twice")
        sized = headers.copy()
        sized["Content-Length"] = length.value
        return CIMultiDictProxy(sized)

    def skip(self, block: bytes) -> None:
        """Of a request that is refused: the table must follow. Raises BadBlock."""
        self._decoder.decode(block)

    def read_trailers(self, block: bytes) -> None:
        """They are dropped. Raises BadBlock, BadHead."""
        for field in self._decoder.decode(block):
            _check(field)


def _head(pseudo: dict[str, str], headers: Headers) -> Head:
    """Raises BadHead."""
    method, target = pseudo.get(":method", ""), pseudo.get(":path", "")
    is_path = target[:1] == "/" and TARGET.fullmatch(target.encode("utf-8", "surrogateescape"))
    if not (is_path or (method == "OPTIONS" and target == "*")):
        raise BadHead("the path is malformed or missing")
    if not _is_method(method) or not pseudo.get(":scheme"):
        raise BadHead("the method or the scheme is malformed or missing")
    return Head(method, target, headers, VERSION)


@lru_cache(64)
def _is_method(method: str) -> bool:
    """CONNECT has another form, which nobody needs here."""
    encoded = method.encode("utf-8", "surrogateescape")
    return METHOD.fullmatch(encoded) is not None and method != "CONNECT"


def _made(fields: tuple[HeaderField, ...]) -> Headers:
    """Raises BadHead."""
    made: CIMultiDict[str] = CIMultiDict()
    cookies: list[str] = []
    authority = ""
    for field in fields:
        if field.name == ":authority":
            authority = field.value
            continue
        _check(field)
        if field.name == "cookie":  # may come in crumbs (RFC 9113, 8.2.3)
            cookies.append(field.value)
        else:
            made.add(field.name, field.value)
    if cookies:
        made.add("cookie", "; ".join(cookies))
    if authority and made.setdefault("Host", authority) != authority:
        raise BadHead("the host is given twice")
    if "Host" not in made:
        raise BadHead("a request needs an authority")
    headers = CIMultiDictProxy(made)
    check(headers)
    return headers


def _check(field: HeaderField) -> None:
    """Raises BadHead."""
    if not field.is_good or field.name[:1] == ":":
        raise BadHead("a header is malformed")
    if field.name in _OF_CONNECTION or (field.name == "te" and field.value != "trailers"):
        raise BadHead("a header is of another protocol")


# ---- Answers

# An encoder whose table is empty says so once: a client may allow none at all (RFC 7541, 4.2).
NO_TABLE = b"\x20"
CONTINUE = b"\x08\x03100"
_STATUSES = {200: b"\x88", 204: b"\x89", 304: b"\x8b", 400: b"\x8c", 404: b"\x8d", 500: b"\x8e"}
_STATIC = {
    name.decode(): at for at, (name, _) in reversed([*enumerate(HeaderTable.STATIC_TABLE, 1)])
}
_NEVER_INDEXED = frozenset({"set-cookie"})  # nor by a proxy behind us


def answer_block(
    status: int, headers: Iterable[tuple[str, str]], date: bytes, size: int | None = None
) -> bytes:
    """``date``: as a line of HTTP/1.1. ``size``: of the body, if that is known."""
    made = [_STATUSES.get(status) or b"\x08\x03%d" % status]
    for name, value in headers:
        start = _start(name)
        if start:
            made.append(start + _text(value.encode("latin-1", "replace")))
    made.append(_DATE + _text(date[6:-2]))
    if size is not None:
        made.append(_SIZE + _text(b"%d" % size))
    return b"".join(made)


@lru_cache(512)
def _start(name: str) -> bytes:
    """A field before its value: "literal header field without indexing". None of some names."""
    lower = name.lower()
    if lower in _OF_CONNECTION:
        return b""
    number = encode_integer(_STATIC.get(lower, 0), 4)
    if lower in _NEVER_INDEXED:
        number[0] |= 0x10
    literal = b"" if lower in _STATIC else _text(lower.encode("latin-1", "replace"))
    return bytes(number) + literal


def _text(value: bytes) -> bytes:
    size = len(value)
    return (bytes((size,)) if size < 127 else bytes(encode_integer(size, 7))) + value


_DATE = _start("date")
_SIZE = _start("content-length")
