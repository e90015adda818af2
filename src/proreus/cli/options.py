"""Option types that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from proreus.api.values.duration import parse_duration

Command = Callable[..., None]
Option = Callable[[Command], Command]


class Duration(click.ParamType[float]):
    """In seconds; as Kubernetes' programs take them: ``90s``, ``1m30s``, ``1500ms``."""

    name = "duration"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        if isinstance(value, float):
            return value
        try:
            return parse_duration(value)
        except ValueError as problem:
            self.fail(str(problem), param, ctx)


def duration(name: str, default: str, text: str) -> Option:
    return click.option(name, type=Duration(), default=default, show_default=True, help=text)


def file_option(name: str, text: str) -> Option:
    return click.option(name, type=click.Path(path_type=Path, dir_okay=False), help=text)


def data_dir_option(text: str) -> Option:
    return click.option(
        "--data-dir",
        type=click.Path(path_type=Path, file_okay=False),
        default=Path(".proreus"),
        show_default=True,
        help=text,
    )


def with_options(command: Command, *options: Option) -> Command:
    """In this order in the command's help."""
    for option in reversed(options):
        command = option(command)
    return command
