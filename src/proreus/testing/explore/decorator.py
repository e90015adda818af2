"""``@explore``: a test of a controller, run again for everything that can go wrong in it.

    from proreus.testing.explore import World, explore

    @explore()
    async def test_database(world: World) -> None:
        world.run(operator)
        await world.client.resource("databases.example.com")("default").create(DATABASE)
        await world.settle()

The decorated test is an ordinary function for any test runner; other arguments (pytest's fixtures)
are passed through.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import os
from collections.abc import Awaitable, Callable, Collection, Sequence

from proreus.testing.explore.exploration import Given, exploring
from proreus.testing.explore.outcome import Report
from proreus.testing.explore.settings import Settings
from proreus.testing.explore.state import Invariant
from proreus.testing.explore.virtual_loop import VirtualLoop
from proreus.testing.explore.world import Test, World

PLAN_VARIABLE = "PROREUS_EXPLORE_PLAN"
_OFF = "off"

ExploredTest = Callable[..., Awaitable[None]]


class Explored(AssertionError):
    """Plans under which the program did not do what it does when nothing goes wrong."""

    def __init__(self, report: Report) -> None:
        stories = "\n\n".join(map(str, report.findings))
        super().__init__(f"{report}\n\n{stories}")
        self.report = report


def explore(  # noqa: PLR0913 - keywords of a decorator
    *,
    given: Given | None = None,
    invariants: Sequence[Invariant] = (),
    ignore: Collection[str] = (),
    quiet_s: float = 20.0,
    plans_max: int | None = None,
    faults_at_once: int = 1,
    combinations: int = 50,
    seed: int = 0,
    findings_max: int = 1,
) -> Callable[[ExploredTest], Callable[..., None]]:
    """``given``: makes what is there before each run, once. The rest is of ``Settings``.

    With PROREUS_EXPLORE_PLAN in the environment only the plan of that name is run; ``off`` runs the
    test once, undisturbed.
    """
    settings = Settings(
        invariants=tuple(invariants),
        ignore=frozenset(ignore),
        quiet_s=quiet_s,
        plans_max=plans_max,
        faults_at_once=faults_at_once,
        combinations=combinations,
        seed=seed,
        findings_max=findings_max,
    )

    def decorate(test: ExploredTest) -> Callable[..., None]:
        signature = inspect.signature(test)
        _, *others = signature.parameters.values()

        @functools.wraps(test)
        def explored(*args: object, **kwargs: object) -> None:
            async def once(world: World) -> None:
                await test(world, *args, **kwargs)

            report = run_exploration(once, settings, given, only=os.environ.get(PLAN_VARIABLE, ""))
            if report.findings:
                raise Explored(report)

        # Test runners look for fixtures by parameter; the world is none.
        explored.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]  # functions may have it
        return explored

    return decorate


def run_exploration(
    test: Test, settings: Settings | None = None, given: Given | None = None, *, only: str = ""
) -> Report:
    """Explore, in a loop of its own. Raises Unusable if the test fails undisturbed."""

    async def main() -> Report:
        async with exploring(test, settings or Settings(), given) as exploration:
            return await exploration.report(only, undisturbed=only == _OFF)

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(main())
