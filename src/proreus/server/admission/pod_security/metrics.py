"""What PodSecurity decided, under the names kube-apiserver gives it."""

from __future__ import annotations

from proreus.server.admission.pod_security.policy import LATEST, LevelVersion
from proreus.server.discovery.version import MINOR
from proreus.server.prometheus import CollectorRegistry, Count, Counter
from proreus.server.registry.admission import Attributes

_OF_REQUEST = ("request_operation", "resource", "subresource")
_NAMES = {"pods": "pod", "namespaces": "namespace"}  # all else makes pods
_KNOWN_MAX = 256  # namespaces may name any version


class PodSecurityMetrics:
    def __init__(self, registry: CollectorRegistry) -> None:
        self._evaluations = Counter(
            "pod_security_evaluations",
            "Number of policy evaluations that occurred, not counting ignored or exempt requests.",
            ("decision", "policy_level", "policy_version", "mode", *_OF_REQUEST),
            registry=registry,
        )
        # By what tells evaluations apart: nearly every write of a pod is one.
        self._known: dict[tuple[object, ...], Count] = {}
        self._exemptions = Counter(
            "pod_security_exemptions",
            "Number of exempt requests, not counting ignored or out of scope requests.",
            _OF_REQUEST,
            registry=registry,
        )
        self._errors = Counter(
            "pod_security_errors",
            "Number of errors preventing normal evaluation. Non-fatal errors may result in the "
            "latest restricted profile being used for evaluation.",
            ("fatal", *_OF_REQUEST),
            registry=registry,
        )

    def evaluated(
        self, attributes: Attributes, policy: LevelVersion, mode: str, *, is_allowed: bool
    ) -> None:
        asked = (attributes.operation, attributes.resource.plural, attributes.subresource)
        key = (*asked, policy.level, policy.version, mode, is_allowed)
        counted = self._known.get(key)
        if counted is None:
            decision = "allow" if is_allowed else "deny"
            level = (decision, policy.level, _version(policy), mode)
            counted = self._evaluations.labels(*level, *_request(attributes))
            if len(self._known) >= _KNOWN_MAX:
                self._known.clear()
            self._known[key] = counted
        counted.inc()

    def exempt(self, attributes: Attributes) -> None:
        self._exemptions.labels(*_request(attributes)).inc()

    def failed(self, attributes: Attributes, *, is_fatal: bool) -> None:
        self._errors.labels(str(is_fatal).lower(), *_request(attributes)).inc()


def _request(attributes: Attributes) -> tuple[str, str, str]:
    kind = _NAMES.get(attributes.resource.plural, "controller")
    return attributes.operation.lower(), kind, attributes.subresource


def _version(policy: LevelVersion) -> str:
    """One that does not exist yet is evaluated as the latest."""
    if policy.version != LATEST and (policy.minor or 0) > int(MINOR):
        return "future"
    return policy.version
