"""One object as its bytes, and as the cache keeps it: beside them only what selecting needs.

Receives: StoredValue, from storage through ``ingest``.  Hands on: CachedObject, to everything else.
Invariant: a CachedObject never changes; lists, history and all watchers share it.

Cost: about 650 B beside the bytes. Field values stand in one tuple per object under names shared by
all objects of the resource; labels and texts that repeat (of one deployment's pods, phases, nodes)
are kept once.
"""

from __future__ import annotations

import logging
import sys
from abc import ABCMeta
from collections.abc import Callable, Iterator, Mapping

import msgspec

from proreus.api.wire import json, splice
from proreus.server.storage.interface import StoredValue


class SelectableAttributes(msgspec.Struct, frozen=True, gc=False):
    """What selectors look at: the labels, and the kind's own selectable fields by name."""

    labels: Mapping[str, str]
    fields: Mapping[str, str]


ReadAttributes = Callable[[bytes], SelectableAttributes]  # from the stored form


class EncodedObject(msgspec.Struct, frozen=True, gc=False):
    """The bytes of an object, as views render them; of the cache, of storage or of a write.

    ``key`` is "namespace/name" or "name", relative to the resource's storage prefix. ``item`` is
    the splice form with the revision inside and without kind and apiVersion. ``version`` is the one
    it was written in, if its bytes said so: those of custom objects do.
    """

    key: str
    revision: int  # 0: it is not stored
    item: bytes
    version: str = ""

    @classmethod
    def of_stored(cls, key: str, stored: bytes, revision: int) -> EncodedObject:
        version, value = splice.split_version(stored)
        item = splice.item_from_stored(value, revision) if revision else value[1:]
        return EncodedObject(key, revision, item, version)


class CachedObject(EncodedObject, frozen=True, gc=False, kw_only=True):
    """``fields`` has metadata.name and metadata.namespace besides the kind's own."""

    namespace: str
    name: str
    labels: Mapping[str, str]
    fields: Mapping[str, str]

    def at_revision(self, revision: int) -> CachedObject:
        """The same content under another revision: what DELETED events carry."""
        item = splice.item_from_stored(splice.stored_from_item(self.item), revision)
        return CachedObject(
            self.key,
            revision,
            item,
            self.version,
            namespace=self.namespace,
            name=self.name,
            labels=self.labels,
            fields=self.fields,
        )

    def __repr__(self) -> str:
        return f"<CachedObject {self.key} at {self.revision}, {len(self.item)} B>"


class _MappingStruct(msgspec.StructMeta, ABCMeta):
    """Of structs that are mappings."""


class FieldValues(
    Mapping[str, str], msgspec.Struct, metaclass=_MappingStruct, frozen=True, gc=False, eq=False
):
    """Values of fields whose names are shared: a tuple per object instead of a dict.

    There is one per object, and nothing in it refers back: the garbage collector, which would walk
    a million of them in half a second, does not know of them.
    """

    _places: dict[str, int]
    _values: tuple[str, ...]

    def __getitem__(self, name: str) -> str:
        return self._values[self._places[name]]

    def get(self, name: str, default: str = "") -> str:  # type: ignore[override]  # str only
        place = self._places.get(name)
        return default if place is None else self._values[place]

    def __eq__(self, other: object) -> bool:
        """Two of one resource, as every update compares them, by their values alone."""
        if type(other) is FieldValues and other._places is self._places:
            return self._values == other._values
        return Mapping.__eq__(self, other)

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __repr__(self) -> str:
        return repr(dict(self))


_NAME, _NAMESPACE = "metadata.name", "metadata.namespace"
_NO_LABELS: Mapping[str, str] = {}
_NO_ATTRIBUTES = SelectableAttributes(_NO_LABELS, {})
_log = logging.getLogger(__name__)
_KNOWN_MAX = 1024


def _identity_only(namespace: str, name: str, revision: int) -> bytes:
    """An item that says no more than which object it stands for."""
    metadata = {"namespace": namespace, "name": name} if namespace else {"name": name}
    return splice.item_from_stored(json.encode({"metadata": metadata}), revision)


class ObjectReader:
    """Makes the CachedObjects of one resource. Cost: the kind's ``read`` plus about 4 µs."""

    def __init__(self, prefix: str, read: ReadAttributes) -> None:
        self.prefix = prefix
        self.unreadable = 0  # how often a value was none that a server of this kind writes
        self._unreadable: dict[str, int] = {}  # the last such revision by key
        self._read = read
        self._own: tuple[str, ...] = ()
        self._places: dict[str, int] = {_NAME: 0, _NAMESPACE: 1}
        # Values seen lately, so that equal ones are kept once. Forgotten when full: a value that
        # repeats comes back at once, one that does not was never worth its place.
        self._texts: dict[str, str] = {}
        self._labels: dict[int, Mapping[str, str]] = {}

    def read(self, stored: StoredValue) -> CachedObject:
        key = stored.key[len(self.prefix) :]
        namespace, _, name = key.rpartition("/")
        version, value = "", stored.value
        if value.startswith(splice.WRITTEN_IN):
            version, value = splice.split_version(value)
        try:
            item = splice.item_from_stored(value, stored.revision)
            attributes = self._read(value)
        except Exception:  # what no server wrote; the others must still be served
            self.unreadable += 1
            self._unreadable[key] = stored.revision
            _log.exception("%s cannot be read and is served empty", stored.key)
            item, attributes = _identity_only(namespace, name, stored.revision), _NO_ATTRIBUTES
        texts = self._texts
        if len(texts) > _KNOWN_MAX:
            texts.clear()
        namespace = texts.setdefault(namespace, namespace)
        fields = self._fields(name, namespace, attributes.fields)
        labels = self._known_labels(attributes.labels)
        if version:
            version = texts.setdefault(version, version)
        return CachedObject(
            key,
            stored.revision,
            item,
            version,
            namespace=namespace,
            name=name,
            labels=labels,
            fields=fields,
        )

    def is_readable(self, found: CachedObject) -> bool:
        return not self._unreadable or self._unreadable.get(found.key) != found.revision

    def _fields(self, name: str, namespace: str, own: Mapping[str, str]) -> FieldValues:
        if tuple(own) != self._own:
            # A kind reads the same fields of every object, so this happens once.
            self._own = tuple(own)
            self._places = {f: at for at, f in enumerate((_NAME, _NAMESPACE, *self._own))}
        known = map(self._texts.setdefault, own.values(), own.values())
        return FieldValues(self._places, (name, namespace, *known))

    def _known_labels(self, labels: Mapping[str, str]) -> Mapping[str, str]:
        if not labels:
            return _NO_LABELS
        fingerprint = hash(tuple(labels.items()))
        known = self._labels.get(fingerprint)
        if known is not None and known == labels:
            return known
        if len(self._labels) > _KNOWN_MAX:
            self._labels.clear()
        fresh = self._labels[fingerprint] = {sys.intern(k): v for k, v in labels.items()}
        return fresh
