"""SharedInformerFactory: one informer per selection, all started and stopped together."""

from __future__ import annotations

import asyncio

import pytest

from proreus.api.object import KubeObject
from proreus.api.status import Forbidden
from proreus.client.informer import InformerStopped, ListWatch, Selection, SharedInformerFactory
from proreus.testing.virtual_clock import VirtualClock
from tests.unit.client.informer.harness import LISTS, versions
from tests.unit.client.informer.scripted import ScriptedListWatch, page, pod


class Sources:
    """Makes a scripted ListWatch per selection and remembers them."""

    def __init__(self) -> None:
        self.made: dict[Selection, ScriptedListWatch] = {}

    def __call__(self, selection: Selection) -> ListWatch:
        answers = (
            page(pod("a", 3), version=7)
            if selection.resource == "pods"
            else Forbidden("secrets is forbidden")
        )
        self.made[selection] = ScriptedListWatch(answers)
        return self.made[selection]


async def test_equal_selections_share_an_informer_and_others_do_not() -> None:
    sources = Sources()
    factory = SharedInformerFactory(sources, namespace="default", config=LISTS)

    pods = factory.informer("pods")

    assert factory.informer("pods", namespace="default") is pods
    assert factory.lister("pods") is pods.lister
    assert factory.informer("pods", namespace="") is not pods
    assert factory.informer("pods", label_selector="app=web") is not pods
    assert factory.informer("pods", metadata_only=True) is not pods
    assert set(sources.made) == {
        Selection("pods", "default"),
        Selection("pods", ""),
        Selection("pods", "default", "app=web"),
        Selection("pods", "default", metadata_only=True),
    }


def test_a_selection_says_what_it_selects() -> None:
    everything = Selection("deployments.apps")
    little = Selection("pods", "default", "app=web", "spec.nodeName=n1", metadata_only=True)

    assert str(everything) == "deployments.apps"
    assert str(little) == "pods in default, app=web, spec.nodeName=n1, metadata only"


async def test_start_runs_what_was_asked_for_and_may_be_called_again() -> None:
    clock = VirtualClock()
    async with SharedInformerFactory(Sources(), config=LISTS, clock=clock) as factory:
        first = factory.informer("pods")
        factory.start()
        second = factory.informer("pods", namespace="other")
        await factory.wait_for_cache_sync()
        was_running = (first.is_running, second.is_running)
        factory.start()
        await factory.wait_for_cache_sync()

        assert was_running == (True, False)
        assert versions(second.lister.list()) == {"a": "3"}
        assert repr(factory) == "<SharedInformerFactory, 2 of 2 informers running>"
        assert [status.name for status in factory.status()] == ["pods", "pods in other"]
    assert not first.is_running


async def test_waiting_too_long_says_which_informer_lacks_and_why() -> None:
    clock = VirtualClock()
    async with SharedInformerFactory(Sources(), config=LISTS, clock=clock) as factory:
        factory.informer("pods")
        factory.informer("secrets")
        factory.start()
        waiting = asyncio.ensure_future(factory.wait_for_cache_sync(timeout_s=5))
        await clock.advance(6)

        with pytest.raises(TimeoutError, match="not synced within 5 s: secrets: Forbidden"):
            await waiting


async def test_a_failure_of_the_body_leaves_as_it_was_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        async with SharedInformerFactory(Sources(), config=LISTS) as factory:
            factory.informer("pods")
            factory.start()
            raise ZeroDivisionError

    with pytest.raises(InformerStopped):
        factory.start()
    with pytest.raises(InformerStopped):
        factory.informer("nodes")
    with pytest.raises(InformerStopped):
        await factory.__aenter__()


async def test_informers_are_started_inside_the_context_only() -> None:
    with pytest.raises(RuntimeError, match="async with"):
        SharedInformerFactory(Sources()).start()


async def test_the_factorys_transform_and_later_indexes_reach_the_informer() -> None:
    def renamed(obj: KubeObject) -> KubeObject:
        return KubeObject.from_dict({**obj.to_dict(), "transformed": True})

    async with SharedInformerFactory(Sources(), config=LISTS, transform=renamed) as factory:
        factory.informer("pods", indexes={"name": lambda obj: [obj.name]})
        pods = factory.informer("pods", indexes={"name": lambda obj: ["never"]})
        factory.start()
        await factory.wait_for_cache_sync()

        assert pods.lister.get("default/a")["transformed"] is True
        assert versions(pods.lister.by_index("name", "a")) == {"a": "3"}
