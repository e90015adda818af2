"""Options of ``up`` and ``kubelet``."""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import click

from proreus.cluster.kubelet.settings import RUNTIMES, KubeletSettings, RuntimeName

F = TypeVar("F", bound=Callable[..., None])


def runtime_option(command: F) -> F:
    return click.option(
        "--runtime",
        type=click.Choice(RUNTIMES),
        default=RUNTIMES[0],
        show_default=True,
        help="process: containers are their commands, as processes of this machine.",
    )(command)


def missing_image_option(command: F) -> F:
    return click.option(
        "--missing-image",
        "missing_images",
        multiple=True,
        metavar="PATTERN",
        help="Simulated nodes cannot pull images like this (*, ? and [] are patterns).",
    )(command)


def kubelet_settings(
    runtime: RuntimeName, nodes: int, data_dir: Path, missing_images: Sequence[str] = ()
) -> KubeletSettings:
    if runtime == "process" and missing_images:
        raise click.UsageError("--missing-image is for simulated nodes")
    if runtime == "process" and nodes != 1:
        raise click.UsageError("--runtime process is one node: this machine")
    if runtime == "process" and platform.system() != "Linux":
        raise click.UsageError("--runtime process needs Linux")
    return KubeletSettings(runtime, data_dir / "kubelet", missing_images=tuple(missing_images))
