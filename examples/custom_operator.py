"""An operator on a kind of its own: a Database gets a ConfigMap with its address, and a status.

KUBECONFIG=… python examples/custom_operator.py
kubectl create -f - <<< '{"apiVersion": "example.com/v1", "kind": "Database",
                          "metadata": {"name": "orders"}, "spec": {"engine": "postgres"}}'
"""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import Annotated, Literal

from proreus.api.kinds.core_v1 import ConfigMap
from proreus.api.kinds.meta_v1 import ObjectMeta
from proreus.client import (
    Client,
    Controller,
    PrinterColumn,
    Request,
    Result,
    SharedInformerFactory,
    Typed,
    checked,
    controlled_by,
    custom_resource,
    definition_of,
    register,
)


@dataclass
class DatabaseSpec:
    """What is wanted of a database."""

    engine: Literal["postgres", "mysql"]
    size_gib: Annotated[int, checked(minimum=1, maximum=1000)] = 10


@dataclass
class DatabaseStatus:
    phase: str = "Pending"
    address: str | None = None


@custom_resource(
    group="example.com",
    version="v1",
    short_names=("db",),
    columns=(
        PrinterColumn("Engine", ".spec.engine"),
        PrinterColumn("Phase", ".status.phase"),
        PrinterColumn("Age", ".metadata.creationTimestamp", "date"),
    ),
)
@dataclass
class Database:
    spec: DatabaseSpec
    status: DatabaseStatus | None = None


async def main() -> None:
    async with Client.from_env() as client, SharedInformerFactory(client) as informers:
        await register(client, Database)
        databases = informers.informer(definition_of(Database).resource)

        async def reconcile(request: Request) -> Result | None:
            if request.object is None:
                return None
            found = request.object
            typed = Typed(client, Database, found.namespace)
            address = f"{typed.of(found).value.spec.engine}://{found.name}.{found.namespace}"
            config_map = ConfigMap(
                metadata=ObjectMeta(name=f"{found.name}-address"), data={"address": address}
            )
            maps = client.core_v1.configmaps(found.namespace)
            await maps.apply(controlled_by(found, config_map), force=True)
            await typed.set_status(found.name, DatabaseStatus("Ready", address))
            print(f"{request.key} is ready at {address}", flush=True)
            return None

        informers.start()
        await Controller(reconcile, databases).run()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())
