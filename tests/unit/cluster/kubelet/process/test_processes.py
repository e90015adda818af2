"""Real processes: their ends, their exit codes, and that nothing of them is left."""

from __future__ import annotations

import asyncio
import gc
import itertools
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from proreus.aio.clock import SystemClock
from proreus.cluster.kubelet.runtimes.process.executions import CommandExecution
from proreus.cluster.kubelet.runtimes.process.guard import kill_below
from proreus.cluster.kubelet.runtimes.process.handlers import Answer, HandlerTarget, call_handler
from proreus.cluster.kubelet.runtimes.process.marks import UNMARKED, marks, owner_of
from proreus.cluster.kubelet.runtimes.process.orphaned_processes import (
    GroupRecord,
    ProcessSweep,
    kill_group,
    record_of,
)
from proreus.cluster.kubelet.runtimes.process.processes import (
    CannotExecute,
    Command,
    Process,
    spawn,
)
from proreus.testing.virtual_clock import VirtualClock
from tests.processes import wait_gone
from tests.unit.cluster.kubelet.pods import pod_spec

ENVIRONMENT = {"PATH": os.environ["PATH"]}


def command(folder: Path, *arguments: str, **variables: str) -> Command:
    return Command(arguments, {**ENVIRONMENT, **variables}, folder)


async def output(process: Process) -> tuple[bytes, bytes]:
    assert process.ends.stderr is not None
    found = (
        b"".join([piece async for piece in process.ends.stdout]),
        b"".join([piece async for piece in process.ends.stderr]),
    )
    process.ends.close()
    return found


async def test_a_process_has_its_environment_its_folder_and_its_outputs(tmp_path: Path) -> None:
    script = "pwd; echo $COLOR; env | wc -l; echo oops >&2; exit 7"
    process = spawn(command(tmp_path, "sh", "-c", script, COLOR="red"))

    out, err = await output(process)

    assert out.decode().split() == [str(tmp_path), "red", "3"]  # PATH, COLOR and the shell's PWD
    assert err == b"oops\n"
    assert await process.wait() == 7


async def test_a_killed_process_ends_with_its_signal(tmp_path: Path) -> None:
    process = spawn(command(tmp_path, "sh", "-c", "sleep 100 & wait"))

    process.signal(signal.SIGTERM)

    assert await process.wait() == 143
    await output(process)  # ends, because nobody of the group holds the pipes


async def test_the_end_of_the_first_process_is_the_end_of_its_group(tmp_path: Path) -> None:
    process = spawn(command(tmp_path, "sh", "-c", "sleep 100 & echo $!"))

    out, _ = await output(process)

    assert await process.wait() == 0
    await wait_gone(int(out))


async def wait_becomes(pid: int, program: str) -> None:
    """Until the launcher, which dies with nobody yet, has become the program."""
    name = Path(f"/proc/{pid}/comm")
    async with asyncio.timeout(60):
        while name.read_text().strip() != program:  # noqa: ASYNC110  # another process does
            await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("program", "why"),
    [
        ("no-such-program", 'exec: "no-such-program": executable file not found in $PATH'),
        ("/no/such", 'exec: "/no/such": no such file or directory'),
        ("/etc/passwd", 'exec: "/etc/passwd": permission denied'),
    ],
)
async def test_what_cannot_be_run_is_said(tmp_path: Path, program: str, why: str) -> None:
    with pytest.raises(CannotExecute) as refused:
        spawn(command(tmp_path, program))

    assert str(refused.value) == why


async def test_input_reaches_a_command_until_it_is_closed(tmp_path: Path) -> None:
    execution = CommandExecution(spawn(command(tmp_path, "cat"), stdin=True), SystemClock())

    await execution.write(b"hello")
    await execution.close_stdin()

    assert b"".join([piece async for piece in execution.stdout]) == b"hello"
    assert [piece async for piece in execution.stderr] == []
    assert await execution.wait() == 0
    await execution.close()


async def test_a_terminal_has_a_size_and_one_output(tmp_path: Path) -> None:
    script = "read line; stty size; test -t 0 && echo terminal >&2"
    process = spawn(command(tmp_path, "sh", "-c", script, TERM="xterm"), stdin=True, tty=True)
    execution = CommandExecution(process, SystemClock())

    execution.resize(100, 40)
    await execution.write(b"go\n")
    printed = b"".join([piece async for piece in execution.stdout])

    assert printed.decode().split() == ["go", "40", "100", "terminal"]
    assert [piece async for piece in execution.stderr] == []
    assert await execution.wait() == 0
    await execution.close()


