"""Options of the audit log, under kube-apiserver's names."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from functools import wraps
from pathlib import Path
from typing import Any

import click

from proreus.api.values.duration import format_duration
from proreus.cli.options import Command, Option, duration, file_option, with_options
from proreus.server.audit.options import (
    LOG_DEFAULTS,
    MEGABYTE,
    WEBHOOK_DEFAULTS,
    AuditOptions,
    BackendMode,
    BackendOptions,
    LogFormat,
    LogLimits,
)

_EVENT_BYTES_MAX = 100 * 1024


def audit_options(command: Command) -> Command:
    """Adds them, and calls the command with the ``audit`` they make."""

    @wraps(command)
    def decided(
        *,
        audit_policy_file: Path | None,
        audit_log_path: Path | None,
        audit_log_format: str,
        audit_webhook_config_file: Path | None,
        audit_webhook_initial_backoff: float,
        **others: Any,
    ) -> None:
        audit = AuditOptions(
            policy_file=audit_policy_file,
            log_path=audit_log_path,
            log_limits=_log_limits(others),
            log_format=LogFormat(audit_log_format),
            log=_backend("log", others),
            webhook_config_file=audit_webhook_config_file,
            webhook=_backend("webhook", others),
            webhook_initial_backoff_s=audit_webhook_initial_backoff,
        )
        command(audit=audit, **others)

    return with_options(
        decided,
        file_option(
            "--audit-policy-file", "Which requests are recorded, and how (audit.k8s.io/v1)."
        ),
        file_option("--audit-log-path", "Record requests in this file; - is standard output."),
        _number("--audit-log-maxsize", "Megabytes after which a new file begins; 0: 100."),
        _number("--audit-log-maxage", "Days for which old files are kept; 0: for ever."),
        _number("--audit-log-maxbackup", "How many old files are kept; 0: all."),
        click.option(
            "--audit-log-compress", type=bool, is_flag=True, help="Compress old files with gzip."
        ),
        click.option(
            "--audit-log-format", type=click.Choice(_values(LogFormat)), default="json",
            show_default=True, help="JSON, or a line of text for each event.",
        ),
        *_backend_options("log", LOG_DEFAULTS),
        file_option("--audit-webhook-config-file", "A kubeconfig: where records are sent."),
        duration(
            "--audit-webhook-initial-backoff", "10s", "The wait before a batch is sent again."
        ),
        *_backend_options("webhook", WEBHOOK_DEFAULTS),
    )  # fmt: skip


def _log_limits(given: dict[str, Any]) -> LogLimits:
    """Takes them out of ``given``."""
    megabytes = given.pop("audit_log_maxsize") or 100  # 0 is the default in Kubernetes, too
    age_days, backups = given.pop("audit_log_maxage"), given.pop("audit_log_maxbackup")
    return LogLimits(megabytes * MEGABYTE, age_days, backups, given.pop("audit_log_compress"))


def _backend(name: str, given: dict[str, Any]) -> BackendOptions:
    """Takes the options of one back end out of ``given``."""

    def take(option: str) -> Any:
        return given.pop(f"audit_{name}_{option}")

    is_throttled, qps = take("batch_throttle_enable"), take("batch_throttle_qps")
    is_truncated, event_bytes_max = take("truncate_enabled"), take("truncate_max_event_size")
    return BackendOptions(
        mode=BackendMode(take("mode")),
        buffer_events=take("batch_buffer_size"),
        batch_events=take("batch_max_size"),
        batch_wait_s=take("batch_max_wait"),
        throttle_qps=qps if is_throttled else 0.0,
        throttle_burst=take("batch_throttle_burst"),
        event_bytes_max=event_bytes_max if is_truncated else 0,
        batch_bytes_max=take("truncate_max_batch_size"),
    )


def _backend_options(name: str, defaults: BackendOptions) -> Iterator[Option]:
    at = f"--audit-{name}"
    yield click.option(
        f"{at}-mode", type=click.Choice(_values(BackendMode)), default="batch", show_default=True,
        help="Whether requests wait for their records; strict: and fail without them.",
    )  # fmt: skip
    yield _number(
        f"{at}-batch-buffer-size", "How many events may wait.", defaults.buffer_events, at_least=1
    )
    yield _number(
        f"{at}-batch-max-size", "How many events go together.", defaults.batch_events, at_least=1
    )
    wait = format_duration(defaults.batch_wait_s)
    yield duration(f"{at}-batch-max-wait", wait, "How long events wait for others.")
    yield _flag(f"{at}-batch-throttle-enable", "Limit batches.", default=defaults.throttle_qps > 0)
    yield click.option(
        f"{at}-batch-throttle-qps", type=click.FloatRange(0), default=defaults.throttle_qps,
        show_default=True, help="Batches per second; 0: any number.",
    )  # fmt: skip
    yield _number(
        f"{at}-batch-throttle-burst", "Batches at once.", defaults.throttle_burst, at_least=1
    )
    yield _flag(f"{at}-truncate-enabled", "Leave bodies out of long events.", default=False)
    yield _number(
        f"{at}-truncate-max-event-size", "Bytes of an event.", _EVENT_BYTES_MAX, at_least=1
    )
    yield _number(
        f"{at}-truncate-max-batch-size", "Bytes of a batch.", defaults.batch_bytes_max, at_least=1
    )


def _values(choices: type[StrEnum]) -> list[str]:
    return [choice.value for choice in choices]


def _number(name: str, text: str, default: int = 0, *, at_least: int = 0) -> Option:
    kind = click.IntRange(at_least)
    return click.option(name, type=kind, default=default, show_default=True, help=text)


def _flag(name: str, text: str, *, default: bool) -> Option:
    """With a value, so that what is on can be switched off."""
    return click.option(name, type=bool, default=default, show_default=True, help=text)
