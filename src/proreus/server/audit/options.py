"""kube-apiserver's ``--audit-*`` flags, as values.

Their defaults are kube-apiserver's but for the log's, which is not blocking: a request does not
wait for the disk.
"""

from __future__ import annotations

from dataclasses import field
from enum import StrEnum
from pathlib import Path

from proreus.lazy_dataclass import dataclass

MEGABYTE = 1024 * 1024
STANDARD_OUTPUT = Path("-")


class BackendMode(StrEnum):
    """Whether requests wait until their events have reached the back end, and fail if they cannot
    reach it when the request begins."""

    BATCH = "batch"
    BLOCKING = "blocking"
    BLOCKING_STRICT = "blocking-strict"


class LogFormat(StrEnum):
    JSON = "json"
    LEGACY = "legacy"


@dataclass(frozen=True, slots=True)
class LogLimits:
    """0 of ``age_days`` and ``backups``: no limit. ``compress``: what is put aside, with gzip."""

    size_bytes: int = 100 * MEGABYTE
    age_days: int = 0
    backups: int = 0
    compress: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class BackendOptions:
    """How events get to a back end. ``throttle_qps``: batches per second; 0: as many as there are.
    ``event_bytes_max``: longer events lose their bodies, and are lost if they are still longer; 0:
    any length."""

    mode: BackendMode = BackendMode.BATCH
    buffer_events: int = 10_000
    batch_events: int = 400
    batch_wait_s: float = 30.0
    throttle_qps: float = 10.0
    throttle_burst: int = 15
    event_bytes_max: int = 0
    batch_bytes_max: int = 10 * MEGABYTE


LOG_DEFAULTS = BackendOptions(batch_events=10_000, batch_wait_s=0.05, throttle_qps=0.0)
WEBHOOK_DEFAULTS = BackendOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions:
    """Without a policy, or without a back end, nothing is recorded."""

    policy_file: Path | None = None
    log_path: Path | None = None
    log_limits: LogLimits = field(default_factory=LogLimits)
    log_format: LogFormat = LogFormat.JSON
    log: BackendOptions = LOG_DEFAULTS
    webhook_config_file: Path | None = None
    webhook: BackendOptions = WEBHOOK_DEFAULTS
    webhook_initial_backoff_s: float = 10.0
