"""The resources of Kubernetes itself, known without asking.

What is missing in the table, or is asked for in another version, is found by discovery.
"""

from __future__ import annotations

from collections.abc import Iterator

from proreus.api.group_version import GroupVersion
from proreus.api.object import KubeObject
from proreus.client.discovery.api_resource import ApiResource
from proreus.client.discovery.mapper import RestMapper, UnknownResource
from proreus.client.resources.builtin_table import TABLE
from proreus.client.rest.request import InvalidRequest


def _read(table: str) -> Iterator[ApiResource]:
    gv = GroupVersion("", "")
    for line in table.split("\n"):
        if not line.startswith(" "):
            gv = GroupVersion.parse(line)
            continue
        plural, kind, scope, *short_names = line.split()
        yield ApiResource(
            group=gv.group,
            version=gv.version,
            name=plural,
            kind=kind,
            namespaced=scope == "namespaced",
            singular=kind.lower(),
            short_names=tuple(short_names[0].split(",")) if short_names else (),
        )


BUILTIN = RestMapper(list(_read(TABLE)))


def resource_name(of: type[KubeObject] | str) -> str:
    """As ``Client.resource`` takes it, of a class that stands for a kind. Raises InvalidRequest."""
    if isinstance(of, str):
        return of
    found: str | None = getattr(of, "__resource__", None)
    if found is None:
        raise InvalidRequest(
            f"{of!r} is no kind; take a class of proreus.api.kinds, or declare one"
        )
    return found


def canonical_name(name: str) -> str:
    """One spelling for all names of a built-in resource (``cm``, ``ConfigMap``, ``configmaps.v1``);
    other names are returned as they are, because only the server knows them."""
    try:
        found = BUILTIN.by_name(name)
    except UnknownResource:
        return name
    short = f"{found.name}.{found.group}" if found.group else found.name
    if BUILTIN.by_name(short) == found:
        return short
    return f"{found.name}.{found.version}" + (f".{found.group}" if found.group else "")
