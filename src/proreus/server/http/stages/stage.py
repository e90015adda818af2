"""What a stage is: it wraps the stages behind it, and may act before and after them.

    from proreus.net.http1.messages import Answer
    from proreus.server.http.exchange import Exchange
    from proreus.server.http.stages.stage import Next

    def stage_of(parts: object, proceed: Next) -> Next:
        async def stage(exchange: Exchange) -> Answer:
            ...  # before
            answer = await proceed(exchange)
            ...  # after
            return answer
        return stage

One that only acts before is a plain function and returns ``proceed(exchange)``: it costs a call and
no coroutine. One that raises refuses the request; ``errors`` makes the answer.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from proreus.net.http1.messages import Answer
from proreus.server.http.exchange import Exchange

Next = Callable[[Exchange], Awaitable[Answer]]
Stage = Callable[[Next], Next]
