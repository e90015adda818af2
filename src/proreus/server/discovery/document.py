"""A computed answer, and the cache that forgets it when the catalog changes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Any, TypeVar

from proreus.api.wire import json
from proreus.server.registry.catalog import Catalog

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


class PerGeneration:
    """Values computed from the catalog, each once per state of it."""

    def __init__(self, catalog: Catalog) -> None:
        self.catalog = catalog
        self._generation = catalog.generation
        self._values: dict[Hashable, Any] = {}

    def get(self, key: Hashable, compute: Callable[[], Value]) -> Value:
        if self._generation != self.catalog.generation:
            self._generation = self.catalog.generation
            self._values.clear()
        if key not in self._values:
            self._values[key] = compute()
        found: Value = self._values[key]
        return found
