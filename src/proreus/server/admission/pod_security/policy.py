"""Which level of the Pod Security Standards holds in a namespace, as its labels say."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from proreus.api import field_error
from proreus.api.field_error import FieldError
from proreus.lazy_dataclass import dataclass

PRIVILEGED, BASELINE, RESTRICTED = "privileged", "baseline", "restricted"
LEVELS = (PRIVILEGED, BASELINE, RESTRICTED)  # each asks more than the one before
PREFIX = "pod-security.kubernetes.io/"
LATEST = "latest"
_VERSION = re.compile(r"v1\.(0|[1-9][0-9]{0,8})", re.ASCII)


@dataclass(frozen=True, slots=True)
class LevelVersion:
    level: str = PRIVILEGED
    version: str = LATEST

    @property
    def minor(self) -> int | None:
        """None: the latest."""
        return None if self.version == LATEST else int(self.version.removeprefix("v1."))

    def __str__(self) -> str:
        return f"{self.level}:{self.version}"


@dataclass(frozen=True, slots=True)
class SecurityPolicy:
    """What is refused, what is recorded and what is warned of."""

    enforce: LevelVersion = LevelVersion()  # frozen
    audit: LevelVersion = LevelVersion()
    warn: LevelVersion = LevelVersion()

    @property
    def warns_of_nothing(self) -> bool:
        return self.warn.level == PRIVILEGED and self.audit.level == PRIVILEGED

    @property
    def allows_everything(self) -> bool:
        return self.enforce.level == PRIVILEGED and self.warns_of_nothing


@dataclass(frozen=True, slots=True)
class Reading:
    """``policy`` is what holds in spite of the ``errors``."""

    policy: SecurityPolicy
    errors: tuple[FieldError, ...] = ()


def level_fault(text: str) -> str:
    return "" if text in LEVELS else f"must be one of {', '.join(LEVELS)}"


def version_fault(text: str) -> str:
    is_known = text == LATEST or _VERSION.fullmatch(text)
    return "" if is_known else f'must be "{LATEST}" or "v1.x"'


def read_policy(labels: Mapping[str, str], unlabelled: Reading) -> Reading:
    """A level that nobody understands is enforced as the strictest, and not warned of."""
    for label in labels:
        if label.startswith(PREFIX):
            break
    else:
        return unlabelled  # as of most namespaces, for every pod that is created there
    defaults = unlabelled.policy
    errors: list[FieldError] = []
    enforce = _mode(labels, "enforce", defaults.enforce, RESTRICTED, errors)
    audit = _mode(labels, "audit", defaults.audit, PRIVILEGED, errors)
    warn = _mode(labels, "warn", defaults.warn, PRIVILEGED, errors)
    if not level_fault(labels.get(f"{PREFIX}enforce", "?")):
        audit = _at_least(labels, "audit", audit, enforce)
        warn = _at_least(labels, "warn", warn, enforce)
    return Reading(SecurityPolicy(enforce, audit, warn), tuple(errors))


def _mode(
    labels: Mapping[str, str],
    mode: str,
    default: LevelVersion,
    in_doubt: str,
    errors: list[FieldError],
) -> LevelVersion:
    found = default
    if (level := labels.get(f"{PREFIX}{mode}")) is not None:
        fault = level_fault(level)
        found = replace(found, level=in_doubt if fault else level)
        _note(errors, mode, level, fault)
    if (version := labels.get(f"{PREFIX}{mode}-version")) is not None:
        fault = version_fault(version)
        found = replace(found, version=LATEST if fault else version)
        _note(errors, f"{mode}-version", version, fault)
    return found


def _note(errors: list[FieldError], label: str, value: str, fault: str) -> None:
    if fault:
        errors.append(field_error.invalid(f"metadata.labels[{PREFIX}{label}]", value, fault))


def _at_least(
    labels: Mapping[str, str], mode: str, found: LevelVersion, enforced: LevelVersion
) -> LevelVersion:
    """What is enforced is recorded and warned of too, unless a label says otherwise."""
    if f"{PREFIX}{mode}" in labels or not is_stricter(enforced.level, found.level):
        return found
    version = found.version if f"{PREFIX}{mode}-version" in labels else enforced.version
    return LevelVersion(enforced.level, version)


def is_stricter(one: str, other: str) -> bool:
    return LEVELS.index(one) > LEVELS.index(other)
