"""Whether some rules contain others, and which parts are missing. Pure.

The wanted rules are broken into single permissions, one verb on one resource, name or URL each,
and every one must be within one of the held rules, as in Kubernetes: permissions that two rules
would only hold together (``*`` of ``get`` and of ``list`` is not ``*``) do not count.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from msgspec.structs import replace

from proreus.server.authz.rbac.rules import PolicyRule, resource_patterns


def missing(held: Sequence[PolicyRule], wanted: Iterable[PolicyRule]) -> list[PolicyRule]:
    """The single permissions of ``wanted`` that no rule of ``held`` contains."""
    return [
        single
        for rule in wanted
        for single in singles(rule)
        if not any(_contains(other, single) for other in held)
    ]


def singles(rule: PolicyRule) -> Iterator[PolicyRule]:
    """The rule as permissions of one verb on one resource or URL."""
    each_name: list[tuple[str, ...]] = [(name,) for name in rule.names] or [()]
    for group, resource, verb in product(rule.groups, rule.resources, rule.verbs):
        for names in each_name:
            yield PolicyRule(verbs=(verb,), groups=(group,), resources=(resource,), names=names)
    for url, verb in product(rule.urls, rule.verbs):
        yield PolicyRule(verbs=(verb,), urls=(url,))


def joined(permissions: Iterable[PolicyRule]) -> list[PolicyRule]:
    """Single permissions on one resource as one rule with all their verbs."""
    rules: list[PolicyRule] = []
    places: dict[tuple[tuple[str, ...], ...], int] = {}
    for single in permissions:
        place = (single.groups, single.resources, single.names)
        at = None if single.urls else places.get(place)
        if at is None:
            places[place] = len(rules)
            rules.append(single)
        else:
            rules[at] = replace(rules[at], verbs=(*rules[at].verbs, *single.verbs))
    return rules


def _contains(held: PolicyRule, single: PolicyRule) -> bool:
    (verb,) = single.verbs
    if single.urls:
        return held.allows_url(verb, single.urls[0])
    (group,), (resource,) = single.groups, single.resources
    if not held.allows(verb, group):
        return False
    if held.names and not (single.names and single.names[0] in held.names):
        return False
    whole, _, subresource = resource.partition("/")
    return any(pattern in held.resources for pattern in resource_patterns(whole, subresource))
