"""Admission of connections: exec, attach, portforward and proxy (the operation CONNECT)."""

from __future__ import annotations

import msgspec

from proreus.api.json_types import JsonObject
from proreus.api.status import InternalError
from proreus.api.wire.options import WriteOptions
from proreus.api.wire.query import Query, boolean, first, parse_int64
from proreus.server.http.exchange import Exchange
from proreus.server.http.handlers.writing import begin_write
from proreus.server.http.router import ResourceRoute
from proreus.server.http.services import Services
from proreus.server.registry.admission import CONNECT

_STREAMS = ("stdin", "stdout", "stderr", "tty")


class ConnectOptions(msgspec.Struct, frozen=True):
    """What the options of all sorts of connections say."""

    stdin: bool = False
    stdout: bool = False
    stderr: bool = False
    tty: bool = False
    container: str = ""
    command: tuple[str, ...] = ()
    ports: tuple[int, ...] = ()
    path: str = ""


async def admit_connection(
    services: Services, exchange: Exchange, route: ResourceRoute, *, path: str = ""
) -> ConnectOptions:
    """What is asked of the connection, as admission leaves it. ``path``: what a proxied request
    asks for there. Raises what admission raises."""
    assert route.subresource is not None, "routed by it"
    kind = route.subresource.kind
    asked = connect_options(route.subresource.name, exchange.query, path)
    options: JsonObject = {"kind": kind.kind, "apiVersion": kind.api_version, **asked}
    write = begin_write(services, exchange, route, _NO_OPTIONS)
    attributes = write.attributes(CONNECT, options, None, kind=kind)
    attributes.options = None
    await services.admission.admit(attributes)
    return _read(options)  # mutating plugins change it in place


def connect_options(subresource: str, query: Query, path: str) -> JsonObject:
    """The query as Kubernetes' options object: PodExecOptions and its siblings. Flags that are
    not set are left out."""
    if subresource == "proxy":
        return {"path": path}
    if subresource == "portforward":
        said = (text for given in query.get("ports") or () for text in given.split(","))
        ports = [parse_int64(text) for text in said]
        return {"ports": ports} if ports else {}
    made: JsonObject = {name: True for name in _STREAMS if boolean(query, name)}
    if container := first(query, "container"):
        made["container"] = container
    if command := query.get("command"):
        made["command"] = list(command)
    return made


def _read(options: JsonObject) -> ConnectOptions:
    """Raises InternalError for what a mutating plugin made and is none."""
    said = {name: value for name, value in options.items() if value is not None}
    try:
        return msgspec.convert(said, ConnectOptions)
    except msgspec.ValidationError as error:
        raise InternalError.of(f"admission left invalid {options.get('kind')}: {error}") from error


_NO_OPTIONS = WriteOptions()
