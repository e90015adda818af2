"""What is kept of an object, and what is kept once for many."""

from __future__ import annotations

from proreus.server.storage.interface import StoredValue
from proreus.server.watch_cache.object import CachedObject, ObjectReader, SelectableAttributes
from tests.watching import NODE, PREFIX, read_attributes, stored_object


def made(reader: ObjectReader, key: str) -> CachedObject:
    value = stored_object(key, labels={"app": "web"}, node="n1")
    return reader.read(StoredValue(PREFIX + key, value, 7))


def test_a_stored_value_becomes_an_item_with_its_attributes() -> None:
    obj = made(ObjectReader(PREFIX, read_attributes), "a/x")

    assert (obj.key, obj.namespace, obj.name, obj.revision) == ("a/x", "a", "x", 7)
    assert obj.item.startswith(b'"metadata":{"resourceVersion":"7","name":"x",')
    assert obj.labels == {"app": "web"}
    assert dict(obj.fields) == {"metadata.name": "x", "metadata.namespace": "a", NODE: "n1"}
    assert obj.fields.get("no.such.field", "") == ""
    assert repr(obj.fields) == repr(dict(obj.fields))


def test_one_without_a_namespace_has_its_name_as_key() -> None:
    obj = made(ObjectReader(PREFIX, read_attributes), "x")

    assert (obj.key, obj.namespace, obj.name) == ("x", "", "x")


def test_equal_labels_and_texts_are_kept_once() -> None:
    reader = ObjectReader(PREFIX, read_attributes)

    one, two = made(reader, "a/x"), made(reader, "a/y")

    assert one.labels is two.labels
    assert one.namespace is two.namespace
    assert one.fields[NODE] is two.fields[NODE]


def test_fields_are_compared_by_their_names_and_values() -> None:
    reader = ObjectReader(PREFIX, read_attributes)

    one, again, other = made(reader, "a/x"), made(reader, "a/x"), made(reader, "a/y")

    assert one.fields == again.fields == dict(one.fields)
    assert one.fields != other.fields
    assert one.fields == made(ObjectReader(PREFIX, read_attributes), "a/x").fields


def test_thousands_of_different_values_do_not_pile_up() -> None:
    reader = ObjectReader(
        PREFIX, lambda item: SelectableAttributes({"k": item.hex()}, {"f": item.hex()})
    )

    for n in range(3000):
        reader.read(StoredValue(f"{PREFIX}a/{n}", stored_object(f"a/{n}"), n))

    assert len(reader._labels) <= 1025
    assert len(reader._texts) <= 1030


def test_a_deleted_object_carries_the_revision_of_its_deletion() -> None:
    obj = made(ObjectReader(PREFIX, read_attributes), "a/x")

    gone = obj.at_revision(9)

    assert gone.item == obj.item.replace(b'"7"', b'"9"')
    assert (obj.revision, gone.revision, gone.labels) == (7, 9, obj.labels)


def test_a_kind_whose_fields_change_is_read_as_it_is_now() -> None:
    """A custom resource gets another version of its definition."""
    names = ["one"]
    reader = ObjectReader(PREFIX, lambda _: SelectableAttributes({}, dict.fromkeys(names, "v")))
    before = made(reader, "a/x")

    names[:] = ["two", "three"]
    after = made(reader, "a/x")

    assert before.fields.get("one", "") == "v" and "two" not in before.fields
    assert after.fields.get("two", "") == "v" and "one" not in after.fields
