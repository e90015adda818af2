"""The head of a request: its line and its headers, and what they say about what follows.

The only parser there is, so that no two can disagree about where a request ends. Strict where RFC
9112 leaves a choice, and where Go's server is: one Host, one length or chunks, line ends of two
characters, nothing folded. A method may be any token, since Kubernetes answers unknown ones
with a Status. Cost: a client repeats its headers, so they are remembered by their
bytes, those of requests with a body but for its length; then a head costs a few microseconds.
"""

from __future__ import annotations

import re

from multidict import CIMultiDict, CIMultiDictProxy

from proreus.net.http1.messages import Head

_TOKEN = rb"[A-Za-z0-9!#$%&'*+.^_`|~-]"
# Without control characters and bytes that are no ASCII; a path, a whole URL, or OPTIONS' asterisk.
_TARGET = rb"/[!-~]*|[Hh][Tt][Tt][Pp][Ss]?://[!-~]+"
_METHOD = rb"[A-Za-z]" + _TOKEN + rb"{0,39}"
METHOD, TARGET = re.compile(_METHOD), re.compile(_TARGET)
_LINE = re.compile(rb"(" + _METHOD + rb") (" + _TARGET + rb"|(?<=^OPTIONS )\*) HTTP/1\.([01])\r\n")
# ``token: value``, without control characters; what is folded begins with no token.
_HEADER = rb"(?:" + _TOKEN + rb"+:[^\x00-\x08\x0a-\x1f\x7f]*\r\n)"
HEADER_LINES = re.compile(_HEADER + rb"*")
_HEADERS = re.compile(_HEADER + rb"*\r\n")
_HOST = re.compile(r"[A-Za-z0-9._~!$&'()*+,;=:%@\[\]-]*")
LENGTH = re.compile(r"[0-9]{1,15}")
_LENGTH_NAME = b"Content-Length: "

HEAD_END = b"\r\n\r\n"
HEAD_BYTES_MAX = 64 * 1024
_HEADERS_MAX = 200
_REMEMBERED_MAX = 512
_REMEMBERED_BYTES_MAX = 4096

Headers = CIMultiDictProxy[str]


class BadHead(Exception):
    """No request begins like this."""


class Heads:
    """Shared by a server's connections; what it remembers is bounded."""

    def __init__(self) -> None:
        self._known: dict[bytes, Headers] = {}  # of requests that nothing follows
        # By their bytes without the digits of the length; apart, since headers that lack them for
        # real are wrong.
        self._known_with_body: dict[bytes, Headers] = {}

    def find(self, data: bytes) -> tuple[Head, bytes] | None:
        """Head and body, if ``data`` is one whole request and its headers are known."""
        end = data.find(HEAD_END, 0, HEAD_BYTES_MAX + len(HEAD_END)) + len(HEAD_END)
        line = _LINE.match(data, 0, end)
        if line is None:
            return None
        method, target, minor = line.groups()
        block = data[line.end() : end]
        size = len(data) - end
        headers = self._again(block) if size else self._known.get(block)
        if headers is None or minor == b"0":
            return None
        if size and int(headers.get("Content-Length", 0)) != size:
            return None
        return Head(method.decode(), target.decode(), headers), data[end:]

    def read(self, data: bytes, end: int) -> Head:
        """The head in ``data`` up to ``end``. Raises BadHead."""
        line = _LINE.match(data, 0, end)
        if line is None:
            raise BadHead("the request's line is malformed")
        block = data[line.end() : end]
        headers = self._again(block) or self._headers(block)
        version = (1, int(line[3]))
        if version == (1, 1):
            _check_host(headers)
        elif "Transfer-Encoding" in headers:
            raise BadHead("chunks came with HTTP/1.1")
        return Head(
            line[1].decode(),
            line[2].decode(),
            headers,
            version,
            should_close=_is_last(headers, version),
        )

    def _again(self, block: bytes) -> Headers | None:
        digits = _length_digits(block)
        if digits is None:
            return self._known.get(block)
        known = self._known_with_body.get(block[: digits.start] + block[digits.stop :])
        if known is None:
            return None
        headers = known.copy()
        headers["Content-Length"] = block[digits].decode()
        return CIMultiDictProxy(headers)

    def _headers(self, block: bytes) -> Headers:
        """Raises BadHead."""
        if _HEADERS.fullmatch(block) is None:
            raise BadHead("a header is malformed")
        made: CIMultiDict[str] = CIMultiDict()
        for text in block[:-2].split(b"\r\n")[:-1]:
            name, _, value = text.partition(b":")
            made.add(name.decode(), value.strip(b" \t").decode("utf-8", "surrogateescape"))
        headers = CIMultiDictProxy(made)
        check(headers)
        self._remember(block, headers)
        return headers

    def _remember(self, block: bytes, headers: Headers) -> None:
        """Only those that a request of HTTP/1.1 may have and after which the connection goes on."""
        is_usual = headers.get("Connection", "keep-alive").lower() == "keep-alive"
        if len(block) > _REMEMBERED_BYTES_MAX or not is_usual or "Host" not in headers:
            return
        known = self._known
        if "Content-Length" in headers:
            digits = _length_digits(block)
            if digits is None:
                return
            known = self._known_with_body
            block = block[: digits.start] + block[digits.stop :]
        elif "Transfer-Encoding" in headers:
            return
        if len(known) >= _REMEMBERED_MAX:
            known.clear()
        known[block] = headers


def _length_digits(block: bytes) -> slice | None:
    """Where headers have the digits of the length, written as most clients write it. An expression
    would be tried at each byte of every head."""
    name = block.find(_LENGTH_NAME)
    if name < 0 or (name and block[name - 1 : name] != b"\n"):
        return None
    start = name + len(_LENGTH_NAME)
    stop = block.find(b"\r\n", start)
    return slice(start, stop) if LENGTH.fullmatch(block[start:stop].decode("latin-1")) else None


def has_chunks(head: Head) -> bool:
    return "Transfer-Encoding" in head.headers


def length_of(head: Head) -> int:
    """Of the body, as Content-Length says."""
    return int(head.headers.get("Content-Length", 0))


def wants_upgrade(head: Head) -> bool:
    """Whether what follows may be another protocol (RFC 9110, 7.8)."""
    return "Upgrade" in head.headers and "upgrade" in _connection(head.headers)


def check(headers: Headers) -> None:
    """What holds for every version of HTTP. Raises BadHead."""
    if len(headers) > _HEADERS_MAX:
        raise BadHead("there are too many headers")
    hosts, lengths = headers.getall("Host", ()), headers.getall("Content-Length", ())
    codings = headers.getall("Transfer-Encoding", ())
    if len(hosts) > 1 or (hosts and _HOST.fullmatch(hosts[0]) is None):
        raise BadHead("the host is malformed or given twice")
    if len(lengths) > 1 or (lengths and LENGTH.fullmatch(lengths[0]) is None):
        raise BadHead("the length is malformed or given twice")
    if codings and (lengths or len(codings) > 1 or codings[0].lower() != "chunked"):
        raise BadHead("a body comes in chunks alone")


def _check_host(headers: Headers) -> None:
    if "Host" not in headers:
        raise BadHead("HTTP/1.1 wants a host")


def _is_last(headers: Headers, version: tuple[int, int]) -> bool:
    if "Connection" not in headers:
        return version < (1, 1)
    options = _connection(headers)
    return "close" in options or (version < (1, 1) and "keep-alive" not in options)


def _connection(headers: Headers) -> set[str]:
    return {
        option.strip().lower()
        for value in headers.getall("Connection", ())
        for option in value.split(",")
    }
