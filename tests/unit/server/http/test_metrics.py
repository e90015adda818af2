"""Dashboards and alerts made for kube-apiserver find their metrics here."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.server.http.process_metrics import BuildInfo
from tests.unit.server.registry.server_under_test import MERGE, Asking

APPLY = "application/apply-patch+yaml"
MAP: dict[str, Any] = {"metadata": {"name": "a"}}
APPLIED = {"apiVersion": "v1", "kind": "ConfigMap", **MAP}


async def counted(ask: Asking, **labels: str) -> float:
    """Requests for config maps under these labels."""
    wanted = {"resource": "configmaps", "component": "apiserver", "version": "v1", **labels}
    found = 0.0
    for family in ask.server.metrics.collect():
        if family.name == "apiserver_request":
            found += sum(s.value for s in family.samples if wanted.items() <= s.labels.items())
    return found


@pytest.mark.parametrize(
    ("method", "path", "kind", "labels"),
    [
        ("POST", "configmaps", "application/json", {"verb": "POST", "scope": "resource"}),
        ("POST", "configmaps?dryRun=All", "application/json", {"verb": "POST", "dry_run": "All"}),
        ("POST", "configmaps?dryRun=x", "application/json", {"code": "422", "dry_run": "invalid"}),
        ("GET", "configmaps", "application/json", {"verb": "LIST", "scope": "namespace"}),
        ("GET", "/api/v1/configmaps", "application/json", {"verb": "LIST", "scope": "cluster"}),
        ("GET", "configmaps/none", "application/json", {"verb": "GET", "code": "404"}),
        ("PATCH", "configmaps/none", MERGE, {"verb": "PATCH", "scope": "resource"}),
        ("PATCH", "configmaps/a?fieldManager=m", APPLY, {"verb": "APPLY", "code": "201"}),
        ("DELETE", "configmaps", "application/json", {"verb": "DELETE", "dry_run": ""}),
    ],
)
async def test_requests_are_counted_under_the_labels_of_kubernetes(
    ask: Asking, method: str, path: str, kind: str, labels: dict[str, str]
) -> None:
    body = None if method in ("GET", "DELETE") else APPLIED

    await ask(method, path, body, kind=kind)

    assert await counted(ask, **labels) == 1
    assert await counted(ask) == 1


async def test_rules_find_the_buckets_and_the_numbers_they_name(ask: Asking) -> None:
    await ask("POST", "configmaps", MAP)

    text = (await ask("GET", "/metrics")).body.decode()

    for line in (
        'apiserver_request_sli_duration_seconds_bucket{component="apiserver",group="",resource="',
        'apiserver_request_duration_seconds_bucket{component="apiserver",dry_run="",',
        'apiserver_storage_objects{resource="configmaps"} ',
        'apiserver_storage_objects{resource="deployments.apps"} 0',
        'apiserver_resource_objects{group="apps",resource="deployments"} 0',
        'apiserver_current_inflight_requests{request_kind="readOnly"} ',
        'apiserver_current_inqueue_requests{request_kind="mutating"} ',
        "process_resident_memory_bytes ",
        "process_cpu_seconds_total ",
        'kubernetes_build_info{build_date="',
    ):
        assert f"\n{line}" in text
    assert 'version="v1",le="1"} 1\n' in text


def test_the_version_is_a_metric_too() -> None:
    (family,) = BuildInfo().collect()

    (sample,) = family.samples
    assert (sample.value, sample.labels["major"], sample.labels["minor"]) == (1, "1", "37")
