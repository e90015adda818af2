"""``kubectl exec``, ``attach`` and ``cp`` against real processes."""

from __future__ import annotations

import asyncio
import os
import pty
from pathlib import Path

import pytest

from tests.cluster.streams.conftest import Kubectl, KubectlProcess, Stage

OLD = "/usr/lib/google-cloud-sdk/bin/kubectl.1.28"


async def test_a_command_s_output_and_exit_code(stage: Stage, kubectl: Kubectl) -> None:
    await stage.pod()

    done = await kubectl("exec", "web", "--", "sh", "-c", "echo out; echo err >&2; exit 7")

    assert (done.code, done.out) == (7, "out\n")
    assert done.err == "err\ncommand terminated with exit code 7\n"


async def test_a_command_reads_its_input_to_the_end(stage: Stage, kubectl: Kubectl) -> None:
    await stage.pod()
    given = os.urandom(3_000_000)

    done = await kubectl("exec", "-i", "web", "--", "sha256sum", stdin=given)

    import hashlib

    assert (done.code, done.out.split()[0]) == (0, hashlib.sha256(given).hexdigest())


async def test_large_output_arrives_whole(stage: Stage, kubectl: Kubectl) -> None:
    await stage.pod()

    done = await kubectl("exec", "web", "--", "seq", "400000")

    assert done.code == 0
    assert done.out == "".join(f"{number}\n" for number in range(1, 400001))


async def test_a_command_on_a_terminal(
    stage: Stage, kubectl_path: str, environment: dict[str, str]
) -> None:
    """-it: one output, echo, a size, and the exit code."""
    await stage.pod()
    ours, theirs = pty.openpty()
    os.set_blocking(ours, False)
    process = await asyncio.create_subprocess_exec(
        kubectl_path, "exec", "-it", "web", "--",
        "sh", "-c", "test -t 0 && echo terminal; read word; echo got $word; exit 3",
        stdin=theirs, stdout=theirs, stderr=theirs, env=environment, start_new_session=True,
    )  # fmt: skip
    os.close(theirs)

    screen = await _until(ours, b"terminal")
    os.write(ours, b"hello\n")
    screen += await _until(ours, b"exit code 3")
    async with asyncio.timeout(60):
        code = await process.wait()
    os.close(ours)

    assert code == 3
    assert b"got hello" in screen


async def test_a_command_dies_with_its_client(
    stage: Stage, kubectl_process: KubectlProcess
) -> None:
    await stage.pod()
    async with kubectl_process("exec", "web", "--", "sh", "-c", "echo up; sleep 600") as process:
        assert process.stdout
        assert await process.stdout.readline() == b"up\n"

        process.kill()

        async with asyncio.timeout(60):
            await stage.streams.processes[0].process.wait()
    assert stage.streams.processes[0].is_closed


async def test_a_command_that_cannot_start_says_why(stage: Stage, kubectl: Kubectl) -> None:
    pod = await stage.pod()
    stage.streams.logs_of.clear()

    done = await kubectl("exec", "web", "--", "true")

    assert done.code != 0
    assert 'container not found ("main")' in done.err, pod


async def test_which_container_must_be_said(stage: Stage, kubectl: Kubectl) -> None:
    await stage.pod("web", "a", "b")
    answer = await kubectl("exec", "web", "-c", "c", "--", "true")

    assert "container c is not valid for pod web" in answer.err


async def test_a_kubelet_that_is_down_is_named(stage: Stage, kubectl: Kubectl) -> None:
    await stage.pod()
    await stage.point_node_to(1)

    done = await kubectl("exec", "web", "--", "true")

    assert "error dialing backend: dial tcp 127.0.0.1:1: connect: connection refused" in done.err


async def test_attach_follows_the_container_s_own_process(stage: Stage, kubectl: Kubectl) -> None:
    pod = await stage.pod()
    started = await stage.streams.execute(
        pod.uid, "main", ["sh", "-c", "read word; echo got $word; exit 5"], stdin=True, tty=False
    )
    stage.streams.attached = stage.streams.processes[0]
    assert started is stage.streams.attached

    done = await kubectl("attach", "-i", "web", stdin=b"hello\n")

    assert (done.code, done.out) == (0, "got hello\n")


async def test_files_are_copied_both_ways(stage: Stage, kubectl: Kubectl, tmp_path: Path) -> None:
    await stage.pod()
    here, there, back = tmp_path / "here", tmp_path / "there", tmp_path / "back"
    here.write_bytes(os.urandom(300_000))

    up = await kubectl("cp", str(here), f"web:{there}")
    down = await kubectl("cp", f"web:{there}", str(back))

    assert (up.code, down.code) == (0, 0), (up, down)
    assert back.read_bytes() == there.read_bytes() == here.read_bytes()


@pytest.mark.skipif(not Path(OLD).exists(), reason="no kubectl that only knows SPDY")
async def test_a_client_that_knows_only_spdy_learns_what_to_do(
    stage: Stage, environment: dict[str, str]
) -> None:
    await stage.pod()
    process = await asyncio.create_subprocess_exec(
        OLD, "exec", "web", "--", "true", env=environment,
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE,
    )  # fmt: skip
    _, err = await process.communicate()

    assert process.returncode == 1
    assert b"SPDY/3.1 is not served: streams go over WebSocket" in err


async def _until(terminal: int, text: bytes) -> bytes:
    """What a terminal shows, up to ``text``."""
    loop, seen = asyncio.get_running_loop(), bytearray()
    found = loop.create_future()

    def read() -> None:
        try:
            seen.extend(os.read(terminal, 65536))
        except OSError:
            loop.remove_reader(terminal)
        if text in seen and not found.done():
            found.set_result(None)

    loop.add_reader(terminal, read)
    try:
        async with asyncio.timeout(60):
            await found
    except TimeoutError:
        pytest.fail(f"the terminal shows {bytes(seen)!r}")
    finally:
        loop.remove_reader(terminal)
    return bytes(seen)
