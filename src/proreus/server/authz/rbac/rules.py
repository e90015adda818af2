"""One rule of a Role or ClusterRole, and what it allows. Pure.

``*`` alone stands for everything, ``*/scale`` for that subresource of every resource, and a
non-resource URL that ends in ``*`` for all that begin like it; anywhere else a star is a star.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from proreus.api.go_text import quoted

ALL = "*"


class PolicyRule(msgspec.Struct, frozen=True, kw_only=True):
    """``names`` empty: whatever the object is called. Either ``resources`` or ``urls`` is empty."""

    verbs: tuple[str, ...]
    groups: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    urls: tuple[str, ...] = ()

    @classmethod
    def of(cls, wire: Mapping[str, Any]) -> PolicyRule:
        """From a PolicyRule. Raises TypeError for what is none."""
        return cls(
            verbs=_texts(wire.get("verbs")),
            groups=_texts(wire.get("apiGroups")),
            resources=_texts(wire.get("resources")),
            names=_texts(wire.get("resourceNames")),
            urls=_texts(wire.get("nonResourceURLs")),
        )

    def to_wire(self) -> dict[str, Any]:
        return {**self.resource_part(), **self.url_part()}

    def resource_part(self) -> dict[str, Any]:
        """A ResourceRule of a review."""
        fields = {
            "verbs": self.verbs,
            "apiGroups": self.groups,
            "resources": self.resources,
            "resourceNames": self.names,
        }
        return {key: list(values) for key, values in fields.items() if values}

    def url_part(self) -> dict[str, Any]:
        """A NonResourceRule of a review."""
        fields = {"verbs": self.verbs, "nonResourceURLs": self.urls}
        return {key: list(values) for key, values in fields.items() if values}

    def allows(self, verb: str, group: str) -> bool:
        """On its resources and names."""
        if not (verb in self.verbs or ALL in self.verbs):
            return False
        return group in self.groups or ALL in self.groups

    def allows_url(self, verb: str, path: str) -> bool:
        if not (verb in self.verbs or ALL in self.verbs):
            return False
        return any(url_covers(url, path) for url in self.urls)

    def __str__(self) -> str:
        """As Kubernetes prints it in refusals."""
        parts = (
            ("APIGroups", self.groups),
            ("Resources", self.resources),
            ("NonResourceURLs", self.urls),
            ("ResourceNames", self.names),
            ("Verbs", self.verbs),
        )
        return (
            "{"
            + ", ".join(f"{name}:{quoted_list(values)}" for name, values in parts if values)
            + "}"
        )


class Held(NamedTuple):
    """All rules of a user in a namespace, and why some could not be found. ``is_incomplete``: an
    authorizer that has no rules may allow more."""

    rules: list[PolicyRule]
    errors: list[str]
    is_incomplete: bool = False


EVERYTHING = (
    PolicyRule(verbs=(ALL,), groups=(ALL,), resources=(ALL,)),
    PolicyRule(verbs=(ALL,), urls=(ALL,)),
)


def rules_of(role: Mapping[str, Any]) -> tuple[PolicyRule, ...]:
    """The rules of a Role or ClusterRole. Raises TypeError."""
    return tuple(PolicyRule.of(rule) for rule in role.get("rules") or ())


def resource_patterns(resource: str, subresource: str) -> tuple[str, ...]:
    """The resources that a rule must be written for to concern such a request."""
    if not subresource:
        return (resource, ALL)
    return (f"{resource}/{subresource}", ALL, f"*/{subresource}")


def url_covers(pattern: str, path: str) -> bool:
    if pattern in (ALL, path):
        return True
    return pattern.endswith("*") and path.startswith(pattern.rstrip("*"))


def quoted_list(texts: Iterable[str]) -> str:
    """As Go's ``%q`` prints a list."""
    return "[" + " ".join(map(quoted, texts)) + "]"


def aggregated(errors: Iterable[str]) -> str:
    """Several errors as Kubernetes prints them."""
    texts = list(dict.fromkeys(errors))
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"


def _texts(values: object) -> tuple[str, ...]:
    if values is None:
        return ()
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError(f"a list of texts is wanted, not {values!r}")
    return tuple(values)
