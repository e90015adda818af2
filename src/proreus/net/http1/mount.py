"""Another handler for the paths below a prefix."""

from __future__ import annotations

from collections.abc import Awaitable

from proreus.net.http1.messages import Answer, Handler, Request


def mounted(prefix: str, handler: Handler, others: Handler) -> Handler:
    """``handler`` for ``prefix`` and what is below it, ``others`` for the rest. Paths are compared
    as they are sent: one that is escaped where it need not be is not below the prefix."""
    below = f"{prefix}/"

    def handle(request: Request) -> Awaitable[Answer]:
        path = request.raw_path_only
        return handler(request) if path.startswith(below) or path == prefix else others(request)

    return handle
