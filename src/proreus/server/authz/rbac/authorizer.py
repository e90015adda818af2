"""Decisions by roles and bindings (Kubernetes: RBACAuthorizer over DefaultRuleResolver).

Rules are compiled per subject and namespace when a decision first needs them after a change, and
kept until another change concerns that subject. A decision asks the requester's name and groups,
first for what is bound everywhere, then for what is bound in the request's namespace; the first
binding by name that allows it is the reason.

Cost: about 1 µs and one dictionary lookup per subject and scope, however many bindings there are;
the first request of its kind (verb, group, resource, subresource) after a change reads the
subject's rules once.

Invariant: what an event took away is not in force for any decision after it. A role that cannot be
read has no rules.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from proreus.server.authz.authorizer import NO_OPINION, Action, Decision, Verdict
from proreus.server.authz.rbac.bindings import CLUSTER_ROLE, GROUP, ROLE, Binding
from proreus.server.authz.rbac.rules import Held, PolicyRule, aggregated, resource_patterns
from proreus.server.registry.user import User

# Kinds of requests remembered per subject and scope: more than the API has for one user, and a
# bound for those who ask for what does not exist.
_KINDS_MAX = 2048

Key = tuple[str, str]  # namespace ("" for what belongs to the cluster) and name
RequestKind = tuple[str, str] | tuple[str, str, str, str]  # verb, path; verb, group, resource, sub
Roles = Mapping[Key, tuple[PolicyRule, ...]]


class _Grant(NamedTuple):
    """``order``: the binding's name, and which of its subjects."""

    order: tuple[str, int]
    verdict: Verdict


class _Answer(NamedTuple):
    """What allows one kind of request: on objects of some names, and on every object."""

    by_name: dict[str, _Grant]
    for_all: _Grant | None


class _Scope:
    """What one user name or group has been given in one namespace, or everywhere."""

    __slots__ = ("_answers", "_by_resource", "_is_compiled", "_of_urls", "bindings", "missing")

    def __init__(self) -> None:
        self.bindings: dict[str, tuple[Binding, int]] = {}  # by name, with the subject's place
        self.missing: list[tuple[str, str]] = []  # bindings to roles that do not exist, and why
        self._is_compiled = False
        # Rules with their place in the order of evaluation, by the resources they are written for.
        self._by_resource: dict[str, list[tuple[int, PolicyRule, _Grant]]] = {}
        self._of_urls: list[tuple[int, PolicyRule, _Grant]] = []
        self._answers: dict[RequestKind, _Answer] = {}

    def forget(self) -> None:
        self._is_compiled = False
        self._answers.clear()

    def first(self, kind: RequestKind, name: str, roles: Roles) -> _Grant | None:
        """What allows such a request on the object of this name, None: nothing."""
        answer = self._answers.get(kind)
        if answer is None:
            answer = self._find(kind, roles)
        return answer.by_name.get(name, answer.for_all) if answer.by_name else answer.for_all

    def compile(self, roles: Roles) -> None:
        if self._is_compiled:
            return
        self._is_compiled = True
        self.missing, self._by_resource, self._of_urls = [], {}, []
        place = 0
        for name in sorted(self.bindings):
            binding, subject = self.bindings[name]
            rules = role_rules(roles, binding)
            if rules is None:
                self.missing.append((name, binding.missing_role()))
                continue
            reason = f"RBAC: allowed by {binding.describe(binding.subjects[subject])}"
            grant = _Grant((name, subject), Verdict(Decision.ALLOW, reason))
            for rule in rules:
                place += 1
                for resource in dict.fromkeys(rule.resources):
                    self._by_resource.setdefault(resource, []).append((place, rule, grant))
                if rule.urls:
                    self._of_urls.append((place, rule, grant))

    def _find(self, kind: RequestKind, roles: Roles) -> _Answer:
        self.compile(roles)
        by_name: dict[str, _Grant] = {}
        for_all: _Grant | None = None
        for _, rule, grant in self._candidates(kind):
            if not rule.names:
                for_all = grant
                break  # no later one is the first
            for name in rule.names:
                by_name.setdefault(name, grant)
        if len(self._answers) >= _KINDS_MAX:
            self._answers.clear()
        answer = self._answers[kind] = _Answer(by_name, for_all)
        return answer

    def _candidates(self, kind: RequestKind) -> list[tuple[int, PolicyRule, _Grant]]:
        """The rules that concern such requests, in order."""
        if len(kind) == 2:
            verb, path = kind
            return [entry for entry in self._of_urls if entry[1].allows_url(verb, path)]
        verb, group, resource, subresource = kind
        found = {
            entry[0]: entry
            for pattern in resource_patterns(resource, subresource)
            for entry in self._by_resource.get(pattern, ())
            if entry[1].allows(verb, group)
        }
        return [found[place] for place in sorted(found)]


_Given = dict[str, dict[str, _Scope]]  # name → namespace ("": everywhere) → what was given


