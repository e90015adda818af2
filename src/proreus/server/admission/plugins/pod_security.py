"""PodSecurity: pods keep to the level of the Pod Security Standards that their namespace asks for.

A pod that breaks what is enforced is refused; what is audited goes to the audit event, and what is
warned of to the client. Templates of pods are only warned of: their pods will be evaluated.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from itertools import chain

from proreus.aio.clock import Clock
from proreus.api.group_version import GroupResource
from proreus.api.json_types import Json
from proreus.api.status import InternalError, Invalid
from proreus.api.wire import splice
from proreus.lazy_dataclass import dataclass
from proreus.server.admission.plugins import lookup
from proreus.server.admission.pod_security.configuration import PodSecurityConfiguration
from proreus.server.admission.pod_security.evaluation import details, reasons, violations
from proreus.server.admission.pod_security.metrics import PodSecurityMetrics
from proreus.server.admission.pod_security.policy import (
    PREFIX,
    PRIVILEGED,
    LevelVersion,
    Reading,
    is_stricter,
    read_policy,
)
from proreus.server.admission.pod_security.violation import Pod, Violation
from proreus.server.registry.admission import CREATE, UPDATE, Attributes
from proreus.server.registry.collection import Collection
from proreus.server.watch_cache.object import CachedObject

_TEMPLATES = {
    ("", "podtemplates"): ("template",),
    ("", "replicationcontrollers"): ("spec", "template"),
    ("apps", "replicasets"): ("spec", "template"),
    ("apps", "deployments"): ("spec", "template"),
    ("apps", "statefulsets"): ("spec", "template"),
    ("apps", "daemonsets"): ("spec", "template"),
    ("batch", "jobs"): ("spec", "template"),
    ("batch", "cronjobs"): ("spec", "jobTemplate", "spec", "template"),
}
# Pods, what makes pods, and namespaces, whose labels say what pods must keep to.
SECURED = frozenset(
    GroupResource(*resource) for resource in (("", "pods"), ("", "namespaces"), *_TEMPLATES)
)
_POD_PARTS = frozenset({"", "ephemeralcontainers", "resize"})
_CHECKED_MAX = 3000
_CHECK_S = 1.0
_SLICE = 50  # pods between two turns of the loop: a few milliseconds
_SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"


@dataclass(frozen=True, slots=True)
class PodSecurity:
    namespaces: Collection
    pods: Collection
    clock: Clock
    configuration: PodSecurityConfiguration
    metrics: PodSecurityMetrics

    def check(self, attributes: Attributes) -> Awaitable[None] | None:
        if attributes.operation not in (CREATE, UPDATE) or attributes.obj is None:
            return None
        resource = attributes.resource.group, attributes.resource.plural
        if resource == ("", "pods"):
            if attributes.subresource in _POD_PARTS:
                return self._check_in_namespace(attributes)
        elif attributes.subresource:
            return None
        elif resource in _TEMPLATES:
            return self._check_in_namespace(attributes)
        elif resource == ("", "namespaces"):
            return self._check_namespace(attributes)
        return None

    def _check_in_namespace(self, attributes: Attributes) -> Awaitable[None] | None:
        if why := self.configuration.exemption(attributes.namespace, attributes.user.name):
            self._exempt(attributes, why)
            return None
        found = self.namespaces.cache.peek(attributes.namespace)
        if found is None:
            return self._check_new_namespace(attributes)
        self._check_object(attributes, read_policy(found.labels, self.configuration.unlabelled))
        return None

    async def _check_new_namespace(self, attributes: Attributes) -> None:
        """What the cache does not know yet, storage may."""
        found = await lookup.find(self.namespaces, attributes.namespace)
        if found is None:
            self.metrics.failed(attributes, is_fatal=True)
            raise InternalError.of(f"failed to lookup namespace {attributes.namespace}")
        labels = found["metadata"].get("labels") or {}
        self._check_object(attributes, read_policy(labels, self.configuration.unlabelled))

    def _check_object(self, attributes: Attributes, read: Reading) -> None:
        assert attributes.obj is not None, "asked only about writes with an object"
        policy, obj = read.policy, attributes.obj
        is_pod = attributes.resource.plural == "pods"
        if not read.errors and (policy.allows_everything if is_pod else policy.warns_of_nothing):
            if is_pod:
                self.metrics.evaluated(attributes, policy.enforce, "enforce", is_allowed=True)
            return
        pod: Json | None = obj
        if not is_pod:
            for part in _TEMPLATES[attributes.resource.group, attributes.resource.plural]:
                pod = (pod or {}).get(part)
        elif attributes.old is not None and not is_significant(obj, attributes.old):
            return
        if pod is not None:
            self._evaluate(attributes, read, pod, enforces=is_pod)

    def _evaluate(
        self, attributes: Attributes, read: Reading, pod: Json, *, enforces: bool
    ) -> None:
        spec = pod.get("spec") or {}
        if spec.get("runtimeClassName") in self.configuration.runtime_classes:
            self._exempt(attributes, "runtimeClass")
            return
        policy, seen = read.policy, Pod(pod.get("metadata") or {}, spec)
        if read.errors:
            _note(attributes, "error", f"Failed to parse policy: {_together(read)}")
            self.metrics.failed(attributes, is_fatal=False)
        known: dict[LevelVersion, list[Violation]] = {}
        if enforces:
            _note(attributes, "enforce-policy", str(policy.enforce))
            found = known[policy.enforce] = violations(policy.enforce, seen)
            self.metrics.evaluated(attributes, policy.enforce, "enforce", is_allowed=not found)
        if policy.audit not in known:
            known[policy.audit] = violations(policy.audit, seen)
        if broken := known[policy.audit]:
            _note(attributes, "audit-violations", f"would {_said(policy.audit, broken)}")
            self.metrics.evaluated(attributes, policy.audit, "audit", is_allowed=False)
        if enforces and (broken := known[policy.enforce]):
            text = _said(policy.enforce, broken)
            raise attributes.forbidden(text.replace("violate", "violates", 1))
        if policy.warn not in known:
            known[policy.warn] = violations(policy.warn, seen)
        if broken := known[policy.warn]:
            attributes.warn(f"would {_said(policy.warn, broken)}")
            self.metrics.evaluated(attributes, policy.warn, "warn", is_allowed=False)

    def _check_namespace(self, attributes: Attributes) -> Awaitable[None] | None:
        new = read_policy(_labels(attributes.obj), self.configuration.unlabelled)
        old = read_policy(_labels(attributes.old), self.configuration.unlabelled)
        is_new = attributes.operation == CREATE
        if new.errors and (is_new or new.errors != old.errors):
            name = attributes.name
            raise Invalid.of(attributes.resource.group_kind, name, list(new.errors))
        wanted, before = new.policy.enforce, old.policy.enforce
        if is_new or wanted == before or wanted.level == PRIVILEGED:
            return None
        if wanted.version == before.version and not is_stricter(wanted.level, before.level):
            return None
        if self.configuration.exemption(attributes.name, ""):
            self._exempt(attributes, "namespace")
            return None
        return self._warn_of_pods(attributes, wanted)

    def _exempt(self, attributes: Attributes, why: str) -> None:
        _note(attributes, "exempt", why)
        self.metrics.exempt(attributes)

    async def _warn_of_pods(self, attributes: Attributes, wanted: LevelVersion) -> None:
        pods = prioritised(self.pods.cache.peek_all(attributes.name) or ())
        ends_at, checked = self.clock.monotonic() + _CHECK_S, 0
        found: dict[str, list[str]] = {}
        for pod in pods[:_CHECKED_MAX]:
            checked += 1
            obj = splice.decode_item(pod.item)
            spec = obj.get("spec") or {}
            is_exempt = spec.get("runtimeClassName") in self.configuration.runtime_classes
            broken = [] if is_exempt else violations(wanted, Pod(obj["metadata"], spec))
            if broken:
                found.setdefault(reasons(broken), []).append(pod.name)
            if checked % _SLICE == 0:
                await asyncio.sleep(0)
                if self.clock.monotonic() > ends_at:
                    break
        if checked < len(pods):
            attributes.warn(
                "new PodSecurity enforce level only checked against the first "
                f"{checked} of {len(pods)} existing pods"
            )
        for text in pod_warnings(attributes.name, wanted, found):
            attributes.warn(text)


def pod_warnings(
    namespace: str, wanted: LevelVersion, found: dict[str, list[str]]
) -> Iterable[str]:
    """``found``: names of pods by what they break."""
    if not found:
        return ()
    head = f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce level'
    each = sorted(f"{_first_of(names)}: {why}" for why, names in found.items())
    return (f'{head} "{wanted}"', *each)


def _first_of(names: list[str]) -> str:
    match len(names) - 1:
        case 0:
            return names[0]
        case 1:
            return f"{min(names)} (and 1 other pod)"
        case others:
            return f"{min(names)} (and {others} other pods)"


def prioritised(pods: Iterable[CachedObject]) -> list[CachedObject]:
    """One pod of each controller before the others that it made."""
    first: list[CachedObject] = []
    others: list[CachedObject] = []
    seen: set[str] = set()
    for pod in pods:
        owner = _controller_of(pod)
        (others if owner in seen else first).append(pod)
        if owner:
            seen.add(owner)
    return [*first, *others]


def _controller_of(pod: CachedObject) -> str:
    if b'"controller":true' not in pod.item:
        return ""
    owners = splice.decode_item(pod.item)["metadata"].get("ownerReferences") or ()
    return next((str(one.get("uid")) for one in owners if one.get("controller")), "")


def is_significant(new: Json, old: Json) -> bool:
    """Whether an update changes what the standards look at: images, containers, seccomp."""
    notes = [_labels(pod, "annotations") for pod in (new, old)]
    if notes[0].get(_SECCOMP_POD) != notes[1].get(_SECCOMP_POD):
        return True
    before = {c.get("name"): c for c in old["spec"].get("ephemeralContainers") or ()}
    pairs = [(c, before.get(c.get("name"))) for c in new["spec"].get("ephemeralContainers") or ()]
    for key in ("containers", "initContainers"):
        has, had = new["spec"].get(key) or (), old["spec"].get(key) or ()
        if len(has) != len(had):
            return True
        pairs = list(chain(pairs, zip(has, had, strict=True)))
    for container, earlier in pairs:
        if earlier is None or container.get("image") != earlier.get("image"):
            return True
        note = f"{_SECCOMP_CONTAINER}{container.get('name')}"
        if notes[0].get(note) != notes[1].get(note):
            return True
    return False


def _said(policy: LevelVersion, broken: list[Violation]) -> str:
    return f'violate PodSecurity "{policy}": {details(broken)}'


def _together(read: Reading) -> str:
    texts = [str(error) for error in read.errors]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _labels(obj: Json | None, part: str = "labels") -> Json:
    return ((obj or {}).get("metadata") or {}).get(part) or {}


def _note(attributes: Attributes, key: str, value: str) -> None:
    if attributes.annotate is not None:
        attributes.annotate(f"{PREFIX}{key}", value)
