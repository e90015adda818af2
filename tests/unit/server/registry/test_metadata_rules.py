"""What is said of an update's metadata, and in which order."""

from __future__ import annotations

from dataclasses import replace

from proreus.server.kinds.apiextensions import custom_resource_definition
from proreus.server.kinds.core import config_map
from proreus.server.registry import metadata_rules
from proreus.server.resource import CustomVersion


def test_a_generation_that_falls_is_named_before_what_may_not_change() -> None:
    old = {"name": "a", "namespace": "default", "uid": "1", "generation": 3}
    new = {**old, "uid": "2", "generation": 2, "labels": {"a": "_"}}

    found = metadata_rules.update_violations(new, old, config_map.RESOURCES[0], frozenset())

    assert [error.field for error in found] == [
        "metadata.generation", "metadata.uid", "metadata.labels",
    ]  # fmt: skip


def test_metadata_of_a_custom_object_is_checked_as_new_as_changed_and_by_its_kind() -> None:
    thing = replace(config_map.RESOURCES[0], custom=CustomVersion())
    old = {"name": "a", "namespace": "default", "uid": "1"}
    new = {**old, "uid": "2", "generateName": "x/", "labels": {"a": "_"}, "finalizers": ["-"]}

    found, of_kind = metadata_rules.custom_update_violations(new, old, thing, frozenset())

    assert [error.field for error in found] == [
        "metadata.generateName", "metadata.labels", "metadata.finalizers",
        "metadata.uid", "metadata.labels",
    ]  # fmt: skip
    assert [error.field for error in of_kind] == ["metadata.uid", "metadata.labels"]


def test_metadata_of_a_definition_is_checked_as_often_as_that_of_its_objects() -> None:
    old = {"name": "a.b.c", "uid": "1"}
    new = {**old, "uid": "2", "labels": {"a": "_"}}

    found = metadata_rules.update_violations(
        new, old, custom_resource_definition.RESOURCES[0], frozenset()
    )

    assert [error.field for error in found] == [
        "metadata.labels", "metadata.uid", "metadata.labels", "metadata.uid", "metadata.labels",
    ]  # fmt: skip


def test_what_is_before_the_dash_of_a_prefix_is_not_looked_at_but_for_a_part_of_a_sign() -> None:
    kind = config_map.RESOURCES[0]
    metadata = {"name": "a", "namespace": "default"}

    good = metadata_rules.violations({**metadata, "generateName": "a_-"}, kind, frozenset())
    bad = metadata_rules.violations({**metadata, "generateName": "aé-"}, kind, frozenset())

    assert good == []
    assert [error.field for error in bad] == ["metadata.generateName"]


def test_a_version_may_begin_with_a_slash_and_is_the_same() -> None:
    owner = {"apiVersion": "/v1", "kind": "Event", "name": "a", "uid": "1"}
    metadata = {"name": "a", "namespace": "default", "ownerReferences": [owner]}

    found = metadata_rules.violations(
        metadata, config_map.RESOURCES[0], frozenset({("v1", "Event")})
    )

    assert [error.message.rpartition("}: ")[2] for error in found] == [
        "/v1, Kind=Event is disallowed from being an owner"
    ]