class Rbac:
    """Fed with roles and bindings, in the order of their changes; asked in between."""

    def __init__(self) -> None:
        self._roles: dict[Key, tuple[PolicyRule, ...]] = {}
        self._bindings: dict[Key, Binding] = {}
        self._bound: dict[Key, dict[Key, None]] = {}  # role → its bindings
        self._lacks_roles: bool | None = None  # whether some binding's role does not exist
        self._users: _Given = {}
        self._groups: _Given = {}

    def put_role(self, namespace: str, name: str, rules: Sequence[PolicyRule]) -> None:
        self._roles[namespace, name] = tuple(rules)
        self._lacks_roles = None
        self._forget_bound((namespace, name))

    def remove_role(self, namespace: str, name: str) -> None:
        if self._roles.pop((namespace, name), None) is not None:
            self._lacks_roles = None
            self._forget_bound((namespace, name))

    def put_binding(self, binding: Binding) -> None:
        key = (binding.namespace, binding.name)
        self.remove_binding(*key)
        self._lacks_roles = None
        self._bindings[key] = binding
        self._bound.setdefault(binding.role, {})[key] = None
        for given, name, place in self._subjects(binding):
            scope = given.setdefault(name, {}).setdefault(binding.namespace, _Scope())
            scope.bindings.setdefault(binding.name, (binding, place))
            scope.forget()

    def remove_binding(self, namespace: str, name: str) -> None:
        binding = self._bindings.pop((namespace, name), None)
        if binding is None:
            return
        self._lacks_roles = None
        del self._bound[binding.role][namespace, name]
        if not self._bound[binding.role]:
            del self._bound[binding.role]
        for given, subject_name, _ in self._subjects(binding):
            scopes = given.get(subject_name, {})
            scope = scopes.get(namespace)
            if scope is None:
                continue  # a subject that is named twice
            scope.bindings.pop(name, None)
            scope.forget()
            if not scope.bindings:
                del scopes[namespace]
            if not scopes:
                del given[subject_name]

    def clear_roles(self, *, is_cluster: bool) -> None:
        for namespace, name in [key for key in self._roles if (key[0] == "") is is_cluster]:
            self.remove_role(namespace, name)

    def clear_bindings(self, *, is_cluster: bool) -> None:
        for namespace, name in [key for key in self._bindings if (key[0] == "") is is_cluster]:
            self.remove_binding(namespace, name)

    def authorize(self, action: Action) -> Verdict:
        if action.path:
            kind: RequestKind = (action.verb, action.path)
        else:
            kind = (action.verb, action.group, action.resource, action.subresource)
        grant = self._first(action.user, "", kind, action.name)
        if grant is None and action.namespace:
            grant = self._first(action.user, action.namespace, kind, action.name)
        return self._refusal(action) if grant is None else grant.verdict

    def rules_of(self, user: User, namespace: str) -> Held:
        """What a user may do in a namespace, and everywhere."""
        held = Held([], [])
        for binding in self._bindings_of(user, namespace):
            rules = self.role_rules(binding)
            if rules is None:
                held.errors.append(binding.missing_role())
            else:
                held.rules.extend(rules)
        return held

    def role_rules(self, binding: Binding) -> tuple[PolicyRule, ...] | None:
        """What a binding gives, None if there is no such role."""
        return role_rules(self._roles, binding)

    def _first(self, user: User, namespace: str, kind: RequestKind, name: str) -> _Grant | None:
        best: _Grant | None = None
        given = self._users.get(user.name)
        if given is not None and (scope := given.get(namespace)) is not None:
            best = scope.first(kind, name, self._roles)
        groups = self._groups
        for group in user.groups:
            given = groups.get(group)
            if given is not None and (scope := given.get(namespace)) is not None:
                grant = scope.first(kind, name, self._roles)
                if grant is not None and (best is None or grant.order < best.order):
                    best = grant
        return best

    def _scopes(self, user: User, namespace: str) -> list[_Scope]:
        given = [self._users.get(user.name), *map(self._groups.get, user.groups)]
        return [scopes[namespace] for scopes in given if scopes and namespace in scopes]

    def _refusal(self, action: Action) -> Verdict:
        """No opinion, and which roles were looked for in vain."""
        if self._lacks_roles is None:
            self._lacks_roles = any(
                role_rules(self._roles, binding) is None for binding in self._bindings.values()
            )
        if not self._lacks_roles:
            return NO_OPINION
        reasons: dict[str, None] = {}
        for namespace in ("", action.namespace) if action.namespace else ("",):
            scopes = self._scopes(action.user, namespace)
            if found := [entry for scope in scopes for entry in scope.missing]:
                reasons.update(dict.fromkeys(why for _, why in sorted(found)))
        if not reasons:
            return NO_OPINION
        return Verdict(Decision.NO_OPINION, f"rbac: RBAC: {aggregated(reasons)}")

    def _bindings_of(self, user: User, namespace: str) -> Iterator[Binding]:
        for place in ("", namespace) if namespace else ("",):
            found = {
                name: binding
                for scope in self._scopes(user, place)
                for name, (binding, _) in scope.bindings.items()
            }
            yield from (found[name] for name in sorted(found))

    def _subjects(self, binding: Binding) -> Iterator[tuple[_Given, str, int]]:
        """Whom it is for, with the subject's place; one that means nobody is left out."""
        for place, subject in enumerate(binding.subjects):
            if subject.kind == GROUP:
                given, name = self._groups, subject.name
            else:
                given, name = self._users, binding.user_name(subject)
            if name:
                yield given, name, place

    def _forget_bound(self, role: Key) -> None:
        for key in self._bound.get(role, ()):
            binding = self._bindings[key]
            for given, name, _ in self._subjects(binding):
                given[name][binding.namespace].forget()

    def __repr__(self) -> str:
        return f"<Rbac: {len(self._roles)} roles, {len(self._bindings)} bindings>"


def role_rules(roles: Roles, binding: Binding) -> tuple[PolicyRule, ...] | None:
    if binding.role_kind not in (ROLE, CLUSTER_ROLE):
        return None
    return roles.get(binding.role)
