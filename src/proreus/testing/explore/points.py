"""What a fault can be tied to: a write that a program made, an event that it was sent. Pure.

A point is named by what it is about and by how often that has been: the same name means the same
moment in every run that went alike until then.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from urllib.parse import parse_qsl, urlsplit

from proreus.api.json_types import Json
from proreus.api.wire import json
from proreus.api.wire.path import ApiPath, split, unescape

_QUESTIONS = frozenset({"authorization.k8s.io", "authentication.k8s.io"})
_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}


@dataclass(frozen=True, slots=True)
class WritePoint:
    """The ``nth`` write (from 1) with this verb on this object. Of an object whose name the server
    makes, ``key`` ends with a star."""

    verb: str
    resource: str  # as kubectl names it, with the subresource: pods/status, scales.example.com
    key: str
    nth: int = 1

    def __str__(self) -> str:
        return f"{self.verb} {self.resource} {self.key}{_nth(self.nth)}"


@dataclass(frozen=True, slots=True)
class EventPoint:
    """The ``nth`` event (from 1) of this type about this object."""

    type: str
    resource: str
    key: str
    nth: int = 1

    @property
    def object(self) -> tuple[str, str]:
        return self.resource, self.key

    def __str__(self) -> str:
        return f"{self.type} {self.resource} {self.key}{_nth(self.nth)}"


@dataclass(frozen=True, slots=True)
class AskedFor:
    """What the URL of a request asks for."""

    path: ApiPath
    query: Json

    @property
    def resource(self) -> str:
        name = f"{self.path.resource}.{self.path.group}" if self.path.group else self.path.resource
        return f"{name}/{self.path.subresource}" if self.path.subresource else name

    @property
    def is_watch(self) -> bool:
        return self.query.get("watch") in ("true", "1")

    def is_write(self, method: str) -> bool:
        """Reviews are questions in a POST; a dry run changes nothing."""
        asks_only = self.path.group in _QUESTIONS or "dryRun" in self.query
        return method in _VERBS and not asks_only

    @property
    def is_list(self) -> bool:
        return self.path.is_collection and not self.is_watch

    @property
    def takes_any_version(self) -> bool:
        """A list that a server may answer which is behind."""
        return self.is_list and self.query.get("resourceVersion") == "0"

    @property
    def streams_list(self) -> bool:
        return self.query.get("sendInitialEvents") == "true"


def asked(url: str) -> AskedFor | None:
    """None: it names no resource."""
    parts = urlsplit(url)
    path = split(unescape(parts.path))
    if not isinstance(path, ApiPath):
        return None
    return AskedFor(path, dict(parse_qsl(parts.query)))


def key_of(metadata: Json) -> str:
    """Of an object whose name was generated, what it was generated from: names differ per run."""
    name, made_from = str(metadata.get("name") or ""), str(metadata.get("generateName") or "")
    if made_from and (not name or name.startswith(made_from)):
        name = f"{made_from}*"
    namespace = metadata.get("namespace")
    return f"{namespace}/{name}" if namespace else name


class Counted:
    """Numbers the points of one program in one run."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._generated: dict[tuple[str, str], str] = {}  # full name → its key with a star

    def write(self, method: str, what: AskedFor, body: bytes | None) -> WritePoint:
        path, verb = what.path, _VERBS[method]
        namespace = f"{path.namespace}/" if path.scoped else ""
        if not path.name and method == "DELETE":
            verb, key = "deletecollection", f"{namespace}*"
        elif not path.name:
            key = namespace + (key_of({**_metadata(body), "namespace": ""}) or "*")
        else:
            full = namespace + path.name
            resource = what.resource.partition("/")[0]
            key = self._generated.get((resource, full), full)
        return WritePoint(verb, what.resource, key, self._next(verb, what.resource, key))

    def event(self, type: str, resource: str, metadata: Json) -> EventPoint:  # noqa: A002
        key = key_of(metadata)
        self.note_name(resource, metadata)
        return EventPoint(type, resource, key, self._next(type, resource, key))

    def note_name(self, resource: str, metadata: Json) -> None:
        """From now on writes to the object are named by what its name was generated from."""
        key = key_of(metadata)
        if key.endswith("*"):
            full = (
                f"{metadata['namespace']}/{metadata['name']}"
                if metadata.get("namespace")
                else (str(metadata["name"]))
            )
            self._generated[resource, full] = key

    def _next(self, kind: str, resource: str, key: str) -> int:
        self._counts[kind, resource, key] += 1
        return self._counts[kind, resource, key]


def _metadata(body: bytes | None) -> Json:
    try:
        document = json.decode(body) if body else {}
    except json.JSONDecodeError:
        return {}
    found = document.get("metadata") if isinstance(document, dict) else None
    return found if isinstance(found, dict) else {}


def _nth(nth: int) -> str:
    return f" #{nth}" if nth > 1 else ""
