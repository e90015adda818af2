"""What every write begins with: its options, its body, its circumstances."""

from __future__ import annotations

from proreus.api.group_version import GroupKind
from proreus.api.status import Invalid
from proreus.api.wire.options import WriteOptions, decode_write_options
from proreus.server.http.exchange import Exchange
from proreus.server.http.router import ResourceRoute
from proreus.server.http.services import Services
from proreus.server.registry.collection import Collection
from proreus.server.registry.write import Write

_MANAGER_MAX = 128


def write_options(exchange: Exchange, kind: str, *, apply: bool = False) -> WriteOptions:
    """Raises Invalid."""
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
    )


def manager_of(exchange: Exchange) -> str:
    """Who writes if nobody says: the program's name in its User-Agent."""
    # Bytes that are no text arrive as lone surrogates, which nothing can write.
    name = exchange.user_agent().partition("/")[0].encode("utf-8", "replace").decode()
    if len(name.encode()) > _MANAGER_MAX:
        name = name.encode()[:_MANAGER_MAX].decode("utf-8", "ignore")
    return "".join(char for char in name if char.isprintable()) or "unknown"
