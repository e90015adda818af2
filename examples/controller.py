"""A controller in forty lines: a ConfigMap labelled ``greet=NAME`` gets a greeting that it owns.

KUBECONFIG=… python examples/controller.py
"""

from __future__ import annotations

import asyncio
import contextlib

from proreus.client import Client, KubeObject, controlled_by
from proreus.client.controller import Controller, Request, Result
from proreus.client.informer import SharedInformerFactory


def greeting(source: KubeObject) -> dict[str, object]:
    metadata = {"name": f"{source.name}-greeting", "labels": {"greeting": "true"}}
    text = f"Hello, {source.labels['greet']}!"
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"text": text}}
    return controlled_by(source, body)


async def main() -> None:
    async with Client.from_env() as client, SharedInformerFactory(client) as informers:
        sources = informers.informer("configmaps", label_selector="greet")
        greetings = informers.informer("configmaps", label_selector="greeting=true")

        async def reconcile(request: Request) -> Result | None:
            if request.object is None:
                return None  # deleted: the garbage collector takes what it owned
            await client.core_v1.configmaps.apply(greeting(request.object), force=True)
            print(f"greeted {request.key}", flush=True)
            return Result(requeue_after_s=3600)

        informers.start()
        await Controller(reconcile, sources, owns=[greetings], concurrency=4).run()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main())
