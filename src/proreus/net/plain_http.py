"""The heads nearly all requests have, read in a few microseconds.

Strict on purpose: a request line and headers of the plainest form, a body whose length is told;
only a method may be any word, since Kubernetes answers those nobody knows with a Status.
What is anything else (chunks, an upgrade, an expectation, an odd character) is not refused here but
left to aiohttp's parser, which knows all of HTTP/1.1. A client says the same headers again and
again, so they are remembered by their bytes, those of requests with a body but for its length.
"""

from __future__ import annotations

import re

from multidict import CIMultiDict, CIMultiDictProxy

from proreus.net.http_request import Head

# What RFC 9112 lets stand in a target, without what would need a second look.
_LINE = re.compile(rb"([A-Za-z]{1,20}) (/[A-Za-z0-9._~:/?&=%,+!()*$@;'-]*) HTTP/1\.1\r\n")
# One or more of ``token: value``, without folding and control characters.
_HEADERS = re.compile(rb"(?:[A-Za-z0-9!#$%&'*+.^_`|~-]+:[^\x00-\x08\x0a-\x1f\x7f]*\r\n)+\r\n")
_LENGTH = re.compile(r"[0-9]{1,15}")
_TOLD_LENGTH = re.compile(rb"(?:^|\n)Content-Length: ([0-9]{1,15})\r\n")
_KEEP = frozenset({"keep-alive", "close"})
_UNUSUAL = ("Transfer-Encoding", "Upgrade", "Expect", "Content-Encoding", "Proxy-Connection")
_ONCE = ("Content-Length", "Host", "Connection", "Content-Type")

HEAD_END = b"\r\n\r\n"
HEAD_BYTES_MAX = 64 * 1024
_HEADERS_MAX = 200
_REMEMBERED_MAX = 512
_REMEMBERED_BYTES_MAX = 4096


class PlainHeads:
    """Shared by a server's connections; what it remembers is bounded."""

    def __init__(self) -> None:
        self._known: dict[bytes, CIMultiDictProxy[str]] = {}
        # By their bytes without the digits of the length; apart, since what lacks them for real is
        # not plain.
        self._known_with_body: dict[bytes, CIMultiDictProxy[str]] = {}

    def find(self, data: bytes) -> Head | None:
        """The head that ``data`` is, if it is nothing else and its headers are known."""
        if not data.endswith(HEAD_END):
            return None
        line = _LINE.match(data)
        if line is None:
            return None
        headers = self._known.get(data[line.end() :])
        if headers is None:
            return None
        method, target = line.groups()
        return Head(method.decode(), target.decode(), headers)

    def read(self, data: bytes, end: int) -> tuple[Head, int] | None:
        """The head in ``data`` up to ``end`` and its body's length; None if it is not plain."""
        line = _LINE.match(data)
        if line is None:
            return None
        block = data[line.end() : end]
        found = self._again(block) or self._headers(block)
        if found is None:
            return None
        method, target = line.groups()
        should_close = found.get("Connection", "").lower() == "close"
        length = int(found.get("Content-Length", 0))
        return Head(method.decode(), target.decode(), found, should_close=should_close), length

    def _again(self, block: bytes) -> CIMultiDictProxy[str] | None:
        told = _TOLD_LENGTH.search(block)
        if told is None:
            return self._known.get(block)
        known = self._known_with_body.get(block[: told.start(1)] + block[told.end(1) :])
        if known is None:
            return None
        headers = known.copy()
        headers["Content-Length"] = told[1].decode()
        return CIMultiDictProxy(headers)

    def _headers(self, block: bytes) -> CIMultiDictProxy[str] | None:
        """None if one of them is not plain."""
        if _HEADERS.fullmatch(block) is None:
            return None
        headers: CIMultiDict[str] = CIMultiDict()
        for text in block[:-4].split(b"\r\n"):
            name, _, value = text.partition(b":")
            headers.add(name.decode(), value.strip(b" \t").decode("utf-8", "surrogateescape"))
        if not _are_plain(headers):
            return None
        found = CIMultiDictProxy(headers)
        self._remember(block, found)
        return found

    def _remember(self, block: bytes, headers: CIMultiDictProxy[str]) -> None:
        is_last = headers.get("Connection", "").lower() == "close"
        if len(block) > _REMEMBERED_BYTES_MAX or is_last:
            return
        known = self._known
        if "Content-Length" in headers:
            told = _TOLD_LENGTH.search(block)
            if told is None:
                return
            known = self._known_with_body
            block = block[: told.start(1)] + block[told.end(1) :]
        if len(known) >= _REMEMBERED_MAX:
            known.clear()
        known[block] = headers


def _are_plain(headers: CIMultiDict[str]) -> bool:
    if len(headers) > _HEADERS_MAX or any(name in headers for name in _UNUSUAL):
        return False
    if any(len(headers.getall(name, ())) > 1 for name in _ONCE):
        return False
    is_known = headers.get("Connection", "keep-alive").lower() in _KEEP
    return is_known and _LENGTH.fullmatch(headers.get("Content-Length", "0")) is not None
