"""The head of an answer that another server gave: its headers, and this server's own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from proreus.net.client.proxying import OF_CONNECTION, connection_options
from proreus.server.http.exchange import Exchange, Header

if TYPE_CHECKING:
    from proreus.net.client.http_client import Headers

# Answers have these of this server.
_OWN = OF_CONNECTION | {
    "content-length", "date", "audit-id", "x-kubernetes-pf-flowschema-uid",
    "x-kubernetes-pf-prioritylevel-uid",
}  # fmt: skip


def passed_on_head(
    exchange: Exchange, answered: Headers, dropped: frozenset[str] = frozenset()
) -> tuple[Header, ...]:
    """``dropped``: names, in small letters, of further headers that stay behind."""
    kept_back = _OWN | dropped | connection_options(answered.all("Connection"))
    given = [(name, value) for name, value in answered.pairs() if name not in kept_back]
    names = {name for name, _ in given}
    own = [one for one in exchange.head() if one[0].lower() not in names | {"content-type"}]
    return (*own, *((name.title(), value) for name, value in given))
