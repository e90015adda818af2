"""Options of authorization, under kube-apiserver's names."""

from __future__ import annotations

from functools import wraps
from pathlib import Path
from typing import Any

import click
from click.core import ParameterSource

from proreus.cli.options import Command, duration, file_option, with_options
from proreus.server.authz.configuration import MODES, WebhookFlags
from proreus.server.authz.webhook.review import V1, VERSIONS

_FLAGS = (
    "authorization_mode",
    "authorization_webhook_config_file",
    "authorization_webhook_version",
    "authorization_webhook_cache_authorized_ttl",
    "authorization_webhook_cache_unauthorized_ttl",
)


def authorization_options(command: Command) -> Command:
    """Adds them, and calls the command with the ``authorization`` they make: arguments of a
    ServerConfig."""

    @wraps(command)
    def decided(
        *,
        authorization_mode: str,
        authorization_config: Path | None,
        authorization_webhook_config_file: Path | None,
        authorization_webhook_version: str,
        authorization_webhook_cache_authorized_ttl: float,
        authorization_webhook_cache_unauthorized_ttl: float,
        **others: Any,
    ) -> None:
        authorization: dict[str, Any] = {"authorization_config": authorization_config}
        if authorization_config is None:
            authorization["authorization_mode"] = tuple(authorization_mode.split(","))
        else:
            _refuse_flags()
        if authorization_webhook_config_file is not None:
            authorization["authorization_webhook"] = WebhookFlags(
                config_file=authorization_webhook_config_file,
                version=authorization_webhook_version,
                authorized_ttl_s=authorization_webhook_cache_authorized_ttl,
                unauthorized_ttl_s=authorization_webhook_cache_unauthorized_ttl,
            )
        command(authorization=authorization, **others)

    return with_options(
        decided,
        click.option(
            "--authorization-mode", default="Node,RBAC", show_default=True,
            metavar="MODE[,MODE]", help=f"Who decides what users may do: {', '.join(MODES)}.",
        ),
        file_option("--authorization-config", "Authorizers: an AuthorizationConfiguration."),
        click.option(
            "--authorization-webhook-config-file", "--authorization-webhook-config",
            type=click.Path(path_type=Path, dir_okay=False),
            help="A kubeconfig: the webhook that decides.",
        ),
        click.option(
            "--authorization-webhook-version", type=click.Choice(VERSIONS), default=V1,
            show_default=True, help="Of the SubjectAccessReview that the webhook is sent.",
        ),
        duration(
            "--authorization-webhook-cache-authorized-ttl", "5m",
            "How long the webhook's consent is remembered.",
        ),
        duration(
            "--authorization-webhook-cache-unauthorized-ttl", "30s",
            "How long the webhook's refusal is remembered.",
        ),
    )  # fmt: skip


def _refuse_flags() -> None:
    context = click.get_current_context()
    given = {ParameterSource.COMMANDLINE, ParameterSource.ENVIRONMENT}
    if any(context.get_parameter_source(name) in given for name in _FLAGS):
        raise click.UsageError(
            "--authorization-config can not be specified when --authorization-mode or "
            "--authorization-webhook-* flags are defined"
        )
