"""What all writes share: options, body and Write at the beginning, the answer at the end."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from typing import NamedTuple

from proreus.api.group_version import GroupKind, GroupVersionKind
from proreus.api.json_types import JsonObject
from proreus.api.status import Invalid
from proreus.api.wire.options import WriteOptions, decode_write_options
from proreus.net.http1.messages import Answer
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers.answers import object_answer, refuse_form
from proreus.server.http.representation import Representation
from proreus.server.http.router import ResourceRoute
from proreus.server.http.services import Services
from proreus.server.offload import INLINE, Runner
from proreus.server.registry.write import Write
from proreus.server.storage.resource_store import Outcome

_MANAGER_MAX = 128
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


class WriteRequest(NamedTuple):
    """A write, and the object in its body; ``again`` decodes it once more."""

    write: Write
    obj: JsonObject
    again: Callable[[], JsonObject]


async def read_write(
    services: Services,
    exchange: Exchange,
    route: ResourceRoute,
    kind: str,
    expected: GroupVersionKind | None = None,
) -> WriteRequest:
    """``kind`` of the options; ``expected`` in the body, if not the resource's own kind."""
    body = await services.decoder.read(exchange)
    options = write_options(exchange, kind)
    decoded = await services.decoder.decode(
        exchange,
        body,
        expected or route.resource.gvk,
        options.field_validation,
        route.subresource.past_kind if route.subresource is not None else None,
    )
    return WriteRequest(begin_write(services, exchange, route, options, body.runner), *decoded)


async def write_answer(
    services: Services,
    exchange: Exchange,
    representation: Representation,
    write: Write,
    outcome: Outcome,
    code: int = 200,
) -> Answer:
    refuse_form(representation, write.collection.resource, is_list=False)
    obj = await write.collection.served(outcome.new)
    code = 201 if outcome.is_created else code
    return await object_answer(services, exchange, representation, obj, code)


def write_options(exchange: Exchange, kind: str, *, apply: bool = False) -> WriteOptions:
    """Raises Invalid."""
    if not exchange.request.raw_query and not apply:
        return _default_options(kind)
    options = decode_write_options(exchange.query, kind)
    if violations := options.violations(apply=apply):
        raise Invalid.of(GroupKind("meta.k8s.io", kind), "", violations)
    return options


def begin_write(
    services: Services,
    exchange: Exchange,
    route: ResourceRoute,
    options: WriteOptions,
    runner: Runner = INLINE,
) -> Write:
    audit = exchange.audit
    annotate = audit.annotate if audit is not None else None
    has_bodies = audit is not None and audit.recording.level.has_request
    return Write(
        collection=services.collection(route.resource),
        namespace=route.namespace,
        name=route.name,
        user=exchange.user,
        now=services.clock.now(),
        field_manager=options.field_manager or default_manager(exchange),
        admission=services.admission,
        subresource=route.subresource.name if route.subresource else "",
        dry_run=options.is_dry_run,
        field_validation=options.field_validation,
        force=bool(options.force),
        options=options,
        warnings=exchange.warnings,
        annotate=annotate,
        annotate_bodies=annotate if has_bodies else None,
        runner=runner,
        large_runner=services.offload.bodies,
    )


@cache
def _default_options(kind: str) -> WriteOptions:
    """Nearly every write has no options at all. There are three kinds of them."""
    return WriteOptions(kind=kind)


def default_manager(exchange: Exchange) -> str:
    """The default field manager: the program's name in its User-Agent."""
    agent = exchange.user_agent()
    return _known_manager(agent) if len(agent) <= _MANAGER_MAX else _manager(agent)


def _manager(agent: str) -> str:
    """What can be printed of the name, as much of it as a manager may have."""
    # Bytes that are no text arrive as lone surrogates, which nothing can write.
    name = _LONE_SURROGATE.sub("\ufffd", agent.partition("/")[0])
    printed = "".join(char for char in name if char.isprintable())
    return printed.encode()[:_MANAGER_MAX].decode("utf-8", "ignore") or "unknown"


_known_manager = lru_cache(maxsize=1024)(_manager)
