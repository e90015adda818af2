"""Where an etcd is and how it lets us in, under kube-apiserver's names."""

from __future__ import annotations

from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from proreus.cli.options import Command, Option, file_option, with_options

if TYPE_CHECKING:
    from proreus.server.storage.etcd.config import EtcdConfig


def etcd_options(about: str) -> Option:
    """Adds them, and calls the command with the ``etcd`` they name, or None."""

    def added(command: Command) -> Command:
        @wraps(command)
        def decided(
            *,
            etcd: str,
            etcd_cafile: Path | None,
            etcd_certfile: Path | None,
            etcd_keyfile: Path | None,
            **others: Any,
        ) -> None:
            endpoints = tuple(filter(None, etcd.split(",")))
            files = (etcd_cafile, etcd_certfile, etcd_keyfile)
            if not endpoints and any(files):
                raise click.UsageError("certificates are for an etcd: --etcd names one")
            command(etcd=_config(endpoints, *files) if endpoints else None, **others)

        return with_options(decided, etcd_option(about), *etcd_file_options())

    return added


def etcd_option(about: str) -> Option:
    return click.option("--etcd", default="", metavar="URL[,URL]", help=about)


def etcd_file_options() -> tuple[Option, ...]:
    return (
        file_option("--etcd-cafile", "Authority of etcd's certificates; default: the system's."),
        file_option("--etcd-certfile", "Our certificate towards etcd."),
        file_option("--etcd-keyfile", "Its key."),
    )


def _config(
    endpoints: tuple[str, ...],
    ca_file: Path | None,
    certificate_file: Path | None,
    key_file: Path | None,
) -> EtcdConfig:
    try:
        from proreus.server.storage.etcd.config import EtcdConfig

        for file in filter(None, (ca_file, certificate_file, key_file)):
            file.read_bytes()  # a missing one is a sentence about it, not about etcd
        return EtcdConfig(
            endpoints, ca_file=ca_file, certificate_file=certificate_file, key_file=key_file
        )
    except (ImportError, ValueError) as error:
        raise click.UsageError(str(error)) from error
    except OSError as error:
        raise click.UsageError(f"{error.filename}: {error.strerror}") from error
