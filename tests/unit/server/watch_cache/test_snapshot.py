"""Objects in key order, as they are and as they were."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

from hypothesis import given
from hypothesis import strategies as st

from proreus.server.storage.interface import StoredValue
from proreus.server.watch_cache.history import History, Transition
from proreus.server.watch_cache.object import CachedObject, ObjectReader
from proreus.server.watch_cache.past_state import PastState
from proreus.server.watch_cache.snapshot import Snapshot
from tests.watching import NODE, PREFIX, read_attributes, stored_object

READER = ObjectReader(PREFIX, read_attributes)
KEYS = [f"{ns}/{name}" for ns in ("a", "a-b", "b") for name in ("x", "y", "y0", "z")]


def made(key: str, revision: int, node: str = "") -> CachedObject:
    return READER.read(StoredValue(PREFIX + key, stored_object(key, node=node), revision))


def keys(runs: object) -> list[str]:
    assert hasattr(runs, "__iter__")
    return [obj.key for obj in chain.from_iterable(runs)]


def test_a_namespace_with_a_dash_sorts_before_its_prefix() -> None:
    snapshot = Snapshot()
    for key in ("a/x", "a-b/x", "b/x"):
        snapshot.put(made(key, 1))

    assert keys(snapshot.runs("", "")) == ["a-b/x", "a/x", "b/x"]
    assert keys(snapshot.runs("a/", "a0")) == ["a/x"]


def test_thousands_of_keys_stay_in_order_and_are_all_found() -> None:
    snapshot = Snapshot()
    wanted = [f"ns/{n * 7919 % 5000:05d}" for n in range(5000)]
    for n, key in enumerate(wanted):
        assert snapshot.put(made(key, n)) is None
    for key in wanted[::3]:
        removed = snapshot.remove(key)
        assert removed is not None and removed.key == key

    left = sorted(set(wanted) - set(wanted[::3]))
    assert keys(snapshot.runs("", "")) == left
    assert all(snapshot.get(key) is not None for key in left)
    assert snapshot.get(wanted[0]) is None and snapshot.remove(wanted[0]) is None
    assert len(snapshot) == len(left)
    assert repr(snapshot).startswith(f"<Snapshot of {len(left)} objects in ")


writes = st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from(["put", "remove"])))


@given(writes, st.sampled_from(["", *KEYS]), st.sampled_from(["", *KEYS]))
def test_it_reads_like_a_sorted_dict(
    changes: Sequence[tuple[str, str]], low: str, high: str
) -> None:
    snapshot = Snapshot((), NODE)
    model: dict[str, CachedObject] = {}
    for revision, (key, verb) in enumerate(changes):
        if verb == "put":
            obj = made(key, revision, node=f"n{revision % 3}")
            assert snapshot.put(obj) is model.get(key)
            model[key] = obj
        else:
            assert snapshot.remove(key) is model.pop(key, None)

    inside = sorted(k for k in model if low <= k and (not high or k < high))
    assert keys(snapshot.runs(low, high)) == inside
    assert snapshot.count(low, high) == len(inside)
    for node in ("n0", "n1", "n2"):
        on_node = [k for k in inside if model[k].fields[NODE] == node]
        assert keys(snapshot.runs_with(node, low, high)) == on_node


@given(writes, st.integers(0, 30), st.sampled_from(["", *KEYS]), st.sampled_from(["", *KEYS]))
def test_any_kept_revision_can_be_read_again(
    changes: Sequence[tuple[str, str]], age: int, low: str, high: str
) -> None:
    snapshot, history = Snapshot(), History(0)
    states: list[dict[str, CachedObject]] = [{}]
    for key, verb in changes:
        revision, model = len(states), dict(states[-1])
        new = made(key, revision) if verb == "put" else None
        old = snapshot.put(new) if new is not None else snapshot.remove(key)
        if old is None and new is None:
            continue
        history.append(Transition(revision, key, old, new, 0.0))
        model.pop(key, None)
        states.append(model | ({key: new} if new is not None else {}))

    then = max(0, len(states) - 1 - age)
    past = PastState(snapshot, history, then)

    inside = sorted(k for k in states[then] if low <= k and (not high or k < high))
    found = list(chain.from_iterable(past.runs(low, high)))
    assert [obj.key for obj in found] == inside
    assert [obj.revision for obj in found] == [states[then][k].revision for k in inside]
    assert past.count(low, high) == len(inside)
