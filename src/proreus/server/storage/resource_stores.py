"""One ResourceStore per resource type over one shared storage (Kubernetes' StorageFactory)."""

from __future__ import annotations

from proreus.server.storage import keyspace
from proreus.server.storage.interface import Storage
from proreus.server.storage.resource_store import ResourceStore


class ResourceStores:
    """``root`` is where the keys of a server start; several servers on one etcd share it."""

    def __init__(self, storage: Storage, root: str = keyspace.ROOT) -> None:
        keyspace.check_prefix(root)
        self.storage = storage
        self._root = root
        self._stores: dict[str, ResourceStore] = {}

    def store(self, resource_prefix: str) -> ResourceStore:
        """The store of ``pods``, ``services/specs`` or ``example.com/widgets``: always the same."""
        store = self._stores.get(resource_prefix)
        if store is None:
            prefix = keyspace.resource_prefix(resource_prefix, self._root)
            store = self._stores[resource_prefix] = ResourceStore(self.storage, prefix)
        return store

    def __repr__(self) -> str:
        return f"<ResourceStores of {len(self._stores)} resources over {self.storage!r}>"
