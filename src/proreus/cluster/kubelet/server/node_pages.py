"""What a kubelet says of its node and of what runs there, a function for each page. Pure.

Of simulated pods usage is said, and is zero: nothing is used. Of processes it is not measured, and
is left out, as it is optional everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import unquote

from proreus.api.json_types import Json, JsonObject
from proreus.api.object import KubeObject, plain_field
from proreus.api.values import quantity
from proreus.api.values.timestamp import format_time, parse_time

_CONFIGURATION: JsonObject = {
    "enableServer": True,
    "registerNode": True,
    "authentication": {"x509": {}, "webhook": {"enabled": False}, "anonymous": {"enabled": False}},
    "clusterDomain": "cluster.local",
    "nodeStatusUpdateFrequency": "10s",
    "cgroupsPerQOS": False,
    "enforceNodeAllocatable": ["none"],
    "failSwapOn": False,
    "enableDebuggingHandlers": True,
    "enableSystemLogHandler": False,
}
_STATUSES = ("initContainerStatuses", "containerStatuses")


@dataclass(frozen=True, slots=True)
class NodeFacts:
    """``begun``: when its kubelet began. ``is_idle``: what runs there uses nothing. ``pods``: those
    that are on it."""

    name: str
    capacity: Mapping[str, str]
    begun: float
    is_idle: bool
    pods: Sequence[KubeObject]
    address: str = ""
    port: int = 0
    lease_s: float = 0.0


def node_asked(forwarded_uri: str) -> str:
    """Whose page is asked for, by the path that the API server was asked by; "": it does not say,
    as the request came straight here."""
    match forwarded_uri.split("/", 6):
        case ["", "api", "v1", "nodes", name, "proxy", *_]:
            parts = unquote(name).split(":")  # also "name:port" and "scheme:name:port"
            return parts[1] if len(parts) > 2 else parts[0]
        case _:
            return ""


def configuration(node: NodeFacts) -> JsonObject:
    """A ``KubeletConfiguration``, of what a kubelet here has."""
    kept = {
        "address": node.address,
        "port": node.port,
        "maxPods": int(node.capacity.get("pods") or 0),
        "nodeLeaseDurationSeconds": int(node.lease_s),
    }
    return {"kubeletconfig": {**_CONFIGURATION, **kept}}


def running_pods(node: NodeFacts) -> JsonObject:
    """What a runtime knows of pods: names, and the containers that run."""
    items = [
        {
            "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
            "spec": {"containers": running},
            "status": {},
        }
        for pod in node.pods
        if (running := [_running_container(one) for _, one in _containers(pod) if _is_up(one)])
    ]
    return {"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items}


def _running_container(status: Json) -> JsonObject:
    return {"name": status["name"], "image": status.get("image") or "", "resources": {}}


def _is_up(status: Json) -> bool:
    return "running" in (status.get("state") or {})


def summary(node: NodeFacts, now: float) -> JsonObject:
    at, memory = format_time(now), _memory(node)
    said: JsonObject = {"nodeName": node.name, "startTime": format_time(node.begun)}
    if node.is_idle:
        said |= {
            "cpu": _no_cpu(at),
            "memory": {**_no_memory(at), "availableBytes": memory},
        }
    return {"node": said, "pods": [_pod_stats(pod, at, node) for pod in _running(node.pods)]}


def metrics(node: NodeFacts) -> str:
    """A few of a kubelet's, in Prometheus' text format."""
    states = {"created": 0, "exited": 0, "running": 0, "unknown": 0}
    for pod in node.pods:
        for _, status in _containers(pod):
            state = status.get("state") or {}
            states["running"] += "running" in state
            states["exited"] += "terminated" in state
    return _page(
        _family("kubelet_node_name", "gauge", [({"node": node.name}, 1)]),
        _family("kubelet_running_pods", "gauge", [({}, len(list(_running(node.pods))))]),
        _family(
            "kubelet_running_containers",
            "gauge",
            [({"container_state": state}, count) for state, count in states.items() if count],
        ),
    )


def resource_metrics(node: NodeFacts) -> str:
    started: list[tuple[Mapping[str, str], float]] = []
    containers: list[tuple[Mapping[str, str], float]] = []
    pods: list[tuple[Mapping[str, str], float]] = []
    for pod in _running(node.pods):
        owner = {"namespace": pod.namespace, "pod": pod.name}
        pods.append((owner, 0))
        for name, status in _containers(pod):
            if running := (status.get("state") or {}).get("running"):
                labels = {"container": name, **owner}
                started.append((labels, parse_time(running["startedAt"])))
                containers.append((labels, 0))
    used: list[str] = []
    if node.is_idle:
        used = [
            _family("node_cpu_usage_seconds_total", "counter", [({}, 0)]),
            _family("node_memory_working_set_bytes", "gauge", [({}, 0)]),
            _family("pod_cpu_usage_seconds_total", "counter", pods),
            _family("pod_memory_working_set_bytes", "gauge", pods),
            _family("container_cpu_usage_seconds_total", "counter", containers),
            _family("container_memory_working_set_bytes", "gauge", containers),
        ]
    return _page(
        *used,
        _family("container_start_time_seconds", "gauge", started),
        _family("resource_scrape_error", "gauge", [({}, 0)]),
    )


def _pod_stats(pod: KubeObject, at: str, node: NodeFacts) -> JsonObject:
    containers: list[JsonObject] = []
    for name, status in _containers(pod):
        if running := (status.get("state") or {}).get("running"):
            one = {"name": name, "startTime": running["startedAt"]}
            containers.append({**one, **_nothing(at, node)})
    return {
        "podRef": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
        "startTime": plain_field(pod, "status").get("startTime"),
        "containers": containers,
        **_nothing(at, node),
    }


def _nothing(at: str, node: NodeFacts) -> JsonObject:
    return {"cpu": _no_cpu(at), "memory": _no_memory(at)} if node.is_idle else {}


def _no_cpu(at: str) -> JsonObject:
    return {"time": at, "usageNanoCores": 0, "usageCoreNanoSeconds": 0}


def _no_memory(at: str) -> JsonObject:
    return {"time": at, "usageBytes": 0, "workingSetBytes": 0, "rssBytes": 0}


def _memory(node: NodeFacts) -> int:
    return int(quantity.parse(node.capacity.get("memory") or "0").amount)


def _running(pods: Iterable[KubeObject]) -> Iterable[KubeObject]:
    return (pod for pod in pods if plain_field(pod, "status").get("phase") == "Running")


def _containers(pod: KubeObject) -> Iterable[tuple[str, Json]]:
    status = plain_field(pod, "status")
    return ((one["name"], one) for field in _STATUSES for one in status.get(field) or ())


def _family(name: str, kind: str, samples: Iterable[tuple[Mapping[str, str], float]]) -> str:
    lines = [f"# TYPE {name} {kind}"]
    for labels, value in samples:
        # Names of Kubernetes' objects need no escapes here.
        said = ",".join(f'{label}="{text}"' for label, text in labels.items())
        lines.append(f"{name}{{{said}}} {value!r}" if said else f"{name} {value!r}")
    return "\n".join(lines) if len(lines) > 1 else ""


def _page(*families: str) -> str:
    return "".join(f"{family}\n" for family in families if family)
