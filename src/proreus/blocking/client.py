"""Client and ResourceClient without ``await``: each verb is the async one, waited for.

The signatures are taken from the async classes, so that the two faces cannot drift apart.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

from proreus import client as async_client
from proreus.api.json_types import JsonObject
from proreus.api.object import KubeObject, ObjectLike
from proreus.blocking.loop_thread import LoopThread
from proreus.client.client_config import ClientConfig
from proreus.client.resources import commands, groups
from proreus.client.resources import resource_client as async_resource
from proreus.client.resources.commands import Output

_Options = ParamSpec("_Options")
_Result = TypeVar("_Result")
_AsyncResource = async_resource.ResourceClient
_AsyncCommand = commands.RunningCommand


def _waited(
    verb: Callable[Concatenate[Any, _Options], Coroutine[Any, Any, _Result]],
) -> Callable[Concatenate[ResourceClient, _Options], _Result]:
    @functools.wraps(verb)
    def call(
        resource: ResourceClient, /, *args: _Options.args, **options: _Options.kwargs
    ) -> _Result:
        return resource._loop.call(verb(resource._resource, *args, **options))

    return call


def _streamed(
    verb: Callable[Concatenate[Any, _Options], AbstractAsyncContextManager[AsyncIterator[_Result]]],
) -> Callable[Concatenate[ResourceClient, _Options], AbstractContextManager[Iterator[_Result]]]:
    @functools.wraps(verb)
    @contextmanager
    def call(
        resource: ResourceClient, /, *args: _Options.args, **options: _Options.kwargs
    ) -> Iterator[Iterator[_Result]]:
        opened = verb(resource._resource, *args, **options)
        with resource._loop.held(opened) as source:
            yield resource._loop.iterated(source)

    return call


def _iterated(
    verb: Callable[Concatenate[Any, _Options], AsyncIterator[_Result]],
) -> Callable[Concatenate[ResourceClient, _Options], Iterator[_Result]]:
    @functools.wraps(verb)
    def call(
        resource: ResourceClient, /, *args: _Options.args, **options: _Options.kwargs
    ) -> Iterator[_Result]:
        return resource._loop.iterated(verb(resource._resource, *args, **options))

    return call


def _held(
    verb: Callable[Concatenate[Any, _Options], AbstractAsyncContextManager[_Result]],
) -> Callable[Concatenate[ResourceClient, _Options], AbstractContextManager[_Result]]:
    @functools.wraps(verb)
    def call(
        resource: ResourceClient, /, *args: _Options.args, **options: _Options.kwargs
    ) -> AbstractContextManager[_Result]:
        return resource._loop.held(verb(resource._resource, *args, **options))

    return call


def _conversed(
    verb: Callable[Concatenate[Any, _Options], AbstractAsyncContextManager[_AsyncCommand]],
) -> Callable[Concatenate[ResourceClient, _Options], AbstractContextManager[RunningCommand]]:
    @functools.wraps(verb)
    @contextmanager
    def call(
        resource: ResourceClient, /, *args: _Options.args, **options: _Options.kwargs
    ) -> Iterator[RunningCommand]:
        opened = verb(resource._resource, *args, **options)
        with resource._loop.held(opened) as running:
            yield RunningCommand(running, resource._loop)

    return call


class RunningCommand:
    """See ``proreus.client.RunningCommand``: iterate over its output, then ask its exit code."""

    def __init__(self, command: _AsyncCommand, loop: LoopThread) -> None:
        self._command = command
        self._loop = loop

    def __iter__(self) -> Iterator[Output]:
        return self._loop.iterated(aiter(self._command))

    @property
    def exit_code(self) -> int | None:
        return self._command.exit_code

    def write(self, data: bytes) -> None:
        self._loop.call(self._command.write(data))

    def close_stdin(self) -> None:
        self._loop.call(self._command.close_stdin())

    def resize(self, width: int, height: int) -> None:
        self._loop.call(self._command.resize(width, height))


class ResourceClient:
    """Every verb of one resource; see ``proreus.client.ResourceClient``."""

    def __init__(self, resource: _AsyncResource, loop: LoopThread) -> None:
        self._resource = resource
        self._loop = loop

    def in_namespace(self, namespace: str) -> ResourceClient:
        return ResourceClient(self._resource.in_namespace(namespace), self._loop)

    __call__ = in_namespace

    def in_namespace_of(self, obj: KubeObject) -> ResourceClient:
        return ResourceClient(self._resource.in_namespace_of(obj), self._loop)

    def in_all_namespaces(self) -> ResourceClient:
        return ResourceClient(self._resource.in_all_namespaces(), self._loop)

    @property
    def metadata_only(self) -> ResourceClient:
        return ResourceClient(self._resource.metadata_only, self._loop)

    get = _waited(_AsyncResource.get)
    list = _waited(_AsyncResource.list)
    list_all = _waited(_AsyncResource.list_all)
    pages = _iterated(_AsyncResource.pages)
    watch = _streamed(_AsyncResource.watch)
    create = _waited(_AsyncResource.create)
    replace = _waited(_AsyncResource.replace)
    replace_status = _waited(_AsyncResource.replace_status)
    patch = _waited(_AsyncResource.patch)
    patch_status = _waited(_AsyncResource.patch_status)
    apply = _waited(_AsyncResource.apply)
    apply_status = _waited(_AsyncResource.apply_status)
    delete = _waited(_AsyncResource.delete)
    delete_collection = _waited(_AsyncResource.delete_collection)
    get_scale = _waited(_AsyncResource.get_scale)
    set_scale = _waited(_AsyncResource.set_scale)
    evict = _waited(_AsyncResource.evict)
    bind = _waited(_AsyncResource.bind)
    logs = _waited(_AsyncResource.logs)
    follow_logs = _streamed(_AsyncResource.follow_logs)
    execute = _waited(_AsyncResource.execute)
    command = _conversed(_AsyncResource.command)
    attach = _conversed(_AsyncResource.attach)
    port_forward = _held(_AsyncResource.port_forward)
    wait_for = _waited(_AsyncResource.wait_for)
    wait_deleted = _waited(_AsyncResource.wait_deleted)
    modify = _waited(_AsyncResource.modify)
    ensure = _waited(_AsyncResource.ensure)
    events = _iterated(_AsyncResource.events)
    api_resource = _waited(_AsyncResource.api_resource)

    def __repr__(self) -> str:
        return f"{self._resource!r} (blocking)"


class GroupClient:
    """One group version; its attributes are its resources."""

    def __init__(self, group: groups.GroupClient, loop: LoopThread) -> None:
        self._group = group
        self._loop = loop

    def __getattr__(self, plural: str) -> ResourceClient:
        return ResourceClient(getattr(self._group, plural), self._loop)


class Client:
    """See ``proreus.client.Client``. Use as a context manager, or call ``close``."""

    def __init__(self, config: ClientConfig, **options: Any) -> None:
        self._loop = LoopThread(f"proreus client of {config.host}")
        self._client = self._loop.run(lambda: async_client.Client(config, **options))

    @classmethod
    def from_kubeconfig(
        cls, path: Path | str | None = None, *, context: str = "", namespace: str = "", **more: Any
    ) -> Client:
        from proreus.client.config.loading import load_config
        from proreus.client.config.overrides import Overrides

        overrides = more.pop("overrides", None) or Overrides()
        return cls(load_config(path, overrides.chosen(context, namespace)), **more)

    @classmethod
    def from_env(cls, **options: Any) -> Client:
        return cls.from_kubeconfig(**options)

    @classmethod
    def in_cluster(cls, **options: Any) -> Client:
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
        self._loop.close(self._client.close)

    @property
    def config(self) -> ClientConfig:
        return self._client.config

    @property
    def namespace(self) -> str:
        return self._client.namespace

    def resource(self, name: str = "", *, api_version: str = "", kind: str = "") -> ResourceClient:
        found = (
            self._client.resource(name)
            if name and not kind
            else self._client.resource(api_version=api_version, kind=kind)
        )
        return ResourceClient(found, self._loop)

    def resource_of(self, body: ObjectLike) -> ResourceClient:
        return ResourceClient(self._client.resource_of(body), self._loop)

    def version(self) -> JsonObject:
        return self._loop.call(self._client.version())

    def get_raw(self, path: str) -> bytes:
        return self._loop.call(self._client.get_raw(path))

    def __getattr__(self, name: str) -> GroupClient:
        if name.startswith("_"):
            raise AttributeError(name)
        return GroupClient(getattr(self._client, name), self._loop)

    def __repr__(self) -> str:
        return f"{self._client!r} (blocking)"
