"""Who may reach a store over HTTP. Pure, but for what the application decides itself."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from http.cookies import CookieError, SimpleCookie
from typing import Any
from urllib.parse import urlsplit

from proreus.server.authz.authorizer import Action

_SAFE = ("GET", "HEAD", "OPTIONS")
_METHODS = "GET, HEAD, POST, PUT, PATCH, DELETE"
_PREFLIGHT_S = "600"
_EXPOSED = "Warning, Retry-After, Audit-Id"


@dataclass(frozen=True)
class Caller:
    """Who asks, before it is known who that is. ``scope`` is ASGI's, with what middleware put into
    it (``scope["user"]``, ``scope["session"]``)."""

    scope: Mapping[str, Any]

    @cached_property
    def headers(self) -> Mapping[str, str]:
        """Names in lower case; of several of a name the last."""
        pairs = self.scope["headers"]
        return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in pairs}

    @cached_property
    def cookies(self) -> Mapping[str, str]:
        try:
            found = SimpleCookie(self.headers.get("cookie", ""))
        except CookieError:
            return {}
        return {name: morsel.value for name, morsel in found.items()}

    @property
    def method(self) -> str:
        """GET for a WebSocket."""
        return str(self.scope.get("method", "GET"))


# The user's name, None: not let in.
Authenticate = Callable[[Caller], Awaitable[str | None]]
Authorize = Callable[[Action], Awaitable[bool]]


async def everyone(caller: Caller) -> str:
    """Lets in whoever comes, as ``anonymous``."""
    return "anonymous"


@dataclass(frozen=True, slots=True)
class Origins:
    """Pages that may use the store from a browser: its own origin's, and those of ``allowed``.

    A browser sends cookies along with requests of any page, and asks nobody before a WebSocket or a
    simple POST; so a page of another origin is refused here, not only kept from reading answers.
    """

    allowed: Sequence[str] = ()

    def refuses(self, caller: Caller) -> bool:
        origin = caller.headers.get("origin", "")
        is_read = caller.method in _SAFE and caller.scope["type"] != "websocket"
        if not origin or is_read or self.allows(origin):
            return False
        return urlsplit(origin).netloc.lower() != caller.headers.get("host", "").lower()

    def allows(self, origin: str) -> bool:
        return "*" in self.allowed or origin in self.allowed

    def is_preflight(self, caller: Caller) -> bool:
        asks = "access-control-request-method" in caller.headers
        return caller.method == "OPTIONS" and asks and "origin" in caller.headers

    def headers(self, caller: Caller) -> list[tuple[str, str]]:
        """What an answer says about who may read it."""
        origin = caller.headers.get("origin", "")
        if not self.allowed:
            return []
        vary = [("Vary", "Origin")]
        if not origin or not self.allows(origin):
            return vary
        # Cookies go along only where an origin was named.
        named = [("Access-Control-Allow-Credentials", "true")] if origin in self.allowed else []
        return [
            *vary,
            ("Access-Control-Allow-Origin", origin),
            ("Access-Control-Expose-Headers", _EXPOSED),
            *named,
        ]

    def preflight(self, caller: Caller) -> list[tuple[str, str]]:
        found = self.headers(caller)
        if len(found) <= 1:
            return found
        asked = caller.headers.get("access-control-request-headers", "")
        return [
            *found,
            ("Access-Control-Allow-Methods", _METHODS),
            ("Access-Control-Allow-Headers", asked),
            ("Access-Control-Max-Age", _PREFLIGHT_S),
        ]
