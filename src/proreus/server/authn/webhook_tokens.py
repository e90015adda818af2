"""Tokens that another program knows: a TokenReview is posted to it.

Its answers, good and bad, are remembered; failures are not. Who asks about a token that is already
being asked about waits for the same answer. A webhook that fails lets nobody in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field

import structlog

from proreus.aio.clock import Clock
from proreus.aio.gate import Gate
from proreus.api.json_types import JsonObject
from proreus.lazy_dataclass import dataclass
from proreus.server.authn.metrics import AuthenticationMetrics
from proreus.server.authn.options import TokenWebhookOptions
from proreus.server.authn.remembered_tokens import RememberedTokens
from proreus.server.authn.token_check import Accepted, Rejected
from proreus.server.registry.user import User
from proreus.server.webhooks.client import CallError, CallRejected
from proreus.server.webhooks.kubeconfig import WebhookAddress
from proreus.server.webhooks.review_client import SUCCESS, ReviewClient

TIMEOUT_S = 30.0
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class TokenAnswer:
    """``user`` None: the token is not good. ``error`` may say why."""

    user: User | None
    error: str = ""
    audiences: tuple[str, ...] = ()


@dataclass(slots=True)
class _Question:
    """One that was sent. ``verdict`` stays None if who sent it was cancelled."""

    answered: Gate = field(default_factory=Gate)
    verdict: Accepted | Rejected | None = None
    is_answered: bool = False


class WebhookTokens:
    """``own``: audiences of this server, which a webhook that says none is taken to mean."""

    def __init__(
        self,
        address: WebhookAddress,
        options: TokenWebhookOptions,
        own: Sequence[str],
        metrics: AuthenticationMetrics,
        clock: Clock,
    ) -> None:
        self._options = options
        self._own = tuple(own)
        self._metrics = metrics
        self._client = ReviewClient(address, clock, TIMEOUT_S)
        self._remembered: RememberedTokens[TokenAnswer] = RememberedTokens(clock)
        self._asked: dict[bytes, _Question] = {}
        self._is_failing = False

    async def check(self, token: str, audiences: Sequence[str]) -> Accepted | Rejected | None:
        key = self._remembered.key(token, audiences)
        while True:
            if (known := self._remembered.get(key)) is not None:
                return verdict_of(known, audiences, self._own)
            question = self._asked.get(key)
            if question is None:
                return await self._ask(key, token, audiences)
            await question.answered.wait_open()  # the request has a deadline
            if question.is_answered:
                return question.verdict

    async def close(self) -> None:
        await self._client.close()

    async def _ask(
        self, key: bytes, token: str, audiences: Sequence[str]
    ) -> Accepted | Rejected | None:
        question = self._asked[key] = _Question()
        try:
            question.verdict = await self._answered(key, token, audiences)
            question.is_answered = True
            return question.verdict
        finally:
            del self._asked[key]
            question.answered.open()

    async def _answered(
        self, key: bytes, token: str, audiences: Sequence[str]
    ) -> Accepted | Rejected | None:
        review = {
            "kind": "TokenReview",
            "apiVersion": f"authentication.k8s.io/{self._options.version}",
            "metadata": {"creationTimestamp": None},
            "spec": {"token": token, "audiences": list(audiences)},
            "status": {"user": {}},
        }
        try:
            answer = await self._client.review(review, read_answer, self._observe)
        except CallError as error:
            if not self._is_failing:
                _log.error("authentication webhook failed", error=str(error))
            self._is_failing = True
            return Rejected(str(error))
        self._is_failing = False
        if not answer.error:
            self._remembered.put(key, answer, self._options.cache_ttl_s)
        return verdict_of(answer, audiences, self._own)

    def _observe(self, outcome: str, seconds: float) -> None:
        code = "200" if outcome == SUCCESS else "<error>"
        self._metrics.webhook_calls.observe((code,), seconds)


def verdict_of(
    answer: TokenAnswer, wanted: Sequence[str], own: Sequence[str]
) -> Accepted | Rejected | None:
    """None if the token is not good, or good for somebody else."""
    meant = answer.audiences or own
    shared = tuple(one for one in wanted if one in meant)
    if not shared:
        return None
    if answer.user is None:
        return Rejected(answer.error) if answer.error else None
    return Accepted(answer.user, shared)


def read_answer(status: JsonObject) -> TokenAnswer:
    """Raises CallRejected."""
    error = _text(status, "error")
    audiences = tuple(_texts(status.get("audiences"), "audiences"))
    if status.get("authenticated") is not True:
        return TokenAnswer(None, error, audiences)
    found = status.get("user")
    if not isinstance(found, dict):
        raise CallRejected("the webhook's answer has no user")
    name = _text(found, "username")
    extra = found.get("extra") or {}
    if not name or not isinstance(extra, dict):
        raise CallRejected("the webhook's answer names no user")
    user = User(
        name,
        tuple(_texts(found.get("groups"), "groups")),
        _text(found, "uid"),
        {str(key): tuple(_texts(values, "extra")) for key, values in extra.items()},
    )
    return TokenAnswer(user, audiences=audiences)


def _text(fields: JsonObject, name: str) -> str:
    value = fields.get(name)
    if value is not None and not isinstance(value, str):
        raise CallRejected(f"the webhook's answer has a wrong {name}")
    return value or ""


def _texts(values: object, name: str) -> list[str]:
    found = [] if values is None else values
    if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
        raise CallRejected(f"the webhook's answer has wrong {name}")
    return found
