"""Objects that a service account's token is bound to: its account, and a pod, secret or node.

A token is valid while each of them exists under the UID it had when the token was issued, and for a
minute after its deletion timestamp (Kubernetes' leeway). They are looked up for every request, in
the watch cache as long as that is current, so that nothing is remembered beyond a deletion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from proreus.aio.clock import Clock
from proreus.api.values.timestamp import parse_time
from proreus.api.wire import json, splice
from proreus.lazy_dataclass import dataclass
from proreus.server.registry.collection import Collection

_LEEWAY_S = 60.0
_INVALIDATED = "service account token has been invalidated"


@dataclass(slots=True, eq=False)
class BoundReference:
    """``kind`` as claims spell it: serviceaccount, secret, pod or node. ``good_revision``: of the
    object, when it was found to be the one that is meant and not deleted; while that is its newest,
    nothing is read again."""

    kind: str
    namespace: str
    name: str
    uid: str
    key: str = field(init=False)
    good_revision: int = 0

    def __post_init__(self) -> None:
        self.key = f"{self.namespace}/{self.name}" if self.namespace else self.name


class BoundObjects:
    """``collections`` by the kind of a reference."""

    def __init__(self, collections: Mapping[str, Collection], clock: Clock) -> None:
        self._collections = collections
        self._clock = clock

    async def fault(self, references: Sequence[BoundReference]) -> str:
        """Why a token that is bound to them is not valid any more; "" if it is."""
        for reference in references:
            if why := await self._looked_up(reference):
                return why
        return ""

    async def _looked_up(self, reference: BoundReference) -> str:
        collection, key = self._collections[reference.kind], reference.key
        if collection.store.is_newest(key, reference.good_revision):
            return ""
        cached = collection.cache.peek(key)
        if cached is not None and not collection.store.is_newest(key, cached.revision):
            cached = await collection.cache.confirmed(key)
        if cached is not None:
            if cached.revision == reference.good_revision:
                return ""
            return self._read(reference, cached.revision, splice.decode_item(cached.item))
        stored = await collection.store.get(key)
        if stored is None:
            return self._fault(reference, None)
        return self._read(reference, stored.revision, json.decode(stored.value))

    def _read(self, reference: BoundReference, revision: int, obj: Mapping[str, Any]) -> str:
        metadata: Mapping[str, Any] = obj["metadata"]
        why = self._fault(reference, metadata)
        is_good = not why and not metadata.get("deletionTimestamp")
        reference.good_revision = revision if is_good else 0
        return why

    def _fault(self, reference: BoundReference, metadata: Mapping[str, Any] | None) -> str:
        is_account = reference.kind == "serviceaccount"
        if metadata is None:
            return f'serviceaccounts "{reference.name}" not found' if is_account else _INVALIDATED
        uid = metadata.get("uid", "")
        if uid != reference.uid and is_account:
            return f"service account UID ({uid}) does not match claim ({reference.uid})"
        if uid != reference.uid:
            kind = reference.kind
            claim = f"service account {kind} ref claim ({reference.uid})"
            return f"{kind} UID ({uid}) does not match {claim}"
        deleted = metadata.get("deletionTimestamp")
        if not deleted or parse_time(deleted) >= self._clock.now() - _LEEWAY_S:
            return ""
        if is_account:
            return f"service account {reference.namespace}/{reference.name} has been deleted"
        return _INVALIDATED


def references(about: Mapping[str, Any]) -> list[BoundReference]:
    """What must exist. A pod's token names the pod's node too, but does not depend on it."""
    namespace = about["namespace"]
    found = [_reference(about, "serviceaccount", namespace)]
    if "secret" in about:
        found.append(_reference(about, "secret", namespace))
    if "pod" in about:
        found.append(_reference(about, "pod", namespace))
    elif "node" in about:
        found.append(_reference(about, "node", ""))
    return found


def _reference(about: Mapping[str, Any], kind: str, namespace: str) -> BoundReference:
    named = about[kind]
    return BoundReference(kind, namespace, named["name"], named.get("uid", ""))
