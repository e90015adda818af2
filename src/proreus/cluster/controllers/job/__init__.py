"""Jobs: pods that run to their end, as often as asked."""

from proreus.cluster.controllers.job.controller import job_controller
from proreus.cluster.controllers.job.releasing import orphaned_pods_controller

__all__ = ["job_controller", "orphaned_pods_controller"]
