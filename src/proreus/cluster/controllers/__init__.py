"""The controllers of a cluster: each keeps one promise of the API, written only on the client.

``run_controllers`` runs all of them over one set of informers. Every controller is pure decisions
and a thin reconcile; what they share is in ``ownership``, ``pod_owners`` and ``pod_template``.
"""

from __future__ import annotations

from proreus.cluster.controllers.running import CONTROLLERS, run_controllers

__all__ = ["CONTROLLERS", "run_controllers"]
