"""How a test's server is reached: by the administrator, by users with given rights, by programs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from proreus.aio.clock import Clock
from proreus.api.selectors.labels import LabelSelector
from proreus.client import AuthSettings, Client, ClientConfig, TlsSettings
from proreus.client.client_config import Impersonation
from proreus.client.resources.resource_client import ResourceClient
from proreus.net.tls.certificate_authority import CertificateAuthority
from proreus.server.credentials import Login, write_kubeconfig
from proreus.testing.granting import Grant, Rules, binding_of, rules_of
from proreus.testing.program import RunningProgram, running_program
from proreus.testing.tcp_proxy import TcpProxy

if TYPE_CHECKING:
    from proreus.server.app import ApiServer

_DAY_S = 86400.0


class Clients:
    """Part of a ``RunningServer``. ``token`` is the administrator's, over restarts too."""

    @property
    def api(self) -> ApiServer:
        raise AttributeError("part of a RunningServer, which has it")

    def __init__(self, token: str) -> None:
        self.token = token

    @property
    def clock(self) -> Clock:
        """The test's; the server's own may be another face of it."""
        raise AttributeError("part of a RunningServer, which has it")

    @property
    def url(self) -> str:
        return self.api.url

    @property
    def kubeconfig(self) -> Path | None:
        """For kubectl and other programs; written only if the configuration named a file."""
        return self.api.config.kubeconfig

    def config(
        self, token: str = "", *, user_agent: str = "", through: TcpProxy | None = None
    ) -> ClientConfig:
        """How a client reaches it, as the administrator or as whose token it is.

        Without a rate limit: what a test waits for is its own doing, and on a virtual clock that
        the test does not advance a limit would hold back requests for ever. Without discovery on
        disk: the server of an earlier test may have had this port, and other kinds.
        """
        tls, auth = TlsSettings(), AuthSettings(token=token or self.token, over_loopback_http=True)
        if (files := self.api.credentials.tls) is not None:
            tls = TlsSettings(ca_file=files.authority.certificate)
        host = self._url(through)
        found = ClientConfig(host=host, tls=tls, auth=auth, rate_limit=None, disk_cache=False)
        return replace(found, user_agent=user_agent) if user_agent else found

    def client(
        self,
        token: str = "",
        *,
        user_agent: str = "",
        through: TcpProxy | None = None,
        **options: Any,
    ) -> Client:
        """A client on the server's clock, unless ``clock`` is another; close it by
        ``async with``."""
        config = self.config(token, user_agent=user_agent, through=through)
        return Client(config, **{"clock": self.clock, **options})

    @asynccontextmanager
    async def client_as(
        self,
        user: str,
        *,
        groups: Sequence[str] = (),
        allow: Rules | None = None,
        role: str = "",
        namespace: str = "",
        user_agent: str = "",
        **options: Any,
    ) -> AsyncIterator[Client]:
        """A client of a user who may do what ``allow`` and the cluster role ``role`` say, in
        ``namespace`` or everywhere, and what was granted before: see ``granting``. It is the
        administrator who acts as the user; the user's rights alone count."""
        await self.grant(user, Grant(allow or {}, role, namespace))
        as_user = Impersonation(user, groups=tuple(groups))
        acting = replace(self.config(user_agent=user_agent), impersonate=as_user)
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
        through: TcpProxy | None = None,
    ) -> Path:
        """As ``client_as``, for programs: writes a kubeconfig with a certificate of the user's own
        that lasts a day. Needs a server with TLS."""
        tls = self.api.credentials.tls
        if tls is None:
            raise ValueError("a kubeconfig needs a server with TLS")
        await self.grant(user, Grant(allow or {}, role, namespace))
        authority = CertificateAuthority(tls.authority)
        pair = authority.issue_client(user, groups, lasts_s=_DAY_S, now=self.clock.now())
        login = Login(user, certificate=pair)
        write_kubeconfig(path, self._url(through), authority.certificate, login)
        return path

    @asynccontextmanager
    async def program(
        self,
        *command: str | Path,
        kubeconfig: Path | None = None,
        env: Mapping[str, str] | None = None,
        cwd: Path | None = None,
    ) -> AsyncIterator[RunningProgram]:
        """A program in its own process with KUBECONFIG set, the administrator's if none is given,
        ended with the body: see ``program``."""
        known = kubeconfig or self.kubeconfig
        async with running_program(*command, kubeconfig=known, env=env, cwd=cwd) as running:
            yield running

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

    def _url(self, through: TcpProxy | None) -> str:
        if through is None:
            return self.url
        return f"{self.url.partition('://')[0]}://{through.host}:{through.port}"


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
