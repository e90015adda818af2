"""A declarative store inside your own program: an API server in the process, watched and written.

python examples/embedded_server.py
"""

from __future__ import annotations

import asyncio

from proreus.testing.server import running_server


async def main() -> None:
    async with running_server() as server, server.client() as client:
        settings = client.core_v1.configmaps("default")
        async with asyncio.TaskGroup() as tasks, settings.watch() as events:
            tasks.create_task(
                settings.create(
                    {
                        "apiVersion": "v1",
                        "kind": "ConfigMap",
                        "metadata": {"name": "settings"},
                        "data": {"colour": "blue"},
                    }
                )
            )
            async for event in events:
                if event.object.name == "settings":
                    colour = (event.object.data or {})["colour"]
                    print(f"{event.type}: the colour is {colour}", flush=True)
                    break


if __name__ == "__main__":
    asyncio.run(main())
