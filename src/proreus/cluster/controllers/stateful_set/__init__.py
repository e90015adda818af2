"""StatefulSets: pods with an ordinal each, which keep their name and their storage."""

from proreus.cluster.controllers.stateful_set.controller import stateful_set_controller

__all__ = ["stateful_set_controller"]
