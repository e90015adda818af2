"""Horizontal pod autoscalers: as many replicas as the load needs."""

from proreus.cluster.controllers.autoscaler.controller import autoscaler_controller

__all__ = ["autoscaler_controller"]
