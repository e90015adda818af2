"""What a request asks for, as its method and path say, but for the name of its object.

Objects are many, what is asked of them is not: all requests that differ in a name alone share one
``RequestInfo``, worked out once. Parts of a server that decide something by nothing else (which
handler, which series of a metric) remember their decision under it; it is hashed by identity.

The memory is bounded: one that was forgotten is made anew, equal but not the same.
"""

from __future__ import annotations

from functools import lru_cache

from proreus.api.wire.path import ApiPath, Path, split
from proreus.server.fairness.flow_schemas import Requested

_READ_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch"}
_STREAMS = frozenset({"log", "exec", "attach", "portforward", "proxy"})
# What may stand behind the name of an object and is asked for often; others are found as well.
_PARTS = frozenset({"status", "scale", "binding", "eviction", "token"})
_ANY_NAME = "any"
_KNOWN_MAX = 1024
_KNOWN_CHARS_MAX = 200  # longer paths are taken apart each time


class RequestInfo:
    """``target`` without the object's name, which is there if ``is_named``. ``verb`` is what
    authorization is asked about (server.md §1.1)."""

    __slots__ = (
        "is_long_running",
        "is_named",
        "is_read",
        "method",
        "requested",
        "target",
        "verb",
    )

    def __init__(self, method: str, target: Path, path: str, *, asks_watch: bool) -> None:
        self.method = method
        self.is_read = method in _READ_METHODS
        self.is_named = isinstance(target, ApiPath) and bool(target.name)
        self.target = target._replace(name="") if isinstance(target, ApiPath) else target
        self.verb = _verb(method, target, asks_watch=asks_watch)
        self.requested = _requested(self.verb, target, path)
        # Not bound by the deadline, nor by the limits on requests in progress.
        self.is_long_running = self.verb == "watch" or (
            isinstance(target, ApiPath) and target.subresource in _STREAMS
        )

    def target_of(self, name: str) -> Path:
        """With the object's name."""
        target = self.target
        return target._replace(name=name) if isinstance(target, ApiPath) else target

    def __repr__(self) -> str:
        return f"<RequestInfo {self.verb} {self.target}>"


def info_of(method: str, path: str, *, asks_watch: bool) -> tuple[RequestInfo, str]:
    """Of an unescaped path, and the name of the object it leads to, "" for none. ``asks_watch``: as
    the query says, which counts for collections alone."""
    if len(path) > _KNOWN_CHARS_MAX:
        return _at.__wrapped__(method, path, asks_watch)
    above, _, last = path.rpartition("/")
    if last in _PARTS:
        collection, _, name = above.rpartition("/")
        if name and (info := _of_objects(method, collection, last)) is not None:
            return info, name
    if last and (info := _of_objects(method, above)) is not None:
        return info, last
    return _at(method, path, asks_watch)


@lru_cache(_KNOWN_MAX)
def _of_objects(method: str, path: str, subresource: str = "") -> RequestInfo | None:
    """Of all objects in the collection at ``path``, or of a part of each; None if it is none."""
    found = split(path)
    if not isinstance(found, ApiPath) or not found.is_collection or found.watch:
        return None
    if path.endswith("/") or (found.resource == "namespaces" and not found.scoped):
        return None  # what follows is no name, or also a namespace
    target = found._replace(name=_ANY_NAME, subresource=subresource)
    return RequestInfo(method, target, path, asks_watch=False)


@lru_cache(_KNOWN_MAX)
def _at(method: str, path: str, asks_watch: bool) -> tuple[RequestInfo, str]:
    target = split(path)
    name = target.name if isinstance(target, ApiPath) else ""
    return RequestInfo(method, target, path, asks_watch=asks_watch), name


def _verb(method: str, target: Path, *, asks_watch: bool) -> str:
    if not isinstance(target, ApiPath):
        return method.lower()
    if target.watch:
        return "watch"
    if method in ("GET", "HEAD"):
        if target.name:
            return "get"
        return "watch" if asks_watch else "list"
    if method == "DELETE":
        return "delete" if target.name else "deletecollection"
    return _VERBS.get(method, "")


def _requested(verb: str, target: Path, path: str) -> Requested:
    if not isinstance(target, ApiPath):
        return Requested(verb, path=path)
    resource = target.resource
    if target.subresource:
        resource = f"{resource}/{target.subresource}"
    return Requested(verb, target.group, resource, target.namespace)
