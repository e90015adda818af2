"""Policies and bindings as values, read from their objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from proreus.api.group_version import GroupVersion, GroupVersionKind, GroupVersionResource
from proreus.api.json_types import Json
from proreus.api.selectors.errors import SelectorError
from proreus.api.selectors.labels import LabelSelector
from proreus.api.wire import json
from proreus.lazy_dataclass import dataclass
from proreus.server.admission.matching import (
    RequestRule,
    RequestTarget,
    matched_resource,
    selects_object,
)

if TYPE_CHECKING:  # the engine is large, and loaded with the first policy that is asked
    from proreus.server.admission.policies.compiled import CompiledPolicy

_COMPILED = "_compiled"
_FEW = 8  # expressions, which compile in some milliseconds


class Misconfigured(Exception):
    """A policy or binding that cannot be followed; ``str(error)`` says why."""


@dataclass(frozen=True, slots=True)
class MatchConstraints:
    """Which requests are meant (Kubernetes: MatchResources). Without rules all resources are.

    A selector that is none was stored by another program: it fails where it is asked.
    """

    rules: tuple[RequestRule, ...]
    excluded: tuple[RequestRule, ...]
    namespaces: LabelSelector | SelectorError
    objects: LabelSelector | SelectorError
    is_exact: bool

    @classmethod
    def of(cls, resources: Json) -> MatchConstraints:
        return cls(
            tuple(map(RequestRule.of, resources.get("resourceRules") or ())),
            tuple(map(RequestRule.of, resources.get("excludeResourceRules") or ())),
            _selector(resources.get("namespaceSelector")),
            _selector(resources.get("objectSelector")),
            resources.get("matchPolicy") == "Exact",
        )

    def resource(
        self, target: RequestTarget, equivalents: Sequence[GroupVersionResource]
    ) -> GroupVersionResource | None:
        """The resource of a rule that the request is for; None if the rules do not match."""
        others: Sequence[GroupVersionResource] = () if self.is_exact else equivalents
        if self.excluded and matched_resource(self.excluded, target, others) is not None:
            return None
        return matched_resource(self.rules, target, others) if self.rules else target.resource

    def selects(
        self,
        labels: Mapping[str, str] | None,
        obj: Mapping[str, Any] | None,
        old: Mapping[str, Any] | None,
    ) -> bool:
        """``labels``: of the namespace; None for what is in none, which every selector selects.

        Raises Misconfigured.
        """
        namespaces, objects = self.namespaces, self.objects
        if isinstance(namespaces, SelectorError) or isinstance(objects, SelectorError):
            raise Misconfigured(
                str(namespaces if isinstance(namespaces, SelectorError) else objects)
            )
        if labels is not None and not namespaces.is_empty and not namespaces.matches(labels):
            return False
        return selects_object(objects, obj, old)


def _selector(raw: Json | None) -> LabelSelector | SelectorError:
    try:
        return LabelSelector.from_object(raw or {})
    except SelectorError as error:
        return error


@dataclass(frozen=True)  # no slots: what is compiled is kept in the instance
class AdmissionPolicy:
    name: str
    spec: Json
    constraints: MatchConstraints
    param_kind: GroupVersionKind | None
    fails_open: bool

    @classmethod
    def of(cls, obj: Json) -> AdmissionPolicy:
        """Raises ValueError, KeyError, TypeError or AttributeError for what is no policy."""
        spec = obj["spec"]
        kind = spec.get("paramKind")
        return cls(
            obj["metadata"]["name"],
            spec,
            MatchConstraints.of(spec["matchConstraints"]),
            GroupVersion.parse(kind["apiVersion"]).kind(kind["kind"]) if kind else None,
            spec.get("failurePolicy") == "Ignore",
        )

    @property
    def compiled(self) -> CompiledPolicy:
        """Made once. No lock is held meanwhile: a thread may compile what the loop needs."""
        found: CompiledPolicy | None = self.__dict__.get(_COMPILED)
        if found is None:
            from proreus.server.admission.policies.compiled import CompiledPolicy

            found = self.__dict__[_COMPILED] = CompiledPolicy.of(self.spec)
        return found

    @cached_property
    def mentions_namespace(self) -> bool:
        """Whether an expression may ask for the namespace: if not, it is not read."""
        return b"namespaceObject" in json.encode(self.spec)

    @property
    def compiles_quickly(self) -> bool:
        return _COMPILED in self.__dict__ or _expressions_in(self.spec) <= _FEW

    @property
    def is_reinvoked(self) -> bool:
        return bool(self.spec.get("reinvocationPolicy") == "IfNeeded")


def _expressions_in(spec: Json) -> int:
    """How many there are to compile."""
    lists = ("matchConditions", "variables", "validations", "auditAnnotations", "mutations")
    return sum(len(spec.get(name) or ()) for name in lists)


@dataclass(frozen=True, slots=True)
class ParamRef:
    """``selector`` if there is no name."""

    name: str
    namespace: str
    selector: LabelSelector | SelectorError | None
    denies_missing: bool


@dataclass(frozen=True, slots=True)
class PolicyBinding:
    """``actions`` of a mutating one: none."""

    name: str
    policy: str
    constraints: MatchConstraints | None
    params: ParamRef | None
    actions: tuple[str, ...]

    @classmethod
    def of(cls, obj: Json) -> PolicyBinding:
        """Raises ValueError, KeyError, TypeError or AttributeError for what is no binding."""
        spec = obj["spec"]
        resources, reference = spec.get("matchResources"), spec.get("paramRef")
        return cls(
            obj["metadata"]["name"],
            spec["policyName"],
            MatchConstraints.of(resources) if resources is not None else None,
            _reference(reference) if reference is not None else None,
            tuple(spec.get("validationActions") or ()),
        )


def _reference(reference: Json) -> ParamRef:
    selector = reference.get("selector")
    return ParamRef(
        reference.get("name") or "",
        reference.get("namespace") or "",
        _selector(selector) if selector is not None else None,
        reference.get("parameterNotFoundAction") == "Deny",
    )
