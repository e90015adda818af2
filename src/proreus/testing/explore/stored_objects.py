"""Whole objects, as a client would get them, of what a server's storage keeps."""

from __future__ import annotations

from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject
from proreus.api.wire import json
from proreus.api.wire.splice import split_version
from proreus.server.registry.catalog import Catalog
from proreus.server.resource import Resource
from proreus.server.storage.interface import StoredValue

_ROOT = "/registry/"


class StoredObjects:
    """Reads stored values by their keys. Kinds may come and go."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._generation = -1
        self._by_prefix: dict[str, Resource] = {}

    def resource(self, key: str) -> Resource | None:
        """None: of no kind that is served."""
        if self._generation != self._catalog.generation:
            self._generation = self._catalog.generation
            # The version that is stored, if it is served; else any.
            served = sorted(self._catalog, key=lambda one: one.gvk == one.stored_gvk)
            self._by_prefix = {one.prefix: one for one in served}
        parts = key.split("/", 4)
        for depth in (4, 3):
            if len(parts) > depth:
                found = self._by_prefix.get("/".join(parts[:depth]) + "/")
                if found is not None:
                    return found
        return None

    def name(self, key: str) -> tuple[str, str] | None:
        """Resource as kubectl names it, and ``namespace/name``."""
        resource = self.resource(key)
        if resource is None:
            return None
        return str(resource.group_resource), key.removeprefix(resource.prefix)

    def decoded(self, stored: StoredValue) -> JsonObject | None:
        resource = self.resource(stored.key)
        if resource is None:
            return None
        version, value = split_version(stored.value)
        kind = resource.stored_gvk
        api_version = f"{kind.group}/{kind.version}" if kind.group else kind.version
        if version:
            api_version = f"{kind.group}/{version}"
        body: JsonObject = json.decode(value)
        body["metadata"]["resourceVersion"] = str(stored.revision)
        return {"kind": kind.kind, "apiVersion": api_version, **body}

    def object(self, stored: StoredValue | None) -> KubeObject | None:
        found = self.decoded(stored) if stored is not None else None
        return KubeObject.from_dict(found) if found is not None else None
