"""A process that starts one informer and says what that cost: ``python -m`` it with a port.

Run by ``benchmarks.informer`` in a process of its own, so that memory is the client's alone.
"""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from proreus.client import Client, ClientConfig, TlsSettings
from proreus.client.informer import ReflectorConfig, SharedInformerFactory


def config_of(port: int) -> ClientConfig:
    # What encryption costs does not depend on whether the certificate is checked.
    return ClientConfig(f"https://127.0.0.1:{port}", tls=TlsSettings(insecure=True))


def peak_mb() -> float:
    """Of this program: what getrusage says includes the process that forked it."""
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


async def main(port: int, *, stream_lists: bool) -> None:
    config = ReflectorConfig(stream_lists=stream_lists)
    async with (
        Client(config_of(port)) as client,
        SharedInformerFactory(client, config=config) as informers,
    ):
        # The first request of a process loads the HTTP library and its certificates, once.
        await client.version()
        pods = informers.informer("pods")
        before = time.process_time()
        informers.start()
        await informers.wait_for_cache_sync(timeout_s=60)
        cpu_s = time.process_time() - before
        print(len(pods.lister), cpu_s, peak_mb())


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), stream_lists=sys.argv[2] == "streamed"))
