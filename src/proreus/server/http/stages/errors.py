"""Whatever a later stage or the handler raises becomes an answer here, and nowhere else."""

from __future__ import annotations

from proreus.net.http1.messages import Answer
from proreus.server.http import errors
from proreus.server.http.exchange import Exchange
from proreus.server.http.stages.stage import Next


def answer_errors(proceed: Next) -> Next:
    async def stage(exchange: Exchange) -> Answer:
        try:
            return await proceed(exchange)
        except ConnectionError:
            raise  # the client is gone
        except Exception as error:
            return errors.answer(exchange, errors.to_api_error(exchange, error))

    return stage
