"""What every write begins with: its options, its body, its circumstances."""

from __future__ import annotations

from functools import cache, lru_cache

from proreus.api.group_version import GroupKind
from proreus.api.status import Invalid
from proreus.api.wire.options import WriteOptions, decode_write_options
from proreus.server.http.exchange import Exchange
from proreus.server.http.router import ResourceRoute
from proreus.server.http.services import Services
from proreus.server.registry.collection import Collection
from proreus.server.registry.write import LONG_BYTES, Write

_MANAGER_MAX = 128


def write_options(exchange: Exchange, kind: str, *, apply: bool = False) -> WriteOptions:
    """Raises Invalid."""
    if not exchange.request.raw_query and not apply:
        return _unasked(kind)
    options = decode_write_options(exchange.query, kind)
    if violations := options.violations(apply=apply):
        raise Invalid.of(GroupKind("meta.k8s.io", kind), "", violations)
    return options


def begin_write(
    services: Services,
    exchange: Exchange,
    route: ResourceRoute,
    options: WriteOptions,
    collection: Collection | None = None,
    *,
    body: bytes = b"",
) -> Write:
    return Write(
        collection=collection or services.collection(route.resource),
        namespace=route.namespace,
        name=route.name,
        user=exchange.user,
        now=services.clock.now(),
        field_manager=options.field_manager or manager_of(exchange),
        admission=services.admission,
        subresource=route.subresource.name if route.subresource else "",
        dry_run=options.is_dry_run,
        warnings=exchange.warnings,
        is_long=len(body) > LONG_BYTES,
        aside=services.decoder.aside,
    )


@cache
def _unasked(kind: str) -> WriteOptions:
    """Nearly every write has no options at all. There are three kinds of them."""
    return WriteOptions(kind=kind)


def manager_of(exchange: Exchange) -> str:
    """Who writes if nobody says: the program's name in its User-Agent."""
    agent = exchange.user_agent()
    return _known_manager(agent) if len(agent) <= _MANAGER_MAX else _manager(agent)


def _manager(agent: str) -> str:
    # Bytes that are no text arrive as lone surrogates, which nothing can write.
    name = agent.partition("/")[0].encode("utf-8", "replace").decode()
    if len(name.encode()) > _MANAGER_MAX:
        name = name.encode()[:_MANAGER_MAX].decode("utf-8", "ignore")
    return "".join(char for char in name if char.isprintable()) or "unknown"


_known_manager = lru_cache(maxsize=1024)(_manager)
