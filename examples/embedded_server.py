"""A declarative store inside your own program: typed objects, written and watched, without HTTP.

python examples/embedded_server.py
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from proreus.embedded import Store


@dataclass
class Setting:
    colour: str


async def main() -> None:
    async with Store(kinds=[Setting]) as store:  # in memory; Store("settings.db", …): in a file
        settings = store.of(Setting)
        async with asyncio.TaskGroup() as tasks, settings.watch() as changes:
            tasks.create_task(settings.create("settings", Setting("blue")))
            async for change in changes:
                if change.value is not None:
                    print(f"{change.type}: the colour is {change.value.colour}", flush=True)
                    break


if __name__ == "__main__":
    asyncio.run(main())
