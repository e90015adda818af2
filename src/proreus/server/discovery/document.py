"""A computed document, and the cache that drops it when the catalog changes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

from proreus.api.group_version import GroupVersion
from proreus.api.wire import json
from proreus.server.registry.catalog import Catalog
from proreus.server.resource import Resource

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class Document:
    """A JSON body and its ETag, quotes included."""

    body: bytes
    etag: str

    @classmethod
    def of(cls, value: Any) -> Document:
        body = json.encode(value)
        return cls(body, quoted(content_hash(body)))

    def decoded(self) -> Any:
        """For those who asked for another encoding."""
        return json.decode(self.body)


def content_hash(*parts: bytes) -> str:
    """The form Kubernetes gives its hashes: SHA-512 in upper-case hex."""
    digest = hashlib.sha512()
    for part in parts:
        digest.update(part)
    return digest.hexdigest().upper()


def quoted(tag: str) -> str:
    return f'"{tag}"'


class CatalogSnapshot:
    """What the catalog held when it was taken, and what was computed from it.

    Documents are built in other threads while kinds come and go, so nothing reads the catalog
    itself; a result belongs to the state it was computed from.
    """

    __slots__ = ("_values", "generation", "resources")

    def __init__(self, catalog: Catalog) -> None:
        self.generation = catalog.generation
        self.resources = tuple(catalog)
        self._values: dict[Hashable, Any] = {}

    def of(self, group_version: GroupVersion) -> list[Resource]:
        return [r for r in self.resources if r.group_version == group_version]

    def once(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        if key not in self._values:
            self._values[key] = compute()
        found: Value = self._values[key]
        return found


class CurrentSnapshot:
    """The present state of the catalog, taken anew when it has changed."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._served = CatalogSnapshot(catalog)

    def now(self) -> CatalogSnapshot:
        served = self._served
        if served.generation != self._catalog.generation:
            served = self._served = CatalogSnapshot(self._catalog)
        return served
