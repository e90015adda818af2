"""Disruption budgets: how many pods may be evicted now."""

from proreus.cluster.controllers.disruption.controller import disruption_controller

__all__ = ["disruption_controller"]
