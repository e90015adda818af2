"""Halves of plugins in a row: each is asked about its own resources, all are counted."""

from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import pytest

from proreus.api.group_version import GroupResource
from proreus.server.registry.admission import CREATE, Attributes
from proreus.server.registry.admission_step import AdmissionStep, PluginHalf, WriteScope

PODS = frozenset({GroupResource("", "pods")})


def write(plural: str, subresource: str = "") -> Attributes:
    resource = SimpleNamespace(group="", plural=plural)
    # What a step reads of a write; the plugins of these tests read nothing else.
    return cast(
        Attributes, SimpleNamespace(operation=CREATE, resource=resource, subresource=subresource)
    )


class Asked:
    def __init__(self) -> None:
        self.plurals: list[str] = []

    def admit(self, attributes: Attributes) -> None:
        self.plurals.append(attributes.resource.plural)


def refuse(attributes: Attributes) -> None:
    raise ValueError("refused")


def counted(step: AdmissionStep) -> dict[tuple[str, str], int]:
    return {
        (half.name, rejected): len(counts)
        for half in step.half_times()
        for _, rejected, counts in half.counted()
    }


async def test_a_half_is_asked_about_its_own_resources_only() -> None:
    every, of_pods = Asked(), Asked()
    halves = [
        PluginHalf("Every", every.admit),
        PluginHalf("OfPods", of_pods.admit, (WriteScope(resources=PODS),)),
    ]
    step = AdmissionStep("admit", halves, lambda: 0.0)

    for plural in ("pods", "nodes", "pods"):
        await step.run(write(plural))

    assert every.plurals == ["pods", "nodes", "pods"]
    assert of_pods.plurals == ["pods", "pods"]


async def test_a_half_is_asked_about_its_own_subresources_only() -> None:
    of_pods = Asked()
    itself = frozenset({""})
    halves = [PluginHalf("OfPods", of_pods.admit, (WriteScope(None, PODS, itself),))]
    step = AdmissionStep("admit", halves, lambda: 0.0)

    for subresource in ("", "status"):
        await step.run(write("pods", subresource))

    assert of_pods.plurals == ["pods"]
    assert counted(step) == {("OfPods", "false"): 2}


@pytest.mark.parametrize("writes", [1, 16, 40])
async def test_how_long_each_half_takes_is_added_up_exactly(writes: int) -> None:
    ticks = iter(range(1000))
    halves = [PluginHalf("First", Asked().admit), PluginHalf("Second", Asked().admit)]
    step = AdmissionStep("admit", halves, lambda: 2.0 * next(ticks))

    for _ in range(writes):
        await step.run(write("pods"))

    taken = [counts.total for half in step.half_times() for _, _, counts in half.counted()]
    assert taken == [2.0 * writes, 2.0 * writes]
    assert [counts.total for _, _, counts in step.step_times.counted()] == [4.0 * writes]
    assert counted(step) == {("First", "false"): writes, ("Second", "false"): writes}


async def test_metrics_count_writes_that_a_half_has_nothing_to_do_with() -> None:
    """As Kubernetes does, whose plugins are all called."""
    step = AdmissionStep(
        "admit", [PluginHalf("OfPods", Asked().admit, (WriteScope(resources=PODS),))], lambda: 0.0
    )
    for plural in ("pods", "nodes", "nodes"):
        await step.run(write(plural))

    assert counted(step) == {("OfPods", "false"): 3}
    assert counted(step) == {("OfPods", "false"): 3}, "asking again counts nothing twice"


async def test_a_refusal_ends_the_step_and_is_counted() -> None:
    later = Asked()
    halves = [PluginHalf("Refusing", refuse), PluginHalf("Later", later.admit)]
    step = AdmissionStep("validate", halves, lambda: 0.0)

    with pytest.raises(ValueError, match="refused"):
        await step.run(write("pods"))

    assert later.plurals == []
    assert counted(step) == {("Refusing", "true"): 1}
    assert [rejected for _, rejected, _ in step.step_times.counted()] == ["true"]


async def test_an_idle_half_is_asked_from_the_change_on_that_configures_it() -> None:
    hooks: list[str] = []
    of_hooks = Asked()
    halves = [PluginHalf("OfHooks", of_hooks.admit, is_idle=lambda: not hooks)]
    step = AdmissionStep("admit", halves, lambda: 0.0)

    await step.run(write("pods"))
    hooks.append("one")
    step.choose_anew()
    await step.run(write("nodes"))
    hooks.clear()
    step.choose_anew()
    await step.run(write("pods"))

    assert of_hooks.plurals == ["nodes"]
    assert counted(step) == {("OfHooks", "false"): 3}
    assert [len(counts) for _, _, counts in step.step_times.counted()] == [3]


async def test_a_write_that_is_under_way_when_plugins_change_is_counted() -> None:
    async def change(attributes: Attributes) -> None:
        step.choose_anew()

    step = AdmissionStep("admit", [PluginHalf("Waiting", change)], lambda: 0.0)
    await step.run(write("pods"))

    assert counted(step) == {("Waiting", "false"): 1}
