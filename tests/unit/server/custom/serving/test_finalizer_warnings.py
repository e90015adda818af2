"""Which finalizers of a custom object a write warns of."""

from __future__ import annotations

from typing import Any

from proreus.server.custom.serving.object_rules import finalizer_warnings


def held_by(*finalizers: str) -> dict[str, Any]:
    return {"metadata": {"finalizers": list(finalizers)}}


def test_a_new_object_is_warned_of_every_finalizer_without_a_path() -> None:
    warnings = finalizer_warnings(held_by("z", "a.b", "x.io/y", "orphan", "z"))

    assert warnings == [
        'metadata.finalizers: "a.b": prefer a domain-qualified finalizer name including a path (/) '
        "to avoid accidental conflicts with other finalizer writers",
        'metadata.finalizers: "z": prefer a domain-qualified finalizer name '
        "to avoid accidental conflicts with other finalizer writers",
    ]


def test_an_update_is_warned_only_of_those_it_adds() -> None:
    assert finalizer_warnings(held_by("a", "b"), held_by("a", "b")) == []
    assert len(finalizer_warnings(held_by("a", "b"), held_by("b"))) == 1
