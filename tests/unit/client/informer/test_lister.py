"""Lister: reads of one moment, and reads of what one has written oneself."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable

import pytest

from proreus.api.object import KubeObject
from proreus.api.selectors.labels import LabelSelector
from proreus.api.status import NotFound, Timeout
from tests.unit.client.informer.harness import informer_of, running, versions
from tests.unit.client.informer.scripted import Stream, added, bookmark, modified, page, pod


async def test_get_finds_by_name_and_namespace_or_by_key() -> None:
    bench = informer_of(page(pod("a", 3), version=7))
    async with running(bench):
        pods = bench.informer.lister

        assert pods.get("a", "default") is pods.get("default/a")
        assert pods.find("b", "default") is None
        with pytest.raises(NotFound, match='pods "b" not found'):
            pods.get("b", "default")


async def test_list_takes_a_namespace_and_labels() -> None:
    bench = informer_of(
        page(
            pod("a", 1, app="web"),
            pod("b", 2, app="db"),
            pod("c", 3, namespace="other", app="web"),
            version=7,
        )
    )
    async with running(bench):
        pods = bench.informer.lister

        assert versions(pods.list()) == {"a": "1", "b": "2", "c": "3"}
        assert versions(pods.list(namespace="default")) == {"a": "1", "b": "2"}
        assert versions(pods.list(label_selector="app=web")) == {"a": "1", "c": "3"}
        web = LabelSelector.parse("app in (web)")
        assert versions(pods.list(namespace="other", label_selector=web)) == {"c": "3"}
        assert pods.list(namespace="nowhere") == []


async def test_a_read_can_wait_for_an_own_write() -> None:
    stream = Stream()
    bench = informer_of(page(pod("a", 3), version=7), stream)
    async with running(bench):
        reading = asyncio.ensure_future(
            _get(bench.informer.lister.get("a", "default", at_least="9"))
        )
        await bench.settle()
        waited = not reading.done()
        stream.send(added("other", 8), modified("a", 9))

        assert waited
        assert (await reading).resource_version == "9"


async def test_a_bookmark_proves_that_nothing_is_missing() -> None:
    bench = informer_of(page(pod("a", 3), version=7), Stream(bookmark(12)))
    async with running(bench):
        found = await _get(bench.informer.lister.get("default/a", at_least=12))

        assert found.resource_version == "3"


async def test_a_version_that_does_not_come_is_a_timeout_that_says_where_the_cache_is() -> None:
    bench = informer_of(page(pod("a", 3), version=7))
    async with running(bench):
        reading = asyncio.ensure_future(
            _get(bench.informer.lister.get("default/a", at_least=99, timeout_s=5))
        )
        await bench.clock.advance(6)

        with pytest.raises(Timeout, match=r"has not reached resource version 99 within 5 s.*at 7"):
            await reading


async def test_a_version_that_is_no_number_is_not_waited_for() -> None:
    bench = informer_of(page(pod("a", 3), version=7))
    async with running(bench):
        found = await _get(bench.informer.lister.get("default/a", at_least="opaque"))

        assert found.name == "a"


async def _get(answer: Awaitable[KubeObject]) -> KubeObject:
    return await answer
