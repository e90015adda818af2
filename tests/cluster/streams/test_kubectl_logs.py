"""``kubectl logs`` through the API server to a real kubelet endpoint."""

from __future__ import annotations

import asyncio

import pytest

from tests.cluster.streams.conftest import Kubectl, KubectlProcess, Stage
from tests.cluster.streams.local_streams import Log


async def test_the_log_of_the_only_container(stage: Stage, kubectl: Kubectl) -> None:
    pod = await stage.pod()
    await stage.streams.log(pod.uid).write("one", "two")

    done = await kubectl("logs", "web")

    assert (done.code, done.out, done.err) == (0, "one\ntwo\n", "")


@pytest.mark.parametrize(
    ("flags", "out"),
    [
        (["--tail", "1"], "three\n"),
        (["--tail", "0"], ""),
        (["--timestamps", "--tail=1"], "3.0 three\n"),
        (["--limit-bytes", "5"], "one\nt"),
        (["--since-time", "1970-01-01T00:00:02Z"], "two\nthree\n"),
        (["--since", "1h"], ""),
    ],
)
async def test_options_reach_the_runtime(
    stage: Stage, kubectl: Kubectl, flags: list[str], out: str
) -> None:
    log = stage.streams.log((await stage.pod()).uid)
    for at, line in enumerate(("one", "two", "three"), 1):
        await log.write(line, at=at)

    done = await kubectl("logs", "web", *flags)

    assert (done.code, done.out, done.err) == (0, out, "")


async def test_a_log_is_followed_until_its_container_ends(
    stage: Stage, kubectl_process: KubectlProcess
) -> None:
    log = stage.streams.log((await stage.pod()).uid)
    await log.write("before")

    async with kubectl_process("logs", "-f", "web") as process:
        assert process.stdout
        assert await process.stdout.readline() == b"before\n"
        await log.write("while it is followed")
        assert await process.stdout.readline() == b"while it is followed\n"
        await log.end()

        assert await process.stdout.read() == b""
        assert await process.wait() == 0
    assert log.followers == 0


async def test_who_stops_following_is_forgotten_by_the_runtime(
    stage: Stage, kubectl_process: KubectlProcess
) -> None:
    log = stage.streams.log((await stage.pod()).uid)
    await log.write("before")
    async with kubectl_process("logs", "-f", "web") as process:
        assert process.stdout
        await process.stdout.readline()
        assert log.followers == 1

        process.kill()

        async with asyncio.timeout(60):
            await log.unfollowed.wait()


async def test_the_log_from_before_a_restart(stage: Stage, kubectl: Kubectl) -> None:
    pod = await stage.pod()
    await stage.streams.log(pod.uid).write("after")
    before = stage.streams.previous[pod.uid, "main"] = Log()
    await before.write("before")

    done = await kubectl("logs", "web", "--previous")

    assert (done.code, done.out) == (0, "before\n")


async def test_no_log_from_before_if_it_never_restarted(stage: Stage, kubectl: Kubectl) -> None:
    await stage.pod()

    done = await kubectl("logs", "web", "-p")

    assert done.err == (
        'Error from server (BadRequest): previous terminated container "main" in pod "web" '
        "not found\n"
    )


async def test_several_containers(stage: Stage, kubectl: Kubectl) -> None:
    pod = await stage.pod("web", "a", "b")
    for name in ("a", "b"):
        await stage.streams.log(pod.uid, name).write(f"from {name}")

    one = await kubectl("logs", "web", "-c", "b")
    every = await kubectl("logs", "web", "--all-containers", "--prefix")
    selected = await kubectl("logs", "-l", "app=web", "-c", "a")
    wrong = await kubectl("logs", "web", "-c", "c")

    assert one.out == "from b\n"
    # Which container kubectl tells first, it leaves to chance.
    assert sorted(every.out.splitlines()) == ["[pod/web/a] from a", "[pod/web/b] from b"]
    assert selected.out == "from a\n"
    assert wrong.err == "error: container c is not valid for pod web\n"


async def test_a_container_that_has_not_started_says_why(stage: Stage, kubectl: Kubectl) -> None:
    pod = await stage.pod()
    del stage.streams.logs_of[pod.uid, "main"]
    waiting = {"name": "main", "state": {"waiting": {"reason": "ContainerCreating"}}}
    await stage.set_status(pod, {"containerStatuses": [waiting]})

    done = await kubectl("logs", "web")

    assert done.err == (
        'Error from server (BadRequest): container "main" in pod "web" is waiting to start: '
        "ContainerCreating\n"
    )


async def test_a_pod_that_is_on_no_node_has_said_nothing(stage: Stage, kubectl: Kubectl) -> None:
    await stage.pod(node="")

    done = await kubectl("logs", "web")

    assert (done.code, done.out, done.err) == (0, "", "")


async def test_a_kubelet_that_is_down_is_named(stage: Stage, kubectl: Kubectl) -> None:
    await stage.pod()
    await stage.point_node_to(1)

    done = await kubectl("logs", "web")

    assert done.err == (
        'Error from server: Get "https://127.0.0.1:1/containerLogs/default/web/main": '
        "dial tcp 127.0.0.1:1: connect: connection refused\n"
    )


async def test_a_node_that_is_gone_is_named(stage: Stage, kubectl: Kubectl) -> None:
    await stage.pod()
    await stage.client.core_v1.nodes.delete("node-1")

    done = await kubectl("logs", "web")

    assert done.err == 'Error from server (NotFound): pods "node-1" not found\n'
