"""Client: the way in. One server, all its resources.

async with Client.from_env() as client:
    pods = await client.core_v1.pods("default").list(label_selector="app=web")
    await client.resource("deployments.apps")("default").set_scale("web", 3)
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack, overload

from proreus.aio.clock import Clock
from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject, ObjectLike
from proreus.api.object_type import AnyObject
from proreus.client.discovery.cache import CachedDiscovery
from proreus.client.resources.builtin import resource_name
from proreus.client.resources.builtin_groups import BuiltinGroups
from proreus.client.resources.groups import ResourceLookup
from proreus.client.resources.resource_client import ResourceClient
from proreus.client.rest.client import RestClient
from proreus.client.rest.observer import NO_OBSERVER, Observer
from proreus.client.rest.request import InvalidRequest, RestRequest
from proreus.client.rest.retry import RetryPolicy
from proreus.client.rest.warning import WarningHandler, log_warning

if TYPE_CHECKING:
    from proreus.client.client_config import ClientConfig
    from proreus.client.config.overrides import Overrides
    from proreus.client.credentials import CredentialSource


class ClientOptions(TypedDict, total=False):
    """What a client takes beside its configuration. ``credentials``: instead of those in it."""

    clock: Clock | None
    retry: RetryPolicy | None
    on_warning: WarningHandler
    observer: Observer
    credentials: CredentialSource | None


class Client(BuiltinGroups):
    """Use as an async context manager; it opens connections as needed and closes them at the end.

    ``client.core_v1.pods``, ``client.apps_v1.deployments``: built-in groups and their resources
    are attributes, with types. ``resource`` has any other. ``rest`` and ``discovery`` are the
    layers below.
    """

    def __init__(
        self,
        config: ClientConfig,
        *,
        clock: Clock | None = None,
        retry: RetryPolicy | None = None,
        on_warning: WarningHandler = log_warning,
        observer: Observer = NO_OBSERVER,
        credentials: CredentialSource | None = None,
    ) -> None:
        """``credentials``: instead of those in ``config``."""
        self.rest = RestClient(
            config,
            clock=clock,
            retry=retry,
            on_warning=on_warning,
            observer=observer,
            credentials=credentials,
        )
        self.discovery = CachedDiscovery(self.rest)
        self._lookup = ResourceLookup(self.rest, self.discovery)

    @classmethod
    def from_kubeconfig(
        cls,
        path: Path | str | None = None,
        *,
        context: str = "",
        namespace: str = "",
        overrides: Overrides | None = None,
        **options: Unpack[ClientOptions],
    ) -> Client:
        """From a kubeconfig file, or the ones kubectl would read. Raises ``ConfigError``.

        ``context`` and ``namespace`` win over those in ``overrides``.
        """
        # Reading configuration is not needed by who brings it along.
        from proreus.client.config.loading import load_config
        from proreus.client.config.overrides import Overrides

        return cls(
            load_config(path, (overrides or Overrides()).chosen(context, namespace)), **options
        )

    @classmethod
    def from_env(cls, **options: Unpack[ClientOptions]) -> Client:
        """As kubectl would: KUBECONFIG, the file at home, or the pod this runs in."""
        from proreus.client.config.loading import load_config

        return cls(load_config(), **options)

    @classmethod
    def in_cluster(cls, **options: Unpack[ClientOptions]) -> Client:
        """Only the pod's own configuration. Raises ``NotInCluster`` elsewhere."""
        import os

        from proreus.client.config.in_cluster import in_cluster_config

        return cls(in_cluster_config(os.environ), **options)

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def close(self) -> None:
        await self.rest.close()

    @property
    def config(self) -> ClientConfig:
        return self.rest.config

    @property
    def namespace(self) -> str:
        """Where namespaced objects go that name no namespace."""
        return self.rest.config.namespace

    @overload
    def resource(self, name: type[AnyObject]) -> ResourceClient[AnyObject]: ...
    @overload
    def resource(self, name: str) -> ResourceClient: ...
    @overload
    def resource(self, *, api_version: str, kind: str) -> ResourceClient: ...
    def resource(
        self, name: type[KubeObject] | str = "", *, api_version: str = "", kind: str = ""
    ) -> ResourceClient:
        """Any resource: by its class (``api.kinds``), by a name as kubectl takes it (``deploy``,
        ``deployments.apps``, ``widgets.v1.example.com``), or by ``api_version`` and ``kind``. Of
        users' own classes ``Typed`` has the objects."""
        if name and not kind:
            return self._lookup.by_name(resource_name(name))
        if kind and api_version and not name:
            return self._lookup.by_kind(api_version, kind)
        raise InvalidRequest("name a resource, or give its api_version and kind")

    def resource_of(self, body: ObjectLike) -> ResourceClient:
        """The resource of an object that says its apiVersion and kind, in the namespace it says."""
        namespace = (body.get("metadata") or {}).get("namespace") or ""
        found = self.resource(api_version=body.get("apiVersion") or "", kind=body.get("kind") or "")
        return found.in_namespace(namespace) if namespace else found

    async def version(self) -> JsonObject:
        """What the server says about itself."""
        return await self.discovery.live.version()

    async def get_raw(self, path: str) -> bytes:
        """The body of a GET on any path: ``/readyz``, ``/metrics``, ``/openapi/v3``."""
        return (await self.rest.send(RestRequest("get", "GET", path, accept="*/*"))).body

    def __repr__(self) -> str:
        return f"<Client of {self.rest.config.host}>"