async def test_a_command_whose_client_left_is_hung_up(tmp_path: Path) -> None:
    execution = CommandExecution(spawn(command(tmp_path, "sleep", "100")), SystemClock())

    await execution.close()

    assert await execution.wait() == 128 + signal.SIGHUP


async def test_processes_are_known_by_their_start_and_not_by_their_number(tmp_path: Path) -> None:
    process = spawn(command(tmp_path, "sleep", "100"))
    record = record_of(process.pid)
    record.write(tmp_path / "process.json")
    read = GroupRecord.read(tmp_path / "process.json")

    assert read == record
    assert not kill_group(GroupRecord(record.pid, record.started + 1, record.boot))
    assert not kill_group(GroupRecord(record.pid, record.started, "another life"))
    assert kill_group(record)
    assert await process.wait() == 137
    process.ends.close()
    assert GroupRecord.read(tmp_path / "no.json") is None


async def test_who_escapes_to_another_session_is_found_by_its_root(tmp_path: Path) -> None:
    root = tmp_path / "root"
    mark = {"PROREUS_ROOT": str(root)}
    escaped = subprocess.Popen(
        ["sleep", "100"], env={**ENVIRONMENT, **mark}, start_new_session=True
    )
    neighbour = spawn(command(tmp_path, "sleep", "100", PROREUS_ROOT=f"{root}-2"))

    await ProcessSweep().clear(root, UNMARKED)

    assert escaped.wait(timeout=60) == -signal.SIGKILL
    assert neighbour.exit_code is None
    assert kill_below(str(tmp_path), owner_of(tmp_path)) == 1
    assert await neighbour.wait() == 137
    neighbour.ends.close()


@pytest.mark.parametrize("tty", [False, True])
async def test_a_daemon_without_an_environment_is_found_by_its_mark(
    tmp_path: Path, tty: bool
) -> None:
    owner = owner_of(tmp_path)
    ours, other = list(itertools.islice(marks(owner), 2))
    script = "(env -i setsid sleep 1000 >/dev/null 2>&1 </dev/null & echo $!); exec sleep 1000"
    processes = [
        spawn(replace(command(tmp_path, "sh", "-c", script), mark=mark), tty=tty)
        for mark in (ours, other)
    ]
    daemons = [int(await process.ends.stdout.read()) for process in processes]

    await ProcessSweep().clear(tmp_path / "nobody's", ours)

    await wait_gone(daemons[0])
    assert await processes[0].wait() == 137
    assert processes[1].exit_code is None
    assert kill_below(str(tmp_path / "nobody's"), owner_of(tmp_path / "another")) == 0
    assert kill_below(str(tmp_path / "nobody's"), owner) >= 2  # a subshell may be ending
    await wait_gone(daemons[1])
    assert await processes[1].wait() == 137
    for process in processes:
        process.ends.close()


async def test_one_look_serves_all_who_wait_for_it(tmp_path: Path) -> None:
    sweep, roots = ProcessSweep(), [tmp_path / str(number) for number in range(20)]
    script = ("sh", "-c", "echo; sleep 100")
    ended = [spawn(command(tmp_path, *script, PROREUS_ROOT=str(root))) for root in roots]
    for process in ended:
        await process.ends.stdout.read()  # while a program is being loaded it has no environment

    await asyncio.gather(*(sweep.clear(root, UNMARKED) for root in roots))

    assert [await process.wait() for process in ended] == [137] * 20
    for process in ended:
        process.ends.close()


@pytest.mark.parametrize("tty", [False, True])
async def test_a_program_dies_with_its_kubelet(tmp_path: Path, tty: bool) -> None:
    script = f"""
import asyncio, os, sys
from pathlib import Path
from proreus.cluster.kubelet.runtimes.process.processes import Command, spawn
async def main():
    process = spawn(Command(["sleep", "100"], dict(os.environ), Path({str(tmp_path)!r})), tty={tty})
    print(process.pid, flush=True)
    await process.wait()
asyncio.run(main())
"""
    kubelet = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert kubelet.stdout is not None
    pid = int(kubelet.stdout.readline())
    await wait_becomes(pid, "sleep")

    kubelet.kill()

    kubelet.wait(timeout=60)
    kubelet.stdout.close()
    await wait_gone(pid)


def target(folder: Path) -> HandlerTarget:
    def made(arguments: Sequence[str]) -> Command:
        return command(folder, *arguments)

    (container,) = pod_spec({"ports": [{"name": "http", "containerPort": 1}]}).containers
    return HandlerTarget(container, "127.0.0.1", made, SystemClock())


