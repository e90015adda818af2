"""Options of admission, under kube-apiserver's names."""

from __future__ import annotations

from functools import wraps
from pathlib import Path
from typing import Any

import click

from proreus.cli.options import Command, with_options
from proreus.server.admission.options import AdmissionOptions


def admission_options(command: Command) -> Command:
    """Adds them, and calls the command with the ``admission`` they make."""

    @wraps(command)
    def decided(
        *,
        enable_admission_plugins: str,
        disable_admission_plugins: str,
        admission_control_config_file: Path | None,
        **others: Any,
    ) -> None:
        admission = AdmissionOptions(
            enable=_names(enable_admission_plugins),
            disable=_names(disable_admission_plugins),
            config_file=admission_control_config_file,
        )
        command(admission=admission, **others)

    return with_options(
        decided,
        click.option(
            "--enable-admission-plugins", default="", metavar="NAME[,NAME]",
            help="Admission plugins that run besides the default ones; the order does not matter.",
        ),
        click.option(
            "--disable-admission-plugins", default="", metavar="NAME[,NAME]",
            help="Admission plugins that do not run although they do by default.",
        ),
        click.option(
            "--admission-control-config-file", type=click.Path(path_type=Path, dir_okay=False),
            help="Configurations of plugins: an AdmissionConfiguration.",
        ),
    )  # fmt: skip


def _names(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (name.strip() for name in text.split(","))))
