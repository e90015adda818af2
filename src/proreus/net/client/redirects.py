"""Following redirects, by the rules of a browser for GET. Pure."""

from __future__ import annotations

from urllib.parse import quote, urljoin

from proreus.net.client.server_address import server_address
from proreus.net.client.transport import RequestHeaders
from proreus.net.client.transport_error import ProtocolError

_REDIRECTS_MAX = 10
_FOLLOWED = frozenset({301, 302, 303, 307, 308})
_OF_ORIGIN = frozenset({"authorization", "cookie", "proxy-authorization", "host"})
_ESCAPED_ALREADY = "%/:=&?~#+!$,;'@()*[]"


class Redirects:
    """``url`` and ``headers`` are those of the next request; what was meant for one server alone
    is not sent to another."""

    def __init__(self, url: str, headers: RequestHeaders) -> None:
        self.url = url
        self.headers = headers
        self._followed = 0

    def follow(self, status: int, location: str) -> bool:
        """Whether an answer leads elsewhere. Raises ProtocolError."""
        if status not in _FOLLOWED or not location:
            return False
        self._followed += 1
        if self._followed > _REDIRECTS_MAX:
            raise ProtocolError(self.url, "the server redirects again and again")
        there = urljoin(self.url, quote(location, safe=_ESCAPED_ALREADY))
        if server_address(there)[0].origin != server_address(self.url)[0].origin:
            self.headers = {
                name: value
                for name, value in self.headers.items()
                if name.lower() not in _OF_ORIGIN
            }
        self.url = there
        return True