@pytest.mark.parametrize(
    ("handler", "answer"),
    [
        ({"exec": {"command": ["sh", "-c", "echo fine"]}}, Answer(True, "fine\n")),
        ({"exec": {"command": ["sh", "-c", "echo bad >&2; exit 1"]}}, Answer(False, "bad\n")),
        (
            {"tcpSocket": {"port": "http"}},
            Answer(False, "dial tcp 127.0.0.1:1: connect: connection refused"),
        ),
        ({"tcpSocket": {"port": "none"}}, Answer(False, "couldn't find port: none")),
        (
            {"httpGet": {"port": 1, "path": "/x"}},
            Answer(
                False,
                'Get "http://127.0.0.1:1/x": dial tcp 127.0.0.1:1: connect: connection refused',
            ),
        ),
        ({"other": {"port": 1}}, Answer(False, "unsupported: other")),
        ({"exec": {"command": []}}, Answer(False, "no command")),
        ({"sleep": {"seconds": 0}}, Answer(True)),
    ],
)
async def test_answers_say_what_went_wrong(
    tmp_path: Path, handler: dict[str, dict[str, object]], answer: Answer
) -> None:
    assert await call_handler(handler, target(tmp_path), 60) == answer


@pytest.mark.parametrize(
    ("status", "answer"),
    [
        (b"200 OK", Answer(True)),
        (b"302 Found", Answer(True)),
        (b"503 Busy", Answer(False, "HTTP probe failed with statuscode: 503")),
    ],
)
async def test_an_http_probe_looks_at_the_status_and_not_at_an_endless_body(
    tmp_path: Path, status: bytes, answer: Answer
) -> None:
    output: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        output.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 1000000000\r\n\r\nbegin")
        await reader.read()  # until the probe leaves
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        headers = [{"name": "X-Probe", "value": "yes"}]
        handler = {"httpGet": {"port": port, "path": "healthz?full", "httpHeaders": headers}}

        assert await call_handler(handler, target(tmp_path), 60) == answer

    assert output[0].startswith(b"GET /healthz?full HTTP/1.1\r\n")
    assert b"X-Probe: yes" in output[0]


@pytest.mark.parametrize(
    ("location", "is_success"),
    [
        ("/healthy", True),
        ("/sick", False),
        ("http://127.0.0.1:{port}/sick", False),
        ("http://127.0.0.2:1/sick", True),  # how another host is does not matter
        ("/again", False),
        ("http://[nonsense", False),
    ],
)
async def test_a_probe_follows_redirects_to_the_same_host(
    tmp_path: Path, location: str, is_success: bool
) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        path = (await reader.readuntil(b"\r\n\r\n")).split()[1].decode()
        status = {"/healthy": "200 OK", "/sick": "500 Sick"}.get(path, "302 Found")
        there = location.format(port=port)
        head = f"HTTP/1.1 {status}\r\nLocation: {there}\r\nContent-Length: 0\r\n\r\n"
        writer.write(head.encode())
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        found = await call_handler({"httpGet": {"port": port}}, target(tmp_path), 60)

    assert found.is_success == is_success


@pytest.mark.parametrize(
    "handler",
    [
        {"tcpSocket": {"port": 99999}},
        {"httpGet": {"port": 99999}},
        {"httpGet": {"port": 1, "httpHeaders": [{"name": "A\n", "value": "b"}]}},
        {"httpGet": {"port": 1, "host": "no such host"}},
        {"exec": {"command": ["a\0b"]}},
    ],
)
async def test_what_nobody_could_ask_is_a_failure_and_no_more(
    tmp_path: Path, handler: dict[str, dict[str, object]]
) -> None:
    answer = await call_handler(handler, target(tmp_path), 60)

    assert not answer.is_success
    assert answer.text


async def test_processes_leave_no_descriptors_behind(tmp_path: Path) -> None:
    handler = {"exec": {"command": ["true"]}}
    await call_handler(handler, target(tmp_path), 60)
    gc.collect()  # what other tests left
    before = len(list(Path("/proc/self/fd").iterdir()))

    for _ in range(10):
        assert (await call_handler(handler, target(tmp_path), 60)).is_success

    assert len(list(Path("/proc/self/fd").iterdir())) <= before


async def test_a_command_that_takes_too_long_is_killed(tmp_path: Path) -> None:
    clock, pid = VirtualClock(), tmp_path / "pid"
    handler = {"exec": {"command": ["sh", "-c", "echo $$ > new; mv new pid; sleep 100"]}}
    asked = replace(target(tmp_path), clock=clock)

    asking = asyncio.ensure_future(call_handler(handler, asked, 0.5))
    while not pid.exists():  # noqa: ASYNC110  # another process makes it
        await asyncio.sleep(0)
    await clock.advance(0.5)
    answer = await asking

    assert not answer.is_success
    assert "timed out after 0.5s" in answer.text
    await wait_gone(int(pid.read_text()))
