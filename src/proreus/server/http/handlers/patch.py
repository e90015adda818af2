"""PATCH, of every kind of patch (spec/server §6.3, §6.5)."""

from __future__ import annotations

from functools import partial

from proreus.api.field_error import told
from proreus.api.group_version import GroupVersionKind
from proreus.api.patch.errors import PatchError, UndecodablePatch
from proreus.net.http_request import Answer
from proreus.server.http.body import read_body
from proreus.server.http.body_syntax import is_long
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers.answers import object_answer, refuse_form
from proreus.server.http.handlers.update import check_name
from proreus.server.http.handlers.writing import begin_write, write_options
from proreus.server.http.negotiation import Media, patch_type
from proreus.server.http.router import ResourceRoute
from proreus.server.http.services import Services
from proreus.server.registry.patches import APPLY_PATCH, Patch, decode_patched, read_patch
from proreus.server.registry.strategies import strategy_for
from proreus.server.registry.verbs.update import Make, Updating
from proreus.server.registry.versions import answered
from proreus.server.registry.write import Write
from proreus.server.schema.rules import JsonObject


async def patch(services: Services, exchange: Exchange, route: ResourceRoute) -> Answer:
    resource = route.resource
    shown = services.representations.of(exchange, resource)
    document, write, validation = await begin_patch(services, exchange, route)
    updating = Updating(
        write=write,
        make=patched(write, document, resource.gvk, validation),
        strategy=strategy_for(resource, write.subresource),
        may_create=document.is_apply and not write.subresource,
        tracks=not document.is_apply,
        is_patch=True,
    )
    outcome = await updating.run()
    refuse_form(shown, resource, is_list=False)
    code = 201 if outcome.is_created else 200
    return object_answer(exchange, shown, await write.shown(outcome), code)


async def begin_patch(
    services: Services, exchange: Exchange, route: ResourceRoute
) -> tuple[Patch, Write, str]:
    """The patch, its write, and how strictly fields are looked at."""
    media = patch_type(exchange.headers.get("Content-Type", ""), route.resource)
    body = await read_body(exchange)
    options = write_options(exchange, "PatchOptions", apply=media == APPLY_PATCH)
    validation = options.field_validation
    read = partial(
        read_patch, media, body, force=bool(options.force), is_strict=validation == "Strict"
    )
    syntax = Media.YAML if media == APPLY_PATCH else Media.JSON
    try:
        document = await services.decoder.aside(read) if is_long(body, syntax) else read()
    except PatchError as error:
        raise error.to_status() from error
    return document, begin_write(services, exchange, route, options, body=body), validation


def patched(write: Write, document: Patch, gvk: GroupVersionKind, validation: str) -> Make:
    """From the live object to the patched one, checked like a body."""
    versions = write.collection.resource.versions

    async def make(live: JsonObject | None) -> JsonObject:
        try:
            if versions is None:
                result = await write.done(lambda: document.apply(write, live, gvk))
            else:
                result = await answered(versions, lambda: document.apply(write, live, gvk))
            obj, unknown = await write.done(
                lambda: decode_patched(result, gvk, write.collection.node_of)
            )
            faults = [*result.faults, *unknown]
            if faults and validation == "Strict":
                text = f"strict decoding error: {', '.join(told(faults))}"
                raise UndecodablePatch(result.shown, text)
        except PatchError as error:
            raise error.to_status() from error
        if validation != "Ignore":
            for fault in faults:
                write.warn(fault)
        check_name(obj, write.name)
        return obj

    return make
