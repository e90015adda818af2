"""Stock transforms: smaller objects with the same identity."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.api.object import KubeObject
from proreus.api.status import Expired
from proreus.api.wire.framing import WatchEvent
from proreus.client.informer import chain, drop_fields, drop_managed_fields
from tests.unit.client.informer.harness import informer_of, running
from tests.unit.client.informer.scripted import Stream, page, pod

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def config_map(**metadata: object) -> KubeObject:
    return KubeObject.from_dict(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "a", "resourceVersion": "7", **metadata},
            "data": {"k": "v"},
        }
    )


def test_managed_fields_are_dropped_and_the_rest_stays() -> None:
    slim = drop_managed_fields(config_map(managedFields=[{"manager": "x"}], uid="u"))

    assert slim.to_dict() == config_map(uid="u").to_dict()
    assert (slim.name, slim.resource_version, slim.uid) == ("a", "7", "u")


def test_an_object_without_managed_fields_is_left_alone() -> None:
    plain = config_map(annotations={"note": 'says "managedFields"'})

    assert drop_managed_fields(plain) is plain


@given(st.dictionaries(st.text(), JSON), st.lists(JSON))
def test_dropping_managed_fields_changes_nothing_else(
    rest: dict[str, object], managed: list[object]
) -> None:
    content = {**rest, "apiVersion": "v1", "kind": "K", "metadata": {"name": "a"}}
    fat = {**content, "metadata": {"name": "a", "managedFields": managed}}

    assert drop_managed_fields(KubeObject.from_dict(fat)).to_dict() == content


@pytest.mark.parametrize(
    ("written", "left"),
    [
        ('{"metadata": {"name": "a", "managedFields": [1], "uid": "u"}}', None),
        ('{"metadata":{"managedFields":[1],"name":"a"}}', '{"metadata":{"name":"a"}}'),
        ('{"metadata":{"name":"a","managedFields":[1]}}', '{"metadata":{"name":"a"}}'),
        ('{"metadata":{"managedFields":[1]}}', '{"metadata":{}}'),
        ('{"metadata":{"name":"a"},"spec":{"managedFields":[1]}}', None),
        ('{"spec":{"managedFields":[1]},"metadata":{"managedFields":[1],"name":"a"}}', None),
        ('{"spec":"managedFields","metadata":{"managedFields":[1],"name":"a"}}', None),
        ('{"metadata":{"managedFields":null,"name":"a"}}', '{"metadata":{"name":"a"}}'),
        ('{"spec":{"managedFields":[1]}}', None),
    ],
)
def test_managed_fields_are_cut_wherever_they_stand(written: str, left: str | None) -> None:
    expected = json.loads(written)
    expected.get("metadata", {}).pop("managedFields", None)

    slim = drop_managed_fields(KubeObject.from_bytes(written.encode()))

    assert slim.to_dict() == expected
    if left is not None:
        assert slim.raw == left.encode()


def test_fields_are_dropped_by_path() -> None:
    drop = drop_fields("data", "metadata.uid", "spec.nowhere")

    assert drop(config_map(uid="u")).to_dict() == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "resourceVersion": "7"},
    }


def test_transforms_can_be_chained() -> None:
    both = chain(drop_managed_fields, drop_fields("data"))

    assert "data" not in both(config_map(managedFields=[]))


async def test_no_handler_sees_what_the_transform_dropped_of_any_state() -> None:
    def secret(name: str, version: int) -> KubeObject:
        content = pod(name, version).to_dict()
        return KubeObject.from_dict({**content, "data": {"password": "hunter2"}})

    stream = Stream()
    bench = informer_of(
        page(secret("a", 1), secret("b", 1), version=1),
        stream,
        page(version=5),
        Stream(),
        transform=drop_fields("data"),
    )
    seen: list[KubeObject | None] = []
    bench.informer.add_handler(
        on_notification=lambda notification: seen.extend((notification.old, notification.new))
    )
    async with running(bench):
        stream.send(WatchEvent("MODIFIED", secret("a", 2)), WatchEvent("DELETED", secret("a", 3)))
        stream.fail(Expired("too old"))  # b is deleted unseen
        await bench.clock.advance(5)

        states = [state for state in seen if state is not None]
        assert [state.name for state in states] == ["a", "b", "a", "a", "a", "b"]
        assert not any(b"hunter2" in state.raw for state in states)
