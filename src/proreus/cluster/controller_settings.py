"""How controllers are set up. Light: commands read it before they load a controller."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ControllerSettings:
    """The names and defaults are kube-controller-manager's where it has them.

    ``pod_gc_period_s``: how often pods that nobody will finish are looked for; a node must have
    been missing for two periods before its pods go.
    """

    node_monitor_grace_period_s: float = 50.0
    pod_gc_period_s: float = 20.0
    terminated_pod_gc_threshold: int = 12_500
