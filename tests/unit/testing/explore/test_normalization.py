"""Two states count as the same if they differ only in what differs by nature."""

from __future__ import annotations

from typing import Any

from proreus.testing.explore.difference import differences
from proreus.testing.explore.normalization import MASK, chance_in, normalized

UIDS = [f"0000000{number}-0000-4000-8000-000000000000" for number in range(10)]


def obj(kind: str, name: str, uid: int, *, made_from: str = "", **fields: Any) -> dict[str, Any]:
    metadata = {"name": name, "namespace": "default", "uid": UIDS[uid], "resourceVersion": str(uid)}
    metadata |= {"creationTimestamp": f"2026-01-01T00:00:0{uid}Z", **fields.pop("metadata", {})}
    if made_from:
        metadata["generateName"] = made_from
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, **fields}


def owned(owner: int) -> dict[str, Any]:
    return {"ownerReferences": [{"kind": "Thing", "name": "a", "uid": UIDS[owner]}]}


def test_uids_versions_and_times_do_not_count() -> None:
    one = [obj("Thing", "a", 1, status={"since": "2026-01-01T00:00:00Z"})]
    other = [obj("Thing", "a", 2, status={"since": "2026-01-02T03:04:05.6Z"})]

    assert differences(normalized(one), normalized(other)) == []


def test_a_reference_to_an_object_that_is_gone_counts() -> None:
    right = [obj("Thing", "a", 1), obj("Part", "p", 2, metadata=owned(1))]
    wrong = [obj("Thing", "a", 3), obj("Part", "p", 2, metadata=owned(1))]

    (line,) = differences(normalized(right), normalized(wrong))

    assert line.startswith("~ Part default/p.metadata.ownerReferences[0].uid:")
    assert "<uid of nothing that is there>" in line
    assert "<uid of Thing default/a>" in line


def test_generated_names_do_not_count_where_they_stand_or_are_mentioned() -> None:
    one = [obj("Pod", "web-x1", 1, made_from="web-"), obj("Thing", "a", 2, pod="web-x1")]
    other = [obj("Pod", "web-y2", 1, made_from="web-"), obj("Thing", "a", 2, pod="web-y2")]

    assert differences(normalized(one), normalized(other)) == []


def test_how_many_objects_with_generated_names_there_are_counts() -> None:
    one = [obj("Pod", "web-x1", 1, made_from="web-")]
    other = [obj("Pod", f"web-{name}", name, made_from="web-") for name in (1, 2)]

    assert differences(normalized(one), normalized(other)) == ["~ 2 × Pod default/web-*, not 1"]


def test_whether_a_generation_was_observed_counts_its_number_does_not() -> None:
    def thing(generation: int, observed: int) -> list[dict[str, Any]]:
        status = {"observedGeneration": observed}
        return [obj("Thing", "a", 1, metadata={"generation": generation}, status=status)]

    assert differences(normalized(thing(2, 2)), normalized(thing(3, 3))) == []
    assert differences(normalized(thing(2, 2)), normalized(thing(3, 2))) == [
        '~ Thing default/a.status.observedGeneration: "<behind>", not "<current>"'
    ]


def test_the_order_of_conditions_does_not_count() -> None:
    ready, done = {"type": "Ready", "status": "True"}, {"type": "Done", "status": "True"}
    one = [obj("Thing", "a", 1, status={"conditions": [ready, done]})]
    other = [obj("Thing", "a", 1, status={"conditions": [done, ready]})]

    assert differences(normalized(one), normalized(other)) == []


def test_what_two_undisturbed_runs_did_not_agree_on_is_masked() -> None:
    one = [obj("Job", "backup-a1", 1, token="x"), obj("Thing", "a", 2, secret="x", size=1)]
    other = [obj("Job", "backup-b2", 1, token="y"), obj("Thing", "a", 2, secret="y", size=1)]
    third = [obj("Job", "backup-c3", 1, token="z"), obj("Thing", "a", 2, secret="z", size=2)]

    chance = chance_in(one, other)

    assert differences(normalized(one, chance), normalized(other, chance)) == []
    assert differences(normalized(one, chance), normalized(third, chance)) == [
        "~ Thing default/a.size: 2, not 1"
    ]
    assert normalized(third, chance)["Job default/backup-*"][0]["token"] == MASK


def test_a_retry_under_another_random_name_is_seen() -> None:
    one, other = [obj("Job", "backup-a1", 1)], [obj("Job", "backup-b2", 1)]
    twice = [obj("Job", "backup-c3", 1), obj("Job", "backup-d4", 2)]

    chance = chance_in(one, other)

    assert differences(normalized(one, chance), normalized(twice, chance)) == [
        "~ 2 × Job default/backup-*, not 1"
    ]


def test_missing_and_additional_objects_and_fields_are_named() -> None:
    one = [obj("Thing", "a", 1, spec={"size": 1, "old": True}), obj("Part", "p", 2)]
    other = [obj("Thing", "a", 1, spec={"size": 2, "new": True}), obj("Part", "q", 2)]

    assert differences(normalized(one), normalized(other)) == [
        "- Part default/p is missing",
        "+ Part default/q should not be there",
        "+ Thing default/a.spec.new: true",
        "- Thing default/a.spec.old: true is missing",
        "~ Thing default/a.spec.size: 2, not 1",
    ]
