"""DaemonSets: one pod on every node that fits."""

from proreus.cluster.controllers.daemon_set.controller import daemon_set_controller

__all__ = ["daemon_set_controller"]
