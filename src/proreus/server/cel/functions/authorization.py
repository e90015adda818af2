"""Questions to the authorizer: ``authorizer.group('').resource('pods').check('get')``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar

from proreus.api.values import names
from proreus.lazy_dataclass import dataclass
from proreus.server.cel.values import EvaluationError


@dataclass(frozen=True, slots=True)
class Question:
    """Whether a user may do something. ``service_account``: namespace and name of the one it is
    about, None for the user of the request. ``path`` is set for what is no resource.
    """

    verb: str = ""
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""
    service_account: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class CheckResult:
    cel_type: ClassVar[str] = "kubernetes.authorization.Decision"
    is_allowed: bool
    reason: str = ""
    error: str = ""


Decide = Callable[[Question], CheckResult]


@dataclass(frozen=True, slots=True)
class Authorizer:
    cel_type: ClassVar[str] = "kubernetes.authorization.Authorizer"
    decide: Decide
    asked: Question = Question()

    def path(self, path: str) -> PathCheck:
        return PathCheck(self.decide, replace(self.asked, path=path))

    def group(self, group: str) -> GroupCheck:
        return GroupCheck(self.decide, replace(self.asked, group=group))

    def service_account(self, namespace: str, name: str) -> Authorizer:
        if names.dns_subdomain(name):
            raise EvaluationError("Invalid service account name")
        if names.dns_label(namespace):
            raise EvaluationError("Invalid service account namespace")
        return Authorizer(self.decide, replace(self.asked, service_account=(namespace, name)))


@dataclass(frozen=True, slots=True)
class PathCheck:
    cel_type: ClassVar[str] = "kubernetes.authorization.PathCheck"
    decide: Decide
    asked: Question


@dataclass(frozen=True, slots=True)
class GroupCheck:
    cel_type: ClassVar[str] = "kubernetes.authorization.GroupCheck"
    decide: Decide
    asked: Question

    def resource(self, resource: str) -> ResourceCheck:
        return ResourceCheck(self.decide, replace(self.asked, resource=resource))


@dataclass(frozen=True, slots=True)
class ResourceCheck:
    cel_type: ClassVar[str] = "kubernetes.authorization.ResourceCheck"
    decide: Decide
    asked: Question


def _check(what: PathCheck | ResourceCheck, verb: str) -> CheckResult:
    return what.decide(replace(what.asked, verb=verb))


def _narrowed(part: str) -> Callable[[ResourceCheck, str], ResourceCheck]:
    def narrow(check: ResourceCheck, value: str) -> ResourceCheck:
        changed: dict[str, Any] = {part: value}
        return ResourceCheck(check.decide, replace(check.asked, **changed))

    return narrow


TABLE: Mapping[str, Callable[..., Any]] = {
    "path": Authorizer.path,
    "group": Authorizer.group,
    "serviceAccount": Authorizer.service_account,
    "resource": GroupCheck.resource,
    "subresource": _narrowed("subresource"),
    "namespace": _narrowed("namespace"),
    "name": _narrowed("name"),
    "fieldSelector": _narrowed("field_selector"),
    "labelSelector": _narrowed("label_selector"),
    "check": _check,
    "allowed": lambda decision: decision.is_allowed,
    "reason": lambda decision: decision.reason,
    "errored": lambda decision: bool(decision.error),
    "error": lambda decision: decision.error,
}
