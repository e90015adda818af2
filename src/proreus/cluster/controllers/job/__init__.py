"""Jobs: pods that run to their end, as often as asked."""

from proreus.cluster.controllers.job.controller import job_controller

__all__ = ["job_controller"]
