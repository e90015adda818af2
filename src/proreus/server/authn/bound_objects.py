"""Objects that a service account's token is bound to: its account, and a pod, secret or node.

A token is valid while each of them exists under the UID it had when the token was issued, and for a
minute after its deletion timestamp (Kubernetes' leeway). They are looked up for every request, in
the watch cache as long as that is current, so that nothing is remembered beyond a deletion.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from proreus.aio.clock import Clock
from proreus.api.values.timestamp import parse_time
from proreus.api.wire import json, splice
from proreus.lazy_dataclass import dataclass
from proreus.server.registry.collection import Collection

_LEEWAY_S = 60.0
_INVALIDATED = "service account token has been invalidated"


@dataclass(frozen=True, slots=True)
class BoundReference:
    """``kind`` as claims spell it: serviceaccount, secret, pod or node."""

    kind: str
    namespace: str
    name: str
    uid: str


class BoundObjects:
    """``collections`` by the kind of a reference."""

    def __init__(self, collections: Mapping[str, Collection], clock: Clock) -> None:
        self._collections = collections
        self._clock = clock

    async def fault(self, about: Mapping[str, Any]) -> str:
        """Why a token with these claims is not valid any more; "" if it is."""
        for reference in references(about):
            if why := self._fault(reference, await self._metadata(reference)):
                return why
        return ""

    async def _metadata(self, reference: BoundReference) -> Mapping[str, Any] | None:
        collection = self._collections[reference.kind]
        name, namespace = reference.name, reference.namespace
        key = f"{namespace}/{name}" if namespace else name
        cached = collection.cache.peek(key)
        if cached is not None and not collection.store.is_newest(key, cached.revision):
            cached = await collection.cache.confirmed(key)
        if cached is not None:
            obj: Mapping[str, Any] = splice.decode_item(cached.item)
        else:
            stored = await collection.store.get(key)
            if stored is None:
                return None
            obj = json.decode(stored.value)
        metadata: Mapping[str, Any] = obj["metadata"]
        return metadata

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


def references(about: Mapping[str, Any]) -> Iterator[BoundReference]:
    """What must exist. A pod's token names the pod's node too, but does not depend on it."""
    namespace = about["namespace"]
    yield _reference(about, "serviceaccount", namespace)
    if "secret" in about:
        yield _reference(about, "secret", namespace)
    if "pod" in about:
        yield _reference(about, "pod", namespace)
    elif "node" in about:
        yield _reference(about, "node", "")


def _reference(about: Mapping[str, Any], kind: str, namespace: str) -> BoundReference:
    named = about[kind]
    return BoundReference(kind, namespace, named["name"], named.get("uid", ""))
