"""What a kubelet says of its node."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.cluster.kubelet.server.node_pages import (
    NodeFacts,
    configuration,
    metrics,
    node_asked,
    resource_metrics,
    running_pods,
    summary,
)

STARTED = "2026-01-01T00:00:00Z"


def a_pod(name: str, *, phase: str = "Running", **state: Any) -> KubeObject:
    said = state or {"running": {"startedAt": STARTED}}
    status = {
        "phase": phase,
        "startTime": STARTED,
        "containerStatuses": [{"name": "main", "state": said}],
    }
    return KubeObject.from_dict(
        {"metadata": {"name": name, "namespace": "default", "uid": f"u-{name}"}, "status": status}
    )


def a_node(*pods: KubeObject, is_idle: bool = True) -> NodeFacts:
    capacity = {"cpu": "16", "memory": "1Ki", "pods": "7"}
    return NodeFacts("node-1", capacity, 0.0, is_idle, pods, "127.0.0.1", 10250, 40)


@pytest.mark.parametrize(
    ("uri", "node"),
    [
        ("/api/v1/nodes/node-1/proxy/pods", "node-1"),
        ("/api/v1/nodes/node-1/proxy", "node-1"),
        ("/api/v1/nodes/node-1:10250/proxy/stats/summary", "node-1"),
        ("/api/v1/nodes/https:node-1:10250/proxy/configz", "node-1"),
        ("/api/v1/namespaces/default/pods/web/proxy/", ""),
        ("", ""),
    ],
)
def test_the_node_that_is_asked_for_is_read_from_the_path_at_the_api_server(
    uri: str, node: str
) -> None:
    assert node_asked(uri) == node


def test_the_configuration_says_how_many_pods_fit() -> None:
    said = configuration(a_node())["kubeletconfig"]

    assert (said["maxPods"], said["port"], said["nodeLeaseDurationSeconds"]) == (7, 10250, 40)


def test_running_pods_are_those_with_containers_that_run_whatever_their_phase() -> None:
    starting, ended = a_pod("starting", phase="Pending"), a_pod("ended", terminated={})

    said = running_pods(a_node(a_pod("web"), starting, ended))

    assert [one["metadata"]["name"] for one in said["items"]] == ["web", "starting"]
    assert said["items"][0] == {
        "metadata": {"name": "web", "namespace": "default", "uid": "u-web"},
        "spec": {"containers": [{"name": "main", "image": "", "resources": {}}]},
        "status": {},
    }


def test_the_summary_has_the_pods_that_run_and_simulated_ones_use_nothing() -> None:
    ended = a_pod("done", phase="Succeeded", terminated={"exitCode": 0})

    said = summary(a_node(a_pod("web"), ended), 0.0)

    assert said["node"]["nodeName"] == "node-1"
    assert said["node"]["memory"]["availableBytes"] == 1024
    [pod] = said["pods"]
    assert pod["podRef"] == {"name": "web", "namespace": "default", "uid": "u-web"}
    [container] = pod["containers"]
    assert container["startTime"] == STARTED
    assert container["cpu"]["usageNanoCores"] == container["memory"]["workingSetBytes"] == 0


def test_usage_of_processes_is_not_measured_and_is_left_out() -> None:
    node = a_node(a_pod("web"), is_idle=False)

    said = summary(node, 0.0)

    assert "cpu" not in said["node"]
    assert "memory" not in said["pods"][0]["containers"][0]
    assert "usage" not in resource_metrics(node)
    assert "container_start_time_seconds" in resource_metrics(node)


def test_metrics_count_what_runs() -> None:
    node = a_node(a_pod("web"), a_pod("half", terminated={"exitCode": 1}))

    said = metrics(node).splitlines()

    assert 'kubelet_node_name{node="node-1"} 1' in said
    assert "kubelet_running_pods 2" in said
    assert 'kubelet_running_containers{container_state="running"} 1' in said
    labels = '{container="main",namespace="default",pod="web"}'
    assert f"container_cpu_usage_seconds_total{labels} 0" in resource_metrics(node).splitlines()
