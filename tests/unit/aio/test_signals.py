"""Programs that end on signals, as processes of their own."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

PROGRAM = """
import asyncio
from proreus.aio.signals import run_until_signal

async def main():
    print("up", flush=True)
    try:
        {body}
    finally:
        print("tidying", flush=True)
        {ending}

print(run_until_signal(main()), flush=True)
"""
FOR_EVER = "await asyncio.Event().wait()"


def started(*, body: str = FOR_EVER, ending: str = "pass") -> subprocess.Popen[str]:
    program = PROGRAM.format(body=body, ending=ending)
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "up\n"
    return process


def rest_of(process: subprocess.Popen[str]) -> str:
    """What it says until it has ended; some of it may have been read along with an earlier line."""
    assert process.stdout is not None
    with process.stdout:
        said = process.stdout.read()
    process.wait(timeout=60)
    return said


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_lets_the_program_tidy_up_and_is_returned(number: signal.Signals) -> None:
    process = started()
    process.send_signal(number)
    said = rest_of(process)

    assert said == f"tidying\n{number}\n"
    assert process.returncode == 0


def test_a_second_signal_ends_a_program_that_does_not_end() -> None:
    process = started(ending=FOR_EVER)
    assert process.stdout is not None
    process.send_signal(signal.SIGTERM)
    assert process.stdout.readline() == "tidying\n"
    process.send_signal(signal.SIGTERM)
    rest_of(process)

    assert process.returncode == -signal.SIGTERM


def test_a_program_that_ends_by_itself_was_ended_by_no_signal() -> None:
    assert rest_of(started(body="pass")) == "tidying\nNone\n"
