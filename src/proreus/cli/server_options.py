"""What ``server`` and ``up`` ask alike about the API server, in kube-apiserver's words."""

from __future__ import annotations

from functools import wraps
from pathlib import Path
from typing import Any

import click

from proreus.cli.options import Command, data_dir_option, duration, with_options
from proreus.server.config import ServerConfig


def server_options(command: Command) -> Command:
    """Adds them, and calls the command with the ``config`` they make."""

    @wraps(command)
    def decided(
        *,
        data_dir: Path,
        bind_address: str,
        port: int,
        etcd: str,
        kubeconfig: Path | None,
        tokens_file: Path | None,
        event_ttl: float,
        **others: Any,
    ) -> None:
        config = ServerConfig(
            data_dir=data_dir,
            bind_address=bind_address,
            port=port,
            tls=True,
            etcd=tuple(filter(None, etcd.split(","))),
            kubeconfig=(kubeconfig or data_dir / "kubeconfig").absolute(),
            tokens_file=tokens_file,
            event_ttl_s=event_ttl,
        )
        command(config=config, **others)

    return with_options(
        decided,
        data_dir_option("Objects, keys and the kubeconfig are kept here."),
        click.option("--bind-address", default="127.0.0.1", show_default=True),
        click.option(
            "--port", type=click.IntRange(0, 65535), default=6443, show_default=True,
            help="0 takes a free one.",
        ),
        click.option("--etcd", default="", metavar="URL[,URL]", help="Keep objects in etcd."),
        click.option(
            "--kubeconfig", type=click.Path(path_type=Path, dir_okay=False),
            help="Where to write it; default: in the data folder.",
        ),
        click.option(
            "--tokens-file", type=click.Path(path_type=Path, dir_okay=False, exists=True),
            help="Further users: token,user,uid,groups per line.",
        ),
        duration("--event-ttl", "1h", "How long events are kept."),
    )  # fmt: skip
