"""Which objects go and which stay, for any owners and any order in which the collector hears."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import assert_never

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from proreus.api.finalizers import FOREGROUND, ORPHAN
from proreus.client.discovery.api_resource import ApiResource
from proreus.cluster.controllers.garbage_collector import decisions
from proreus.cluster.controllers.garbage_collector.graph import (
    Graph,
    Node,
    OwnerReference,
)

MAPS = ApiResource(group="", version="v1", name="configmaps", kind="ConfigMap", namespaced=True)
FINALIZERS = {"Foreground": {FOREGROUND}, "Orphan": {ORPHAN}, "Background": set[str]()}


@dataclass(slots=True)
class World:
    """What a server holds, and a collector that hears of it late: each object's changes in their
    order, those of several objects in any order."""

    random: Random
    live: dict[str, Node] = field(default_factory=dict)
    graph: Graph = field(default_factory=Graph)
    unheard: dict[str, list[Node | None]] = field(default_factory=dict)
    waiting: set[str] = field(default_factory=set)

    def write(self, uid: str, node: Node | None) -> None:
        if node is not None and node.is_deleting and not node.finalizers:
            node = None
        if node is None:
            del self.live[uid]
        else:
            self.live[uid] = node
        self.unheard.setdefault(uid, []).append(node)

    def delete(self, uid: str, propagation: str) -> None:
        if uid in self.live:
            node = self.live[uid]
            kept = (node.finalizers - {FOREGROUND, ORPHAN}) | FINALIZERS[propagation]
            self.write(uid, replace(node, is_deleting=True, finalizers=frozenset(kept)))

    def resolve(self) -> None:
        for _ in range(10_000):
            chances = [*self.unheard, *self.waiting]
            if not chances:
                return
            number = self.random.randrange(len(chances))
            if number < len(self.unheard):
                self._hear(chances[number])
            else:
                self.waiting.discard(chances[number])
                self._attend(chances[number])
        raise AssertionError("the collector never comes to rest")

    def _hear(self, uid: str) -> None:
        node = self.unheard[uid].pop(0)
        if not self.unheard[uid]:
            del self.unheard[uid]
        self.waiting.update(self.graph.remove(uid) if node is None else self.graph.put(node))

    def _attend(self, uid: str) -> None:
        match decisions.next_step(self.graph, uid):
            case decisions.Keep():
                return
            case decisions.LookUp():
                self._decide_live(uid)
            case decisions.Orphan(dependents):
                for one in dependents:
                    self._remove_owner_references(one.uid, frozenset({uid}))
                self._remove_finalizer(uid, ORPHAN)
            case decisions.RemoveFinalizer(finalizer):
                self._remove_finalizer(uid, finalizer)
            case step:
                assert_never(step)

    def _decide_live(self, uid: str) -> None:
        node = self.live.get(uid)
        if node is None or node.is_deleting:
            return
        known = {owner.uid: self.graph.get(owner.uid) for owner in node.owners}
        lost = {one for one, found in known.items() if found is None and one not in self.live}
        waits = {one for one, found in known.items() if found and found.waits_for_dependents}
        owners = decisions.Owners(
            frozenset(known.keys() - waits - lost), frozenset(lost), frozenset(waits)
        )
        match decisions.decide_by_owners(
            owners, node.finalizers, lambda: bool(self.graph.dependents(uid))
        ):
            case decisions.Keep():
                return
            case decisions.DropOwners(uids):
                self._remove_owner_references(uid, uids)
            case decisions.DeleteObject(propagation):
                self.delete(uid, propagation)
            case decision:
                assert_never(decision)

    def _remove_owner_references(self, uid: str, lost: frozenset[str]) -> None:
        if uid in self.live:
            node = self.live[uid]
            kept = tuple(owner for owner in node.owners if owner.uid not in lost)
            self.write(uid, replace(node, owners=kept))

    def _remove_finalizer(self, uid: str, finalizer: str) -> None:
        if uid in self.live and finalizer in self.live[uid].finalizers:
            node = self.live[uid]
            self.write(uid, replace(node, finalizers=node.finalizers - {finalizer}))


def world_of(owners: Mapping[str, Mapping[str, bool]], random: Random) -> World:
    """``owners``: per object its owners, and whether it blocks them. The collector knows them."""
    world = World(random)
    for uid, of in owners.items():
        references = tuple(
            OwnerReference("v1", "ConfigMap", one, one, blocks) for one, blocks in of.items()
        )
        world.write(uid, Node(MAPS, "default", uid, uid, references))
    while world.unheard:
        world._hear(random.choice(list(world.unheard)))
    return world


def without_owners(owners: Mapping[str, frozenset[str]], gone: set[str]) -> set[str]:
    """Those in ``gone``, and again and again what has owners, all of which are gone."""
    while more := {uid for uid, of in owners.items() if uid not in gone and of and of <= gone}:
        gone = gone | more
    return gone


UIDS = [f"o{number}" for number in range(7)]
graphs = st.fixed_dictionaries(
    {uid: st.dictionaries(st.sampled_from([*UIDS, "never"]), st.booleans(), max_size=3)
     for uid in UIDS}
)  # fmt: skip
deletions = st.lists(
    st.tuples(st.sampled_from(UIDS), st.sampled_from(["Foreground", "Background", "Orphan"])),
    min_size=1,
    max_size=4,
)
randoms = st.integers(0, 2**32).map(Random)


@settings(max_examples=100, deadline=None)
@given(graphs, deletions, randoms)
def test_what_lost_its_last_owner_goes_and_nothing_else(
    owners: dict[str, dict[str, bool]], wanted: list[tuple[str, str]], random: Random
) -> None:
    world = world_of(owners, random)
    world.resolve()
    here = {uid: frozenset(of) for uid, of in owners.items()}
    here = remaining(here, without_owners(here, {"never"}))
    assert seen(world) == here

    for uid, propagation in wanted:
        world.delete(uid, propagation)
        world.resolve()

        if propagation == "Orphan" and uid in here:
            here = {one: of - {uid} for one, of in here.items() if one != uid}
        elif uid in here:
            here = remaining(here, without_owners(here, {uid}))
        assert seen(world) == here


@settings(max_examples=100, deadline=None)
@given(graphs, deletions, randoms)
def test_deletions_at_the_same_time_all_come_to_their_end(
    owners: dict[str, dict[str, bool]], wanted: list[tuple[str, str]], random: Random
) -> None:
    world = world_of(owners, random)
    world.resolve()
    here = seen(world)

    for uid, propagation in wanted:
        world.delete(uid, propagation)
    world.resolve()

    left = seen(world)
    asked = {uid for uid, _ in wanted}
    assert not asked & left.keys()
    assert here.keys() - left.keys() <= without_owners(here, asked)
    assert all(of <= left.keys() for of in left.values())
    assert not any(node.is_deleting for node in world.live.values())


def remaining(owners: Mapping[str, frozenset[str]], gone: set[str]) -> dict[str, frozenset[str]]:
    return {uid: of - gone for uid, of in owners.items() if uid not in gone}


def seen(world: World) -> dict[str, frozenset[str]]:
    return {uid: frozenset(one.uid for one in it.owners) for uid, it in world.live.items()}


def test_a_circle_waits_for_what_blocks_it_from_outside() -> None:
    graph = Graph()
    for uid, owner in (("a", "b"), ("b", "a"), ("leaf", "a")):
        reference = OwnerReference("v1", "ConfigMap", owner, owner, blocks=True)
        is_leaf = uid == "leaf"
        held = frozenset({"example.com/hold" if is_leaf else FOREGROUND})
        graph.put(Node(MAPS, "default", uid, uid, (reference,), True, held))

    assert not graph.is_unblocked("a")
    assert not graph.is_unblocked("b")
    assert set(graph.remove("leaf")) == {"a"}
    assert graph.is_unblocked("a")


def test_what_hangs_below_a_circle_goes_before_it() -> None:
    graph = Graph()
    for uid, owner in (("a", "b"), ("b", "a"), ("c", "a"), ("c2", "c")):
        reference = OwnerReference("v1", "ConfigMap", owner, owner, blocks=True)
        held = frozenset({FOREGROUND})
        graph.put(Node(MAPS, "default", uid, uid, (reference,), True, held))

    assert [uid for uid in ("a", "b", "c", "c2") if graph.is_unblocked(uid)] == ["c2"]


def test_a_reference_from_another_namespace_means_nothing_that_exists() -> None:
    graph = Graph()
    graph.put(Node(MAPS, "mine", "owner", "owner"))
    reference = OwnerReference("v1", "ConfigMap", "owner", "owner", blocks=True)

    assert graph.put(Node(MAPS, "mine", "child", "child", (reference,))) == []
    assert graph.put(Node(MAPS, "theirs", "child", "stray", (reference,))) == ["stray"]
    assert decisions.next_step(graph, "stray") == decisions.LookUp()
