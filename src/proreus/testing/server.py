"""An API server in the test's own process: real, in memory, ready in milliseconds.

    async with running_server() as server, server.client() as client:
        await client.core_v1.configmaps("default").create({"metadata": {"name": "settings"}})
        async with server.client_as("ann", allow={"configmaps": ["get"]}) as ann:
            await ann.core_v1.configmaps("default").get("settings")

Each is its own world: several run side by side in one process and know nothing of each other.
Roles are enforced. ``client`` is the administrator's; ``client_as`` has the rights it is given and
no others, to see whether a program gets along with those it asks for.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from proreus.aio.clock import Clock, SystemClock
from proreus.aio.tasks import background
from proreus.api.selectors.labels import LabelSelector
from proreus.client import AuthSettings, Client, ClientConfig, TlsSettings
from proreus.client.client_config import Impersonation
from proreus.client.operator import Operator
from proreus.client.resources.resource_client import ResourceClient
from proreus.net.tls.certificate_authority import CertificateAuthority
from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from proreus.server.credentials import Login, write_kubeconfig
from proreus.server.http.instruments import Instruments
from proreus.server.insides import Insides
from proreus.server.storage.memory import MemoryStorage, StoreCheckpoint
from proreus.testing.granting import Grant, Rules, binding_of, rules_of
from proreus.testing.loop_rest import LoopRest
from proreus.testing.quiet import HORIZON, TIMEOUT_S, settle
from proreus.testing.virtual_clock import VirtualClock

_DAY_S = 86400.0


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The state of a server at one time, for ``RunningServer.restore``."""

    stored: StoreCheckpoint
    now: float

    def __repr__(self) -> str:
        return f"<Checkpoint: {self.stored!r}>"


