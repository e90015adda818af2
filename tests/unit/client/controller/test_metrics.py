"""Metrics of controllers: Kubernetes' names, asked for when somebody scrapes."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, generate_latest

from proreus.client.controller import Controller, TerminalError
from proreus.client.controller.metrics import ControllerMetrics
from proreus.client.leader_election import LeaderElector, LeaseLock
from tests.unit.client.controller.test_controller import Worker, World, thing
from tests.unit.client.leader_election.test_election import MemoryLeases


async def test_controllers_queues_informers_and_electors_are_exposed() -> None:
    world = World()
    primary = world.informer("widgets", thing("Widget", "a", 1), thing("Widget", "b", 1))
    controller = Controller(Worker(TerminalError("no")), primary)
    elector = LeaderElector(LeaseLock(MemoryLeases(), "default", "operator"), "me")
    registry = CollectorRegistry()
    registry.register(ControllerMetrics(controllers=[controller], electors=[elector]))
    async with world.running(controller):
        text = generate_latest(registry).decode()

    assert {
        'workqueue_depth{name="widgets"} 0.0',
        'workqueue_adds_total{name="widgets"} 2.0',
        'workqueue_retries_total{name="widgets"} 0.0',
        'workqueue_queue_duration_seconds_bucket{le="1e-08",name="widgets"} 2.0',
        'workqueue_queue_duration_seconds_count{name="widgets"} 2.0',
        'workqueue_work_duration_seconds_bucket{le="+Inf",name="widgets"} 2.0',
        'controller_runtime_reconcile_total{controller="widgets",result="success"} 1.0',
        'controller_runtime_reconcile_total{controller="widgets",result="terminal_error"} 1.0',
        'controller_runtime_reconcile_errors_total{controller="widgets"} 1.0',
        'controller_runtime_terminal_reconcile_errors_total{controller="widgets"} 1.0',
        'controller_runtime_reconcile_time_seconds_count{controller="widgets"} 2.0',
        'controller_runtime_max_concurrent_reconciles{controller="widgets"} 1.0',
        'controller_runtime_active_workers{controller="widgets"} 0.0',
        'informer_queued_items{name="widgets"} 0.0',
        'informer_store_resource_version{name="widgets"} 100.0',
        'leader_election_master_status{name="operator"} 0.0',
    } <= set(text.splitlines())
