"""Authentication's numbers under the names kube-apiserver gives them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from hashlib import sha256

from proreus.lazy_dataclass import dataclass
from proreus.server.bare_counter import BareCounter
from proreus.server.config_files.followed_file import Reloads
from proreus.server.histogram import BucketCounts
from proreus.server.prometheus import (
    Collector,
    CollectorRegistry,
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from proreus.server.registry.user import User

_ISSUER_BUCKETS_S = (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_BUCKETS_S = tuple(0.001 * 2**power for power in range(15))
_NAMED = frozenset(
    {"admin", "client", "kube_proxy", "kubelet", "system:serviceaccount:kube-system:default"}
)


class Attempt(StrEnum):
    SUCCESS = "success"
    FAILURE = "failure"  # nothing was brought, and nobody may be anonymous
    ERROR = "error"  # what was brought is wrong


@dataclass(slots=True)
class LastingUser:
    """``requests``: not counted yet. Counting is an addition, as every request pays for it."""

    user: User
    requests: int = 0


class LabelledDurations:
    """How long something took, by labels."""

    def __init__(self, buckets_s: tuple[float, ...]) -> None:
        self._buckets_s = buckets_s
        self._seen: dict[tuple[str, ...], BucketCounts] = {}

    def observe(self, labels: tuple[str, ...], seconds: float, times: int = 1) -> None:
        found = self._seen.get(labels)
        if found is None:
            found = self._seen[labels] = BucketCounts(self._buckets_s)
        found.add(seconds, times)

    def counts(self, name: str, text: str, label: str) -> Metric:
        family = CounterMetricFamily(name, text, labels=(label,))
        for values, found in self._seen.items():
            family.add_metric(values, len(found))
        return family

    def family(self, name: str, text: str, labels: Sequence[str]) -> Metric:
        family = HistogramMetricFamily(name, text, labels=labels)
        for values, found in self._seen.items():
            family.add_metric(values, found.buckets(), found.total)
        return family


class AuthenticationMetrics(Collector):
    """``lasting``: users with tokens that never expire; finding them takes no time."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.lasting: Sequence[LastingUser] = ()
        self.reloads: Reloads | None = None  # of the configuration file, if there is one
        self.webhook_calls = LabelledDurations(_BUCKETS_S)  # by the code of the answer
        self._issuers = LabelledDurations(_ISSUER_BUCKETS_S)
        self._fetches: dict[tuple[str, str], float] = {}
        self._users: Counter[str] = Counter()
        self._attempts: Counter[str] = Counter()
        self._durations = LabelledDurations(_BUCKETS_S)
        registry.register(self)

    def observe(self, result: Attempt, seconds: float, user: str = "") -> None:
        self._attempts[result] += 1
        self._durations.observe((result,), seconds)
        if result is Attempt.SUCCESS:
            self._users[_username_label(user)] += 1

    def observe_issuer(self, issuer: str, *, is_success: bool, seconds: float) -> None:
        result = Attempt.SUCCESS if is_success else Attempt.FAILURE
        self._issuers.observe((result, _digest(issuer)), seconds)

    def note_fetch(self, issuer: str, *, is_success: bool, now: float) -> None:
        result = Attempt.SUCCESS if is_success else Attempt.FAILURE
        self._fetches[(result, _digest(issuer))] = now

    def collect(self) -> Iterator[Metric]:
        self._add_lasting()
        users = BareCounter(
            "authenticated_user_requests",
            "Counter of authenticated requests broken out by username.",
            labels=("username",),
        )
        for name, count in self._users.items():
            users.add_metric((name,), count)
        attempts = BareCounter(
            "authentication_attempts", "Counter of authenticated attempts.", labels=("result",)
        )
        for result, count in self._attempts.items():
            attempts.add_metric((result,), count)
        yield from (users, attempts)
        yield self._durations.family(
            "authentication_duration_seconds",
            "Authentication duration in seconds broken out by result.",
            ("result",),
        )
        yield self._issuers.family(
            "apiserver_authentication_jwt_authenticator_latency_seconds",
            "How long checking a token of an issuer took, if it was not remembered.",
            ("result", "jwt_issuer_hash"),
        )
        yield self._last_fetches()
        calls = self.webhook_calls
        yield calls.counts(
            "apiserver_delegated_authn_request", "Calls of the token webhook.", "code"
        )
        yield calls.family(
            "apiserver_delegated_authn_request_duration_seconds",
            "How long calls of the token webhook took.",
            ("code",),
        )
        if self.reloads is not None:
            yield from self.reloads.families("apiserver_authentication_config_controller")

    def _last_fetches(self) -> Metric:
        family = GaugeMetricFamily(
            "apiserver_authentication_jwt_authenticator_jwks_fetch_last_timestamp_seconds",
            "When the keys of an issuer were last fetched, or could not be.",
            labels=("result", "jwt_issuer_hash"),
        )
        for labels, at in self._fetches.items():
            family.add_metric(labels, at)
        return family

    def _add_lasting(self) -> None:
        for one in self.lasting:
            count, one.requests = one.requests, 0
            if count:
                self._users[_username_label(one.user.name)] += count
                self._attempts[Attempt.SUCCESS] += count
                self._durations.observe((Attempt.SUCCESS,), 0.0, count)


def _digest(issuer: str) -> str:
    return f"sha256:{sha256(issuer.encode()).hexdigest()}"


def _username_label(name: str) -> str:
    """A label per user would grow the table without end."""
    if name in _NAMED:
        return name
    return "email_id" if "@" in name else "other"


class TokenUses(Collector):
    """Tokens of service accounts that were accepted. Those that a kubelet asked for say from when
    on they should have been replaced; tokens kept in secrets are not accepted here."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self.stale = self.valid = 0
        registry.register(self)

    def collect(self) -> Iterator[Metric]:
        for name, text, count in (
            ("stale_tokens", "Cumulative stale projected service account tokens used", self.stale),
            ("valid_tokens", "Cumulative valid projected service account tokens used", self.valid),
            ("legacy_tokens", "Cumulative legacy service account tokens used", 0),
            ("legacy_auto_token_uses", "Cumulative auto-generated legacy tokens used", 0),
            ("legacy_manual_token_uses", "Cumulative manually created legacy tokens used", 0),
            (
                "invalid_legacy_auto_token_uses",
                "Cumulative invalid auto-generated legacy tokens used",
                0,
            ),
        ):
            yield CounterMetricFamily(f"serviceaccount_{name}", text, value=count)
