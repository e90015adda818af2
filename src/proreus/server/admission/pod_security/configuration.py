"""PodSecurityConfiguration: what holds where namespaces have no labels, and who is exempt."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field

from proreus.api import field_error
from proreus.lazy_dataclass import dataclass
from proreus.server.admission.pod_security.policy import (
    LATEST,
    PRIVILEGED,
    LevelVersion,
    Reading,
    SecurityPolicy,
    level_fault,
    version_fault,
)
from proreus.server.config_files.fields import ConfigFields, ConfigFileInvalid, decode_config

_KIND = "PodSecurityConfiguration"
_API_VERSIONS = frozenset(
    f"pod-security.admission.config.k8s.io/{version}" for version in ("v1", "v1beta1", "v1alpha1")
)
_MODES = ("enforce", "audit", "warn")
_DEFAULTS = frozenset(name for mode in _MODES for name in (mode, f"{mode}-version"))
_EXEMPTIONS = ("usernames", "runtimeClasses", "namespaces")


@dataclass(frozen=True, slots=True)
class PodSecurityConfiguration:
    """``unlabelled``: what holds in a namespace that says nothing."""

    unlabelled: Reading = field(default_factory=lambda: Reading(SecurityPolicy()))
    users: frozenset[str] = frozenset()
    runtime_classes: frozenset[str] = frozenset()
    namespaces: frozenset[str] = frozenset()

    def exemption(self, namespace: str, user: str) -> str:
        """Why nothing is asked of a write, "" if something is."""
        if namespace and namespace in self.namespaces:
            return "namespace"
        return "user" if user and user in self.users else ""


def parse_pod_security(text: bytes) -> PodSecurityConfiguration:
    """Raises ConfigFileInvalid."""
    found = decode_config(text, _API_VERSIONS, _KIND, {"defaults", "exemptions"})
    policy = SecurityPolicy()
    if (defaults := found.fields("defaults", _DEFAULTS)) is not None:
        policy = SecurityPolicy(*(_mode(defaults, mode) for mode in _MODES))
    exempt: list[frozenset[str]] = []
    if (exemptions := found.fields("exemptions", _EXEMPTIONS)) is not None:
        exempt = [_names(exemptions, name) for name in _EXEMPTIONS]
    return PodSecurityConfiguration(Reading(policy), *exempt)


def _mode(defaults: ConfigFields, mode: str) -> LevelVersion:
    level = _checked(defaults, mode, level_fault) or PRIVILEGED
    return LevelVersion(level, _checked(defaults, f"{mode}-version", version_fault) or LATEST)


def _checked(defaults: ConfigFields, name: str, fault: Callable[[str], str]) -> str:
    value = defaults.string(name)
    if value and (why := fault(value)):
        raise ConfigFileInvalid.of(field_error.invalid(defaults.path(name), value, why))
    return value


def _names(exemptions: ConfigFields, name: str) -> frozenset[str]:
    values = exemptions.strings(name)
    for index, value in enumerate(values):
        at = f"{exemptions.path(name)}[{index}]"
        if not value:
            raise ConfigFileInvalid.of(field_error.required(at))
        if value in values[:index]:
            raise ConfigFileInvalid.of(field_error.duplicate(at, value))
    return frozenset(values)
