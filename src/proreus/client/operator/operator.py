"""Operator: reconcilers as a program that ends in good order and of which one instance works.

    operator = Operator("website-operator")

    @operator.reconciler("websites.example.com", owns=["deployments.apps"], concurrency=4)
    async def reconcile(site: Reconciliation[KubeObject]) -> Result | None:
        await site.own({"apiVersion": "apps/v1", "kind": "Deployment", …})

    operator.run()              # until SIGTERM or SIGINT; or, inside a program: await operator

    client ─┬─ informers (shared, warm before it leads) ─┐
            └─ elector, with a client of its own         ├─ controllers, event recorder: one term
                                                         ┘  inside the elector's fence
Of several processes one works (``leader_election``), and nothing that it writes is sent once the
lease may be another's. A process that ends lets its reconciles finish and releases the lease, so
that the next one, which watches it, goes on at once.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar, Unpack, overload

from prometheus_client import CollectorRegistry
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from proreus.aio.backoff import Backoff
from proreus.aio.clock import Clock, SystemClock
from proreus.aio.signals import run_until_signal
from proreus.aio.tasks import background, supervise
from proreus.api.kinds.classes import KindClass
from proreus.api.object import KubeObject
from proreus.api.status import ApiError
from proreus.client.activity_report import reported
from proreus.client.client import Client
from proreus.client.controller import Controller
from proreus.client.controller.metrics import ControllerMetrics
from proreus.client.custom_resources import definition_of, parse, register
from proreus.client.event_recorder import EventRecorder
from proreus.client.failure_reminder import FailureReminder
from proreus.client.informer import (
    ReflectorConfig,
    SharedInformer,
    SharedInformerFactory,
    drop_managed_fields,
)
from proreus.client.leader_election import ElectionTiming, LeaderElector, LeadershipLost, LeaseLock
from proreus.client.operator.endpoint import Probes, parse_address, serve
from proreus.client.operator.logs import LogFormat, configure_logs
from proreus.client.operator.reconciliation import Tools
from proreus.client.operator.registration import ReconcilerOptions, Registering, Registration
from proreus.client.resources.builtin import resource_name
from proreus.net.client.transport_error import TransportError

log = logging.getLogger(__name__)

T = TypeVar("T")
# A process that starts must not act on the past: an API server that is behind would have it make
# again what is there already.
_NEWEST_FIRST = ReflectorConfig(begins_newest=True)


def _own_place() -> str:
    return f"{socket.gethostname()}_{os.getpid()}"


def _own_identity() -> str:
    return f"{_own_place()}_{secrets.token_hex(4)}"


@dataclass(frozen=True, slots=True)
class LeaderElection:
    """The Lease by which one of several processes leads. Empty: the operator's name, in the
    client's namespace."""

    lease: str = ""
    namespace: str = ""
    identity: str = field(default_factory=_own_identity)
    timing: ElectionTiming = field(default_factory=ElectionTiming)


