"""Which volume a claim gets."""

from __future__ import annotations

from typing import Any

import pytest

from proreus.cluster.volumes.matching import best_match, mismatch
from tests.unit.cluster.volumes.storage import claim, reference, volume

BOTH = ["ReadWriteOnce", "ReadOnlyMany"]


def test_a_claim_gets_the_smallest_volume_that_is_large_enough() -> None:
    volumes = [volume("ten", storage="10Gi"), volume("five", storage="5Gi"), volume("one")]

    found = best_match(claim(storage="2Gi"), volumes)

    assert found is not None and found.name == "five"


def test_a_volume_with_more_access_modes_is_kept_for_who_needs_them() -> None:
    volumes = [volume("both", accessModes=BOTH), volume("large", storage="9Gi")]

    once, many = best_match(claim(), volumes), best_match(claim(accessModes=BOTH), volumes)

    assert once is not None and once.name == "large"
    assert many is not None and many.name == "both"


def test_a_volume_that_is_reserved_for_the_claim_goes_before_all_others() -> None:
    volumes = [volume("small"), volume("own", storage="9Gi", claimRef=reference(uid=""))]

    found = best_match(claim(), volumes, is_delayed=True)

    assert found is not None and found.name == "own"


@pytest.mark.parametrize(
    "content",
    [
        {"storage": "1Mi"},
        {"accessModes": ["ReadOnlyMany"]},
        {"volumeMode": "Block"},
        {"storageClassName": "fast"},
        {"phase": "Released"},
        {"phase": "Pending"},
        {"is_deleting": True},
        {"claimRef": reference("other", "uid-other")},
        {"claimRef": reference(uid="that of a claim which had this name")},
        {"volumeAttributesClassName": "gold"},
    ],
)
def test_a_volume_that_does_not_suit_is_not_taken(content: dict[str, Any]) -> None:
    assert best_match(claim(), [volume("v", **content)]) is None


def test_a_selector_chooses_among_volumes_by_their_labels() -> None:
    volumes = [volume("slow", labels={"disk": "hdd"}), volume("fast", labels={"disk": "ssd"})]

    found = best_match(claim(selector={"matchLabels": {"disk": "ssd"}}), volumes)

    assert found is not None and found.name == "fast"


def test_a_claim_that_waits_for_its_pod_gets_no_volume_before() -> None:
    assert best_match(claim(), [volume("v")], is_delayed=True) is None


def test_on_a_node_only_volumes_count_that_can_be_mounted_there_and_nobody_is_about_to_get() -> (
    None
):
    volumes = [volume("far"), volume("taken"), volume("near", storage="5Gi")]

    found = best_match(
        claim(), volumes, fits_node=lambda one: one.name != "far", is_delayed=True, taken={"taken"}
    )

    assert found is not None and found.name == "near"


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ({"storage": "1Mi"}, "requested PV is too small"),
        ({"storageClassName": "fast"}, "storageClassName does not match"),
        ({"volumeMode": "Block"}, "incompatible volumeMode"),
        ({"accessModes": ["ReadOnlyMany"]}, "incompatible accessMode"),
        ({"storage": "2Gi"}, ""),
    ],
)
def test_a_volume_that_a_claim_names_is_refused_with_a_reason(
    content: dict[str, Any], why: str
) -> None:
    assert mismatch(claim(), volume("v", **content)) == why
