"""Deployments: a template rolled out over ReplicaSets, without losing more pods than allowed."""

from proreus.cluster.controllers.deployment.controller import deployment_controller

__all__ = ["deployment_controller"]
