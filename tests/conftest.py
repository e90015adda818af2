"""What holds for every test: no task and no connection outlives it, and what could not run is said
at the end."""

from __future__ import annotations

import asyncio
import gc
import inspect
import itertools
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator

import hypothesis
import pytest
import pytest_asyncio
from hypothesis.internal.conjecture import providers

from tests.any_server import OPTION, _given_kubeconfig, only_what_can

__all__ = ["_given_kubeconfig"]

# A shell that starts us in the background lets us ignore SIGINT, nohup SIGHUP, and every program we
# start would inherit that; tests end theirs as a person does, with Ctrl-C or by hanging up.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# The suite starts proreus some hundred times: compiling it takes longer than most of what they do.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Thousands of tests and what they import live from their collection to the end: the garbage
# collector would walk them over and over, for a fifth of the suite's time.
_COLLECTED_AFTER = (50_000, 20, 100)  # as gc.set_threshold takes them
gc.disable()

# The default run says the same twice; the thorough one looks for what nobody has seen yet.
hypothesis.settings.register_profile(
    "default",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.register_profile("thorough", max_examples=1_000, deadline=None)
_PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "default")
hypothesis.settings.load_profile(_PROFILE)
if _PROFILE == "default":
    # Constants of all loaded modules would make examples depend on which those are, and change
    # with every line of them.
    vars(providers)["is_local_module_file"] = lambda _: False

_CLOSING_S = 60  # the other end of a connection closes in its own time


@pytest_asyncio.fixture
async def _tasks_accounted_for(request: pytest.FixtureRequest) -> AsyncIterator[None]:
    """Every task has an owner, so none is left when the test and its fixtures are done."""
    yield
    own = asyncio.current_task()
    left = {task for task in asyncio.all_tasks() if task is not own and not task.done()}
    if accepting := {task for task in left if "_accept_connection" in repr(task.get_coro())}:
        # The loop's own: a handshake goes on until its client's end has arrived.
        left -= (await asyncio.wait(accepting, timeout=_CLOSING_S))[0]
    if left:
        names = ", ".join(sorted(repr(task.get_coro()) for task in left))
        pytest.fail(f"{request.node.name} leaked tasks: {names}")
    await _connections_closed(request.node.name)


async def _connections_closed(test: str) -> None:
    """A transport left open would be reported when it is collected, in whichever test runs then."""
    transports = getattr(asyncio.get_running_loop(), "_transports", {})

    def unclosed() -> list[object]:
        """One that is closing has its socket until it has sent what was written."""
        return [one for one in transports.values() if one._sock is not None]

    try:
        async with asyncio.timeout(_CLOSING_S):
            while is_open := unclosed():  # noqa: ASYNC110  # nothing says when a socket is closed
                await asyncio.sleep(0.01)
    except TimeoutError:
        pytest.fail(f"{test} left connections open: {is_open}")


_discovery_folder = tempfile.TemporaryDirectory(prefix="proreus-discovery-")
_tests_begun = itertools.count()


def pytest_runtest_setup() -> None:
    """No test finds what kubectl or a client knew of an earlier server at the same port."""
    os.environ["KUBECACHEDIR"] = f"{_discovery_folder.name}/{next(_tests_begun)}"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(OPTION, help="run only what can against the server of this kubeconfig")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Only tests that run a loop are checked for leaks: a loop per plain test is not free."""
    only_what_can(config, items)
    for item in items:
        if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj):
            item.fixturenames.insert(0, "_tasks_accounted_for")


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(*_COLLECTED_AFTER)
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A part of the suite that had to be left out must not look like one that passed."""
    skipped = terminalreporter.stats.get("skipped", [])
    for report in skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        terminalreporter.write_line(f"COULD NOT RUN {report.nodeid}: {reason}", yellow=True)
