"""Namespaces: everything in one goes before it does."""

from proreus.cluster.controllers.namespace.controller import namespace_controller

__all__ = ["namespace_controller"]
