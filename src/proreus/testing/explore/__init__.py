"""Systematic perturbation: a controller's test, run again for everything that can go wrong in it.

``decorator`` is what tests use, ``exploration`` the driver: start reading there. ``faults`` says
what can go wrong, ``planning`` where it is tried, ``normal`` what counts as the same state.
"""

from proreus.testing.explore.decorator import Explored, explore, run_exploration
from proreus.testing.explore.outcome import Report, Unusable
from proreus.testing.explore.report import Finding
from proreus.testing.explore.settings import Settings
from proreus.testing.explore.state import State, StateChange
from proreus.testing.explore.world import NotSettled, World

__all__ = [
    "Explored",
    "Finding",
    "NotSettled",
    "Report",
    "Settings",
    "State",
    "StateChange",
    "Unusable",
    "World",
    "explore",
    "run_exploration",
]
