"""Where a URL points: the server, and the target that its request names."""

from __future__ import annotations

import base64
import re
from typing import NamedTuple
from urllib.parse import unquote

from proreus.net.client.transport_error import ProtocolError

_URL = re.compile(
    r"(?P<scheme>https?)://(?:(?P<user>[^@/?#]*)@)?"
    r"(?:\[(?P<six>[0-9A-Fa-f:.]+(?:%[!-~]+)?)\]|(?P<host>[^\x00-\x20:/?#@\[\]\x7f]+))"
    r"(?::(?P<port>[0-9]{1,5}))?(?=[/?#]|$)",
    re.IGNORECASE,
)
_TARGET = re.compile(r"[!-~]+")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_REMEMBERED_MAX = 256


class Origin(NamedTuple):
    """A server; connections to equal ones may be shared."""

    scheme: str
    host: str  # an IPv6 address without its brackets
    port: int

    @property
    def is_secure(self) -> bool:
        return self.scheme == "https"

    @property
    def authority(self) -> str:
        """With its port, always."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


class ServerAddress(NamedTuple):
    """``host_header`` leaves out a port that is the scheme's own; ``authorization`` is that of a
    URL with a user's name, or empty."""

    origin: Origin
    host_header: str
    authorization: str = ""

    def __repr__(self) -> str:
        return f"<ServerAddress {self.host_header}>"


class ServerAddresses:
    """Those of URLs, remembered."""

    def __init__(self) -> None:
        self._known: dict[str, ServerAddress] = {}

    def split(self, url: str) -> tuple[ServerAddress, str]:
        """The server and the request's target. Raises ProtocolError."""
        cut = url.find("/", 8)  # behind the scheme's slashes
        address = self._known.get(url if cut < 0 else url[:cut])
        if address is None or cut < 0:
            address, cut = self._address(url)
        target = url[cut:].partition("#")[0]
        if not target.startswith("/"):
            target = f"/{target}"
        if _TARGET.fullmatch(target) is None:
            raise ProtocolError(url, "the URL has characters that must be escaped")
        return address, target

    def _address(self, url: str) -> tuple[ServerAddress, int]:
        address, end = server_address(url)
        if len(self._known) >= _REMEMBERED_MAX:
            self._known.clear()
        self._known[url[:end]] = address
        return address, end


def server_address(url: str) -> tuple[ServerAddress, int]:
    """The server, and where the target begins. Raises ProtocolError."""
    found = _URL.match(url)
    if found is None or int(found["port"] or 0) > 65535:
        raise ProtocolError(url, "the URL names no HTTP server")
    scheme, host = found["scheme"].lower(), found["six"] or found["host"]
    port = int(found["port"] or _DEFAULT_PORTS[scheme])
    origin = Origin(scheme, host, port)
    header = origin.authority
    if port == _DEFAULT_PORTS[scheme]:
        header = header.rpartition(":")[0]
    try:
        header = header if header.isascii() else header.encode("idna").decode()
    except UnicodeError as error:
        raise ProtocolError(url, "the URL names no HTTP server") from error
    return ServerAddress(origin, header, basic_authorization(found["user"])), found.end()


def basic_authorization(user: str | None) -> str:
    """Of the ``name:password`` of a URL, escaped as it is there."""
    if not user:
        return ""
    return f"Basic {base64.b64encode(unquote(user).encode()).decode()}"
