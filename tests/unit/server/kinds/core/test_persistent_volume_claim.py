"""Persistent volume claims."""

from __future__ import annotations

from tests.unit.server.kinds.creating import created, errors, updated
from tests.unit.server.kinds.printing import cells

CLAIM = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}


def claim_of(name: str) -> dict[str, str]:
    return {"kind": "PersistentVolumeClaim", "name": name}


def test_the_two_names_of_a_claims_source_agree() -> None:
    spec = {**CLAIM, "dataSource": claim_of("a"), "dataSourceRef": claim_of("b")}

    assert errors("v1", "PersistentVolumeClaim", spec=spec) == [
        "spec: Invalid value: {}: must match dataSourceRef"
    ]


def test_the_two_names_of_a_data_source_are_kept_alike() -> None:
    source = {"kind": "PersistentVolumeClaim", "name": "o"}

    old_name = created("v1", "PersistentVolumeClaim", spec={**CLAIM, "dataSource": source})
    new_name = created("v1", "PersistentVolumeClaim", spec={**CLAIM, "dataSourceRef": source})
    unknown = {"kind": "ConfigMap", "name": "o"}
    dropped = created("v1", "PersistentVolumeClaim", spec={**CLAIM, "dataSource": unknown})

    assert old_name["spec"]["dataSourceRef"] == {**source, "apiGroup": None}
    assert new_name["spec"]["dataSource"] == {**source, "apiGroup": None}
    assert "dataSource" not in dropped["spec"]


def test_a_claim_may_be_written_back_with_the_older_name_of_its_source_alone() -> None:
    source = {"kind": "PersistentVolumeClaim", "name": "o"}
    claim = created("v1", "PersistentVolumeClaim", spec={**CLAIM, "dataSource": source})
    bare = created("v1", "PersistentVolumeClaim", spec=CLAIM)

    kept, found = updated(claim, {"spec": {"dataSourceRef": None}})
    ignored, faults = updated(bare, {"spec": {"dataSource": {"kind": "ConfigMap", "name": "o"}}})

    assert (found, kept["spec"]["dataSourceRef"]["name"]) == ([], "o")
    assert (faults, "dataSource" in ignored["spec"]) == ([], False)


def test_a_bound_claim_may_grow() -> None:
    claim = created("v1", "PersistentVolumeClaim", spec=CLAIM)
    claim["status"] = {"phase": "Bound", "capacity": {"storage": "1Gi"}}

    assert updated(claim, {"spec": {"resources": {"requests": {"storage": "9Gi"}}}})[1] == []
    assert updated(claim, {"spec": {"resources": {"requests": {"storage": "1Mi"}}}})[1] == [
        "spec.resources.requests.storage: Forbidden: field can not be less than status.capacity"
    ]


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
