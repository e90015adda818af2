"""Our own client's way into a pod: commands, attachments and ports, with and without await."""

from __future__ import annotations

import asyncio
import os

import pytest

from proreus import blocking
from proreus.client import BadRequest, InternalError, NotFound
from tests.cluster.streams.conftest import Stage
from tests.cluster.streams.test_port_forward import BODY, Web, get, web  # noqa: F401


async def test_a_command_is_run_to_its_end(stage: Stage) -> None:
    await stage.pod()
    pods = stage.client.core_v1.pods("default")

    done = await pods.execute("web", ["sh", "-c", "echo out; echo err >&2; exit 9"])

    assert (done.exit_code, done.stdout, done.stderr) == (9, b"out\n", b"err\n")


async def test_a_command_gets_all_of_its_input(stage: Stage) -> None:
    await stage.pod()
    given = os.urandom(1_500_000)

    done = await stage.client.core_v1.pods("default").execute("web", ["cat"], stdin=given)

    assert done.stdout == given


async def test_a_command_may_end_without_reading_its_input(stage: Stage) -> None:
    await stage.pod()
    given = bytes(5_000_000)

    done = await stage.client.core_v1.pods("default").execute("web", ["true"], stdin=given)

    assert (done.exit_code, done.stdout) == (0, b"")


async def test_a_conversation_with_a_command(stage: Stage) -> None:
    await stage.pod()
    pods = stage.client.core_v1.pods("default")

    async with pods.command("web", ["sed", "-u", "s/^/you said /"], stdin=True) as running:
        output = aiter(running)
        await running.write(b"one\n")
        first = await anext(output)
        await running.close_stdin()
        rest = [piece async for piece in output]

    assert (first.payload, rest, running.exit_code) == (b"you said one\n", [], 0)


async def test_a_terminal_has_a_size(stage: Stage) -> None:
    await stage.pod()
    pods = stage.client.core_v1.pods("default")

    script = "echo up; until stty size | grep 30; do :; done"
    async with pods.command("web", ["sh", "-c", script], stdin=True, tty=True) as running:
        output = aiter(running)
        await anext(output)
        await running.resize(100, 30)
        printed = b"".join([piece.payload async for piece in output])

    assert b"30 100" in printed


async def test_what_cannot_be_run_is_an_error(stage: Stage) -> None:
    await stage.pod("web", "a", "b")
    pods = stage.client.core_v1.pods("default")

    with pytest.raises(BadRequest, match=r"choose one of: \[a b\]"):
        await pods.execute("web", ["true"])
    with pytest.raises(NotFound):
        await pods.execute("nobody", ["true"])
    stage.streams.logs_of.clear()
    with pytest.raises(InternalError, match="container not found"):
        await pods.execute("web", ["true"], container="a")


async def test_a_port_is_reached_as_often_as_one_likes(
    stage: Stage,
    web: Web,  # noqa: F811
) -> None:
    await stage.pod()

    async with stage.client.core_v1.pods("default").port_forward("web", web.port) as port:
        bodies = await asyncio.gather(*(get(port) for _ in range(3)))

    assert bodies == [BODY] * 3


async def test_a_failure_in_the_body_of_a_port_forward_stays_what_it_is(stage: Stage) -> None:
    await stage.pod()

    with pytest.raises(ZeroDivisionError):
        async with stage.client.core_v1.pods("default").port_forward("web", 80):
            raise ZeroDivisionError


async def test_logs_are_followed_line_by_line(stage: Stage) -> None:
    log = stage.streams.log((await stage.pod()).uid)
    pods = stage.client.core_v1.pods("default")

    async with pods.follow_logs("web") as lines:
        await log.write("first")
        assert await anext(lines) == "first"
        await log.write("second")
        assert await anext(lines) == "second"


async def test_without_await(stage: Stage, web: Web) -> None:  # noqa: F811
    await stage.pod()

    def use() -> tuple[bytes, bytes, int]:
        with blocking.Client(stage.server.config()) as client:
            pods = client.core_v1.pods("default")
            done = pods.execute("web", ["echo", "hi"])
            with pods.command("web", ["cat"], stdin=True) as running:
                running.write(b"ho")
                running.close_stdin()
                echoed = b"".join(output.payload for output in running)
            with pods.port_forward("web", web.port) as port:
                return done.stdout, echoed, len(asyncio.run(get(port)))

    assert await asyncio.to_thread(use) == (b"hi\n", b"ho", len(BODY))
