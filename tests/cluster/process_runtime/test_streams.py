"""Logs, commands, attachments and connections reach real containers through the API server."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from typing import Any

from tests.cluster.process_runtime.conftest import Stage, shell
from tests.kubectl import needs_kubectl
from tests.ports import reserved_port
from tests.processes import running_program

pytestmark = needs_kubectl


@contextlib.asynccontextmanager
async def kubectl(stage: Stage, *arguments: str) -> AsyncIterator[asyncio.subprocess.Process]:
    home = str(stage.folder.parent)
    environment = {**os.environ, "KUBECONFIG": str(stage.server.kubeconfig), "HOME": home}
    async with running_program("kubectl", *arguments, env=environment) as process:
        yield process


async def run(stage: Stage, *arguments: str, stdin: bytes = b"") -> tuple[int, str, str]:
    async with kubectl(stage, *arguments) as process:
        out, err = await process.communicate(stdin)
        assert process.returncode is not None
        return process.returncode, out.decode(), err.decode()


async def test_logs_are_followed_to_the_container_s_end(stage: Stage) -> None:
    script = "echo one; while ! test -e go; do sleep 0.05; done; echo two >&2; printf three"
    pod = await stage.run("talker", shell(script), restartPolicy="Never")
    await stage.ready("talker")

    async with kubectl(stage, "logs", "-f", "talker") as process:
        assert process.stdout is not None
        assert await process.stdout.readline() == b"one\n"
        (stage.root(pod) / "go").touch()
        rest = await process.stdout.read()

    assert rest == b"two\nthree"
    assert await stage.logs("talker", tail_lines=1) == "three"
    stamped = (await stage.logs("talker", timestamps=True)).splitlines()
    assert all(line.split(" ")[0].endswith("Z") for line in stamped)


async def test_a_container_that_waits_has_no_log_yet(stage: Stage) -> None:
    await stage.run("waiting", {"image": "none"})
    await stage.saw("Failed")

    code, _, err = await run(stage, "logs", "waiting")

    assert code == 1
    assert "is waiting to start" in err


async def test_commands_run_in_the_container_s_place(stage: Stage) -> None:
    env = [{"name": "COLOR", "value": "red"}]
    pod = await stage.run("host", shell("while :; do sleep 0.1; done", env=env))
    await stage.ready("host")

    script = "pwd; echo $COLOR; cat; exit 5"
    code, out, err = await run(stage, "exec", "-i", "host", "--", "sh", "-c", script, stdin=b"in")

    assert (code, out) == (5, f"{stage.root(pod)}\nred\nin")
    assert "exit code 5" in err
    code, _, err = await run(stage, "exec", "host", "--", "no-such-program")
    assert code != 0
    assert "executable file not found in $PATH" in err


async def test_an_attachment_hears_and_speaks_to_the_first_process(stage: Stage) -> None:
    script = "while read line; do echo heard $line; done"
    await stage.run("ear", shell(script, stdin=True, stdinOnce=True), restartPolicy="Never")
    await stage.ready("ear")

    code, out, _ = await run(stage, "attach", "-i", "ear", stdin=b"you\nme\n")

    assert code == 0
    assert out == "heard you\nheard me\n"
    await stage.phase("ear", "Succeeded")  # its only client's input has ended


async def test_ports_are_forwarded_to_the_pod_s_own_address(stage: Stage) -> None:
    with reserved_port() as port:
        await _forward_to_second(stage, port)


async def _forward_to_second(stage: Stage, port: int) -> None:
    container: dict[str, Any] = {
        "command": ["python3", "-m", "http.server", str(port), "--bind", "$(POD_IP)"],
        "env": [{"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
        "readinessProbe": {"httpGet": {"port": port}, "periodSeconds": 1},
    }
    await stage.run("one", container)
    await stage.run("two", container)  # the same port: every pod has an address of its own
    first, second = await stage.ready("one"), await stage.ready("two")
    assert first.status.podIP != second.status.podIP

    async with kubectl(stage, "port-forward", "pod/two", f":{port}") as process:
        assert process.stdout is not None
        said = (await process.stdout.readline()).decode()
        local = int(said.split("127.0.0.1:")[1].split(" ")[0])
        reader, writer = await asyncio.open_connection("127.0.0.1", local)
        writer.write(b"GET / HTTP/1.0\r\n\r\n")
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()

    assert b"200 OK" in answer
