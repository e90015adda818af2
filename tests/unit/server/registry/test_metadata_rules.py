"""What is said of an update's metadata, and in which order."""

from __future__ import annotations

from proreus.server.kinds.core import config_map
from proreus.server.registry import metadata_rules


def test_a_generation_that_falls_is_named_before_what_may_not_change() -> None:
    old = {"name": "a", "namespace": "default", "uid": "1", "generation": 3}
    new = {**old, "uid": "2", "generation": 2, "labels": {"a": "_"}}

    found = metadata_rules.update_violations(new, old, config_map.RESOURCES[0], frozenset())

    assert [error.field for error in found] == [
        "metadata.generation", "metadata.uid", "metadata.labels",
    ]  # fmt: skip
