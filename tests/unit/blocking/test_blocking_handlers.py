"""Handlers of blocking informers: they may block, call the client, close it, and never return."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from proreus import blocking
from proreus.client import ConnectionLost
from tests.unit.blocking.test_blocking import LIST, POD, against
from tests.unit.client.scripted_server import answer, hang, stream

WAIT_S = 60


async def serve_pods(received: Any, connection: Any) -> None:
    """One pod: for a list, for a get, and no news of it."""
    if "sendInitialEvents=true" in received.query:
        step = answer(422)
    elif "watch=true" in received.query:
        step = stream([], then="hang")
    else:
        step = answer(200, LIST if received.path.endswith("/pods") else POD)
    await step(received, connection)


@contextlib.contextmanager
def informing() -> Iterator[tuple[blocking.Client, blocking.SharedInformerFactory]]:
    """By host name, so that each new connection resolves it."""
    with (
        against(serve_pods, host="localhost") as client,
        blocking.SharedInformerFactory(client) as informers,
    ):
        yield client, informers


def test_handlers_that_all_call_the_client_at_once_get_their_answers() -> None:
    count = 40  # more than the loop's default executor has threads
    together = threading.Barrier(count)
    found: list[str] = []
    done = threading.Semaphore(0)

    with informing() as (client, informers):

        def on_add(pod: Any) -> None:
            together.wait(WAIT_S)
            found.append(client.core_v1.pods("a").get("p").name)
            done.release()

        pods = informers.informer("pods", namespace="a")
        for _ in range(count):
            pods.add_handler(on_add=on_add)
        informers.start()

        assert all(done.acquire(timeout=WAIT_S) for _ in range(count))
    assert found == ["p"] * count


def test_a_handler_that_closes_the_client_returns() -> None:
    returned = threading.Event()
    with informing() as (client, informers):

        def on_add(pod: Any) -> None:
            client.close()
            client.close()
            returned.set()

        informers.informer("pods", namespace="a").add_handler(on_add=on_add)
        informers.start()

        assert returned.wait(WAIT_S)
        with pytest.raises(RuntimeError, match="closed"):
            client.core_v1.pods("a").get("p")


def test_a_handler_that_exits_or_raises_hears_of_the_next_object() -> None:
    heard: list[str] = []
    both = threading.Event()
    with informing() as (client, informers):

        def on_add(pod: Any) -> None:
            heard.append("add")
            sys.exit("enough")

        def on_update(old: Any, new: Any) -> None:
            heard.append("update")
            both.set()

        pods = informers.informer("pods", namespace="a")
        pods.add_handler(on_add=on_add, on_update=on_update, resync_s=1)
        informers.start()

        assert both.wait(WAIT_S)
        assert client.core_v1.pods("a").get("p").name == "p"
    assert heard[:2] == ["add", "update"]


def test_a_removed_handlers_thread_ends() -> None:
    threads: list[threading.Thread] = []
    called = threading.Event()
    with informing() as (_, informers):

        def on_add(pod: Any) -> None:
            threads.append(threading.current_thread())
            called.set()

        pods = informers.informer("pods", namespace="a")
        handler = pods.add_handler(on_add=on_add)
        informers.start()
        assert called.wait(WAIT_S)
        pods.remove_handler(handler)
        threads[0].join(WAIT_S)

        assert not threads[0].is_alive()


def test_any_number_of_threads_may_close_while_a_call_hangs() -> None:
    arrived = threading.Event()

    async def arrive_and_hang(received: Any, connection: Any) -> None:
        arrived.set()
        await hang()(received, connection)

    with against(arrive_and_hang) as client, ThreadPoolExecutor(6) as threads:
        call = threads.submit(client.core_v1.pods("a").get, "p")
        assert arrived.wait(WAIT_S)
        closing = [threads.submit(client.close) for _ in range(5)]
        for one in closing:
            one.result(WAIT_S)

        with pytest.raises((RuntimeError, ConnectionLost)):
            call.result(WAIT_S)


def test_a_handler_that_never_returns_does_not_hold_up_the_end_of_the_process() -> None:
    program = """
import threading
from proreus import blocking
from tests.unit.blocking.test_blocking_handlers import informing

called = threading.Event()

def on_add(pod):
    called.set()
    threading.Event().wait()

scene = informing()  # never left: nobody closes the client
_, informers = scene.__enter__()
informers.informer("pods", namespace="a").add_handler(on_add=on_add)
informers.start()
assert called.wait(60)
print("main ends", flush=True)
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=100, check=False
    )

    assert (ended.stdout, ended.returncode) == ("main ends\n", 0), ended.stderr
