"""SharedInformerFactory: one informer per selection, all started and stopped together."""

from __future__ import annotations

import asyncio

import pytest

from proreus.api.object import KubeObject
from proreus.api.status import Forbidden
from proreus.client.informer import (
    IndexExists,
    InformerSelection,
    InformerStopped,
    ListWatch,
    SharedInformerFactory,
    TransformExists,
)
from proreus.testing.virtual_clock import VirtualClock
from tests.unit.client.informer.harness import LISTS, versions
from tests.unit.client.informer.scripted import ScriptedListWatch, page, pod


class Sources:
    """Makes a scripted ListWatch per selection and remembers them."""

    def __init__(self) -> None:
        self.made: dict[InformerSelection, ScriptedListWatch] = {}

    def __call__(self, selection: InformerSelection) -> ListWatch:
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
        InformerSelection("pods", "default"),
        InformerSelection("pods", ""),
        InformerSelection("pods", "default", "app=web"),
        InformerSelection("pods", "default", metadata_only=True),
    }


def test_a_selection_says_what_it_selects() -> None:
    everything = InformerSelection("deployments.apps")
    little = InformerSelection("pods", "default", "app=web", "spec.nodeName=n1", metadata_only=True)

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


def marked(obj: KubeObject) -> KubeObject:
    return KubeObject.from_dict({**obj.to_dict(), "transformed": True})


def by_name(obj: KubeObject) -> list[str]:
    return [obj.name]


async def test_the_factorys_transform_and_later_indexes_reach_the_informer() -> None:
    async with SharedInformerFactory(Sources(), config=LISTS, transform=marked) as factory:
        factory.informer("pods")
        pods = factory.informer("pods", transform=marked, indexes={"name": by_name})
        factory.informer("pods", indexes={"name": by_name})
        factory.start()
        await factory.wait_for_cache_sync()

        assert pods.lister.get("default/a")["transformed"] is True
        assert versions(pods.lister.by_index("name", "a")) == {"a": "3"}


async def test_another_transform_or_index_of_the_same_name_is_refused() -> None:
    factory = SharedInformerFactory(Sources(), config=LISTS)
    factory.informer("pods", indexes={"name": by_name})

    with pytest.raises(TransformExists, match="the informer of pods has another transform"):
        factory.informer("pods", transform=marked)
    with pytest.raises(IndexExists, match="another function: name"):
        factory.informer("pods", indexes={"name": lambda obj: ["never"], "other": by_name})
    assert factory.informer("pods").indexer.index_names() == ["namespace", "name"]


@pytest.mark.parametrize(
    ("names", "canonical"),
    [
        (("configmaps", "cm", "configmap", "ConfigMap", "configmaps.v1"), "configmaps"),
        (("deployments.apps", "deploy", "deployments", "deployments.v1.apps"), "deployments.apps"),
        (
            ("hpa", "horizontalpodautoscalers.v2.autoscaling"),
            "horizontalpodautoscalers.autoscaling",
        ),
        (("horizontalpodautoscalers.v1.autoscaling",), "horizontalpodautoscalers.v1.autoscaling"),
        (("events", "ev", "events.v1"), "events"),
        (("events.events.k8s.io", "events.v1.events.k8s.io"), "events.events.k8s.io"),
        (("widgets.example.com",), "widgets.example.com"),
    ],
)
async def test_all_names_of_a_resource_give_one_informer(
    names: tuple[str, ...], canonical: str
) -> None:
    sources = Sources()
    factory = SharedInformerFactory(sources, config=LISTS)

    informers = {factory.informer(name) for name in names}

    assert len(informers) == 1
    assert [selection.resource for selection in sources.made] == [canonical]
