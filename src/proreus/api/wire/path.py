"""URL path ⇄ group, version, namespace, resource, name, subresource (server.md §1.1).

``split`` says what a path asks for before anything is known about what is served: the same answer
decides authorization, so a caller without rights learns nothing about which resources exist.
Cost: one pass over the path; no allocation besides its parts.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import quote, unquote_to_bytes

from proreus.api.group_version import GroupVersion

_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})


class BadPathEscape(ValueError):
    """A ``%`` that is not followed by two hexadecimal digits."""


class ApiPath(NamedTuple):
    """A path below a group version. An absent part is "". Made per request, so a cheap tuple."""

    group: str
    version: str
    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    rest: tuple[str, ...] = ()  # what follows the subresource
    scoped: bool = False  # the path has a namespaces/<namespace>/ part
    watch: bool = False  # the deprecated watch/ form

    @property
    def is_collection(self) -> bool:
        return not self.name and not self.subresource

    def __str__(self) -> str:
        root = GroupVersion(self.group, self.version).path
        parts = [self.resource, self.name, self.subresource]
        if self.namespace and self.resource != "namespaces":
            parts = ["namespaces", self.namespace, *parts]
        return "/".join([root, *(quote(part, safe="") for part in parts if part)])


class OtherPath(NamedTuple):
    """A path that names no resource: discovery, health, version, unknown."""

    parts: tuple[str, ...]


Path = ApiPath | OtherPath


def unescape(raw: str) -> str:
    """The path with its ``%xx`` taken out. Raises BadPathEscape."""
    if "%" not in raw:
        return raw
    for piece in raw.split("%")[1:]:
        if len(piece) < 2 or not _is_hex(piece[0]) or not _is_hex(piece[1]):
            raise BadPathEscape(raw)
    return unquote_to_bytes(raw).decode("utf-8", "replace")


def split(path: str) -> Path:
    """What an unescaped path names."""
    if path.startswith("//"):
        return OtherPath(("", *path.strip("/").split("/")))
    parts = path.strip("/").split("/")
    match parts:
        case ["api", version, first, *more]:
            return _below(parts, "", version, [first, *more])
        case ["apis", group, version, first, *more] if group:
            return _below(parts, group, version, [first, *more])
        case _:
            return OtherPath(tuple(parts))


def _below(whole: list[str], group: str, version: str, parts: list[str]) -> Path:
    if parts[0] in ("watch", "proxy") and len(parts) == 1:
        return OtherPath(tuple(whole))  # a verb, and no word of what it is meant for
    watch = parts[0] == "watch"
    if watch:
        parts = parts[1:]
    namespace, scoped = "", False
    if parts[0] == "namespaces" and len(parts) > 1:
        namespace = parts[1]
        if len(parts) > 2 and parts[2] not in _NAMESPACE_SUBRESOURCES:
            parts, scoped = parts[2:], True
    return ApiPath(
        group,
        version,
        resource=parts[0],
        namespace=namespace,
        name=parts[1] if len(parts) > 1 else "",
        subresource=parts[2] if len(parts) > 2 else "",
        rest=tuple(parts[3:]),
        scoped=scoped,
        watch=watch,
    )


def _is_hex(char: str) -> bool:
    return char in "0123456789abcdefABCDEF"
