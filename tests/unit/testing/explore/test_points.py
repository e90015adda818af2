"""Points: the same write and the same event have the same name in every run."""

from __future__ import annotations

from proreus.api.wire import json
from proreus.testing.explore.points import AskedFor, Counted, EventPoint, WritePoint, asked


def ask(url: str) -> AskedFor:
    found = asked(f"http://server{url}")
    assert found is not None
    return found


def test_a_write_is_named_by_verb_resource_object_and_how_often_it_was_made() -> None:
    counted = Counted()
    status = ask("/apis/apps/v1/namespaces/default/deployments/web/status")

    first = counted.write("PUT", status, b"{}")
    second = counted.write("PUT", status, b"{}")

    assert first == WritePoint("update", "deployments.apps/status", "default/web", 1)
    assert str(second) == "update deployments.apps/status default/web #2"


def test_an_object_whose_name_the_server_makes_is_named_by_what_it_is_made_from() -> None:
    counted = Counted()
    body = json.encode({"metadata": {"generateName": "web-"}})

    created = counted.write("POST", ask("/api/v1/namespaces/default/pods"), body)
    counted.note_name("pods", {"generateName": "web-", "name": "web-x7", "namespace": "default"})
    deleted = counted.write("DELETE", ask("/api/v1/namespaces/default/pods/web-x7"), None)

    assert str(created) == "create pods default/web-*"
    assert str(deleted) == "delete pods default/web-*"


def test_what_is_in_no_namespace_has_no_namespace_in_its_name() -> None:
    counted = Counted()

    node = counted.write("PATCH", ask("/api/v1/nodes/one"), b"{}")
    namespace = counted.write("DELETE", ask("/api/v1/namespaces/team"), None)
    many = counted.write("DELETE", ask("/api/v1/namespaces/team/pods"), None)

    assert str(node) == "patch nodes one"
    assert str(namespace) == "delete namespaces team"
    assert str(many) == "deletecollection pods team/*"


def test_events_are_counted_by_type_and_object() -> None:
    counted = Counted()

    names = [
        str(counted.event(kind, "pods", {"name": name, "namespace": "default"}))
        for kind, name in (("ADDED", "a"), ("MODIFIED", "a"), ("MODIFIED", "a"), ("ADDED", "b"))
    ]

    assert names == [
        "ADDED pods default/a",
        "MODIFIED pods default/a",
        "MODIFIED pods default/a #2",
        "ADDED pods default/b",
    ]
    assert EventPoint("ADDED", "pods", "default/a").object == ("pods", "default/a")


def test_a_path_of_no_resource_is_no_point() -> None:
    assert asked("http://server/healthz") is None
