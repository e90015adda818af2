"""Objects that a node's request names, read from the watch caches.

They may lag behind by a moment, as in Kubernetes; a kubelet learnt of these objects from them too.
"""

from __future__ import annotations

from proreus.api.group_version import GroupResource
from proreus.api.json_types import JsonObject
from proreus.api.status import NotFound
from proreus.api.wire import splice
from proreus.server.registry.collections import Collections


class CachedObjects:
    def __init__(self, collections: Collections) -> None:
        self._collections = collections

    def get(self, group: str, plural: str, namespace: str, name: str) -> JsonObject:
        """Raises NotFound, by the singular that Kubernetes' listers use."""
        collection = self._collections.named(group, "v1", plural)
        found = collection.cache.peek(f"{namespace}/{name}" if namespace else name)
        if found is None:
            raise NotFound.of(GroupResource(group, collection.resource.names.singular), name)
        return splice.decode_item(found.item)

    def pod(self, namespace: str, name: str) -> JsonObject:
        """Raises NotFound."""
        return self.get("", "pods", namespace, name)

    def node(self, name: str) -> JsonObject:
        """Raises NotFound."""
        return self.get("", "nodes", "", name)
