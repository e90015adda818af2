"""What a reconciler is registered with, and the Controller that is made of it for each term."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Protocol, TypeAlias, TypedDict, TypeVar, overload

from proreus.aio.clock import Clock
from proreus.api.object import KubeObject
from proreus.client.controller import (
    Controller,
    KeysOf,
    Predicate,
    ReconcileLimits,
    Request,
    Result,
    Watch,
)
from proreus.client.finalizers import add_finalizer, has_finalizer, remove_finalizer
from proreus.client.informer import SharedInformer, SharedInformerFactory
from proreus.client.operator.logs import logged_as
from proreus.client.operator.reconciliation import Reconciliation, Tools
from proreus.client.resources.builtin import resource_name
from proreus.client.workqueue import Limiter, RateLimitedQueue

T = TypeVar("T")
ReconcileFunction: TypeAlias = Callable[[Reconciliation[T]], Awaitable[Result | None]]


class ReconcilerClass(Protocol[T]):
    """A reconciler as a class; one that has a finalizer has ``finalize`` too. It is made without
    arguments, anew for each term as leader."""

    async def reconcile(self, found: Reconciliation[T], /) -> Result | None: ...


@dataclass(frozen=True, slots=True)
class Watched:
    """A kind whose changes concern the objects that ``keys`` names (``namespace/name``)."""

    resource: type[KubeObject] | str
    keys: KeysOf
    when: Predicate | None = None
    label_selector: str = ""


class ReconcilerOptions(TypedDict, total=False):
    """``owns``: kinds of which the primary objects control some. ``watches``: further kinds.
    ``when``: which changes of the primary kind count. ``finalizer``: keeps an object until
    ``finalize`` is done with it. ``limiter``: how long a failing object waits."""

    name: str
    namespace: str
    label_selector: str
    owns: Sequence[type[KubeObject] | str]
    watches: Sequence[Watched]
    when: Predicate
    finalizer: str
    concurrency: int
    limiter: Callable[[Clock], Limiter[str]]
    max_retries: int
    timeout_s: float
    resync_s: float


@dataclass(slots=True, kw_only=True)
class Registration(Generic[T]):
    """One reconciler."""

    resource: str
    read: Callable[[KubeObject], T]
    make: Callable[[], tuple[ReconcileFunction[T], ReconcileFunction[T] | None]]
    name: str = ""
    namespace: str | None = None
    label_selector: str = ""
    owns: Sequence[type[KubeObject] | str] = ()
    watches: Sequence[Watched] = ()
    when: Predicate | None = None
    finalizer: str = ""
    concurrency: int = 1
    limiter: Callable[[Clock], Limiter[str]] | None = None
    max_retries: int | None = None
    timeout_s: float | None = None
    resync_s: float = 0.0
    grace_s: float = field(default=30.0, init=False)

    def primary(self, informers: SharedInformerFactory) -> SharedInformer:
        return informers.informer(
            self.resource, namespace=self.namespace, label_selector=self.label_selector
        )

    def owned(self, informers: SharedInformerFactory) -> tuple[SharedInformer, ...]:
        return tuple(
            informers.informer(resource_name(one), namespace=self.namespace) for one in self.owns
        )

    def watched(self, informers: SharedInformerFactory) -> list[Watch]:
        return [
            Watch(
                informers.informer(
                    resource_name(one.resource),
                    namespace=self.namespace,
                    label_selector=one.label_selector,
                ),
                one.keys,
                one.when,
            )
            for one in self.watches
        ]

    def check(self) -> None:
        """Raises ValueError for what cannot work."""
        _, finalize = self.make()
        if bool(self.finalizer) != (finalize is not None):
            lacking = "finalize function" if self.finalizer else "name of a finalizer"
            raise ValueError(f"the reconciler of {self.resource} has no {lacking}")

    def controller(self, tools: Tools) -> Controller:
        """A new one: a controller runs once."""
        reconcile, finalize = self.make()
        primary = self.primary(tools.informers)
        name = self.name or primary.name
        run = _Reconciler(self, tools, name, reconcile, finalize)
        limiter = self.limiter(tools.clock) if self.limiter is not None else None
        return Controller(
            run.reconcile,
            primary,
            when=self.when,
            owns=tools.owned,
            watches=self.watched(tools.informers),
            name=name,
            concurrency=self.concurrency,
            limits=ReconcileLimits(
                max_retries=self.max_retries,
                timeout_s=self.timeout_s,
                resync_s=self.resync_s,
                grace_s=self.grace_s,
            ),
            queue=RateLimitedQueue(name, clock=tools.clock, limiter=limiter),
        )


@dataclass(frozen=True, slots=True)
class _Reconciler(Generic[T]):
    """From a controller's request to the user's function."""

    registration: Registration[T]
    tools: Tools
    name: str
    on_reconcile: ReconcileFunction[T]
    on_finalize: ReconcileFunction[T] | None

    async def reconcile(self, request: Request) -> Result | None:
        """An object that is being deleted is finalized, or left to go."""
        obj = request.object
        if obj is None:
            return None
        with logged_as(controller=self.name, object=request.key, attempt=request.attempt):
            found = Reconciliation(obj, request.attempt, self.tools, self.registration.read)
            if self.on_finalize is None:
                return None if obj.metadata.deletionTimestamp else await self.on_reconcile(found)
            return await self._with_finalizer(found, self.on_finalize)

    async def _with_finalizer(
        self, found: Reconciliation[T], finalize: ReconcileFunction[T]
    ) -> Result | None:
        obj, api, finalizer = found.object, self.tools.primary, self.registration.finalizer
        if not obj.metadata.deletionTimestamp:
            if not has_finalizer(obj, finalizer):
                found = replace(found, object=await add_finalizer(api, obj, finalizer))
            return await self.on_reconcile(found)
        if not has_finalizer(obj, finalizer):
            return None
        result = await finalize(found)
        if result is not None and result.requeue_after_s is not None:
            return result  # not done yet
        await remove_finalizer(api, obj, finalizer)
        return None


class RegisteredFunction(Generic[T]):
    """A reconcile function; still callable as such."""

    def __init__(self, function: ReconcileFunction[T]) -> None:
        self._function = function
        self._finalize: ReconcileFunction[T] | None = None

    def finalize(self, function: ReconcileFunction[T]) -> ReconcileFunction[T]:
        """Decorates the function that is called before an object goes: once it returns, the
        finalizer is taken off; a ``Result(requeue_after_s=…)`` means that it is not done yet."""
        self._finalize = function
        return function

    def parts(self) -> tuple[ReconcileFunction[T], ReconcileFunction[T] | None]:
        return self._function, self._finalize

    def __call__(self, found: Reconciliation[T]) -> Awaitable[Result | None]:
        return self._function(found)


C = TypeVar("C", bound=type[ReconcilerClass[Any]])


class Registering(Generic[T]):
    """The decorator that ``Operator.reconciler`` returns, for a function or a class."""

    def __init__(self, add: Callable[[Callable[[], Any]], None]) -> None:
        self.add = add

    @overload
    def __call__(self, target: C) -> C: ...
    @overload
    def __call__(self, target: ReconcileFunction[T]) -> RegisteredFunction[T]: ...
    def __call__(self, target: Any) -> Any:
        if isinstance(target, type):

            def parts() -> tuple[ReconcileFunction[T], ReconcileFunction[T] | None]:
                made: Any = target()
                return made.reconcile, getattr(made, "finalize", None)

            self.add(parts)
            return target
        registered = RegisteredFunction[T](target)
        self.add(registered.parts)
        return registered
