"""CronJobs: a Job at each moment of a schedule, as far as the last ones allow."""

from proreus.cluster.controllers.cron_job.controller import cron_job_controller

__all__ = ["cron_job_controller"]
