"""How an exploration goes about it: one frozen value."""

from __future__ import annotations

from dataclasses import dataclass

from proreus.testing.explore.planning import SIDE_ISSUES
from proreus.testing.explore.state import Invariant


@dataclass(frozen=True, slots=True)
class Settings:
    """Durations are of virtual time.

    ``ignore``: resources whose end state does not count, beside Leases and Events.
    ``plans_max``: of more plans so many are chosen, by ``seed``; None: all are run.
    ``faults_at_once``: beside all single faults, ``combinations`` plans of so many, chosen by
    ``seed``. ``findings_max``: after so many it stops.
    """

    invariants: tuple[Invariant, ...] = ()
    ignore: frozenset[str] = frozenset()
    quiet_s: float = 20.0  # nothing was written for so long: it has settled
    patience_s: float = 1800.0  # what has not settled by then never will
    lag_s: float = 5.0  # of an event that is delayed; less than ``quiet_s``
    restart_s: float = 1.0  # between a crash and the next start
    writes_max: int = 1000  # of one program in one run: more of them never end
    plans_max: int | None = None
    faults_at_once: int = 1
    combinations: int = 50
    seed: int = 0
    findings_max: int = 1

    def counts(self, resource: str) -> bool:
        """Whether the end state of a resource is compared."""
        return resource not in SIDE_ISSUES and resource not in self.ignore
