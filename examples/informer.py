"""Watch pods: a local copy that stays equal to the cluster, whatever the network does.

KUBECONFIG=… python examples/informer.py [namespace]
"""

from __future__ import annotations

import asyncio
import contextlib
import sys

from proreus.client import Client, KubeObject
from proreus.client.informer import SharedInformerFactory, drop_managed_fields


def by_node(pod: KubeObject) -> list[str]:
    return [pod.spec.nodeName] if pod.spec and pod.spec.nodeName else []


def tell(old: KubeObject, new: KubeObject) -> None:
    before, after = (old.status or {}).get("phase"), (new.status or {}).get("phase")
    if before != after:
        print(f"{new.key}: {before} → {after}", flush=True)


async def main(namespace: str = "") -> None:
    async with (
        Client.from_env() as client,
        SharedInformerFactory(client, transform=drop_managed_fields) as informers,
    ):
        pods = informers.informer("pods", namespace=namespace, indexes={"node": by_node})
        pods.add_handler(
            on_add=lambda pod: print(f"{pod.key}: there", flush=True),
            on_update=tell,
            on_delete=lambda pod: print(f"{pod.key}: gone", flush=True),
        )
        informers.start()
        await informers.wait_for_cache_sync()
        nodes = {
            node: len(pods.lister.by_index("node", node))
            for node in pods.indexer.index_values("node")
        }
        print(f"synced: {len(pods.lister)} pods, per node {nodes}", flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(*sys.argv[1:]))