class Operator:
    """Register reconcilers, then ``run()`` it or await it, once.

    ``client``: a client that the caller closes; None: one as ``Client.from_env`` makes it.
    ``namespace``: the one whose objects are worked on; empty: all. ``leader_election`` None: it
    works at once, whoever else does. ``address``: of the endpoint for health and metrics, empty:
    none. ``grace_s``: what running reconciles have at the end. ``reports_activity``: tell a proreus
    server what its informers and controllers do, for its dashboard. Custom resources that
    reconcilers are registered for as classes are defined at the start.
    """

    def __init__(
        self,
        name: str,
        *,
        client: Client | None = None,
        namespace: str = "",
        leader_election: LeaderElection | None = LeaderElection(),  # noqa: B008  # immutable
        address: str = ":8080",
        grace_s: float = 30.0,
        reports_activity: bool = False,
        clock: Clock | None = None,
    ) -> None:
        if address:
            parse_address(address)
        self.name = name
        self._given_client = client
        self._namespace = namespace
        self._election = leader_election
        self._address = address
        self._grace_s = grace_s
        self._reports_activity = reports_activity
        self._clock = clock or SystemClock()
        self._registrations: list[Registration[Any]] = []
        self._kinds: list[type[Any]] = []
        self._controllers: list[Controller] = []
        self._informers: list[SharedInformer] = []
        self._elector: LeaderElector | None = None
        self._has_run = False
        self.registry = CollectorRegistry(auto_describe=False)
        self.registry.register(_LiveMetrics(self._metrics))
        self.url = ""  # of the endpoint, once it is open

    @overload
    def reconciler(
        self, primary: str, **options: Unpack[ReconcilerOptions]
    ) -> Registering[KubeObject]: ...
    @overload
    def reconciler(
        self, primary: type[T], **options: Unpack[ReconcilerOptions]
    ) -> Registering[T]: ...
    def reconciler(
        self, primary: str | type[Any], **options: Unpack[ReconcilerOptions]
    ) -> Registering[Any]:
        """Decorates the reconcile function, or class, of a kind: a resource as kubectl names it
        (``websites.example.com``), a class of ``api.kinds``, or one that is a custom resource."""

        def add(make: Callable[[], Any]) -> None:
            read: Callable[[KubeObject], Any] = _as_it_is
            resource = primary
            if isinstance(resource, KindClass):
                resource = resource_name(resource)
            elif not isinstance(resource, str):
                kind = resource
                resource, read = definition_of(kind).resource, lambda obj: parse(kind, obj)
                self._kinds.append(kind)
            made: Registration[Any] = Registration(
                resource=resource, read=read, make=make, **options
            )
            made.grace_s = self._grace_s
            self._registrations.append(made)

        return Registering(add)

    def run(self, *, log_format: LogFormat = "text") -> None:
        """Until SIGTERM or SIGINT; a second signal ends it at once. Sets up logging to stderr,
        unless the program has."""
        configure_logs(log_format)
        run_until_signal(self._run())

    def __await__(self) -> Generator[Any, None, None]:
        """Until cancelled; the caller sees to signals."""
        return self._run().__await__()

    def bound_to(
        self,
        client: Client,
        clock: Clock | None = None,
        *,
        leader_election: LeaderElection | None = None,
    ) -> Operator:
        """Another operator with the same reconcilers, for one run with this client: a program that
        makes its operator when it is imported can be tested any number of times. It has no
        endpoint."""
        bound = Operator(
            self.name,
            client=client,
            namespace=self._namespace,
            leader_election=leader_election,
            address="",
            grace_s=self._grace_s,
            clock=clock or self._clock,
        )
        bound._registrations, bound._kinds = self._registrations, self._kinds
        return bound

    @property
    def is_working(self) -> bool:
        """It leads, if it must, and all its controllers work."""
        return bool(self._controllers) and all(one.is_working for one in self._controllers)

    async def _run(self) -> None:
        if self._has_run:
            raise RuntimeError(f"the operator {self.name} runs already, or has run; make a new one")
        self._has_run = True
        if not self._registrations:
            raise ValueError(f"the operator {self.name} has no reconcilers")
        for registration in self._registrations:
            registration.check()
        async with self._client() as client, self._endpoint(), self._reported(client):
            await self._define_kinds(client)
            async with SharedInformerFactory(
                client,
                namespace=self._namespace,
                transform=drop_managed_fields,
                config=_NEWEST_FIRST,
                clock=self._clock,
            ) as informers:
                for one in self._registrations:
                    self._informers += [one.primary(informers), *one.owned(informers)]
                    self._informers += [watch.informer for watch in one.watched(informers)]
                informers.start()
                await self._lead(client, informers)

    async def _lead(self, client: Client, informers: SharedInformerFactory) -> None:
        if self._election is None:
            await self._work(client, informers, "")
            return
        election = self._election
        namespace = election.namespace or client.namespace
        # The lease has connections of its own: a renewal must not wait behind other requests.
        async with Client(client.config, clock=self._clock) as own:
            elector = self._elector = LeaderElector(
                LeaseLock(
                    own.coordination_v1.leases(namespace), namespace, election.lease or self.name
                ),
                election.identity,
                timing=election.timing,
                clock=self._clock,
            )
            while True:
                try:
                    await elector.run(lambda: self._work(client, informers, election.identity))
                except LeadershipLost as lost:
                    log.warning("leadership lost, standing again: reason=%s", lost)

    async def _work(self, client: Client, informers: SharedInformerFactory, who: str) -> None:
        """One term: everything that writes runs here, inside the elector's fence."""
        recorder = EventRecorder(client.core_v1.events, self.name, instance=who, clock=self._clock)

        def made(one: Registration[Any]) -> Controller:
            primary, owned = client.resource(one.resource), one.owned(informers)
            return one.controller(
                Tools(self.name, client, self._clock, recorder, informers, primary, owned)
            )

        self._controllers = [made(one) for one in self._registrations]
        try:
            async with background(recorder.run()), asyncio.TaskGroup() as parts:
                for place, one in enumerate(self._registrations):
                    kept = self._keep(place, partial(made, one))
                    parts.create_task(kept, name=f"controller {self._controllers[place].name}")
        finally:
            self._controllers = []

    async def _keep(self, place: int, make_anew: Callable[[], Controller]) -> None:
        """A controller that dies is made anew, over the informers that are there."""

        async def run() -> None:
            try:
                await self._controllers[place].run()
            finally:
                self._controllers[place] = make_anew()

        name = f"controller {self._controllers[place].name}"
        backoff = Backoff(self._clock)
        await supervise(name, run, clock=self._clock, backoff=backoff, died=_died)

    async def _define_kinds(self, client: Client) -> None:
        """However long the server takes to be there."""
        backoff, outage = Backoff(self._clock), FailureReminder(self._clock)
        while self._kinds:
            try:
                await register(client, *self._kinds)
                return
            except (ApiError, TransportError, TimeoutError) as failure:
                if isinstance(failure, ApiError) and failure.code < 500:
                    raise
                log.log(outage.failed(), "kinds not defined, trying again: failure=%r", failure)
            await self._clock.sleep(backoff.next())

    @asynccontextmanager
    async def _client(self) -> AsyncIterator[Client]:
        if self._given_client is not None:
            yield self._given_client
            return
        async with Client.from_env(clock=self._clock) as client:
            yield client

    def _reported(self, client: Client) -> AbstractAsyncContextManager[None]:
        if not self._reports_activity:
            return nullcontext()
        return reported(client, f"{self.name} {_own_place()}", self._clock)

    @asynccontextmanager
    async def _endpoint(self) -> AsyncIterator[None]:
        if not self._address:
            yield
            return
        probes = Probes(self._alive, self._ready)
        async with serve(self._address, probes, self.registry, self._clock) as url:
            self.url = url
            log.info("endpoint open: operator=%s url=%s", self.name, url)
            yield

    def _alive(self) -> str:
        if self._elector is not None and not self._elector.is_healthy():
            return "it believes to lead, but its lease has run out"
        return ""

    def _ready(self) -> str:
        """A standby is ready: it has its caches."""
        if not self._informers:
            return "not started"
        lacking = {one.name: one.status() for one in self._informers if not one.has_synced}
        return "; ".join(
            f"{name} not synced: {status.last_failure or status.phase}"
            for name, status in lacking.items()
        )

    def _metrics(self) -> Iterator[Metric]:
        yield from ControllerMetrics(
            controllers=self._controllers,
            informers=self._informers,
            electors=[self._elector] if self._elector is not None else (),
        ).collect()

    def __repr__(self) -> str:
        state = "working" if self.is_working else "not working"
        return f"<Operator {self.name} {state}, {len(self._registrations)} reconcilers>"


class _LiveMetrics(Collector):
    """Asks at each scrape: controllers come and go with the terms of a leader."""

    def __init__(self, collect: Callable[[], Iterator[Metric]]) -> None:
        self._collect = collect

    def collect(self) -> Iterator[Metric]:
        return self._collect()


def _as_it_is(obj: KubeObject) -> KubeObject:
    return obj


def _died(part: str, why: BaseException | None, delay_s: float) -> None:
    log.error("part died, restarting: part=%s delay_s=%.1f", part, delay_s, exc_info=why)
