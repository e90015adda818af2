"""What a namespace that ends says of itself."""

from __future__ import annotations

from proreus.api.object import KubeObject
from proreus.cluster.controllers.namespace.decisions import Remaining, status_of

REMAINING, FINALIZERS = "NamespaceContentRemaining", "NamespaceFinalizersRemaining"
LATER = 60.0


def doomed(**status: object) -> KubeObject:
    return KubeObject.from_dict({"metadata": {"name": "team"}, "status": status})


def said(status: dict[str, object]) -> dict[str, tuple[str, str, str]]:
    conditions = status["conditions"]
    assert isinstance(conditions, list)
    return {one["type"]: (one["status"], one["reason"], one["message"]) for one in conditions}


def test_a_namespace_that_ends_names_what_remains_in_the_words_of_kubernetes() -> None:
    left = [
        Remaining("pods.", 2, (("example.com/hold", 1),)),
        Remaining("jobs.batch", 1, (("example.com/hold", 1), ("a.example.com/x", 1))),
    ]

    assert said(status_of(doomed(), left, [], [], 0.0)) == {
        "NamespaceDeletionDiscoveryFailure": (
            "False", "ResourcesDiscovered", "All resources successfully discovered",
        ),
        "NamespaceDeletionGroupVersionParsingFailure": (
            "False", "ParsedGroupVersions", "All legacy kube types successfully parsed",
        ),
        "NamespaceDeletionContentFailure": (
            "False", "ContentDeleted",
            "All content successfully deleted, may be waiting on finalization",
        ),
        REMAINING: (
            "True", "SomeResourcesRemain",
            "Some resources are remaining: jobs.batch has 1 resource instances, "
            "pods. has 2 resource instances",
        ),
        FINALIZERS: (
            "True", "SomeFinalizersRemain",
            "Some content in the namespace has finalizers remaining: a.example.com/x in 1 resource "
            "instances, example.com/hold in 2 resource instances",
        ),
    }  # fmt: skip


def test_failures_are_counted_and_named() -> None:
    found = said(status_of(doomed(), [], ["a/v1: down", "b/v1: down"], ["pods.: refused"], 0.0))

    assert found["NamespaceDeletionDiscoveryFailure"] == (
        "True", "DiscoveryFailed",
        "Discovery failed for some groups, 2 failing: a/v1: down, b/v1: down",
    )  # fmt: skip
    assert found["NamespaceDeletionContentFailure"] == (
        "True", "ContentDeletionFailed",
        "Failed to delete all resource types, 1 remaining: pods.: refused",
    )  # fmt: skip
    assert found[REMAINING][2] == "All content successfully removed"
    assert found[FINALIZERS][2] == "All content-preserving finalizers finished"


def test_the_message_is_about_what_remains_now_and_the_time_about_the_first() -> None:
    first = status_of(doomed(), [Remaining("pods.", 1)], [], [], 0.0)

    second = status_of(doomed(**first), [Remaining("configmaps.", 3)], [], [], LATER)

    assert said(second)[REMAINING][2].endswith(": configmaps. has 3 resource instances")
    times = {one["type"]: one["lastTransitionTime"] for one in second["conditions"]}
    assert times[REMAINING] == "1970-01-01T00:00:00Z"


def test_a_condition_that_changes_its_status_says_when() -> None:
    first = status_of(doomed(), [Remaining("pods.", 1)], [], [], 0.0)

    second = status_of(doomed(**first), [], [], ["x"], LATER)

    times = {one["type"]: one["lastTransitionTime"] for one in second["conditions"]}
    assert times[REMAINING] == "1970-01-01T00:01:00Z"
