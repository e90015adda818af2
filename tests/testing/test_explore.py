"""``@explore`` on a test: what it passes through, what it raises, how a finding is run alone."""

from __future__ import annotations

import inspect

import pytest

from proreus.api.object import KubeObject
from proreus.client import Client
from proreus.client.operator import Operator, Reconciliation
from proreus.testing.explore import (
    Explored,
    Finding,
    Settings,
    State,
    Unusable,
    World,
    explore,
    run_exploration,
)
from proreus.testing.explore.decorator import PLAN_VARIABLE
from tests.testing.corpus import stuck_phase
from tests.testing.corpus.scaffold import definitions


async def mirror(client: Client) -> None:
    """Keeps a Secret per ConfigMap, right."""
    operator = Operator(
        "mirror", client=client, leader_election=None, address="", clock=client.rest.clock
    )

    @operator.reconciler("configmaps", owns=["secrets"], namespace="default")
    async def reconcile(found: Reconciliation[KubeObject]) -> None:
        data = found.object.get("data") or {}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": found.name}}
        await found.own({**secret, "stringData": {"x": data.get("x", "")}})

    await operator


@pytest.fixture
def size() -> int:
    return 2


@explore()
async def test_fixtures_of_the_test_are_passed_through(world: World, size: int) -> None:
    world.run(mirror)
    maps = world.client.core_v1.configmaps("default")
    for number in range(size):
        await maps.create({"metadata": {"name": f"map-{number}"}, "data": {"x": "1"}})
    await world.settle()

    names = {one.name for one in await world.client.core_v1.secrets("default").list()}
    assert names == {"map-0", "map-1"}


def test_the_world_is_no_argument_of_the_decorated_test() -> None:
    assert list(inspect.signature(test_fixtures_of_the_test_are_passed_through).parameters) == [
        "size"
    ]


async def stuck(world: World) -> None:
    world.run(stuck_phase.buggy)
    await stuck_phase.workload(world)


def test_a_finding_fails_the_test_with_its_story() -> None:
    with pytest.raises(Explored) as raised:
        explore(given=definitions)(stuck)()

    story = str(raised.value)
    assert "crash after patch things.example.com/status default/a" in story
    assert "~ Thing default/a.status.phase" in story
    assert "Run it alone: PROREUS_EXPLORE_PLAN=" in story


def test_a_finding_is_run_alone_by_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    found = run_exploration(stuck, Settings(), definitions).findings[0]
    monkeypatch.setenv(PLAN_VARIABLE, str(found.plan))

    with pytest.raises(Explored) as raised:
        explore(given=definitions)(stuck)()

    (again,) = raised.value.report.findings
    assert raised.value.report.run_count == 1
    assert (again.plan, again.diff) == (found.plan, found.diff)
    assert _untimed(again.trace.entries) == _untimed(found.trace.entries)


def _untimed(entries: object) -> list[str]:
    assert isinstance(entries, list)
    return [str(entry).partition(" (version")[0] for entry in entries]


def test_exploring_can_be_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PLAN_VARIABLE, "off")

    explore(given=definitions)(stuck)()


def test_a_plan_that_does_not_exist_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PLAN_VARIABLE, "crash before nothing")

    with pytest.raises(Unusable, match="there is no plan 'crash before nothing'"):
        explore(given=definitions)(stuck)()


def _is_single(finding: Finding) -> bool:
    return len(finding.plan.faults) == 1


def test_several_faults_are_shrunk_to_those_that_matter() -> None:
    settings = Settings(faults_at_once=2, combinations=60, findings_max=100)

    report = run_exploration(stuck, settings, definitions)

    assert report.run_count > report.planned
    alone = {finding.plan.faults[0] for finding in report.findings if _is_single(finding)}
    assert alone
    for finding in report.findings:
        assert _is_single(finding) or alone.isdisjoint(finding.plan.faults)


def test_a_test_that_fails_by_itself_is_not_explored() -> None:
    async def failing(world: World) -> None:
        raise AssertionError("nothing works")

    with pytest.raises(Unusable, match="nothing works"):
        run_exploration(failing)


def test_an_invariant_that_never_holds_is_not_blamed_on_a_fault() -> None:
    def nothing_is_written(state: State) -> bool:
        return False

    async def writing(world: World) -> None:
        await world.client.core_v1.configmaps("default").create({"metadata": {"name": "a"}})
        await world.settle()

    with pytest.raises(Unusable, match="nothing is written"):
        run_exploration(writing, Settings(invariants=(nothing_is_written,)))


def test_a_program_that_writes_without_end_is_not_explored() -> None:
    async def restless(client: Client) -> None:
        maps = client.core_v1.configmaps("default")
        await maps.create({"metadata": {"name": "a"}})
        number = 0
        while True:
            number += 1
            await maps.patch("a", {"data": {"x": str(number)}})

    async def test(world: World) -> None:
        world.run(restless)
        await world.settle()

    with pytest.raises(Unusable, match="writes again and again"):
        run_exploration(test, Settings(writes_max=50))


def test_a_program_that_ends_by_itself_is_not_explored() -> None:
    async def broken(client: Client) -> None:
        raise ValueError("no configuration")

    async def test(world: World) -> None:
        world.run(broken)
        await world.settle()

    with pytest.raises(Unusable, match="no configuration"):
        run_exploration(test)
