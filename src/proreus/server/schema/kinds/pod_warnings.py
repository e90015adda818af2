"""Warnings about pods and pod templates: legal, but probably not meant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from proreus.server.schema.kinds.findings import items
from proreus.server.schema.kinds.known_good import POD_SPECS
from proreus.server.schema.kinds.resources import fractional_bytes
from proreus.server.schema.kinds.scheduling import PREFERRED, REQUIRED

Json = Mapping[str, Any]
# Volume sources that are gone: what is printed, since when deprecated, since when without effect.
GONE_VOLUMES = {
    "photonPersistentDisk": ("photonPersistentDisk", "v1.11", "v1.16"),
    "scaleIO": ("scaleIO", "v1.16", "v1.22"),
    "storageos": ("storageOS", "v1.22", "v1.25"),
    "quobyte": ("quobyte", "v1.22", "v1.25"),
    "flocker": ("flocker", "v1.22", "v1.25"),
    "glusterfs": ("glusterfs", "v1.25", "v1.26"),
    "cephfs": ("cephfs", "v1.28", "v1.31"),
    "rbd": ("rbd", "v1.28", "v1.31"),
}


def pod_spec_warnings(spec: Json, at: str) -> list[str]:
    """Of a spec that has been validated; most are of a template that gave none before."""
    text = POD_SPECS.text(spec)
    if POD_SPECS.is_quiet(text):
        return []
    found = [
        *_node_selector(spec, at),
        *(text for where, volume in items(spec.get("volumes"), f"{at}.volumes")
          for text in gone_volumes(volume, where)),
        *_selectors(spec, at),
        *_containers(spec, at),
    ]  # fmt: skip
    if not found:
        POD_SPECS.add_quiet(text)
    return found


def _node_selector(spec: Json, at: str) -> Iterator[str]:
    for old, new in (("beta.kubernetes.io/arch", "kubernetes.io/arch"),
                     ("beta.kubernetes.io/os", "kubernetes.io/os")):  # fmt: skip
        if old in (spec.get("nodeSelector") or {}):
            yield f'{at}.nodeSelector[{old}]: deprecated since v1.14; use "{new}" instead'


def _selectors(spec: Json, at: str) -> Iterator[str]:
    """A selector that is not there selects nothing, which is seldom what was meant."""
    if not spec.get("topologySpreadConstraints") and not spec.get("affinity"):
        return
    places = list(items(spec.get("topologySpreadConstraints"), f"{at}.topologySpreadConstraints"))
    for key in ("podAffinity", "podAntiAffinity"):
        affinity, where = (spec.get("affinity") or {}).get(key) or {}, f"{at}.affinity.{key}"
        places += items(affinity.get(REQUIRED), f"{where}.{REQUIRED}")
        places += [
            (f"{place}.podAffinityTerm", term.get("podAffinityTerm") or {})
            for place, term in items(affinity.get(PREFERRED), f"{where}.{PREFERRED}")
        ]
    for place, term in places:
        if term.get("labelSelector") is None:
            yield f"{place}.labelSelector: a null labelSelector results in matching no pod"


def gone_volumes(holder: Json, at: str) -> Iterator[str]:
    for key, (shown, deprecated, gone) in GONE_VOLUMES.items():
        if holder.get(key) is not None:
            yield f"{at}.{shown}: deprecated in {deprecated}, non-functional in {gone}+"


def _containers(spec: Json, at: str) -> Iterator[str]:
    for key in ("containers", "initContainers"):
        for where, container in items(spec.get(key), f"{at}.{key}"):
            yield from _repeated_variables(container, where)
            resources = container.get("resources") or {}
            for part in ("requests", "limits"):
                for name, value in fractional_bytes(resources.get(part)):
                    yield (
                        f'{where}.resources.{part}[{name}]: fractional byte value "{value}" is '
                        "invalid, must be an integer"
                    )


def _repeated_variables(container: Json, at: str) -> Iterator[str]:
    env = container.get("env") or ()
    if len({variable.get("name") for variable in env}) == len(env):
        return  # nearly always
    seen: set[str] = set()
    for where, variable in items(env, f"{at}.env"):
        name = variable.get("name") or ""
        # A later value that refers to the earlier one is meant to extend it.
        if name in seen and f"$({name})" not in (variable.get("value") or ""):
            yield (
                f'{where}: hides previous definition of "{name}", which may be dropped when '
                "using apply"
            )
        seen.add(name)
