"""PATCH, of every kind of patch (server.md §6.3, §6.5)."""

from __future__ import annotations

from typing import NamedTuple

from proreus.api.patch.errors import PatchError
from proreus.api.patch.patch_type import PatchType
from proreus.net.http1.messages import Answer
from proreus.server.http.body import read_body
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers.writing import begin_write, write_answer, write_options
from proreus.server.http.negotiation import Media, patch_type
from proreus.server.http.router import ResourceRoute
from proreus.server.http.services import Services
from proreus.server.registry.verbs.apply import read_apply
from proreus.server.registry.verbs.patch import PatchDocument, patching, read_patch
from proreus.server.registry.write import Write


class PatchRequest(NamedTuple):
    """A write, and the patch in its body."""

    write: Write
    document: PatchDocument


async def patch(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    representation = services.representations.negotiate(exchange, route.resource)
    wanted = patching(*await read_patch_request(services, exchange, route))
    outcome = await wanted.commit()
    return await write_answer(services, exchange, representation, wanted.write, outcome)


async def read_patch_request(
    services: Services, exchange: Exchange, route: ResourceRoute
) -> PatchRequest:
    media = patch_type(exchange.headers.get("Content-Type", ""), route.resource)
    is_apply = media == PatchType.APPLY
    text = await read_body(exchange)
    options = write_options(exchange, "PatchOptions", apply=is_apply)
    body = services.decoder.body(text, Media.YAML if is_apply else Media.JSON)
    write = begin_write(services, exchange, route, options, body.runner)

    def read() -> PatchDocument:
        if is_apply:
            return read_apply(text, is_strict=write.field_validation == "Strict")
        return read_patch(media, text)

    try:
        document = await body.runner.run(read)
    except PatchError as error:
        raise error.to_status() from error
    if exchange.audit is not None:
        exchange.audit.set_request_patch(text)
    return PatchRequest(write, document)
