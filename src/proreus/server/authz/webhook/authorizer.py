"""The webhook authorizer: what it answered before is known at once, anything else is asked.

Cost of a verdict that is remembered: about 6 µs, most of it to make the question; match conditions
cost about as much each.
"""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

import structlog

from proreus.aio.clock import Clock
from proreus.api.json_types import JsonObject
from proreus.api.wire import json
from proreus.lazy_dataclass import dataclass
from proreus.server.authz.authorizer import (
    NO_OPINION,
    Action,
    Decision,
    PossibleVerdict,
    Verdict,
)
from proreus.server.authz.metrics import WebhookMetrics
from proreus.server.authz.rbac.rules import Held
from proreus.server.authz.webhook.remembered_verdicts import RememberedVerdicts
from proreus.server.authz.webhook.review import (
    V1,
    may_be_remembered,
    review_spec,
    subject_access_review,
    verdict_of,
)
from proreus.server.offload import Runner
from proreus.server.registry.user import User
from proreus.server.webhooks.client import CallError
from proreus.server.webhooks.kubeconfig import WebhookAddress
from proreus.server.webhooks.review_client import ReviewClient

if TYPE_CHECKING:
    from proreus.server.authz.webhook.match_conditions import MatchConditions
    from proreus.server.cel.pace import CostPace

_NO_RULES = "webhook authorizer does not support user rule resolution"
_log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookSettings:
    """``on_failure``: DENY, or NO_OPINION to ask the next authorizer. A lifetime of 0: verdicts
    are not remembered."""

    address: WebhookAddress
    version: str = V1
    timeout_s: float = 30.0
    authorized_ttl_s: float = 300.0
    unauthorized_ttl_s: float = 30.0
    on_failure: Decision = Decision.NO_OPINION
    conditions: MatchConditions | None = None


@dataclass(slots=True, eq=False)
class WebhookAuthorizer:
    """``runner`` is for conditions that would hold the loop."""

    name: str
    settings: WebhookSettings
    metrics: WebhookMetrics
    clock: Clock
    runner: Runner
    _client: ReviewClient = field(init=False)
    _remembered: RememberedVerdicts = field(init=False)
    _is_failing: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        settings = self.settings
        self._client = ReviewClient(settings.address, self.clock, settings.timeout_s)
        self._remembered = RememberedVerdicts(self.clock)

    def authorize(self, action: Action) -> PossibleVerdict:
        spec = review_spec(action)
        if self.settings.conditions is None:
            return self._review(action, spec)
        from proreus.server.cel.pace import PaceExceeded, on_loop

        try:
            unmet = self._unmet(spec, on_loop())
        except PaceExceeded:
            return self._match_in_thread(action, spec)
        return unmet or self._review(action, spec)

    async def _match_in_thread(self, action: Action, spec: JsonObject) -> Verdict:
        from proreus.server.cel.pace import on_thread

        unmet = await self.runner.run(lambda: self._unmet(spec, on_thread()))
        if unmet is not None:
            return unmet
        verdict = self._review(action, spec)
        return verdict if isinstance(verdict, Verdict) else await verdict

    def _unmet(self, spec: JsonObject, pace: CostPace) -> Verdict | None:
        """The verdict if the webhook is not asked. Raises PaceExceeded."""
        from proreus.server.authz.webhook.match_conditions import ConditionFailed

        assert self.settings.conditions is not None
        begun = self.clock.monotonic()
        is_met, error = False, ""
        try:
            is_met = self.settings.conditions.are_met(spec, pace)
        except ConditionFailed as failed:
            error = str(failed)
        seconds = self.clock.monotonic() - begun
        self.metrics.matched(self.name, seconds, is_excluded=not is_met, is_error=bool(error))
        if error:
            return Verdict(self.settings.on_failure, "", error)
        return None if is_met else NO_OPINION

    def _review(self, action: Action, spec: JsonObject) -> PossibleVerdict:
        question = json.encode(spec)
        found = self._remembered.find(question)
        return found or self._ask(spec, question if may_be_remembered(action) else None)

    def rules_of(self, user: User, namespace: str) -> Held:
        return Held([], [_NO_RULES], True)

    async def retire(self) -> None:
        """Ends when the questions under way are answered."""
        await self._client.retire()

    async def close(self) -> None:
        await self._client.close()

    async def _ask(self, spec: JsonObject, question: bytes | None) -> Verdict:
        settings = self.settings
        outcomes: list[str] = []

        def observe(outcome: str, seconds: float) -> None:
            outcomes.append(outcome)
            self.metrics.evaluated(self.name, outcome, seconds)

        try:
            review = subject_access_review(spec, settings.version)
            verdict = await self._client.review(review, verdict_of, observe)
        except CallError as error:
            self._note_failure(error)
            if settings.on_failure is Decision.NO_OPINION:
                self.metrics.failed_open(self.name, outcomes[-1])
            return Verdict(settings.on_failure, "", str(error))
        self._is_failing = False
        if question is not None:
            is_allowed = verdict.decision is Decision.ALLOW
            ttl_s = settings.authorized_ttl_s if is_allowed else settings.unauthorized_ttl_s
            self._remembered.put(question, verdict, ttl_s)
        return verdict

    def _note_failure(self, error: CallError) -> None:
        """Once, until it answers again."""
        if not self._is_failing:
            _log.error("authorization webhook failed", name=self.name, error=str(error))
        self._is_failing = True

    def __repr__(self) -> str:
        return f"<WebhookAuthorizer {self.name}: {self._client!r}, {self._remembered!r}>"
