"""Client without ``await``: the way in."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Unpack, overload

from proreus import client as async_client
from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject, ObjectLike
from proreus.api.object_type import AnyObject
from proreus.blocking.builtin_groups import BuiltinGroups
from proreus.blocking.loop_thread import LoopThread
from proreus.blocking.resource_client import ResourceClient
from proreus.client.client import ClientOptions
from proreus.client.client_config import ClientConfig

if TYPE_CHECKING:
    from proreus.client.config.overrides import Overrides


class Client(BuiltinGroups):
    """See ``proreus.client.Client``. Use as a context manager, or call ``close``."""

    def __init__(
        self,
        config: ClientConfig,
        *,
        loop: LoopThread | None = None,
        **options: Unpack[ClientOptions],
    ) -> None:
        """``loop``: a thread that it shares with others and that outlives it, not its own."""
        self._shares_loop = loop is not None
        self._loop = loop or LoopThread(f"proreus client of {config.host}")
        self._client = self._loop.run(lambda: async_client.Client(config, **options))

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
        """From a kubeconfig file, or the ones kubectl would read. Raises ``ConfigError``."""
        from proreus.client.config.loading import load_config
        from proreus.client.config.overrides import Overrides

        chosen = (overrides or Overrides()).chosen(context, namespace)
        return cls(load_config(path, chosen), **options)

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

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections and end the loop thread; calls under way raise. From any thread, a
        handler's included, and any number of times."""
        if self._shares_loop:
            self._loop.call(self._client.close())
        else:
            self._loop.close(self._client.close)

    @property
    def config(self) -> ClientConfig:
        return self._client.config

    @property
    def namespace(self) -> str:
        return self._client.namespace

    @overload
    def resource(self, name: type[AnyObject]) -> ResourceClient[AnyObject]: ...
    @overload
    def resource(self, name: str) -> ResourceClient: ...
    @overload
    def resource(self, *, api_version: str, kind: str) -> ResourceClient: ...
    def resource(
        self, name: type[KubeObject] | str = "", *, api_version: str = "", kind: str = ""
    ) -> ResourceClient:
        """Any resource: by its class, its name, or by ``api_version`` and ``kind``."""
        if name and not kind:
            return ResourceClient(self._client.resource(name), self._loop)
        found = self._client.resource(api_version=api_version, kind=kind)
        return ResourceClient(found, self._loop)

    def resource_of(self, body: ObjectLike) -> ResourceClient:
        return ResourceClient(self._client.resource_of(body), self._loop)

    def version(self) -> JsonObject:
        return self._loop.call(self._client.version())

    def get_raw(self, path: str) -> bytes:
        return self._loop.call(self._client.get_raw(path))

    def __repr__(self) -> str:
        return f"{self._client!r} (blocking)"
