"""How much of a quota is used, counted without a loop."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.api.group_version import GroupResource
from proreus.api.object import KubeObject
from proreus.api.quota_usage import PODS
from proreus.client.informer.handler import ChangeType, Notification
from proreus.cluster.controllers.resource_quota.counting import (
    count,
    counted_resources,
    is_above_count,
    may_change_usage,
    status_of,
)


def quota(hard: dict[str, str], used: dict[str, str] | None = None, **spec: Any) -> KubeObject:
    status = {"hard": hard, "used": used} if used is not None else {}
    content = {"metadata": {"name": "q"}, "spec": {"hard": hard, **spec}, "status": status}
    return KubeObject.from_dict(content)


def pod(cpu: str = "", phase: str = "Running", **spec: Any) -> KubeObject:
    container = {"name": "c", "resources": {"requests": {"cpu": cpu}} if cpu else {}}
    content = {"spec": {"containers": [container], **spec}, "status": {"phase": phase}}
    return KubeObject.from_dict({"kind": "Pod", "metadata": {"name": "p"}, **content})


def test_what_a_quota_names_is_counted_and_nothing_else() -> None:
    wish = quota({"pods": "5", "requests.cpu": "2", "count/deployments.apps": "3"})
    deployments = GroupResource("apps", "deployments")
    assert counted_resources(wish) == {PODS, deployments}

    found = count(wish, {PODS: [pod("500m"), pod("1", "Failed")], deployments: [pod(), pod()]})

    assert status_of(wish, found, may_fall=False) == {
        "hard": {"pods": "5", "requests.cpu": "2", "count/deployments.apps": "3"},
        "used": {"pods": "1", "requests.cpu": "500m", "count/deployments.apps": "2"},
    }


def test_only_objects_in_scope_count() -> None:
    wish = quota({"pods": "5"}, scopes=["BestEffort"])
    assert count(wish, {PODS: [pod(), pod("1")]}) == {"pods": 1}


def test_numbers_rise_at_once_but_fall_only_after_quiet() -> None:
    wish = quota({"pods": "5", "requests.cpu": "4"}, {"pods": "3", "requests.cpu": "1"})
    counted = count(wish, {PODS: [pod("1"), pod("2")]})

    assert is_above_count(wish, counted)
    early = status_of(wish, counted, may_fall=False)["used"]
    late = status_of(wish, counted, may_fall=True)["used"]

    assert early == {"pods": "3", "requests.cpu": "3"}
    assert late == {"pods": "2", "requests.cpu": "3"}


def test_an_amount_that_is_right_keeps_its_spelling() -> None:
    wish = quota({"requests.cpu": "4"}, {"requests.cpu": "1000m"})
    counted = count(wish, {PODS: [pod("1")]})
    assert status_of(wish, counted, may_fall=True)["used"] == {"requests.cpu": "1000m"}


def test_what_is_no_longer_limited_is_no_longer_reported() -> None:
    content = quota({"pods": "5"}, {"pods": "1", "secrets": "7"})
    assert status_of(content, count(content, {}), may_fall=True)["used"] == {"pods": "0"}


def service(kind: str) -> KubeObject:
    return KubeObject.from_dict({"kind": "Service", "metadata": {}, "spec": {"type": kind}})


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (None, pod(), False),
        (pod(), None, True),
        (pod(), pod(phase="Succeeded"), True),
        (pod(), pod(nodeName="n1"), False),
        (service("ClusterIP"), service("NodePort"), True),
        (service("ClusterIP"), service("ClusterIP"), False),
    ],
    ids=["created", "deleted", "ended", "placed", "grown", "the same"],
)
def test_a_recount_is_asked_for_by_what_frees_or_takes(
    old: KubeObject | None, new: KubeObject | None, expected: bool
) -> None:
    assert may_change_usage(Notification(ChangeType.UPDATE, old, new)) is expected
