"""Stock transforms: smaller objects with the same identity."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from proreus.api.object import KubeObject
from proreus.client.informer import chain, drop_fields, drop_managed_fields

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
