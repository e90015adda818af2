"""Who wrote a version: what managed fields tell, also within one second."""

from __future__ import annotations

from typing import Any

from proreus.server.http.debug.writer import WrittenBy, written_by

NOON, LATER = "2026-01-01T12:00:00Z", "2026-01-01T12:00:01Z"


def _entry(manager: str, *fields: str, time: str = NOON) -> dict[str, Any]:
    owned: dict[str, Any] = {"f:data": {f"f:{field}": {} for field in fields}}
    return {"manager": manager, "operation": "Update", "time": time, "fieldsV1": owned}


def _object(data: dict[str, str], *entries: dict[str, Any]) -> dict[str, Any]:
    return {"metadata": {"managedFields": list(entries)}, "data": data}


def test_a_new_manager_is_the_writer() -> None:
    old = _object({"a": "1"}, _entry("ann", "a"))
    new = _object({"a": "1", "b": "2"}, _entry("ann", "a"), _entry("bob", "b"))

    assert written_by(new, old) == WrittenBy("bob", NOON)
    assert written_by(old, None) == WrittenBy("ann", NOON)


def test_the_manager_with_a_later_time_is_the_writer() -> None:
    old = _object({"a": "1", "b": "2"}, _entry("ann", "a"), _entry("bob", "b"))
    new = _object({"a": "3", "b": "2"}, _entry("ann", "a", time=LATER), _entry("bob", "b"))

    assert written_by(new, old) == WrittenBy("ann", LATER)


def test_who_lost_a_field_within_the_second_is_not_the_writer() -> None:
    old = _object({"a": "1", "b": "2"}, _entry("ann", "a", "b"), _entry("bob", "c"))
    new = _object({"a": "1", "b": "3"}, _entry("ann", "a"), _entry("bob", "c", "b"))

    assert written_by(new, old).manager == "bob"


def test_the_owner_of_a_changed_field_is_the_writer_if_no_entry_changed() -> None:
    entries = (_entry("ann", "a"), _entry("bob", "b"))
    old = _object({"a": "1", "b": "2"}, *entries)

    assert written_by(_object({"a": "1", "b": "3"}, *entries), old).manager == "bob"
    assert written_by(_object({"a": "3", "b": "2"}, *entries), old).manager == "ann"


def test_without_managed_fields_nobody_is_named() -> None:
    assert written_by({"metadata": {}}, None) == WrittenBy()
    assert written_by(None, _object({}, _entry("ann", "a"))) == WrittenBy()
