"""The roles and bindings that every cluster has, made or mended when a server starts.

``bootstrap_policy.jsonl`` has them as kube-apiserver makes them, one object per line. Several
servers may start on one store at the same time: who comes second finds the work done.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from importlib.resources import files

import structlog

from proreus.aio.clock import Clock
from proreus.api.json_types import JsonObject
from proreus.api.status import AlreadyExists, NotFound
from proreus.api.wire import json
from proreus.api.wire.options import DeleteOptions
from proreus.server.authz.rbac.following import GROUP
from proreus.server.authz.rbac.reconciliation import AUTO_UPDATE, Other, reconciled
from proreus.server.registry.collection import UnreadableObject
from proreus.server.registry.collections import Collections
from proreus.server.registry.verbs.create import create
from proreus.server.registry.verbs.delete import delete
from proreus.server.registry.verbs.update import update
from proreus.server.registry.write import Write

_log = structlog.get_logger(__name__)
_FILE = "bootstrap_policy.jsonl"


def bootstrap_policy() -> Iterator[JsonObject]:
    """Whole objects, in no particular order."""
    for line in files(__package__).joinpath(_FILE).read_bytes().splitlines():
        entry: JsonObject = json.decode(line)
        labels = {"kubernetes.io/bootstrapping": "rbac-defaults", **entry.pop("labels", {})}
        metadata = {"annotations": {AUTO_UPDATE: "true"}, "labels": labels}
        metadata |= {key: entry.pop(key) for key in ("namespace", "name") if key in entry}
        if "roleRef" in entry:
            entry["roleRef"]["apiGroup"] = GROUP
        yield {"apiVersion": f"{GROUP}/v1", **entry, "metadata": metadata}


async def ensure_policy(collections: Collections, clock: Clock) -> None:
    """All at once: storage commits what is written together in one go."""
    async with asyncio.TaskGroup() as writes:
        for expected in bootstrap_policy():
            writes.create_task(_ensure(collections, clock, expected))


async def _ensure(collections: Collections, clock: Clock, expected: JsonObject) -> None:
    metadata = expected["metadata"]
    collection = collections.named(GROUP, "v1", f"{expected['kind'].lower()}s")
    namespace = metadata.get("namespace", "")
    write = Write.of_server(collection, namespace, metadata["name"], clock.now())
    stored = await collection.store.get(collection.key(write.namespace, write.name))
    try:
        if stored is None:
            await create(write, expected)
            return
        match reconciled(collection.decode(stored), expected):
            case Other.NOTHING:
                return
            case Other.RECREATE:
                await delete(write, DeleteOptions())
                await create(write, expected)
            case changed:
                await update(write, changed)
    except (AlreadyExists, NotFound):
        return  # another server is at it
    except UnreadableObject as error:
        _log.error("role or binding cannot be restored", name=write.name, error=str(error))
