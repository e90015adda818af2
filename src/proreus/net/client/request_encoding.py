"""The head of a request as it is sent. Pure.

Cost: a client repeats its headers, so those that came before are not encoded again.
"""

from __future__ import annotations

from typing import NamedTuple

from proreus.net.client.server_address import ServerAddress
from proreus.net.client.transport import RequestHeaders
from proreus.net.http1.request_head import HEADER_LINES, METHOD

_WITHOUT_LENGTH = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
_REMEMBERED_MAX = 512
_REMEMBERED_BYTES_MAX = 4096
_USER_AGENT = "proreus"


class RequestDefaults(NamedTuple):
    """What every request of a client says, unless it says otherwise itself."""

    accept_encoding: str
    is_absolute: bool = False  # names the server in each target: that of plain HTTP by a proxy
    proxy_authorization: str = ""


class RequestHeads:
    """What it remembers is bounded."""

    def __init__(self, defaults: RequestDefaults) -> None:
        self._defaults = defaults
        self._blocks: dict[object, bytes] = {}  # by the server and the caller's own headers
        self._methods: set[str] = set()

    def encoded(
        self,
        method: str,
        address: ServerAddress,
        target: str,
        headers: RequestHeaders,
        body: bytes | None,
    ) -> bytes:
        """Raises ValueError if there is something in it that no head can have."""
        key = (address, *headers.items())
        try:
            block = self._blocks.get(key) or self._block(address, headers, key)
        except TypeError:  # of values that are lists
            block = self._block(address, headers, None)
        if method not in self._methods:
            self._check_method(method)
        if self._defaults.is_absolute and not address.origin.is_secure:
            target = f"http://{address.host_header}{target}"
        line = f"{method} {target} HTTP/1.1\r\n".encode()
        if body is None and method in _WITHOUT_LENGTH:
            return b"%b%b\r\n" % (line, block)
        return b"%b%bContent-Length: %d\r\n\r\n" % (line, block, len(body or b""))

    def _check_method(self, method: str) -> None:
        if METHOD.fullmatch(method.encode()) is None:
            raise ValueError(f"not a method: {method!r}")
        if len(self._methods) < _REMEMBERED_MAX:
            self._methods.add(method)

    def _block(self, address: ServerAddress, headers: RequestHeaders, key: object) -> bytes:
        lines = [f"{name}: {value}\r\n" for name, value in self._pairs(address, headers)]
        block = "".join(lines).encode()
        # A line end within a header would make another of it.
        if HEADER_LINES.fullmatch(block) is None or block.count(b"\n") != len(lines):
            raise ValueError("a header of the request is malformed")
        if key is not None and len(block) <= _REMEMBERED_BYTES_MAX:
            if len(self._blocks) >= _REMEMBERED_MAX:
                self._blocks.clear()
            self._blocks[key] = block
        return block

    def _pairs(self, address: ServerAddress, headers: RequestHeaders) -> list[tuple[str, str]]:
        pairs: list[tuple[str, str]] = []
        missing = {
            "host": address.host_header,
            "accept-encoding": self._defaults.accept_encoding,
            "user-agent": _USER_AGENT,
        }
        if address.authorization:
            missing["authorization"] = address.authorization
        if self._defaults.proxy_authorization and not address.origin.is_secure:
            missing["proxy-authorization"] = self._defaults.proxy_authorization
        for name, values in headers.items():
            known = name.lower()
            if known in ("content-length", "transfer-encoding"):
                continue  # the body is what is given
            missing.pop(known, None)
            if isinstance(values, str):
                pairs.append((name, values))
            else:
                pairs += [(name, value) for value in values]
        return [*((name.title(), value) for name, value in missing.items()), *pairs]
