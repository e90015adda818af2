"""A program like ``kubectl get pods --watch -o name``: ``python -m`` it with a kubeconfig."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from proreus.client import Client, load_config


async def main(kubeconfig: Path) -> None:
    async with Client(load_config(kubeconfig)) as client:
        pods = client.core_v1.pods("default")
        listed = await pods.list()
        for pod in listed.items:
            print("pod/" + pod.name)
        sys.stdout.flush()
        async with pods.watch(resource_version=listed.resource_version) as events:
            async for event in events:
                print("pod/" + event.object.name, flush=True)


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
