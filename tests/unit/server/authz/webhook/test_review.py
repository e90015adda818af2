"""What a webhook is asked is a SubjectAccessReview as kube-apiserver sends it."""

from __future__ import annotations

import pytest

from proreus.api.json_types import JsonObject
from proreus.server.authz.authorizer import Action, Decision, Verdict
from proreus.server.authz.webhook.review import (
    may_be_remembered,
    review_spec,
    subject_access_review,
    verdict_of,
)
from proreus.server.registry.user import User
from proreus.server.webhooks.client import CallRejected

ANN = User("ann", ("devs", "system:authenticated"), "7", {"b": ("2", "1"), "a": ("x",)})


def test_all_that_is_known_of_a_request_is_sent() -> None:
    action = Action(
        user=ANN,
        verb="list",
        group="apps",
        version="v1",
        resource="deployments",
        subresource="status",
        namespace="n",
        name="d",
        field_selector="spec.x=1,a!=b",
        label_selector="tier in (web,db),!old,new,a=b,c!=d,e notin (f),weight>5",
    )

    assert review_spec(action) == {
        "resourceAttributes": {
            "namespace": "n",
            "verb": "list",
            "group": "apps",
            "version": "v1",
            "resource": "deployments",
            "subresource": "status",
            "name": "d",
            "fieldSelector": {
                "requirements": [
                    {"key": "a", "operator": "NotIn", "values": ["b"]},
                    {"key": "spec.x", "operator": "In", "values": ["1"]},
                ]
            },
            "labelSelector": {
                "requirements": [
                    {"key": "a", "operator": "In", "values": ["b"]},
                    {"key": "c", "operator": "NotIn", "values": ["d"]},
                    {"key": "e", "operator": "NotIn", "values": ["f"]},
                    {"key": "new", "operator": "Exists"},
                    {"key": "old", "operator": "DoesNotExist"},
                    {"key": "tier", "operator": "In", "values": ["db", "web"]},
                ]
            },
        },
        "user": "ann",
        "groups": ["devs", "system:authenticated"],
        "extra": {"a": ["x"], "b": ["2", "1"]},
        "uid": "7",
    }


def test_a_path_is_asked_about_as_such() -> None:
    action = Action(user=User("bob"), verb="get", path="/metrics")

    assert review_spec(action) == {
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
        "user": "bob",
    }


@pytest.mark.parametrize("selector", [")", "a in", "a===b"])
def test_a_selector_that_is_not_understood_asks_for_everything(selector: str) -> None:
    action = Action(
        user=ANN, verb="list", resource="pods", field_selector=selector, label_selector=selector
    )

    assert review_spec(action)["resourceAttributes"] == {"verb": "list", "resource": "pods"}


def test_the_old_version_calls_groups_by_another_name() -> None:
    action = Action(user=User("bob", ("devs",)), verb="get", path="/x")

    review = subject_access_review(review_spec(action), "v1beta1")

    assert review["apiVersion"] == "authorization.k8s.io/v1beta1"
    assert review["spec"]["group"] == ["devs"]
    assert "groups" not in review["spec"]


@pytest.mark.parametrize(
    ("status", "verdict"),
    [
        ({"allowed": True}, Verdict(Decision.ALLOW)),
        ({"allowed": True, "reason": "on call"}, Verdict(Decision.ALLOW, "on call")),
        ({"allowed": False, "denied": True, "reason": "no"}, Verdict(Decision.DENY, "no")),
        ({"allowed": False, "reason": "who?"}, Verdict(Decision.NO_OPINION, "who?")),
        ({}, Verdict(Decision.NO_OPINION)),
        (
            {"allowed": True, "denied": True, "reason": "?"},
            Verdict(
                Decision.DENY,
                "?",
                "webhook subject access review returned both allow and deny response",
            ),
        ),
    ],
)
def test_the_status_of_the_answer_is_the_verdict(status: JsonObject, verdict: Verdict) -> None:
    assert verdict_of(status) == verdict


@pytest.mark.parametrize(
    "status", [{"allowed": "true"}, {"allowed": 1}, {"denied": "no"}, {"reason": ["a"]}]
)
def test_a_status_of_other_types_is_no_answer(status: JsonObject) -> None:
    with pytest.raises(CallRejected):
        verdict_of(status)


def test_questions_of_unreasonable_length_are_not_remembered() -> None:
    short = Action(user=ANN, verb="get", resource="pods", name="p" * 9_000)
    long = Action(user=ANN, verb="get", resource="pods", name="p" * 10_000)
    selecting = Action(user=ANN, verb="list", resource="pods", label_selector="a," * 5_000)

    assert [may_be_remembered(each) for each in (short, long, selecting)] == [True, False, False]
