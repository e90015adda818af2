"""Namespaces: the content of one is deleted before it is finalized."""

from proreus.cluster.controllers.namespace.controller import namespace_controller

__all__ = ["namespace_controller"]
