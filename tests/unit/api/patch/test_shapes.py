"""What a create owns is remembered by the object's shape: it must be what a comparison says."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from proreus.api.patch import field_sets, shapes
from proreus.api.patch.field_walk import compare
from proreus.api.patch.managed_fields import UNTRACKED
from proreus.api.patch.ownership import Endpoint, OwnershipUpdate
from proreus.api.patch.plans import plan_of
from proreus.api.typed import ListType, Shape, TypeNode

TEXT = TypeNode(Shape.STRING)
TEXTS = TypeNode(Shape.MAP, element=lambda: TEXT)
ITEM: TypeNode = TypeNode(
    Shape.OBJECT, properties=lambda: {"name": TEXT, "image": TEXT, "data": TEXTS, "items": ITEMS}
)
ITEMS: TypeNode = TypeNode(
    Shape.LIST, element=lambda: ITEM, list_type=ListType.MAP, list_map_keys=("name",)
)
SPEC = TypeNode(
    Shape.OBJECT, properties=lambda: {"items": ITEMS, "count": TEXT, "more": TEXTS, "flat": TEXT}
)
ROOT = TypeNode(
    Shape.OBJECT,
    properties=lambda: {
        "metadata": TypeNode(Shape.OBJECT, preserve_unknown=True, properties=dict),
        "spec": SPEC,
        "status": TEXTS,
        "open": TypeNode(Shape.ANY),
    },
)
# As a server shows an object that nobody filled: with nulls, zeros and empty parts.
EMPTY: dict[str, Any] = {
    "metadata": {},
    "spec": {"items": None, "count": 0, "more": {}},
    "status": {},
}

NAMES = st.sampled_from("abc")
DATA = st.dictionaries(st.sampled_from("xyz"), NAMES, max_size=3)


def items(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    # Names may repeat, be no texts, or be missing: a server must live with all of it.
    name = st.one_of(NAMES, st.sampled_from([1, True, 1.0, 'k:{"name":1}', None]))
    item = st.fixed_dictionaries(
        {}, optional={"name": name, "image": NAMES, "data": DATA, "items": inner}
    )
    return st.one_of(st.none(), st.lists(item, max_size=3))


SPECS = st.fixed_dictionaries(
    {},
    optional={
        "items": items(items(st.just([]))),
        "count": st.sampled_from([0, 1, "", None]),
        "more": st.one_of(st.none(), DATA),
        "flat": NAMES,
        "unknown": st.sampled_from([{"a": {"b": 1}}, [1], 5]),
    },
)
OBJECTS = st.fixed_dictionaries(
    {"metadata": st.fixed_dictionaries({"name": NAMES}, optional={"labels": DATA, "x": NAMES})},
    optional={
        "spec": st.one_of(st.none(), SPECS),
        "status": st.one_of(st.none(), DATA),
        "open": st.sampled_from([{"a": {"b": {}}}, {"a": {"b": 1}}, [{"a": 1}], 3, None]),
    },
)


@settings(max_examples=150)
@given(st.lists(OBJECTS, min_size=1, max_size=5))
def test_what_a_create_owns_does_not_depend_on_what_was_created_before(objects: list[Any]) -> None:
    endpoint = Endpoint(reset=(("status",),), empty=EMPTY)
    write = OwnershipUpdate(ROOT, "v1", "", "now", endpoint)

    for obj in [*objects, *objects]:
        owners = write.created(obj, "maker")

        change = compare(EMPTY, obj, ROOT)
        wanted = field_sets.union(change.added, change.modified)
        wanted = field_sets.difference(field_sets.outside(wanted, endpoint.reset_fields), UNTRACKED)
        assert [owned.fields for owned in owners.values()] == ([wanted] if wanted else [])


@settings(max_examples=60)
@given(OBJECTS)
def test_trees_are_sorted_as_a_server_writes_them(obj: Any) -> None:
    tree = shapes.everything(obj, plan_of(ROOT))

    assert str(tree) == str(field_sets.parse(tree))


def test_equal_shapes_share_one_tree() -> None:
    plan = plan_of(ROOT)
    one = {"metadata": {"name": "a"}, "spec": {"items": [{"name": "x", "image": "1"}]}}
    two = {"metadata": {"name": "b"}, "spec": {"items": [{"name": "x", "image": "2"}]}}

    assert shapes.everything(one, plan) is shapes.everything(two, plan)


def test_wide_objects_are_not_kept() -> None:
    plan = plan_of(TypeNode(Shape.OBJECT, properties=lambda: {"data": TEXTS}))
    wide = {"data": {f"key-{number}": "" for number in range(1000)}}

    tree = shapes.everything(wide, plan)

    assert len(tree["f:data"]) == 1001
    assert not shapes.is_cached(tree)
    assert not plan.shapes


def test_a_type_remembers_only_so_many_shapes() -> None:
    plan = plan_of(TypeNode(Shape.MAP, element=lambda: TEXT))

    for number in range(1000):
        shapes.everything({f"key-{number}": "x"}, plan)

    assert len(plan.shapes) <= 128


def test_what_has_very_long_names_is_not_remembered() -> None:
    trees, plan = shapes.TreesByText("spec"), plan_of(ROOT)
    for name in ("count", "n" * 5000):
        assert trees.everything({"spec": {name: "x"}}, plan)["f:spec"].keys() >= {f"f:{name}"}

    assert [keys for keys, _ in trees._trees] == [("count",)]
