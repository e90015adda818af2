"""The face without ``await``: same verbs, own thread, clear refusals."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import operator
import os
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from proreus import blocking
from proreus.blocking.loop_thread import LoopThread
from proreus.client import Client, ClientConfig, NotFound, ResourceClient, StreamSilent
from proreus.client.rest.retry import RetryPolicy
from tests.unit.client.scripted_server import ScriptedServer, Step, answer, hang, stream

POD = {"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p", "namespace": "a"}}
LIST = {"kind": "PodList", "apiVersion": "v1", "metadata": {"resourceVersion": "1"}, "items": [POD]}
EVENT = b'{"type":"ADDED","object":{"kind":"Pod","apiVersion":"v1","metadata":{"name":"p"}}}\n'


@contextlib.contextmanager
def against(*steps: Step, host: str = "127.0.0.1") -> Iterator[blocking.Client]:
    """A scripted server on a loop thread of its own, and a client on another."""
    thread = LoopThread("scripted server")

    @contextlib.asynccontextmanager
    async def serving() -> AsyncIterator[ScriptedServer]:
        async with ScriptedServer(list(steps), repeats=True).running() as server:
            yield server

    try:
        with thread.held(serving()) as server:
            url = server.url.replace("127.0.0.1", host)
            config = ClientConfig(url, disk_cache=False)
            with blocking.Client(config, retry=RetryPolicy(0)) as client:
                yield client
    finally:
        thread.close()


def test_the_verbs_wait_for_their_answers() -> None:
    with against(answer(200, POD), answer(200, LIST), answer(404), answer(200, POD)) as client:
        pods = client.core_v1.pods("a")
        assert pods.get("p").name == "p"
        assert [one.name for one in pods.list(label_selector="x")] == ["p"]
        with pytest.raises(NotFound):
            client.resource("pods").metadata_only.get("q")
        assert client.resource_of(POD).create(POD).kind == "Pod"


def test_streams_are_context_managers_and_iterators() -> None:
    with against(stream([EVENT, EVENT]), stream([b"a\n", b"b"]), answer(200, LIST)) as client:
        with client.core_v1.pods.watch(resource_version="1") as events:
            assert [event.object.name for event in events] == ["p", "p"]
        with client.core_v1.pods("a").follow_logs("p") as lines:
            assert list(lines) == ["a", "b"]
        assert [len(page) for page in client.core_v1.pods.pages(page_size=5)] == [1]


def test_a_watch_can_be_left_early_and_its_failures_surface() -> None:
    with against(stream([EVENT], then="hang")) as client:
        with client.core_v1.pods.watch() as events:
            assert next(events).type == "ADDED"
        with (
            client.core_v1.pods.watch(silence_max_s=0.01) as events,
            pytest.raises(StreamSilent),
        ):
            list(events)
    with against(answer(404)) as client, pytest.raises(NotFound), client.core_v1.pods.watch():
        pass


def test_every_async_verb_has_its_twin_with_the_same_signature() -> None:
    names = [
        name
        for name, member in inspect.getmembers(ResourceClient, inspect.isfunction)
        if not name.startswith("_") and name != "list_watch"
    ]

    assert len(names) > 20
    for name in names:
        twin = getattr(blocking.ResourceClient, name)
        verb = getattr(ResourceClient, name)
        assert inspect.signature(twin).parameters == inspect.signature(verb).parameters


def test_any_thread_may_call() -> None:
    with against(answer(200, POD)) as client:
        found: list[str] = []
        threads = [
            threading.Thread(target=lambda: found.append(client.core_v1.pods("a").get("p").name))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert found == ["p"] * 8


def test_its_own_loop_thread_may_not() -> None:
    with against(answer(200, POD)) as client:

        async def re_enter() -> None:
            client.core_v1.pods("a").get("p")

        with pytest.raises(RuntimeError, match="own loop thread"):
            client._loop.call(re_enter())


def test_a_closed_client_and_one_from_before_a_fork_say_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with against(answer(200, POD)) as client:
        real = os.getpid()
        monkeypatch.setattr(os, "getpid", lambda: real + 1)
        with pytest.raises(RuntimeError, match="before a fork"):
            client.core_v1.pods("a").get("p")
        monkeypatch.undo()
    client.close()
    with pytest.raises(RuntimeError, match="closed"):
        client.core_v1.pods("a").get("p")


def test_an_interrupted_wait_cancels_the_call(monkeypatch: pytest.MonkeyPatch) -> None:
    begun, cancelled = threading.Event(), threading.Event()

    async def work() -> None:
        try:
            begun.set()
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    class Interrupted:
        def __init__(self, future: Any) -> None:
            self._future = future

        def result(self) -> None:
            assert begun.wait(60)
            raise KeyboardInterrupt

        def cancel(self) -> None:
            self._future.cancel()

    real = asyncio.run_coroutine_threadsafe
    thread = LoopThread("test")
    thread.run(lambda: None)
    monkeypatch.setattr(asyncio, "run_coroutine_threadsafe", lambda *args: Interrupted(real(*args)))
    with pytest.raises(KeyboardInterrupt):
        thread.call(work())
    monkeypatch.undo()

    assert cancelled.wait(60)
    thread.close()


def test_closing_ends_what_hangs() -> None:
    arrived = threading.Event()

    async def arrive_and_hang(received: Any, connection: Any) -> None:
        arrived.set()
        await hang()(received, connection)

    with against(arrive_and_hang) as client:
        failed: list[BaseException] = []

        def call() -> None:
            try:
                client.core_v1.pods("a").get("p")
            except BaseException as failure:
                failed.append(failure)

        thread = threading.Thread(target=call)
        thread.start()
        assert arrived.wait(60)
        client.close()
        thread.join(60)

    assert failed


def test_configuration_is_found_as_for_the_async_client(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_text(
        "current-context: x\nclusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\n"
        "contexts: [{name: x, context: {cluster: c, namespace: team}}]\n"
    )
    with blocking.Client.from_kubeconfig(path, namespace="mine") as client:
        assert (client.namespace, client.config.host) == ("mine", "http://127.0.0.1:1")
        assert "blocking" in repr(client) and "blocking" in repr(client.core_v1.pods)
        with pytest.raises(AttributeError):
            operator.attrgetter("pods")(client)


def test_informers_are_read_from_any_thread_and_handlers_may_block() -> None:
    async def list_or_watch(received: Any, connection: Any) -> None:
        if "sendInitialEvents=true" in received.query:
            step = answer(422)
        elif "watch=true" in received.query:
            step = stream([], then="hang")
        else:
            step = answer(200, LIST)
        await step(received, connection)

    with against(list_or_watch) as client, blocking.SharedInformerFactory(client) as informers:
        pods = informers.informer("pods", namespace="a")
        added = threading.Event()
        threads: list[str] = []

        def on_add(pod: Any) -> None:
            threads.append(threading.current_thread().name)
            added.set()

        handler = pods.add_handler(on_add=on_add)
        informers.start()
        informers.wait_for_cache_sync(timeout_s=60)

        assert added.wait(60)
        assert pods.has_synced and pods.lister.find("p", "a") is not None
        assert pods.lister.get("p", "a", at_least="1").name == "p"
        assert len(pods.lister) == len(informers.lister("pods", namespace="a").list()) == 1
        assert pods.status().name == informers.status()[0].name
        pods.add_indexes({"kind": lambda pod: (pod.kind,)})
        assert [one.name for one in pods.lister.by_index("kind", "Pod")] == ["p"]
        pods.remove_handler(handler)
    assert not any("proreus client" in name for name in threads)


async def test_the_async_and_the_blocking_client_do_not_mix_loops() -> None:
    """A loop of the caller's does not matter: the client has its own."""
    client = blocking.Client(ClientConfig("http://127.0.0.1:1"))
    try:
        async with Client(ClientConfig("http://127.0.0.1:1")):
            with pytest.raises(Exception, match="refused"):
                await asyncio.to_thread(client.version)
    finally:
        client.close()
