"""Deployments, sets, jobs and cron jobs: defaults, rules, and what may change."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.status import BadRequest
from proreus.server.kinds.batch.job.policies import count_indexes
from tests.unit.server.kinds.creating import (
    CONTAINER,
    SELECTOR,
    TEMPLATE,
    UID,
    created,
    decoded,
    errors,
    rules_of,
    status_errors,
    updated,
)

JOB_TEMPLATE = {"spec": {"restartPolicy": "Never", "containers": [CONTAINER]}}
NO_MATCH = "`selector` does not match template `labels`"


def deployment(**spec: Any) -> dict[str, Any]:
    return created(
        "apps/v1", "Deployment", spec={"selector": SELECTOR, "template": TEMPLATE, **spec}
    )


def stateful_set(**spec: Any) -> dict[str, Any]:
    return created(
        "apps/v1", "StatefulSet", spec={"selector": SELECTOR, "template": TEMPLATE, **spec}
    )


def job(**spec: Any) -> dict[str, Any]:
    return created("batch/v1", "Job", spec={"template": JOB_TEMPLATE, **spec})


@pytest.mark.parametrize(
    ("given", "defaulted"),
    [
        ({}, {"type": "RollingUpdate", "rollingUpdate": {"partition": 0, "maxUnavailable": 1}}),
        ({"type": "RollingUpdate"}, {"type": "RollingUpdate"}),
        ({"type": "OnDelete"}, {"type": "OnDelete"}),
        ({"type": "RollingUpdate", "rollingUpdate": {"partition": 2}},
         {"type": "RollingUpdate", "rollingUpdate": {"partition": 2, "maxUnavailable": 1}}),
        ({"rollingUpdate": {"maxUnavailable": "10%"}},
         {"type": "RollingUpdate", "rollingUpdate": {"partition": 0, "maxUnavailable": "10%"}}),
    ],
)  # fmt: skip
def test_a_stateful_set_gets_parameters_of_rolling_updates_unless_it_names_the_type_alone(
    given: dict[str, Any], defaulted: dict[str, Any]
) -> None:
    assert stateful_set(updateStrategy=given)["spec"]["updateStrategy"] == defaulted


def test_the_defaults_of_a_deployment() -> None:
    spec = deployment()["spec"]

    assert {key: spec[key] for key in spec if key not in ("selector", "template")} == {
        "progressDeadlineSeconds": 600,
        "replicas": 1,
        "revisionHistoryLimit": 10,
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
        },
    }
    assert deployment()["status"] == {}


def test_the_defaults_of_sets() -> None:
    stateful = stateful_set()["spec"]
    daemon = created("apps/v1", "DaemonSet", spec={"selector": SELECTOR, "template": TEMPLATE})

    assert stateful["updateStrategy"]["rollingUpdate"] == {"partition": 0, "maxUnavailable": 1}
    assert stateful["podManagementPolicy"] == "OrderedReady"
    assert daemon["spec"]["updateStrategy"]["rollingUpdate"] == {"maxUnavailable": 1, "maxSurge": 0}
    assert daemon["metadata"]["annotations"] == {"deprecated.daemonset.template.generation": "1"}
    assert daemon["status"]["numberReady"] == 0


def test_a_daemon_set_counts_changes_of_its_template() -> None:
    old = created("apps/v1", "DaemonSet", spec={"selector": SELECTOR, "template": TEMPLATE})
    image = [{**CONTAINER, "image": "nginx:2"}]

    new, problems = updated(old, {"spec": {"template": {"spec": {"containers": image}}}})

    assert problems == []
    assert new["metadata"]["annotations"] == {"deprecated.daemonset.template.generation": "2"}


@pytest.mark.parametrize(
    ("kind", "key", "given", "printed"),
    [
        ("Deployment", "strategy", {"maxSurge": "10%"}, '{"MaxUnavailable":0,"MaxSurge":"10%"}'),
        ("DaemonSet", "updateStrategy", {}, '{"MaxUnavailable":0,"MaxSurge":0}'),
        ("StatefulSet", "updateStrategy", {"partition": 2},
         '{"Partition":2,"MaxUnavailable":null}'),
    ],
)  # fmt: skip
def test_an_unknown_strategy_is_printed_whole(
    kind: str, key: str, given: dict[str, Any], printed: str
) -> None:
    strategy = {"type": "X", "rollingUpdate": given}
    spec = {"selector": SELECTOR, "template": TEMPLATE, key: strategy}

    found = errors("apps/v1", kind, spec=spec)

    assert f'value: {{"Type":"X","RollingUpdate":{printed}}}: ' in found[0]


def test_labels_and_selectors_are_printed_in_one_order_whatever_the_clients_was() -> None:
    requirement = {"values": ["x"], "operator": "In", "key": "k"}
    selector = {"matchExpressions": [requirement], "matchLabels": {"z": "1", "app": "a"}}
    template = TEMPLATE | {"metadata": {"labels": {"z": "1", "app": "a", "k": "x"}}}
    other = TEMPLATE | {"metadata": {"labels": {"z": "1", "app": "b"}}}
    old = deployment(template=template)

    _, immutable = updated(old, {"spec": {"selector": selector}})

    assert immutable == [
        'spec.selector: Invalid value: {"matchLabels":{"app":"a","z":"1"},"matchExpressions":'
        '[{"key":"k","operator":"In","values":["x"]}]}: field is immutable'
    ]
    assert errors("apps/v1", "Deployment", spec={"selector": SELECTOR, "template": other}) == [
        f'spec.template.metadata.labels: Invalid value: {{"app":"b","z":"1"}}: {NO_MATCH}'
    ]


@pytest.mark.parametrize(
    ("brought", "kept"), [("7", "7"), ("0", "1"), ("-3", "1"), ("007", "7"), ("+5", "5")]
)
def test_a_new_daemon_set_counts_on_from_the_number_it_brings(brought: str, kept: str) -> None:
    key = "deprecated.daemonset.template.generation"
    made = created(
        "apps/v1",
        "DaemonSet",
        metadata={"annotations": {key: brought}},
        spec={"selector": SELECTOR, "template": TEMPLATE},
    )

    assert made["metadata"]["annotations"] == {key: kept}


@pytest.mark.parametrize(
    ("kind", "spec", "problems"),
    [
        ("Deployment", {"replicas": -1},
         ["spec.replicas: Invalid value: -1: must be greater than or equal to 0"]),
        ("Deployment", {"selector": None},
         ["spec.selector: Required value",
          f'spec.template.metadata.labels: Invalid value: {{"app":"a"}}: {NO_MATCH}']),
        ("Deployment", {"selector": {}},
         ["spec.selector: Invalid value: {}: empty selector is invalid for deployment"]),
        ("Deployment", {"strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": 0}}},
         ["spec.strategy.rollingUpdate.maxUnavailable: Invalid value: 0: may not be 0 when "
          "`maxSurge` is 0"]),
        ("Deployment", {"strategy": {"rollingUpdate": {"maxUnavailable": "120%"}}},
         ['spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "120%": must not be greater '
          "than 100%"]),
        ("Deployment", {"strategy": {"rollingUpdate": {"maxSurge": "x"}}},
         ['spec.strategy.rollingUpdate.maxSurge: Invalid value: "x": a valid percent string must '
          "be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for "
          "validation is '[0-9]+%')"]),
        ("Deployment", {"minReadySeconds": 600},
         ["spec.progressDeadlineSeconds: Invalid value: 600: must be greater than "
          "minReadySeconds"]),
        ("ReplicaSet", {"selector": {"matchLabels": {"app": "b"}}},
         [f'spec.template.metadata.labels: Invalid value: {{"app":"a"}}: {NO_MATCH}']),
        ("StatefulSet", {"podManagementPolicy": "x"},
         ["spec.podManagementPolicy: Invalid value: \"x\": must be 'OrderedReady' or 'Parallel'"]),
        ("StatefulSet", {"volumeClaimTemplates": [{"metadata": {"name": "d"}, "spec": {}}]},
         ["spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode "
          "is required", "spec.volumeClaimTemplates[0].spec.resources[storage]: Required value"]),
        ("DaemonSet", {"updateStrategy": {"rollingUpdate": {"maxSurge": 1}}},
         ["spec.updateStrategy.rollingUpdate.maxSurge: Invalid value: 1: may not be set when "
          "maxUnavailable is non-zero"]),
    ],
)  # fmt: skip
def test_a_workload_is_validated(kind: str, spec: dict[str, Any], problems: list[str]) -> None:
    given = {"selector": SELECTOR, "template": TEMPLATE, **spec}

    assert errors("apps/v1", kind, spec=given) == problems


def test_a_replication_controller_follows_its_template() -> None:
    made = created("v1", "ReplicationController", spec={"template": TEMPLATE})

    assert made["spec"]["selector"] == {"app": "a"}
    assert made["metadata"]["labels"] == {"app": "a"}
    assert errors("v1", "ReplicationController", spec={}) == [
        "spec.selector: Required value",
        "spec.template: Required value",
    ]


def test_what_of_workloads_may_not_change() -> None:
    other = {"matchLabels": {"app": "b"}}
    template = {"metadata": {"labels": {"app": "b"}}}

    assert updated(deployment(), {"spec": {"selector": other, "template": template}})[1] == [
        'spec.selector: Invalid value: {"matchLabels":{"app":"b"}}: field is immutable'
    ]
    assert updated(stateful_set(), {"spec": {"serviceName": "t"}})[1] == [
        'spec.serviceName: Invalid value: "t": field is immutable'
    ]
    assert updated(stateful_set(), {"spec": {"replicas": 3, "minReadySeconds": 1}})[1] == []


def test_a_status_with_more_ready_than_there_are_is_refused() -> None:
    assert status_errors(deployment(), {"readyReplicas": 3}) == [
        "status.readyReplicas: Invalid value: 3: cannot be greater than status.replicas"
    ]


def test_a_job_makes_its_own_selector() -> None:
    made = job()
    labels = {
        "batch.kubernetes.io/controller-uid": UID,
        "batch.kubernetes.io/job-name": "a",
        "controller-uid": UID,
        "job-name": "a",
    }

    assert made["spec"]["selector"] == {"matchLabels": {"batch.kubernetes.io/controller-uid": UID}}
    assert made["spec"]["template"]["metadata"]["labels"] == labels
    assert made["metadata"]["labels"] == labels
    assert {key: made["spec"][key] for key in ("backoffLimit", "completions", "suspend")} == {
        "backoffLimit": 6,
        "completions": 1,
        "suspend": False,
    }


@pytest.mark.parametrize(
    ("spec", "problems"),
    [
        ({"template": {"spec": {"containers": [CONTAINER]}}},
         ['spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"']),
        ({"completionMode": "Indexed", "parallelism": 2},
         ["spec.completions: Required value: when completion mode is Indexed"]),
        ({"manualSelector": True},
         ["spec.selector: Required value",
          f"spec.template.metadata.labels: Invalid value: null: {NO_MATCH}"]),
        ({"podFailurePolicy": {"rules": [
            {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [2, 1]}}]}},
         ["spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [2,1]: must be "
          "ordered"]),
        ({"managedBy": "x"},
         ['spec.managedBy: Invalid value: "x": must be a domain-prefixed path (such as '
          '"acme.io/foo")']),
    ],
)  # fmt: skip
def test_a_job_is_validated(spec: dict[str, Any], problems: list[str]) -> None:
    assert errors("batch/v1", "Job", spec={"template": JOB_TEMPLATE, **spec}) == problems


@pytest.mark.parametrize(
    ("change", "problems"),
    [
        ({"parallelism": 3, "suspend": True}, []),
        ({"completions": 3}, ["spec.completions: Invalid value: 3: field is immutable"]),
    ],
)
def test_what_of_a_job_may_change(change: dict[str, Any], problems: list[str]) -> None:
    assert updated(job(completions=2), {"spec": change})[1] == problems


@pytest.mark.parametrize(("text", "expected"), [("0", 1), ("0-3", 4), ("1,3-4", 3), ("", 0)])
def test_indexes_are_counted(text: str, expected: int) -> None:
    assert count_indexes(text, 10) == expected


@pytest.mark.parametrize("text", ["10", "3-1", "2,1", "x", "1-"])
def test_bad_indexes_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"index|order"):
        count_indexes(text, 10)


@pytest.mark.parametrize(
    ("spec", "problems"),
    [
        ({"schedule": "* * *"},
         ['spec.schedule: Invalid value: "* * *": expected exactly 5 fields, found 3: [* * *]']),
        ({"schedule": "TZ=UTC 0 * * * *"},
         ['spec.schedule: Invalid value: "TZ=UTC 0 * * * *": cannot use TZ or CRON_TZ in schedule, '
          "use timeZone field instead"]),
        ({"timeZone": "Nowhere/Land"},
         ['spec.timeZone: Invalid value: "Nowhere/Land": unknown time zone Nowhere/Land']),
        ({"timeZone": ""},
         ['spec.timeZone: Invalid value: "": timeZone must be nil or non-empty string']),
    ],
)  # fmt: skip
def test_a_cron_job_is_validated(spec: dict[str, Any], problems: list[str]) -> None:
    given = {"schedule": "@daily", "jobTemplate": {"spec": {"template": JOB_TEMPLATE}}, **spec}

    assert errors("batch/v1", "CronJob", spec=given) == problems


@pytest.mark.parametrize("kind", ["DaemonSet", "StatefulSet", "ReplicaSet"])
def test_pods_that_are_kept_running_have_no_deadline(kind: str) -> None:
    template = {**TEMPLATE, "spec": {"containers": [CONTAINER], "activeDeadlineSeconds": 5}}

    found = errors("apps/v1", kind, spec={"selector": SELECTOR, "template": template})

    at = "spec.template.spec.activeDeadlineSeconds"
    assert found == [f"{at}: Forbidden: activeDeadlineSeconds in {kind} is not Supported"]


@pytest.mark.parametrize(
    ("kind", "status", "problem"),
    [
        ("ReplicaSet", {"replicas": 2, "availableReplicas": 1},
         "availableReplicas: Invalid value: 1: cannot be greater than readyReplicas"),
        ("StatefulSet", {"replicas": 2, "availableReplicas": 1},
         "availableReplicas: Invalid value: 1: cannot be greater than status.readyReplicas"),
        ("StatefulSet", {"replicas": 1, "currentReplicas": 2},
         "currentReplicas: Invalid value: 2: cannot be greater than status.replicas"),
    ],
)  # fmt: skip
def test_the_parts_of_a_status_fit_together(
    kind: str, status: dict[str, Any], problem: str
) -> None:
    made = created("apps/v1", kind, spec={"selector": SELECTOR, "template": TEMPLATE})

    assert status_errors(made, status) == [f"status.{problem}"]


def test_collisions_are_not_uncounted() -> None:
    made = created("apps/v1", "Deployment", spec={"selector": SELECTOR, "template": TEMPLATE})
    made["status"] = {"collisionCount": 2}

    assert status_errors(made, {"collisionCount": 1}) == [
        "status.collisionCount: Invalid value: 1: cannot be decremented"
    ]


def test_a_daemon_set_replaces_its_pods_in_one_of_two_ways() -> None:
    rolling = {"maxSurge": 0, "maxUnavailable": 0}
    strategy = {"type": "RollingUpdate", "rollingUpdate": rolling}
    spec = {"selector": SELECTOR, "template": TEMPLATE, "updateStrategy": strategy}

    assert errors("apps/v1", "DaemonSet", spec=spec) == [
        "spec.updateStrategy.rollingUpdate.maxUnavailable: Required value: cannot be 0 when "
        "maxSurge is 0"
    ]


@pytest.mark.parametrize(
    ("metric", "problems"),
    [
        ({"type": "Pods", "pods": {"metric": {"name": "m"}, "target": {"type": "Value"}}},
         ["pods.target.averageValue: Required value: must specify a positive target averageValue"]),
        ({"type": "External", "external": {"metric": {}, "target": {"type": "x", "value": 1}}},
         ["external.metric.name: Required value: must specify a metric name",
          'external.target.type: Invalid value: "x": must be either Utilization, Value, or '
          "AverageValue"]),
        ({"type": "Resource"},
         ["resource: Required value: must populate information for the given metric source"]),
    ],
)  # fmt: skip
def test_a_metric_is_validated(metric: dict[str, Any], problems: list[str]) -> None:
    target = {"kind": "Deployment", "name": "d"}
    spec = {"scaleTargetRef": target, "maxReplicas": 2, "metrics": [metric]}

    found = errors("autoscaling/v2", "HorizontalPodAutoscaler", spec=spec)

    assert [text.removeprefix("spec.metrics[0].") for text in found] == problems


def claiming_set(*volumes: dict[str, Any], mount: str = "data") -> dict[str, Any]:
    container = {**CONTAINER, "volumeMounts": [{"name": mount, "mountPath": "/m"}]}
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
        },
    }
    return {
        "selector": SELECTOR,
        "template": {**TEMPLATE, "spec": {"containers": [container], "volumes": [*volumes]}},
        "volumeClaimTemplates": [claim],
    }


def test_the_claims_of_a_stateful_set_are_volumes_of_its_pods() -> None:
    shadowed = {"name": "data", "emptyDir": {}}

    assert errors("apps/v1", "StatefulSet", spec=claiming_set()) == []
    assert errors("apps/v1", "StatefulSet", spec=claiming_set(shadowed)) == []
    assert errors("apps/v1", "StatefulSet", spec=claiming_set(mount="other")) == [
        'spec.template.spec.containers[0].volumeMounts[0].name: Not found: "other"'
    ]


def test_a_stateful_set_with_an_old_template_can_still_be_scaled() -> None:
    old = created("apps/v1", "StatefulSet", spec=claiming_set(mount="other"))

    assert updated(old, {"spec": {"replicas": 3}})[1] == []
    assert len(updated(old, {"spec": {"template": {"metadata": {"annotations": {"a": "b"}}}}})[1])


def test_whoever_makes_a_daemon_set_owns_its_count_of_templates() -> None:
    """It is written with the defaults, before owners are recorded, and counted after."""
    key = "deprecated.daemonset.template.generation"
    spec = {"selector": SELECTOR, "template": TEMPLATE}
    obj = decoded({"apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": {}, "spec": spec})

    rules_of(obj).default(obj)

    assert obj["metadata"]["annotations"] == {key: "0"}
    assert created("apps/v1", "DaemonSet", spec=spec)["metadata"]["annotations"] == {key: "1"}


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("x", "invalid syntax"),
        ("", "invalid syntax"),
        ("1.5", "invalid syntax"),
        ("9223372036854775808", "value out of range"),
        ("-9223372036854775809", "value out of range"),
        ("9" * 5000, "value out of range"),
    ],
)
def test_the_count_of_template_changes_that_a_daemon_set_brings_along_is_a_number(
    text: str, fault: str
) -> None:
    spec = {"selector": SELECTOR, "template": TEMPLATE}
    annotations = {"deprecated.daemonset.template.generation": text}

    with pytest.raises(BadRequest) as refused:
        created("apps/v1", "DaemonSet", metadata={"annotations": annotations}, spec=spec)

    assert str(refused.value) == (
        'DaemonSet in version "v1" cannot be handled as a DaemonSet: strconv.ParseInt: parsing '
        f'"{text}": {fault}'
    )
