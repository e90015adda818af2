"""What admission decides from classes, limit ranges and resource_quota."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from proreus.api.group_version import GroupResource
from proreus.server.admission.plugins import (
    default_toleration_seconds,
    limit_ranger,
    priority,
    resource_quota,
    runtime_class,
)
from proreus.server.admission.plugins.refusal import Refused
from tests.unit.server.kinds.creating import CONTAINER, created, pod

PODS = GroupResource("", "pods")


def refusal(work: Any, *arguments: Any) -> str:
    with pytest.raises(Refused) as caught:
        work(*arguments)
    return str(caught.value)


def test_a_pod_takes_the_priority_of_its_class() -> None:
    spec = {"priorityClassName": "high"}
    high = {"metadata": {"name": "high"}, "value": 1000, "preemptionPolicy": "Never"}

    priority.take_priority(spec, high, None)

    assert spec == {"priorityClassName": "high", "priority": 1000, "preemptionPolicy": "Never"}


def test_a_pod_without_a_class_takes_the_default_one() -> None:
    spec: dict[str, Any] = {}

    priority.take_priority(spec, None, {"metadata": {"name": "usual"}, "value": 7})

    assert (spec["priorityClassName"], spec["priority"]) == ("usual", 7)


def test_a_priority_that_is_not_the_class_s_is_refused() -> None:
    assert refusal(priority.take_priority, {"priority": 5}, None, None) == (
        "the integer value of priority (5) must not be provided in pod spec; priority admission "
        "controller computed 0 from the given PriorityClass name"
    )
    assert refusal(priority.take_priority, {"priorityClassName": "x"}, None, None) == (
        "no PriorityClass with name x was found"
    )


def test_a_pod_takes_overhead_and_scheduling_of_its_runtime() -> None:
    spec: dict[str, Any] = {"runtimeClassName": "g", "nodeSelector": {"disk": "ssd"}}
    scheduling = {"nodeSelector": {"runtime": "g"}, "tolerations": [{"key": "g"}]}

    runtime_class.take_runtime_class(
        spec, {"overhead": {"podFixed": {"cpu": "250m"}}, "scheduling": scheduling}
    )

    assert spec["overhead"] == {"cpu": "250m"}
    assert spec["nodeSelector"] == {"disk": "ssd", "runtime": "g"}
    assert spec["tolerations"] == [{"key": "g"}]


@pytest.mark.parametrize(
    ("spec", "runtime", "problem"),
    [
        ({"runtimeClassName": "x", "overhead": {"cpu": "1"}},
         {"overhead": {"podFixed": {"cpu": "2"}}},
         "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"),
        ({"runtimeClassName": "x", "overhead": {"cpu": "1"}}, {"overhead": {}},
         "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"),
        ({"runtimeClassName": "x", "nodeSelector": {"a": "b"}},
         {"scheduling": {"nodeSelector": {"a": "c"}}},
         "conflict: runtimeClass.scheduling.nodeSelector[a] = c; pod.spec.nodeSelector[a] = b"),
    ],
)  # fmt: skip
def test_a_runtime_that_does_not_fit_is_refused(spec: Any, runtime: Any, problem: str) -> None:
    assert refusal(runtime_class.take_runtime_class, spec, runtime) == problem


@pytest.mark.parametrize(
    ("given", "overhead", "problem"),
    [
        ({"cpu": "1000m"}, {"podFixed": {"cpu": "1"}}, ""),
        ({}, None, ""),
        ({}, {}, ""),
        ({}, {"podFixed": {"cpu": "1"}},
         "Pod's Overhead doesn't match RuntimeClass's defined Overhead"),
        ({"cpu": "1"}, {}, "Pod's Overhead doesn't match RuntimeClass's defined Overhead"),
        ({"cpu": "1"}, None,
         "Pod Overhead set without corresponding RuntimeClass defined Overhead"),
    ],
)  # fmt: skip
def test_a_pod_has_the_overhead_of_its_runtime(given: Any, overhead: Any, problem: str) -> None:
    runtime = {"overhead": overhead} if overhead is not None else {}
    if not problem:
        runtime_class.check_overhead({"overhead": given}, runtime)
        return
    assert refusal(runtime_class.check_overhead, {"overhead": given}, runtime) == (
        f"pod rejected: {problem}"
    )


ALL, OF_KEY = {"operator": "Exists"}, {"operator": "Exists", "key": "a", "effect": "NoExecute"}
EQUAL = {"operator": "Equal", "key": "a", "value": "x", "effect": "NoExecute"}


@pytest.mark.parametrize(
    ("own", "added", "merged"),
    [
        ([EQUAL, OF_KEY], [ALL], [ALL]),
        ([ALL], [EQUAL], [ALL]),
        ([EQUAL], [OF_KEY], [OF_KEY]),
        ([EQUAL], [EQUAL], [EQUAL]),
        ([EQUAL], [{**OF_KEY, "tolerationSeconds": 5}],
         [EQUAL, {**OF_KEY, "tolerationSeconds": 5}]),
        ([{**OF_KEY, "tolerationSeconds": 5}], [OF_KEY], [OF_KEY]),
        ([EQUAL], [{**EQUAL, "value": "y"}], [EQUAL, {**EQUAL, "value": "y"}]),
        ([EQUAL], [{**EQUAL, "effect": ""}], [{**EQUAL, "effect": ""}]),
    ],
)  # fmt: skip
def test_a_toleration_that_the_runtime_s_include_is_left_out(
    own: list[Any], added: list[Any], merged: list[Any]
) -> None:
    spec = {"runtimeClassName": "r", "tolerations": own}
    runtime = {"metadata": {"name": "r"}, "scheduling": {"tolerations": added}}

    runtime_class.take_runtime_class(spec, runtime)

    assert spec["tolerations"] == merged


def limit_range(**item: Any) -> dict[str, Any]:
    return {"spec": {"limits": [item]}}


def with_resources(*resources: Any) -> dict[str, Any]:
    return pod(
        containers=[
            {**CONTAINER, "name": f"c{index}", "resources": entry}
            for index, entry in enumerate(resources)
        ]
    )


def test_a_limit_range_fills_in_and_says_so() -> None:
    given = with_resources({}, {"requests": {"cpu": "1"}, "limits": {"cpu": "1"}})
    item = {"type": "Container", "default": {"cpu": "500m"}, "defaultRequest": {"cpu": "100m"}}

    limit_ranger.fill_containers(given, [limit_range(**item)])

    assert given["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "100m"},
        "limits": {"cpu": "500m"},
    }
    assert given["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": (
            "LimitRanger plugin set: cpu request for container c0; cpu limit for container c0"
        )
    }


def test_of_several_limit_ranges_the_last_one_that_added_something_says_so() -> None:
    given = with_resources({})
    first = limit_range(type="Container", default={"cpu": "1"}, defaultRequest={"cpu": "1"})
    second = limit_range(type="Container", default={"cpu": "2", "memory": "1Gi"})

    limit_ranger.fill_containers(given, [first, second])

    assert given["spec"]["containers"][0]["resources"] == {
        "requests": {"cpu": "1"},
        "limits": {"cpu": "1", "memory": "1Gi"},
    }
    assert given["metadata"]["annotations"] == {
        "kubernetes.io/limit-ranger": "LimitRanger plugin set: memory limit for container c0"
    }


CPU = {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}


@pytest.mark.parametrize(
    ("item", "resources", "problem"),
    [
        ({"type": "Container", "max": {"cpu": "1"}}, [CPU],
         "maximum cpu usage per Container is 1, but limit is 2"),
        ({"type": "Container", "min": {"cpu": "2"}}, [CPU],
         "minimum cpu usage per Container is 2, but request is 1"),
        ({"type": "Container", "max": {"cpu": "1"}}, [{}],
         "maximum cpu usage per Container is 1.  No limit is specified"),
        ({"type": "Container", "maxLimitRequestRatio": {"cpu": "1.5"}}, [CPU],
         "cpu max limit to request ratio per Container is 1.5, but provided ratio is 2.000000"),
        ({"type": "Pod", "max": {"cpu": "3"}}, [CPU, CPU],
         "maximum cpu usage per Pod is 3, but limit is 4"),
        ({"type": "Container", "max": {"cpu": "1"}}, [CPU, CPU],
         "maximum cpu usage per Container is 1, but limit is 2"),
    ],
)  # fmt: skip
def test_a_pod_out_of_bounds_is_refused(item: Any, resources: Any, problem: str) -> None:
    given = with_resources(*resources)

    assert refusal(limit_ranger.check_pod, given, [limit_range(**item)]) == problem


def test_a_claim_out_of_bounds_is_refused() -> None:
    claim = created(
        "v1",
        "PersistentVolumeClaim",
        spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "512Mi"}}},
    )
    item = {"type": "PersistentVolumeClaim", "min": {"storage": "1Gi"}}

    assert refusal(limit_ranger.check_claim, claim, [limit_range(**item)]) == (
        "minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 512Mi"
    )
    item["max"] = {"cpu": "1"}
    assert refusal(limit_ranger.check_claim, claim, [limit_range(**item)]) == (
        "[minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 512Mi, "
        "maximum cpu usage per PersistentVolumeClaim is 1.  No request is specified]"
    )


def quota(hard: dict[str, str], used: dict[str, str] | None = None, **spec: Any) -> dict[str, Any]:
    status = {"hard": hard} | ({"used": used} if used is not None else {})
    return {"metadata": {"name": "q"}, "spec": {"hard": hard, **spec}, "status": status}


def test_a_quota_grants_counts_and_refuses() -> None:
    wanted = {"count/configmaps": Fraction(1)}

    granted = resource_quota.charge(
        quota({"count/configmaps": "2"}, {"count/configmaps": "1"}), wanted, {}
    )
    full = quota({"count/configmaps": "2"}, {"count/configmaps": "2"})

    assert granted == {"count/configmaps": "2"}
    assert refusal(resource_quota.charge, full, wanted, {}) == (
        "exceeded quota: q, requested: count/configmaps=1, used: count/configmaps=2, "
        "limited: count/configmaps=2"
    )
    assert resource_quota.charge(quota({"pods": "1"}, {"pods": "0"}), wanted, {}) is None
    assert resource_quota.charge(full, {"count/configmaps": Fraction(-1)}, {}) == {
        "count/configmaps": "1"
    }


def test_a_quota_that_nobody_has_counted_refuses() -> None:
    hard = {"pods": "5", "requests.cpu": "1", "services": "1", "example.com/thing": "1"}

    assert refusal(resource_quota.unknown_usage, quota(hard, {"pods": "0"}), PODS) == (
        "status unknown for quota: q, resources: pods,requests.cpu"
    )
    resource_quota.unknown_usage(quota(hard, {"pods": "0", "requests.cpu": "0"}), PODS)


def test_a_quota_on_cpu_wants_every_container_to_say() -> None:
    given = with_resources(CPU, {})

    assert refusal(resource_quota.missing_resources, quota({"requests.cpu": "9"}, {}), given) == (
        "failed quota: q: must specify requests.cpu for: c1"
    )


@pytest.mark.parametrize(
    "resources", [{"requests": {"cpu": "1"}}, {"limits": {"memory": "1Gi"}},
                  {"requests": {"hugepages-2Mi": "2Mi"}}]
)  # fmt: skip
def test_containers_need_not_say_what_they_need_once_the_pod_says_anything(resources: Any) -> None:
    given = with_resources(CPU, {})
    given["spec"]["resources"] = resources
    resource_quota.missing_resources(quota({"requests.cpu": "9", "limits.cpu": "9"}, {}), given)


@pytest.mark.parametrize(
    ("given", "added"),
    [
        ({"operator": "Exists"}, []),
        ({"key": "node.kubernetes.io/not-ready", "operator": "Exists"}, ["unreachable"]),
        ({"key": "x", "operator": "Exists"}, ["not-ready", "unreachable"]),
        (
            {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoSchedule"},
            ["not-ready", "unreachable"],
        ),
    ],
)
def test_tolerations_that_are_covered_are_not_added(given: Any, added: list[str]) -> None:
    spec = {"tolerations": [given]}

    default_toleration_seconds.tolerate(spec)

    assert [entry["key"].rpartition("/")[2] for entry in spec["tolerations"][1:]] == added
