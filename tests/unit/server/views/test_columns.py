"""What ``kubectl get`` prints of objects in the states people meet."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.group_version import GroupKind
from proreus.server.registry.builtin import builtin_resources
from proreus.server.schema.rules import Rules
from proreus.server.views.columns import DEFAULT, printer_for
from tests.unit.server.views.sample import MINUTE_AGO, NOW

HOUR_AGO = "2027-01-15T07:00:00Z"


def cells(group: str, kind: str, body: dict[str, Any], **metadata: Any) -> list[Any]:
    obj = {"metadata": {"name": "x", "creationTimestamp": MINUTE_AGO, **metadata}, **body}
    printer = printer_for(GroupKind(group, kind))
    found = printer.cells(obj, NOW)
    assert len(found) == len(printer.columns)
    return found


@pytest.mark.parametrize("found", builtin_resources(lambda _: Rules()), ids=repr)
def test_every_kind_can_print_an_object_that_has_nothing(found: Any) -> None:
    printer = printer_for(found.stored_gvk.group_kind)
    bare: list[dict[str, Any]] = [{}, {"metadata": {}}, {"spec": {}, "status": {}}]
    for obj in bare:
        assert len(printer.cells(obj, NOW)) == len(printer.columns)
        assert not printer.conditions(obj)


def test_kinds_without_columns_show_name_and_creation_time() -> None:
    assert printer_for(GroupKind("example.com", "Thing")) is DEFAULT
    assert cells("", "LimitRange", {}) == ["x", MINUTE_AGO]


def pod(status: dict[str, Any], spec: dict[str, Any] | None = None, **metadata: Any) -> list[Any]:
    body = {"spec": {"containers": [{"name": "c"}], **(spec or {})}, "status": status}
    return cells("", "Pod", body, **metadata)


RUNNING = {"name": "c", "ready": True, "restartCount": 0, "state": {"running": {}}}


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ({"waiting": {"reason": "ImagePullBackOff"}}, "ImagePullBackOff"),
        ({"terminated": {"reason": "Error", "exitCode": 1}}, "Error"),
        ({"terminated": {"exitCode": 3}}, "ExitCode:3"),
        ({"terminated": {"exitCode": 137, "signal": 9}}, "Signal:9"),
        ({"waiting": {}}, "Pending"),
    ],
)
def test_the_status_of_a_pod_is_told_by_its_containers(state: Any, text: str) -> None:
    found = pod({"phase": "Pending", "containerStatuses": [{"name": "c", "state": state}]})
    assert found[1:3] == ["0/1", text]


def test_a_running_pod() -> None:
    found = pod(
        {"phase": "Running", "podIP": "10.0.0.7", "containerStatuses": [RUNNING]},
        {"nodeName": "n1"},
    )
    assert found == ["x", "1/1", "Running", "0", "60s", "10.0.0.7", "n1", "<none>", "<none>"]


def test_restarts_say_how_long_ago_the_last_was() -> None:
    ended = {"terminated": {"exitCode": 1, "finishedAt": HOUR_AGO}}
    crashed = {**RUNNING, "restartCount": 3, "lastState": ended}
    assert pod({"phase": "Running", "containerStatuses": [crashed]})[3] == "3 (60m ago)"


@pytest.mark.parametrize(("ready", "text"), [("True", "Running"), ("False", "NotReady")])
def test_a_completed_container_beside_a_running_one(ready: str, text: str) -> None:
    done = {"name": "d", "state": {"terminated": {"reason": "Completed", "exitCode": 0}}}
    found = pod(
        {
            "phase": "Running",
            "containerStatuses": [done, RUNNING],
            "conditions": [{"type": "Ready", "status": ready}],
        },
        {"containers": [{"name": "d"}, {"name": "c"}]},
    )
    assert found[1:3] == ["1/2", text]


@pytest.mark.parametrize(
    ("states", "text"),
    [
        ([{"running": {}}], "Init:0/2"),
        ([{"terminated": {"exitCode": 0}}, {"running": {}}], "Init:1/2"),
        ([{"terminated": {"exitCode": 1, "reason": "Error"}}], "Init:Error"),
        ([{"terminated": {"exitCode": 5}}], "Init:ExitCode:5"),
        ([{"waiting": {"reason": "CrashLoopBackOff"}}], "Init:CrashLoopBackOff"),
        ([{"waiting": {"reason": "PodInitializing"}}], "Init:0/2"),
    ],
)
def test_init_containers_come_first(states: list[Any], text: str) -> None:
    found = pod(
        {
            "phase": "Pending",
            "initContainerStatuses": [
                {"name": f"i{at}", "state": state} for at, state in enumerate(states)
            ],
        },
        {"initContainers": [{"name": "i0"}, {"name": "i1"}]},
    )
    assert found[2] == text


def test_a_started_sidecar_counts_as_a_container() -> None:
    sidecar = {
        "name": "s",
        "started": True,
        "ready": True,
        "restartCount": 3,
        "state": {"running": {}},
    }
    found = pod(
        {"phase": "Running", "initContainerStatuses": [sidecar], "containerStatuses": [RUNNING]},
        {"initContainers": [{"name": "s", "restartPolicy": "Always"}]},
    )
    assert found[1:4] == ["2/2", "Running", "3"]


def test_a_pod_that_is_held_back_or_going_away() -> None:
    gated = [{"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]
    assert pod({"phase": "Pending", "conditions": gated})[2] == "SchedulingGated"
    assert pod({"phase": "Running"}, deletionTimestamp=MINUTE_AGO)[2] == "Terminating"
    lost = {"phase": "Running", "reason": "NodeLost"}
    assert pod(lost, deletionTimestamp=MINUTE_AGO)[2] == "Unknown"
    assert pod({"phase": "Failed"}, deletionTimestamp=MINUTE_AGO)[2] == "Failed"


def test_finished_pods_are_marked() -> None:
    printer = printer_for(GroupKind("", "Pod"))
    (mark,) = printer.conditions({"status": {"phase": "Succeeded"}})
    assert (mark["type"], mark["status"], mark["reason"]) == ("Completed", "True", "Succeeded")


def test_readiness_gates_are_counted() -> None:
    conditions = [{"type": "a", "status": "True"}, {"type": "b", "status": "False"}]
    gates = [{"conditionType": "a"}, {"conditionType": "b"}]
    assert pod({"conditions": conditions}, {"readinessGates": gates})[8] == "1/2"


@pytest.mark.parametrize(
    ("conditions", "cordoned", "text"),
    [
        ([], False, "Unknown"),
        ([{"type": "Ready", "status": "True"}], False, "Ready"),
        ([{"type": "Ready", "status": "Unknown"}], False, "NotReady"),
        ([{"type": "Ready", "status": "True"}], True, "Ready,SchedulingDisabled"),
    ],
)
def test_the_status_of_a_node(conditions: list[Any], cordoned: bool, text: str) -> None:
    body = {"spec": {"unschedulable": cordoned}, "status": {"conditions": conditions}}
    assert cells("", "Node", body)[1] == text


def test_roles_and_addresses_of_a_node() -> None:
    labels = {
        "node-role.kubernetes.io/control-plane": "",
        "kubernetes.io/role": "worker",
        "node-role.kubernetes.io/": "",
    }
    status = {
        "addresses": [{"type": "InternalIP", "address": "192.0.2.1"}],
        "nodeInfo": {"kubeletVersion": "v1.37.0", "kernelVersion": "6.1", "architecture": "amd64"},
    }
    found = cells("", "Node", {"status": status}, labels=labels)
    assert found[2:6] == ["control-plane,worker", "60s", "v1.37.0", "192.0.2.1"]
    assert found[6:] == ["<none>", "<unknown>", "6.1 (amd64)", "<unknown>"]


@pytest.mark.parametrize(
    ("spec", "external", "ports"),
    [
        ({"type": "ClusterIP"}, "<none>", "<none>"),
        ({"type": "NodePort", "externalIPs": ["1.1.1.1"]}, "1.1.1.1", "<none>"),
        ({"type": "LoadBalancer"}, "<pending>", "<none>"),
        ({"type": "ExternalName", "externalName": "a.b"}, "a.b", "<none>"),
        (
            {"type": "ClusterIP", "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}]},
            "<none>",
            "80:30080/TCP",
        ),
    ],
)
def test_where_a_service_can_be_reached(spec: Any, external: str, ports: str) -> None:
    found = cells("", "Service", {"spec": spec})
    assert found[3:5] == [external, ports]


def test_a_balanced_service_shows_every_address_once() -> None:
    ingress = [{"ip": "2.2.2.2"}, {"hostname": "lb"}, {"ip": "2.2.2.2"}]
    body = {
        "spec": {"type": "LoadBalancer", "externalIPs": ["9.9.9.9"]},
        "status": {"loadBalancer": {"ingress": ingress}},
    }
    assert cells("", "Service", body)[3] == "2.2.2.2,lb,9.9.9.9"


def test_endpoints_show_three_addresses() -> None:
    subset = {"addresses": [{"ip": f"10.0.0.{n}"} for n in range(5)], "ports": [{"port": 80}]}
    text = "10.0.0.0:80,10.0.0.1:80,10.0.0.2:80 + 2 more..."
    assert cells("", "Endpoints", {"subsets": [subset]})[1] == text
    assert cells("", "Endpoints", {})[1] == "<none>"
    assert cells("", "Endpoints", {"subsets": [{"notReadyAddresses": [{"ip": "1"}]}]})[1] == ""
    assert (
        cells("", "Endpoints", {"subsets": [{**subset, "addresses": [{"ip": "::1"}]}]})[1]
        == "[::1]:80"
    )


def test_hosts_of_an_ingress() -> None:
    def hosts(*names: str) -> str:
        rules = [{"host": name} if name else {} for name in names]
        return str(cells("networking.k8s.io", "Ingress", {"spec": {"rules": rules}})[2])

    assert hosts() == "*"
    assert hosts("a", "b") == "a,b"
    assert hosts("a", "b", "c", "d", "e") == "a,b,c + 2 more..."


def metric(current: dict[str, Any] | None, **target: Any) -> str:
    spec = {"metrics": [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]}
    status = {"currentMetrics": [{"resource": {"current": current}}]} if current else {}
    found = cells("autoscaling", "HorizontalPodAutoscaler", {"spec": spec, "status": status})
    return str(found[2])


def test_targets_of_an_autoscaler() -> None:
    assert metric(None, averageUtilization=80) == "cpu: <unknown>/80%"
    assert metric({"averageUtilization": 50}, averageUtilization=80) == "cpu: 50%/80%"
    assert metric({"averageValue": "1"}, averageValue="2") == "cpu: 1/2"
    assert metric(None) == "cpu: <unknown>/<auto>"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ({"type": "Pods", "pods": {"target": {"averageValue": "5"}}}, "<unknown>/5"),
        ({"type": "Object", "object": {"target": {"value": "5"}}}, "<unknown>/5"),
        ({"type": "External", "external": {"target": {"averageValue": "5"}}}, "<unknown>/5 (avg)"),
        ({"type": "Odd"}, "<unknown type>"),
    ],
)
def test_other_sources_of_metrics(source: Any, text: str) -> None:
    body = {"spec": {"metrics": [source] * 3}}
    found = cells("autoscaling", "HorizontalPodAutoscaler", body)
    assert found[2] == f"{text}, {text} + 1 more..."


@pytest.mark.parametrize(
    ("conditions", "text"),
    [
        ([], "Running"),
        (["Complete"], "Complete"),
        (["FailureTarget"], "FailureTarget"),
        (["FailureTarget", "Failed"], "Failed"),
        (["Suspended"], "Suspended"),
    ],
)
def test_the_status_of_a_job(conditions: list[str], text: str) -> None:
    held = [{"type": name, "status": "True"} for name in conditions]
    assert cells("batch", "Job", {"status": {"conditions": held}})[1] == text


def test_completions_and_duration_of_a_job() -> None:
    status = {"succeeded": 2, "startTime": HOUR_AGO, "completionTime": MINUTE_AGO}
    found = cells("batch", "Job", {"spec": {"completions": 4}, "status": status})
    assert found[2:4] == ["2/4", "59m"]
    assert cells("batch", "Job", {"spec": {"parallelism": 3}})[2] == "0/1 of 3"
    assert cells("batch", "Job", {})[2:4] == ["0/1", ""]


def test_a_cron_job_that_never_ran() -> None:
    body = {"spec": {"schedule": "* * * * *", "suspend": False}}
    found = cells("batch", "CronJob", body)
    assert found[1:7] == ["* * * * *", "<none>", "False", 0, "<none>", "60s"]


def test_an_event_with_a_series() -> None:
    body = {
        "type": "Normal",
        "reason": "Made",
        "involvedObject": {"kind": "Pod", "name": "p", "fieldPath": "f"},
        "message": " two\nlines ",
        "eventTime": HOUR_AGO,
        "reportingComponent": "me",
        "reportingInstance": "i",
        "series": {"count": 4, "lastObservedTime": MINUTE_AGO},
    }
    assert cells("", "Event", body) == [
        "60s", "Normal", "Made", "pod/p", "f", "me, i", "two\nlines", "60m", 4, "x",
    ]  # fmt: skip


def test_a_claim_shows_what_it_got_once_it_is_bound() -> None:
    spec = {"storageClassName": "fast", "volumeMode": "Filesystem"}
    pending = cells("", "PersistentVolumeClaim", {"spec": spec, "status": {"phase": "Pending"}})
    assert pending[1:] == ["Pending", "", "", "", "fast", "<unset>", "60s", "Filesystem"]
    status = {
        "phase": "Bound",
        "capacity": {"storage": "2Gi"},
        "accessModes": ["ReadOnlyMany", "ReadWriteOnce"],
    }
    bound = cells(
        "", "PersistentVolumeClaim", {"spec": {**spec, "volumeName": "v"}, "status": status}
    )
    assert bound[1:5] == ["Bound", "v", "2Gi", "RWO,ROX"]


def test_quotas_are_split_into_requests_and_limits() -> None:
    status = {"hard": {"pods": "5", "limits.cpu": "2"}, "used": {"pods": "1"}}
    assert cells("", "ResourceQuota", {"status": status})[1:3] == ["pods: 1/5", "limits.cpu: 0/2"]


def test_selectors_are_printed_in_their_text_form() -> None:
    chosen = {
        "matchLabels": {"app": "x"},
        "matchExpressions": [{"key": "tier", "operator": "In", "values": ["z", "y"]}],
    }
    found = cells("networking.k8s.io", "NetworkPolicy", {"spec": {"podSelector": chosen}})
    assert found[1] == "app=x,tier in (y,z)"


def test_a_definition_marks_its_storage_version() -> None:
    body = {
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"kind": "Thing", "shortNames": ["th", "t"]},
            "versions": [
                {"name": "v2", "served": True},
                {"name": "v1", "served": True, "storage": True},
            ],
        },
        "status": {"conditions": [{"type": "Established", "status": "True"}]},
    }
    found = cells("apiextensions.k8s.io", "CustomResourceDefinition", body)
    assert found[1:] == [
        "Namespaced",
        "v2,v1(storage)",
        MINUTE_AGO,
        "example.com",
        "Thing",
        "th,t",
        True,
    ]


def test_bindings_name_their_role_and_subjects() -> None:
    subjects = [
        {"kind": "User", "name": "u1"},
        {"kind": "User", "name": "u2"},
        {"kind": "Group", "name": "g"},
        {"kind": "ServiceAccount", "name": "s", "namespace": "n"},
    ]
    body = {"roleRef": {"kind": "Role", "name": "r"}, "subjects": subjects}
    found = cells("rbac.authorization.k8s.io", "RoleBinding", body)
    assert found[1:] == ["Role/r", "60s", "u1, u2", "g", "n/s"]


def test_an_unreadable_time_is_unknown() -> None:
    assert cells("", "ConfigMap", {}, creationTimestamp="yesterday")[2] == "<unknown>"
