"""A store over HTTP, Server-Sent Events and WebSocket, alone and mounted into FastAPI."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

from proreus.embedded import Action, Caller, Store, everyone
from tests.embedded.kinds import Note, Task
from tests.embedded.serving import served

NOTES = "/apis/app.local/v1/notes"
PAGE = "https://page.example"


async def signed_in(caller: Caller) -> str | None:
    return caller.cookies.get("user")


async def own_notes_only(action: Action) -> bool:
    return action.verb in ("get", "list", "watch") or action.name == action.user.name


@asynccontextmanager
async def mounted(store: Store, **options: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A FastAPI application with the store at ``/store``; the client's paths begin there."""

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with store:
            yield

    app = FastAPI(lifespan=lifespan)
    app.mount("/store", store.asgi(**{"authenticate": everyone, **options}))
    async with (
        served(app) as where,
        httpx.AsyncClient(base_url=f"http://{where}/store", timeout=60) as client,
    ):
        yield client


def note(name: str, text: str) -> dict[str, Any]:
    return {
        "apiVersion": "app.local/v1",
        "kind": "Note",
        "metadata": {"name": name},
        "text": text,
    }


async def sent_events(lines: AsyncIterator[str], count: int) -> list[dict[str, str]]:
    """The next ones of a stream of Server-Sent Events."""
    found: list[dict[str, str]] = []
    event: dict[str, str] = {}
    async for line in lines:
        if line:
            name, _, value = line.partition(": ")
            event[name] = value
            continue
        if "data" in event:
            found.append(event)
        event = {}
        if len(found) == count:
            break
    return found


async def test_a_mounted_store_is_read_and_written_below_its_prefix() -> None:
    store = Store(kinds=[Note])
    async with mounted(store) as client:
        created = await client.post(NOTES, json=note("a-b", "1"))
        read = await client.get(f"{NOTES}/a-b")
        in_process = await store.of(Note).get("a-b")
        others = await client.get("/api/v1/pods")

    assert (created.status_code, read.status_code) == (201, 200)
    assert in_process.value.text == read.json()["text"] == "1"
    assert others.status_code == 404


async def test_an_application_runs_alone_and_opens_its_store() -> None:
    app = Store(kinds=[Note]).asgi(authenticate=everyone)
    async with served(app) as where, httpx.AsyncClient(base_url=f"http://{where}") as client:
        assert (await client.get("/readyz", timeout=60)).status_code == 200
        assert (await client.get(NOTES)).json()["items"] == []


async def test_who_is_not_known_is_not_let_in_and_who_is_may_do_what_was_decided() -> None:
    options = {"authenticate": signed_in, "authorize": own_notes_only}
    async with mounted(Store(kinds=[Note]), **options) as client:
        unknown = await client.get(NOTES)
        client.cookies.set("user", "ann")
        own = await client.post(f"{NOTES}/ann", json=note("ann", "mine"))
        others = await client.post(f"{NOTES}/bob", json=note("bob", "yours"))

    assert unknown.status_code == 401
    assert own.status_code == 201, own.text
    assert others.status_code == 403
    assert 'User "ann" cannot create resource "notes"' in others.json()["message"].replace("\\", "")


async def test_changes_are_sent_as_events_and_resumed_by_their_id() -> None:
    store = Store(kinds=[Note])
    headers = {"Accept": "text/event-stream"}
    async with mounted(store) as client, asyncio.timeout(60):
        notes = store.of(Note)
        await notes.create("a", Note("1"))
        async with client.stream("GET", f"{NOTES}?watch=1", headers=headers) as answer:
            assert answer.headers["Content-Type"] == "text/event-stream"
            lines = answer.aiter_lines()
            (first,) = await sent_events(lines, 1)
            await notes.modify("a", lambda found: Note("2"))
            (second,) = await sent_events(lines, 1)
        await notes.delete("a")
        again = {**headers, "Last-Event-ID": second["id"]}
        async with client.stream("GET", f"{NOTES}?watch=1", headers=again) as answer:
            (third,) = await sent_events(answer.aiter_lines(), 1)

    assert [one["event"] for one in (first, second, third)] == ["ADDED", "MODIFIED", "DELETED"]
    assert json.loads(second["data"])["object"]["text"] == "2"


async def test_changes_are_messages_of_a_websocket() -> None:
    store = Store(kinds=[Note])
    async with mounted(store) as client, asyncio.timeout(60):
        url = str(client.base_url).replace("http:", "ws:").rstrip("/")
        async with connect(f"{url}{NOTES}?watch=1") as socket:
            await client.post(NOTES, json=note("a", "1"))
            event = json.loads(await socket.recv())

        assert (event["type"], event["object"]["text"]) == ("ADDED", "1")
        async with connect(f"{url}{NOTES}?watch=1&labelSelector=)") as socket:
            with pytest.raises(ConnectionClosed) as closed:
                await socket.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 4400


