"""A sorted set of strings against Python's own sort."""

from __future__ import annotations

import random

import hypothesis.strategies as st
import pytest
from hypothesis import given

from proreus.server.storage import sorted_keys
from proreus.server.storage.sorted_keys import SortedKeys

WORDS = st.text(alphabet="ab/é", max_size=4)


@given(st.sets(WORDS), st.lists(WORDS), WORDS, WORDS)
def test_it_reads_like_a_sorted_set(
    initial: set[str], toggled: list[str], start: str, end: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sorted_keys, "_RUN_MAX", 4)
        keys, model = SortedKeys(initial), set(initial)
        for word in toggled:
            if word in model:
                keys.remove(word)
                model.remove(word)
            else:
                keys.add(word)
                model.add(word)

        found = list(keys.between(start, end))

    assert found == sorted(word for word in model if start <= word < end)
    assert len(keys) == len(model)


def test_many_keys_stay_in_short_runs() -> None:
    words = [f"{number:06}" for number in range(20_000)]
    random.Random(1).shuffle(words)
    keys = SortedKeys()

    for word in words:
        keys.add(word)
    for word in words[:15_000]:
        keys.remove(word)

    assert list(keys.between("", "x")) == sorted(words[15_000:])
