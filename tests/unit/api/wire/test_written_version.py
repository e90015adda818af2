"""Stored bytes that say which version they were written in."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from proreus.api.wire import splice

VERSIONS = st.from_regex(r"v[1-9][0-9]?((alpha|beta)[1-9])?", fullmatch=True)
TEXT = st.text(max_size=10)
OBJECTS = st.fixed_dictionaries(
    {"metadata": st.fixed_dictionaries({"name": TEXT, "labels": st.dictionaries(TEXT, TEXT)})},
    optional={"spec": st.dictionaries(TEXT, TEXT), "storedVersion": TEXT},
)


@given(OBJECTS, VERSIONS)
def test_the_version_comes_back_and_the_bytes_are_as_before(
    obj: dict[str, object], version: str
) -> None:
    stored = splice.stored_from_object(obj)

    marked = splice.with_version(stored, version)

    assert splice.split_version(marked) == (version, stored)
    assert splice.split_version(stored) == ("", stored)


@given(OBJECTS, VERSIONS, st.integers(1, 2**63))
def test_no_item_shows_it(obj: dict[str, object], version: str, revision: int) -> None:
    _, value = splice.split_version(splice.with_version(splice.stored_from_object(obj), version))

    item = splice.item_from_stored(value, revision)

    metadata = splice.decode_item(item)["metadata"]
    assert metadata["resourceVersion"] == str(revision)
    assert "storedVersion" not in metadata
