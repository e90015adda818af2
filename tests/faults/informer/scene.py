"""A real server, a bad network, an informer behind it, and someone who keeps writing.

    writer ──────────────────────► server
    informer ──► Meddler ──► TcpProxy ──┘

The server is the scene's own, which can be stopped, or one that a kubeconfig names.
The informer's side runs on a hurried clock, on which back-off and silence pass five times as
fast; everything else is real.
"""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from proreus.api.object import KubeObject
from proreus.client import AuthSettings, Client, ClientConfig, NotFound, TlsSettings
from proreus.client.informer import Notification, ReflectorConfig, SharedInformer
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from proreus.testing.tcp_proxy import TcpProxy
from tests.any_server import Upstream, client_of
from tests.faults.informer.meddler import Meddler
from tests.hurried_clock import HurriedClock
from tests.ports import reserved_port

HURRY = 5


async def until(condition: Callable[[], bool]) -> None:
    """Wait for a condition that announces itself to nobody."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


class Witness:
    """A handler that checks every notification against the ones before."""

    def __init__(self) -> None:
        self.seen: dict[str, KubeObject] = {}
        self.complaints: list[str] = []

    def __call__(self, notification: Notification) -> None:
        key, before = notification.object.key, self.seen.get(notification.object.key)
        if (notification.old is None) != (before is None):
            self.complaints.append(f"{key}: {notification.change} although {before} was known")
        if (
            notification.old is not None
            and notification.new is not None
            and notification.old is not before
        ):
            self.complaints.append(f"{key}: updated from {notification.old}, not from {before}")
        if before is not None and int(notification.object.resource_version) < int(
            before.resource_version
        ):
            self.complaints.append(f"{key}: from {before} back to {notification.object}")
        if notification.new is None:
            self.seen.pop(key, None)
        else:
            self.seen[key] = notification.new


class Scene:
    """Everything above, running."""

    def __init__(self, data_dir: Path, port: int = 0, etcd: tuple[str, ...] = ()) -> None:
        self._data_dir = data_dir
        self._etcd = etcd
        self._server = contextlib.AsyncExitStack()
        self._chance = random.Random(7)
        self._port = port
        self.witness = Witness()
        self.proxy: TcpProxy
        self.meddler: Meddler
        self.writer: Client
        self.informer: SharedInformer

    # The server

    async def start_server(self) -> ApiServer:
        config = ServerConfig(
            data_dir=self._data_dir, etcd=self._etcd, port=self._port, shutdown_grace_s=0.2
        )
        return await self._server.enter_async_context(ApiServer(config))

    def move_to(self, etcd: tuple[str, ...]) -> None:
        """Where the next server has its objects; nowhere: in the data folder."""
        self._etcd = etcd

    async def stop_server(self) -> None:
        await self._server.aclose()

    # Writing, past the network that is being broken

    async def write(self, name: str, **content: Any) -> KubeObject:
        """Create or change; the answer is what was stored."""
        maps = self.writer.core_v1.configmaps
        body = {
            "metadata": {"name": name, "labels": {"scene": "true"}},
            "data": {"nonce": str(self._chance.random()), **content},
        }
        return await maps.apply({"kind": "ConfigMap", "apiVersion": "v1", **body}, force=True)

    async def delete(self, name: str) -> None:
        with contextlib.suppress(NotFound):
            await self.writer.core_v1.configmaps.delete(name)

    async def cut_off(self) -> None:
        """The informer reaches nobody any more, until ``proxy.listen``."""
        await self.proxy.refuse()
        self.proxy.cut()
        self.meddler.cut()

    async def churn(self, changes: int = 30) -> None:
        """Write and delete at random."""
        for _ in range(changes):
            name = f"object-{self._chance.randrange(8)}"
            if self._chance.random() < 0.3:
                await self.delete(name)
            else:
                await self.write(name)

    # Checking

    async def wait_equal(self) -> None:
        """Wait until the informer has seen the server's present, and compare all of it."""
        listed = await self.writer.core_v1.configmaps.list(label_selector="scene=true")
        # The list's own version may be another resource's; a last write is one that will be seen.
        last = await self.write("last")
        await self.informer.lister.wait_for_version(last.resource_version, timeout_s=60 * HURRY)
        served = {obj.key: obj.resource_version for obj in listed if obj.name != "last"}
        cached = {
            o.key: o.resource_version for o in self.informer.lister.list() if o.name != "last"
        }
        assert cached == served
        await until(lambda: not self.informer.status().handlers[0].pending)
        assert not self.witness.complaints, self.witness.complaints
        heard = {k: o.resource_version for k, o in self.witness.seen.items() if o.name != "last"}
        assert heard == served

    async def wait_cause(self, cause: str) -> None:
        """Wait until a request has ended for that cause."""
        await until(lambda: cause in self.causes)

    @property
    def causes(self) -> set[str]:
        return set(self.informer.status().reconnect_causes)


@contextlib.asynccontextmanager
async def scene(
    data_dir: Path, *, stream_lists: bool, etcd: tuple[str, ...] = (), kubeconfig: str = ""
) -> AsyncIterator[Scene]:
    clock = HurriedClock(HURRY)
    async with contextlib.AsyncExitStack() as parts:
        if kubeconfig:
            made = Scene(data_dir)
            made.writer = await parts.enter_async_context(client_of(kubeconfig))
        else:
            made = Scene(data_dir, parts.enter_context(reserved_port()), etcd)
            server = await made.start_server()
            parts.push_async_callback(made.stop_server)
            token = AuthSettings(token=server.token, over_loopback_http=True)
            config = ClientConfig(host=server.url, auth=token, rate_limit=None)
            made.writer = await parts.enter_async_context(Client(config))
        config = made.writer.config
        to = Upstream.of(config)
        made.proxy = await parts.enter_async_context(TcpProxy(to.host, to.port))
        broken = replace(to, host="127.0.0.1", port=made.proxy.port)
        made.meddler = await parts.enter_async_context(Meddler(broken))
        client = await parts.enter_async_context(
            Client(
                replace(
                    config,
                    host=f"http://127.0.0.1:{made.meddler.port}",
                    tls=TlsSettings(),
                    auth=replace(config.auth, over_loopback_http=True),
                ),
                clock=clock,
            )
        )
        made.informer = SharedInformer(
            client.core_v1.configmaps.list_watch(label_selector="scene=true"),
            "configmaps",
            config=ReflectorConfig(stream_lists=stream_lists, silence_max_s=4),
            clock=clock,
        )
        made.informer.add_handler(on_notification=made.witness)
        await made.churn()
        group = await parts.enter_async_context(asyncio.TaskGroup())
        task = group.create_task(made.informer.run())
        parts.callback(task.cancel)
        await made.informer.wait_synced()
        yield made
