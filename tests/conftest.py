"""What holds for every test: no task outlives it, and what could not run is said at the end."""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
from collections.abc import AsyncIterator

import hypothesis
import pytest
import pytest_asyncio

# A shell that starts us in the background lets us ignore SIGINT, and every program we start would
# inherit that; tests end theirs as a person does, with Ctrl-C.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The default run says the same twice; the thorough one looks for what nobody has seen yet.
hypothesis.settings.register_profile(
    "default",
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.register_profile("thorough", max_examples=1_000, deadline=None)
hypothesis.settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))


@pytest_asyncio.fixture
async def _tasks_accounted_for(request: pytest.FixtureRequest) -> AsyncIterator[None]:
    """Every task has an owner, so none is left when the test and its fixtures are done."""
    yield
    own = asyncio.current_task()
    left = [task for task in asyncio.all_tasks() if task is not own and not task.done()]
    if left:
        names = ", ".join(sorted(repr(task.get_coro()) for task in left))
        pytest.fail(f"{request.node.name} leaked tasks: {names}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Only tests that run a loop are checked for leaks: a loop per plain test is not free."""
    for item in items:
        if isinstance(item, pytest.Function) and inspect.iscoroutinefunction(item.obj):
            item.fixturenames.insert(0, "_tasks_accounted_for")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """A part of the suite that had to be left out must not look like one that passed."""
    skipped = terminalreporter.stats.get("skipped", [])
    for report in skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr
        terminalreporter.write_line(f"COULD NOT RUN {report.nodeid}: {reason}", yellow=True)
