"""``-v``: without it a failure is one sentence, with it there is a traceback and a log of every
step."""

from __future__ import annotations

import logging

import click

_KEY = "proreus.verbose"


def _note(context: click.Context, _: click.Parameter, is_given: bool) -> None:
    context.meta[_KEY] = is_given or context.meta.get(_KEY, False)


def verbose_option() -> click.Option:
    """Of every command, and of ``proreus`` itself."""
    return click.Option(
        ["-v", "--verbose"], is_flag=True, expose_value=False, callback=_note,
        help="Log every step, and failures with their traceback.",
    )  # fmt: skip


def is_verbose() -> bool:
    context = click.get_current_context(silent=True)
    return context is not None and bool(context.meta.get(_KEY, False))


def log_level() -> int:
    return logging.DEBUG if is_verbose() else logging.INFO
