"""Watch pods without a cache: every change, once, as the server streams it.

KUBECONFIG=… python examples/watch_pods.py [namespace]
"""

from __future__ import annotations

import asyncio
import contextlib
import sys

from proreus.client import Client


async def main(namespace: str = "default") -> None:
    async with Client.from_env() as client:
        pods = client.core_v1.pods(namespace)
        listed = await pods.list()
        print(f"{len(listed.items)} pods at version {listed.resource_version}", flush=True)
        async with pods.watch(resource_version=listed.resource_version) as events:
            async for event in events:
                print(f"{event.type} {event.object.key}", flush=True)


if __name__ == "__main__":
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(main(*sys.argv[1:]))