class RunningServer:
    """A server that runs: how to reach it, how to bring it back to an earlier state, and how to
    wait until nothing happens. ``api`` is the server itself."""

    def __init__(self, api: ApiServer) -> None:
        self.api = api

    @property
    def clock(self) -> Clock:
        return self.api.clock

    @property
    def url(self) -> str:
        return self.api.url

    @property
    def token(self) -> str:
        """The administrator's."""
        return self.api.token

    @property
    def kubeconfig(self) -> Path | None:
        """For kubectl and other programs; written only if the configuration named a file."""
        return self.api.config.kubeconfig

    def config(self, token: str = "", *, user_agent: str = "") -> ClientConfig:
        """How a client reaches it, as the administrator or as whose token it is.

        Without a rate limit: what a test waits for is its own doing, and on a virtual clock that
        the test does not advance a limit would hold back requests for ever.
        """
        tls, auth = TlsSettings(), AuthSettings(token=token or self.token, over_loopback_http=True)
        if (files := self.api.credentials.tls) is not None:
            tls = TlsSettings(ca_file=files.authority.certificate)
        found = ClientConfig(host=self.url, tls=tls, auth=auth, rate_limit=None)
        return replace(found, user_agent=user_agent) if user_agent else found

    def client(self, token: str = "", *, user_agent: str = "", **options: Any) -> Client:
        """A client on the server's clock, unless ``clock`` is another; close it by
        ``async with``."""
        config = self.config(token, user_agent=user_agent)
        return Client(config, **{"clock": self.clock, **options})

    @asynccontextmanager
    async def running(
        self, operator: Operator, *, client: Client | None = None
    ) -> AsyncIterator[Operator]:
        """An operator at work beside the body, on the server's clock. ``client``: whose rights it
        has, instead of the administrator's. The one that is given is not used up: each time it is
        a new one with the same reconcilers that runs. Its user agent is its name."""
        async with AsyncExitStack() as opened:
            if client is None:
                own = self.client(user_agent=operator.name)
                client = await opened.enter_async_context(own)
            bound = operator.bound_to(client, self.clock)
            async with background(bound):
                await self.settle()
                yield bound

    async def checkpoint(self) -> Checkpoint:
        """The present state, once all that was begun has come to an end. Costs no copy of an
        object. Raises ValueError if the storage is not in memory."""
        await self._rest()
        return Checkpoint(await self._insides().checkpoint(), self.clock.now())

    async def restore(self, checkpoint: Checkpoint) -> None:
        """Exactly the state of the checkpoint: objects, revisions, uids, and on a virtual clock
        the time of day. Requests and watches under way are broken off. Costs what has changed."""
        await self._insides().restore(checkpoint.stored)
        if isinstance(self.clock, VirtualClock):
            self.clock.set_calendar(checkpoint.now)
        await self._rest()

    @asynccontextmanager
    async def fork(self) -> AsyncIterator[RunningServer]:
        """What happens in the body happens to a copy: afterwards the state is what it was before.
        Forks nest; there is one at a time, since it is the same server."""
        before = await self.checkpoint()
        try:
            yield self
        finally:
            await self.restore(before)

    async def settle(self, horizon: float | str = HORIZON, *, timeout_s: float = TIMEOUT_S) -> None:
        """Until nothing more happens before ``horizon``: see ``quiet``. Raises StillBusy."""
        self._rest_of_loop()
        await settle(self.clock, horizon=horizon, timeout_s=timeout_s)

    async def advance(self, duration: float | str) -> None:
        """Move the virtual clock on, for all who share it."""
        if not isinstance(self.clock, VirtualClock):
            raise ValueError(
                "only a virtual clock can be moved: running_server(clock=VirtualClock())"
            )
        self._rest_of_loop()
        await self.clock.advance(duration)

    async def _rest(self) -> None:
        """Parts of the server follow its objects in tasks of their own."""
        await self._rest_of_loop().wait()

    def _insides(self) -> Insides:
        parts = self.api.parts
        return Insides(parts.caches, parts.http, parts.instruments.memory)

    def _rest_of_loop(self) -> LoopRest:
        rest = LoopRest.of(asyncio.get_running_loop())
        rest.others.add(self.api.parts.offload.is_busy)
        return rest

    @asynccontextmanager
    async def client_as(
        self,
        user: str,
        *,
        groups: Sequence[str] = (),
        allow: Rules | None = None,
        role: str = "",
        namespace: str = "",
        **options: Any,
    ) -> AsyncIterator[Client]:
        """A client of a user who may do what ``allow`` and the cluster role ``role`` say, in
        ``namespace`` or everywhere, and what was granted before: see ``granting``. It is the
        administrator who acts as the user; the user's rights alone count."""
        await self.grant(user, Grant(allow or {}, role, namespace))
        acting = replace(self.config(), impersonate=Impersonation(user, groups=tuple(groups)))
        async with Client(acting, **{"clock": self.clock, **options}) as client:
            yield client

    async def kubeconfig_as(
        self,
        path: Path,
        user: str,
        *,
        groups: Sequence[str] = (),
        allow: Rules | None = None,
        role: str = "",
        namespace: str = "",
    ) -> Path:
        """As ``client_as``, for programs: writes a kubeconfig with a certificate of the user's own
        that lasts a day. Needs a server with TLS."""
        tls = self.api.credentials.tls
        if tls is None:
            raise ValueError("a kubeconfig needs a server with TLS")
        await self.grant(user, Grant(allow or {}, role, namespace))
        authority = CertificateAuthority(tls.authority)
        pair = authority.issue_client(user, groups, lasts_s=_DAY_S, now=self.api.clock.now())
        write_kubeconfig(path, self.url, authority.certificate, Login(user, certificate=pair))
        return path

    async def grant(self, user: str, grant: Grant) -> None:
        """It holds from the next request on."""
        async with self.client() as admin:
            policy = admin.rbac_v1
            where, kind = grant.namespace, "Role" if grant.namespace else "ClusterRole"
            roles = policy.roles(where) if where else policy.clusterroles
            bindings = policy.rolebindings(where) if where else policy.clusterrolebindings
            if grant.allow:
                role = {"metadata": {"generateName": "test-user-"}, "rules": rules_of(grant.allow)}
                made = await roles.create(role)
                await bindings.create(binding_of(user, kind, made.name))
            for name in await _parts_of(policy.clusterroles, grant.role) if grant.role else ():
                await bindings.create(binding_of(user, "ClusterRole", name))


async def _parts_of(roles: ResourceClient, name: str) -> Iterable[str]:
    """The role, and those that it is aggregated of: who would do so is a controller, and a server
    alone has none."""
    found: dict[str, None] = {}
    waiting = [name]
    while waiting:
        if (name := waiting.pop()) in found:
            continue
        found[name] = None
        role = await roles.get(name)
        for selector in (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ():
            labels = LabelSelector.from_object(selector.to_dict())
            waiting += [part.name for part in await roles.list(label_selector=str(labels))]
    return found


@asynccontextmanager
async def running_server(
    config: ServerConfig | None = None, clock: Clock | None = None
) -> AsyncIterator[RunningServer]:
    """Without a configuration: in memory, plain HTTP, on a free loopback port.

    For kubectl and other programs it needs TLS: ``ServerConfig(data_dir=folder, tls=True,
    kubeconfig=folder / "kubeconfig")``.
    """
    config, clock = config or ServerConfig(), clock or SystemClock()
    if config.etcd or config.data_dir is not None:
        async with ApiServer(config, clock) as api:
            yield RunningServer(api)
        return
    async with (
        MemoryStorage.open(clock) as memory,
        ApiServer(config, clock, Instruments(memory=memory)) as api,
    ):
        yield RunningServer(api)
