"""CronJobs: a Job at each time of a schedule, as the concurrency policy allows."""

from proreus.cluster.controllers.cron_job.controller import cron_job_controller

__all__ = ["cron_job_controller"]
