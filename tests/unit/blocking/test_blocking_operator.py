"""Operators, electors, recorders and typed objects for programs without an event loop."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.blocking import (
    Client,
    EventRecorder,
    LeaderElector,
    Operator,
    Reconciliation,
    SharedInformerFactory,
    Term,
    Typed,
    register,
)
from proreus.client import NotInCluster, NotPermitted, Result, Stored
from proreus.client.operator import StatusCondition
from tests.greetings import Greeting, GreetingSpec
from tests.running_server import running_server

TIMEOUT_S = 60


@pytest.fixture(scope="module")
def kubeconfig(given_kubeconfig: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    if given_kubeconfig:
        yield Path(given_kubeconfig)
        return
    with running_server(tmp_path_factory.mktemp("server")) as server:
        yield server.kubeconfig


@pytest.fixture
def client(kubeconfig: Path) -> Iterator[Client]:
    """Its namespace is new, and gone afterwards."""
    with Client.from_kubeconfig(kubeconfig) as admin:
        namespaces = admin.core_v1.namespaces
        made = namespaces.create({"metadata": {"generateName": "proreus-test-"}})
        try:
            with Client.from_kubeconfig(kubeconfig, namespace=made.name) as connected:
                yield connected
        finally:
            namespaces.delete(made.name)


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def test_an_operator_reconciles_records_and_finalizes_on_threads_that_may_block(
    client: Client,
) -> None:
    operator = Operator("greeter", client, namespace=client.namespace, address="127.0.0.1:0")
    threads = set[str]()

    @operator.reconciler(Greeting, owns=["configmaps"], finalizer="example.com/farewell")
    def reconcile(found: Reconciliation[Greeting]) -> Result | None:
        threads.add(threading.current_thread().name)
        found.own(config_map(found.name, text=f"Hello {found.value.spec.to}"))
        found.event("Greeted", "by a blocking function")
        found.set_status({}, StatusCondition("Ready", True, "Greeted"))
        return None

    @reconcile.finalize
    def farewell(found: Reconciliation[Greeting]) -> Result | None:
        found.client.core_v1.configmaps.create(config_map("farewell"))
        return None

    running = threading.Thread(target=operator.run)
    running.start()
    try:
        register(client, Greeting)
        greetings = Typed(client, Greeting, client.namespace)
        greetings.create("g", Greeting(GreetingSpec("Ann")))
        raw, maps = client.resource("greetings.example.com"), client.core_v1.configmaps
        raw.wait_for("g", "condition=Ready", timeout_s=TIMEOUT_S)
        made = maps.get("g")
        greetings.delete("g")
        raw.wait_deleted("g", timeout_s=TIMEOUT_S)
        maps.get("farewell")
    finally:
        operator.stop()
        running.join(TIMEOUT_S)

    assert not running.is_alive()
    assert made["data"]["text"] == "Hello Ann"
    assert threads == {"operator greeter"}
    lease = client.resource("leases.coordination.k8s.io").get("greeter")
    assert not lease.spec.holderIdentity, "the lease is released"
    with pytest.raises(ValueError, match="cannot be interrupted"):
        operator.reconciler("pods", timeout_s=1.0)


def test_a_leader_writes_in_its_term_and_not_after_it(client: Client) -> None:
    maps, said = client.core_v1.configmaps, list[str]()
    elector = LeaderElector(client, "worker", "me")

    def work(term: Term) -> None:
        maps.create(config_map("in-term"))
        said.append("leading" if elector.is_leader else "not leading")
        elector.resign()
        assert term.wait_ended(TIMEOUT_S) and term.has_ended

    elector.run(work)

    lease = client.resource("leases.coordination.k8s.io").get("worker")
    assert said == ["leading"] and not lease.spec.holderIdentity
    assert maps.get("in-term").name == "in-term"


def test_a_workload_that_outlives_its_lease_cannot_write(client: Client) -> None:
    leases = client.resource("leases.coordination.k8s.io")
    elector, refused = LeaderElector(client, "contested", "me"), list[str]()

    def work(term: Term) -> None:
        taken = {"spec": {"holderIdentity": "another", "leaseDurationSeconds": 3600}}
        with Client(client.config) as other:
            thief = threading.Thread(
                target=lambda: other.resource("leases.coordination.k8s.io").patch(
                    "contested", taken
                )
            )
            thief.start()
            thief.join()
        assert term.wait_ended(TIMEOUT_S)
        try:
            client.core_v1.configmaps.create(config_map("late"))
        except NotPermitted:
            refused.append("late")

    with pytest.raises(Exception, match="another leads"):
        elector.run(work)

    assert refused == ["late"]
    assert leases.get("contested").spec.holderIdentity == "another"


def test_a_recorder_writes_what_waits_when_it_is_left(client: Client) -> None:
    made = client.core_v1.configmaps.create(config_map("subject"))
    with EventRecorder(client, "tester") as recorder:
        recorder.event(made, "Normal", "Seen", "it was seen")

    events = client.core_v1.events.list(field_selector="reason=Seen")
    assert [one.involvedObject.name for one in events.items] == ["subject"]


def test_events_are_iterated_and_typed_objects_read_and_written(client: Client) -> None:
    register(client, Greeting)
    greetings = Typed(client, Greeting, client.namespace)
    stored = greetings.create("g", Greeting(GreetingSpec("Ann")))
    greetings.update(stored, Greeting(GreetingSpec("Bob")))
    found: list[KubeObject] = []
    for event in client.resource("greetings.example.com").events(since=""):
        found.append(event.object)
        break

    assert [one.name for one in found] == ["g"]
    assert [one.value.spec.to for one in greetings.list()] == ["Bob"]
    assert greetings.of(found[0]).value == greetings.get("g").value


def test_handlers_and_listers_of_a_class_have_its_values(client: Client) -> None:
    register(client, Greeting)
    greetings, said = Typed(client, Greeting, client.namespace), list[str]()
    heard = threading.Event()

    def hear(greeting: Stored[Greeting]) -> None:
        said.append(greeting.value.spec.to)
        heard.set()

    with SharedInformerFactory(client) as informers:
        informer = greetings.informer(informers)
        informer.add_handler(on_add=hear)
        informers.start()
        informers.wait_for_cache_sync(timeout_s=TIMEOUT_S)
        greetings.create("g", Greeting(GreetingSpec("Ann")))
        assert heard.wait(TIMEOUT_S)

        assert said == ["Ann"]
        assert informer.get("g", client.namespace).value.spec.to == "Ann"
        assert [one.name for one in informer.list(namespace=client.namespace)] == ["g"]
        assert informer.find("other", client.namespace) is None


def test_outside_of_a_cluster_there_is_no_configuration_of_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    with pytest.raises(NotInCluster):
        Client.in_cluster()
