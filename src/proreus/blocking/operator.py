"""Operators without ``await``: reconcile functions may block, each call on a thread of its own.

    operator = Operator("website-operator", client)

    @operator.reconciler("websites.example.com", owns=["deployments.apps"])
    def reconcile(site: Reconciliation[KubeObject]) -> Result | None:
        site.own({"apiVersion": "apps/v1", "kind": "Deployment", …})

    operator.run()

Everything else is as in ``proreus.client.operator``. A blocking call cannot be interrupted: there
is no ``timeout_s``, and one that still runs when the lease is lost goes on, but nothing that it
writes is sent.
"""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable
from types import FrameType
from typing import Any, Generic, TypeAlias, TypeVar, Unpack, overload

from proreus.aio.signals import SIGNALS
from proreus.aio.tasks import background
from proreus.api.json_types import Json
from proreus.api.object import KubeObject, ObjectLike
from proreus.api.object_type import AnyObject
from proreus.blocking.client import Client
from proreus.blocking.informers import Lister
from proreus.blocking.worker_threads import WorkerThreads
from proreus.client import operator as async_operator
from proreus.client.controller import Result
from proreus.client.event_recorder import NORMAL
from proreus.client.operator import LeaderElection, ReconcilerOptions, StatusCondition
from proreus.client.operator.logs import LogFormat, configure_logs
from proreus.client.resources.builtin import resource_name
from proreus.client.resources.modifying import Applied

T = TypeVar("T")
_AsyncReconciliation = async_operator.Reconciliation


class Reconciliation(Generic[T]):
    """See ``proreus.client.operator.Reconciliation``."""

    def __init__(self, found: _AsyncReconciliation[T], client: Client) -> None:
        self._found = found
        self._loop = client._loop
        self.client = client
        self.object: KubeObject = found.object
        self.attempt = found.attempt

    @property
    def value(self) -> T:
        return self._found.value

    @property
    def key(self) -> str:
        return self._found.key

    @property
    def name(self) -> str:
        return self._found.name

    @property
    def namespace(self) -> str:
        return self._found.namespace

    @overload
    def lister(self, resource: type[AnyObject]) -> Lister[AnyObject]: ...
    @overload
    def lister(self, resource: str) -> Lister: ...
    def lister(self, resource: type[KubeObject] | str) -> Lister:
        name = resource_name(resource)
        return Lister(self._loop.run(lambda: self._found.lister(name)), self._loop)

    def own(self, body: ObjectLike) -> Applied:
        return self._loop.call(self._found.own(body))

    def set_status(self, fields: Json | None = None, *conditions: StatusCondition) -> KubeObject:
        return self._loop.call(self._found.set_status(fields, *conditions))

    def event(self, reason: str, message: str, type: str = NORMAL) -> None:  # noqa: A002
        self._loop.run(lambda: self._found.event(reason, message, type))

    def __repr__(self) -> str:
        return f"{self._found!r} (blocking)"


ReconcileFunction: TypeAlias = Callable[[Reconciliation[T]], Result | None]


class RegisteredFunction(Generic[T]):
    """A reconcile function; still callable as such."""

    def __init__(self, function: ReconcileFunction[T]) -> None:
        self._function = function
        self._finalize: ReconcileFunction[T] | None = None

    def finalize(self, function: ReconcileFunction[T]) -> ReconcileFunction[T]:
        """Decorates the function that is called before an object goes."""
        self._finalize = function
        return function

    def parts(self) -> tuple[ReconcileFunction[T], ReconcileFunction[T] | None]:
        return self._function, self._finalize

    def __call__(self, found: Reconciliation[T]) -> Result | None:
        return self._function(found)


class Operator:
    """See ``proreus.client.operator.Operator``. It runs on the client's loop thread."""

    def __init__(
        self,
        name: str,
        client: Client,
        *,
        namespace: str = "",
        leader_election: LeaderElection | None = LeaderElection(),  # noqa: B008  # immutable
        address: str = ":8080",
        grace_s: float = 30.0,
        reports_activity: bool = False,
    ) -> None:
        self._client = client
        self._loop = client._loop
        self._threads = WorkerThreads(f"operator {name}")
        self._stopping = threading.Event()
        self._stop: asyncio.Event | None = None
        self._operator = self._loop.run(
            lambda: async_operator.Operator(
                name,
                client=client._client,
                namespace=namespace,
                leader_election=leader_election,
                address=address,
                grace_s=grace_s,
                reports_activity=reports_activity,
            )
        )

    @property
    def url(self) -> str:
        """Of the endpoint, once it is open."""
        return self._operator.url

    @property
    def is_working(self) -> bool:
        return self._operator.is_working

    @overload
    def reconciler(
        self, primary: str, **options: Unpack[ReconcilerOptions]
    ) -> Callable[[ReconcileFunction[KubeObject]], RegisteredFunction[KubeObject]]: ...
    @overload
    def reconciler(
        self, primary: type[T], **options: Unpack[ReconcilerOptions]
    ) -> Callable[[ReconcileFunction[T]], RegisteredFunction[T]]: ...
    def reconciler(self, primary: Any, **options: Unpack[ReconcilerOptions]) -> Any:
        """Decorates the reconcile function of a kind."""
        if "timeout_s" in options:
            raise ValueError("a blocking reconcile cannot be interrupted: timeout_s is not for it")

        def decorate(function: ReconcileFunction[Any]) -> RegisteredFunction[Any]:
            registered = RegisteredFunction(function)

            def parts() -> tuple[Any, Any]:
                reconcile, finalize = registered.parts()
                return self._threaded(reconcile), finalize and self._threaded(finalize)

            self._operator.reconciler(primary, **options).add(parts)
            return registered

        return decorate

    def run(self, *, log_format: LogFormat = "text") -> None:
        """Until SIGTERM or SIGINT, if called on the main thread, or ``stop``. A second signal ends
        the process."""
        configure_logs(log_format)
        handled: dict[signal.Signals, Any] = {}

        def end(number: int, frame: FrameType | None) -> None:
            for one, before in handled.items():
                signal.signal(one, before)
            self.stop()

        if threading.current_thread() is threading.main_thread():
            handled.update({one: signal.signal(one, end) for one in SIGNALS})
        try:
            self._loop.call(self._run())
        finally:
            for one, before in handled.items():
                signal.signal(one, before)
            self._threads.close()

    def stop(self) -> None:
        """Let ``run`` end in good order; from any thread, at any time."""
        self._stopping.set()
        if (stop := self._stop) is not None:
            self._loop.run(stop.set)

    async def _run(self) -> None:
        stop = self._stop = asyncio.Event()
        if self._stopping.is_set():
            return
        try:
            async with background(self._operator):
                await stop.wait()
        except BaseExceptionGroup as failed:
            raise failed.exceptions[0] from None

    def _threaded(
        self, function: ReconcileFunction[T]
    ) -> Callable[[_AsyncReconciliation[T]], Awaitable[Result | None]]:
        async def call(found: _AsyncReconciliation[T]) -> Result | None:
            blocking = Reconciliation(found, self._client)
            return await self._threads.run(lambda: function(blocking))

        return call
