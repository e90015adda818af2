"""ResourceClient without ``await``: each verb is the async one, waited for.

The signatures are taken from the async class, so that the two faces cannot drift apart.
"""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar

from proreus.api.object import KubeObject
from proreus.api.object_type import AnyObject, Object
from proreus.blocking.loop_thread import LoopThread
from proreus.client.resources import resource_client as async_resource

if TYPE_CHECKING:
    from proreus.client.resources.running_command import Output
    from proreus.client.resources.running_command import RunningCommand as _AsyncCommand

_Options = ParamSpec("_Options")
_Result = TypeVar("_Result")
_AsyncResource = async_resource.ResourceClient


def _waited(
    verb: Callable[Concatenate[_AsyncResource[AnyObject], _Options], Coroutine[Any, Any, _Result]],
) -> Callable[Concatenate[ResourceClient[AnyObject], _Options], _Result]:
    @functools.wraps(verb)
    def call(
        resource: ResourceClient[AnyObject], /, *args: _Options.args, **options: _Options.kwargs
    ) -> _Result:
        return resource._loop.call(verb(resource._resource, *args, **options))

    return call


def _streamed(
    verb: Callable[
        Concatenate[_AsyncResource[AnyObject], _Options],
        AbstractAsyncContextManager[AsyncIterator[_Result]],
    ],
) -> Callable[
    Concatenate[ResourceClient[AnyObject], _Options], AbstractContextManager[Iterator[_Result]]
]:
    @functools.wraps(verb)
    @contextmanager
    def call(
        resource: ResourceClient[AnyObject], /, *args: _Options.args, **options: _Options.kwargs
    ) -> Iterator[Iterator[_Result]]:
        opened = verb(resource._resource, *args, **options)
        with resource._loop.held(opened) as source:
            yield resource._loop.iterated(source)

    return call


def _iterated(
    verb: Callable[Concatenate[_AsyncResource[AnyObject], _Options], AsyncIterator[_Result]],
) -> Callable[Concatenate[ResourceClient[AnyObject], _Options], Iterator[_Result]]:
    @functools.wraps(verb)
    def call(
        resource: ResourceClient[AnyObject], /, *args: _Options.args, **options: _Options.kwargs
    ) -> Iterator[_Result]:
        return resource._loop.iterated(verb(resource._resource, *args, **options))

    return call


def _held(
    verb: Callable[
        Concatenate[_AsyncResource[AnyObject], _Options], AbstractAsyncContextManager[_Result]
    ],
) -> Callable[Concatenate[ResourceClient[AnyObject], _Options], AbstractContextManager[_Result]]:
    @functools.wraps(verb)
    def call(
        resource: ResourceClient[AnyObject], /, *args: _Options.args, **options: _Options.kwargs
    ) -> AbstractContextManager[_Result]:
        return resource._loop.held(verb(resource._resource, *args, **options))

    return call


def _conversed(
    verb: Callable[
        Concatenate[_AsyncResource[AnyObject], _Options], AbstractAsyncContextManager[_AsyncCommand]
    ],
) -> Callable[
    Concatenate[ResourceClient[AnyObject], _Options], AbstractContextManager[RunningCommand]
]:
    @functools.wraps(verb)
    @contextmanager
    def call(
        resource: ResourceClient[AnyObject], /, *args: _Options.args, **options: _Options.kwargs
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


class ResourceClient(Generic[Object]):
    """Every verb of one resource; see ``proreus.client.ResourceClient``."""

    def __init__(self, resource: _AsyncResource[Object], loop: LoopThread) -> None:
        self._resource = resource
        self._loop = loop

    def in_namespace(self, namespace: str) -> ResourceClient[Object]:
        return ResourceClient(self._resource.in_namespace(namespace), self._loop)

    __call__ = in_namespace

    def in_namespace_of(self, obj: KubeObject) -> ResourceClient[Object]:
        return ResourceClient(self._resource.in_namespace_of(obj), self._loop)

    def in_all_namespaces(self) -> ResourceClient[Object]:
        return ResourceClient(self._resource.in_all_namespaces(), self._loop)

    @property
    def namespace(self) -> str:
        """ "": all of them."""
        return self._resource.namespace

    @property
    def metadata_only(self) -> ResourceClient:
        return ResourceClient(self._resource.metadata_only, self._loop)

    get = _waited(_AsyncResource[Object].get)
    list = _waited(_AsyncResource[Object].list)
    list_all = _waited(_AsyncResource[Object].list_all)
    pages = _iterated(_AsyncResource[Object].pages)
    watch = _streamed(_AsyncResource[Object].watch)
    create = _waited(_AsyncResource[Object].create)
    replace = _waited(_AsyncResource[Object].replace)
    replace_status = _waited(_AsyncResource[Object].replace_status)
    patch = _waited(_AsyncResource[Object].patch)
    patch_status = _waited(_AsyncResource[Object].patch_status)
    apply = _waited(_AsyncResource[Object].apply)
    apply_status = _waited(_AsyncResource[Object].apply_status)
    delete = _waited(_AsyncResource[Object].delete)
    delete_collection = _waited(_AsyncResource[Object].delete_collection)
    get_scale = _waited(_AsyncResource[Object].get_scale)
    set_scale = _waited(_AsyncResource[Object].set_scale)
    evict = _waited(_AsyncResource[Object].evict)
    bind = _waited(_AsyncResource[Object].bind)
    logs = _waited(_AsyncResource[Object].logs)
    follow_logs = _streamed(_AsyncResource[Object].follow_logs)
    execute = _waited(_AsyncResource[Object].execute)
    command = _conversed(_AsyncResource[Object].command)
    attach = _conversed(_AsyncResource[Object].attach)
    port_forward = _held(_AsyncResource[Object].port_forward)
    wait_for = _waited(_AsyncResource[Object].wait_for)
    wait_deleted = _waited(_AsyncResource[Object].wait_deleted)
    modify = _waited(_AsyncResource[Object].modify)
    ensure = _waited(_AsyncResource[Object].ensure)
    events = _iterated(_AsyncResource[Object].events)
    api_resource = _waited(_AsyncResource[Object].api_resource)

    def __repr__(self) -> str:
        return f"{self._resource!r} (blocking)"
