"""Horizontal pod autoscalers: the replicas that the metrics ask for."""

from proreus.cluster.controllers.autoscaler.controller import autoscaler_controller

__all__ = ["autoscaler_controller"]
