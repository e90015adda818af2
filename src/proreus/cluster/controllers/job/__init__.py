"""Jobs: pods that run to their end, as many as its completions."""

from proreus.cluster.controllers.job.controller import job_controller
from proreus.cluster.controllers.job.tracking_finalizer import orphaned_pods_controller

__all__ = ["job_controller", "orphaned_pods_controller"]