async def test_a_watcher_that_leaves_is_forgotten() -> None:
    store = Store(kinds=[Note])
    async with mounted(store) as client, asyncio.timeout(60):
        cache = store.engine.collections.named("app.local", "v1", "notes").cache
        async with client.stream("GET", f"{NOTES}?watch=1"):
            assert len(cache.subscribers) == 1

        while cache.subscribers:  # noqa: ASYNC110  # nothing says when a client has left
            await asyncio.sleep(0.01)


async def test_a_page_of_another_origin_neither_writes_nor_watches_unless_it_is_allowed() -> None:
    stranger = {"Origin": PAGE}
    async with mounted(Store(kinds=[Note])) as client:
        refused = await client.post(NOTES, json=note("a", "1"), headers=stranger)
        host = f"http://{client.base_url.netloc.decode()}"
        own = await client.post(NOTES, json=note("b", "1"), headers={"Origin": host})
        url = str(client.base_url).replace("http:", "ws:").rstrip("/")
        async with asyncio.timeout(60), connect(f"{url}{NOTES}?watch=1", origin=PAGE) as socket:  # type: ignore[arg-type]  # a NewType of str
            with pytest.raises(ConnectionClosed) as closed:
                await socket.recv()

    assert (refused.status_code, own.status_code) == (403, 201)
    assert "Access-Control-Allow-Origin" not in refused.headers
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 4403


async def test_a_page_that_is_allowed_may_ask_from_elsewhere() -> None:
    preflight = {
        "Origin": PAGE,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type",
    }
    options = {"allow_origins": [PAGE], "authenticate": signed_in}
    async with mounted(Store(kinds=[Note]), **options) as client:
        asked = await client.options(NOTES, headers=preflight)
        client.cookies.set("user", "ann")
        written = await client.post(NOTES, json=note("a", "1"), headers={"Origin": PAGE})

    assert asked.status_code == 204
    assert asked.headers["Access-Control-Allow-Headers"] == "content-type"
    assert "POST" in asked.headers["Access-Control-Allow-Methods"]
    assert written.status_code == 201
    assert written.headers["Access-Control-Allow-Origin"] == PAGE
    assert written.headers["Access-Control-Allow-Credentials"] == "true"


async def test_a_body_that_is_too_large_is_refused() -> None:
    async with mounted(Store(kinds=[Note])) as client:
        answer = await client.post(NOTES, content=b"x" * (4 * 1024 * 1024))

    assert answer.status_code == 413


async def test_a_reader_that_falls_behind_is_cut_off_and_misses_nothing_afterwards() -> None:
    """As on a socket: what waits for it is bounded."""
    async with Store(kinds=[Task]) as store, asyncio.timeout(60):
        tasks, app = store.of(Task), store.asgi(authenticate=everyone)
        sent: list[MutableMapping[str, Any]] = []
        may_go_on, is_stuck, has_ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def send(message: MutableMapping[str, Any]) -> None:
            sent.append(message)
            if message.get("body"):
                is_stuck.set()
                await may_go_on.wait()
            elif message["type"] == "http.response.body":
                has_ended.set()

        path = "/apis/app.local/v1/tasks"
        serving = asyncio.create_task(app(watch_scope(path), Quiet().receive, send))
        await tasks.create("first", Task(title="x"))
        await is_stuck.wait()
        cache = store.engine.collections.named("app.local", "v1", "tasks").cache
        written = 0
        while cache.subscribers:
            await tasks.create(f"large-{written}", Task(title="x" * 1_000_000))
            written += 1
        may_go_on.set()
        await has_ended.wait()
        await serving

        last = json.loads(sent[1]["body"].splitlines()[0])["object"]["metadata"]["resourceVersion"]
        async with tasks.watch(since=last) as changes:
            missed = [(await anext(changes)).name for _ in range(written)]

    assert missed == [f"large-{number}" for number in range(written)]


class Quiet:
    """A client that says nothing after its request."""

    def __init__(self) -> None:
        self._has_asked = False

    async def receive(self) -> MutableMapping[str, Any]:
        if self._has_asked:
            await asyncio.Event().wait()
        self._has_asked = True
        return {"type": "http.request", "body": b""}


def watch_scope(path: str) -> MutableMapping[str, Any]:
    return {
        "type": "http",
        "method": "GET",
        "path": path,
        "query_string": b"watch=1",
        "headers": [],
    }
