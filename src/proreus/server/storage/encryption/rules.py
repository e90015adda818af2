"""Which transformers encrypt and decrypt the values under a key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from proreus.lazy_dataclass import dataclass
from proreus.server.storage.encryption.configuration import ResourceProviders
from proreus.server.storage.encryption.transformers import Plain, Transformer
from proreus.server.storage.keyspace import ROOT


@dataclass(frozen=True, slots=True)
class Transformers:
    """The first one writes; the one whose prefix a value begins with reads it."""

    all: tuple[Transformer, ...]

    @property
    def writer(self) -> Transformer:
        return self.all[0]

    def reader(self, stored: bytes) -> Transformer | None:
        """None: written by a provider that is not configured. Plain values are read by identity."""
        plain = None
        for transformer in self.all:
            if not transformer.prefix:
                plain = transformer
            elif stored.startswith(transformer.prefix):
                return transformer
        return plain


UNENCRYPTED = Transformers((Plain(),))


class EncryptionRules:
    """``resources`` says which resource (``secrets``, ``deployments.apps``) is kept under a prefix.

    What is not in it is a custom resource's, ``<group>/<plural>``, or the server's own and plain.
    """

    def __init__(
        self,
        entries: Sequence[tuple[ResourceProviders, Transformers]],
        resources: Mapping[str, str],
    ) -> None:
        self._entries = entries
        self._resources = resources
        self._found: dict[str, Transformers] = {}

    def of(self, key: str) -> Transformers:
        """Of an object's key or a resource's prefix."""
        first, _, rest = key[len(ROOT) :].partition("/")
        prefix = first
        if first not in self._resources:
            prefix = f"{first}/{rest.partition('/')[0]}"
        found = self._found.get(prefix)
        if found is None:
            found = self._found[prefix] = self._choose(self._resource(prefix))
        return found

    def _resource(self, prefix: str) -> str:
        if prefix in self._resources:
            return self._resources[prefix]
        group, _, plural = prefix.partition("/")
        return f"{plural}.{group}" if "." in group else ""

    def _choose(self, resource: str) -> Transformers:
        if not resource:
            return UNENCRYPTED
        group = resource.partition(".")[2]
        names = {resource, f"*.{group}", "*.*"}
        for entry, transformers in self._entries:
            if names.intersection(entry.resources):
                return transformers
        return UNENCRYPTED
