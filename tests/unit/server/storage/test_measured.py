"""Requests to the storage, counted by operation and resource."""

from __future__ import annotations

from functools import partial

import pytest

from proreus.api.group_version import GroupResource
from proreus.server.prometheus import CollectorRegistry
from proreus.server.storage.interface import KeyExists, Unavailable
from proreus.server.storage.measured import MeasuredStorage, StorageRequests
from proreus.server.storage.memory import MemoryStorage
from proreus.testing.virtual_clock import VirtualClock
from tests.samples import sample_value

RESOURCES = {
    "deployments": GroupResource("apps", "deployments"),
    "services/specs": GroupResource("", "services"),
}


@pytest.mark.parametrize(
    ("key", "group", "resource"),
    [
        ("/registry/deployments/ns/a", "apps", "deployments"),
        ("/registry/services/specs/ns/a", "", "services"),
        ("/registry/services/endpoints/ns/a", "", "services"),
        ("/registry/example.com/widgets/ns/a", "example.com", "widgets"),
        ("/registry/pods/", "", "pods"),
    ],
)
async def test_a_key_says_whose_request_it_is(key: str, group: str, resource: str) -> None:
    registry, clock = CollectorRegistry(), VirtualClock()
    requests = StorageRequests(registry, RESOURCES, clock.monotonic)

    await requests.timed("get", key, clock.advance(0.03))

    labels = {"operation": "get", "group": group, "resource": resource}
    sample = partial(sample_value, registry)
    assert sample("etcd_requests_total", labels) == 1
    assert sample("etcd_request_duration_seconds_sum", labels) == pytest.approx(0.03)
    assert sample("etcd_request_duration_seconds_bucket", {**labels, "le": "0.025"}) == 0
    assert sample("etcd_request_duration_seconds_bucket", {**labels, "le": "0.05"}) == 1


async def _lost() -> None:
    raise Unavailable("gone")


async def test_requests_and_failures_are_counted_and_conflicts_are_no_failures() -> None:
    registry, clock = CollectorRegistry(), VirtualClock()
    requests = StorageRequests(registry, RESOURCES, clock.monotonic)
    async with MemoryStorage.open(clock) as inner:
        storage = MeasuredStorage(inner, requests)
        revision = await storage.create("/registry/pods/a", b"{}")
        with pytest.raises(KeyExists):
            await storage.create("/registry/pods/a", b"{}")
        await storage.update("/registry/pods/a", b"[]", expected=revision)
        assert storage.is_newest("/registry/pods/a", revision) is False
        await storage.list("/registry/pods/")
    with pytest.raises(Unavailable):
        await requests.timed("delete", "/registry/pods/a", _lost())

    def count(name: str, operation: str) -> float | None:
        labels = {"operation": operation, "group": "", "resource": "pods"}
        return sample_value(registry, name, labels)

    assert [count("etcd_requests_total", one) for one in ("create", "update", "get")] == [
        2,
        1,
        None,
    ]
    assert count("etcd_request_errors_total", "create") is None
    assert count("etcd_request_errors_total", "delete") == 1
    lists = {"group": "", "resource": "pods"}
    assert sample_value(registry, "apiserver_storage_list_total", lists) == 1
