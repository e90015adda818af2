"""The behaviour of a simulated pod, from its spec and its annotations (``docs/simulation.md``).

``annotations`` lists those. They hold for all containers but the init containers;
``NAME.proreus.dev/…`` holds for the container NAME alone, whichever it is, and wins. Init
containers exit at once with 0 unless annotated. A value that cannot be read counts as absent;
``PodPlan.faults`` says which those are.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal

import msgspec

from proreus.api.json_types import Json
from proreus.api.object import KubeObject, plain_field
from proreus.api.values.duration import parse_duration
from proreus.cluster.kubelet.runtimes.pod_spec.environment import ValueSources
from proreus.cluster.kubelet.runtimes.pod_spec.expansion import expand, unresolved
from proreus.cluster.kubelet.runtimes.pod_spec.probes import ProbeSpec, read_probes
from proreus.cluster.kubelet.runtimes.restart_policy import (
    ALWAYS,
    NEVER,
    definition,
    is_sidecar,
    restart_policy,
    restart_rules,
)
from proreus.cluster.kubelet.runtimes.simulated.annotations import (
    ANNOTATIONS,
    DOMAIN,
    EXIT_AFTER,
    EXIT_CODE,
    EXITS,
    MISSING_IMAGE,
    READY_AFTER,
    START_DELAY,
    STOP_AFTER,
)
from proreus.cluster.kubelet.runtimes.simulated.images import runs_for_ever, says_it_is_missing
from proreus.cluster.kubelet.runtimes.simulated.probe_outcomes import (
    Ask,
    failures_of,
    killed_after,
    ready_after,
)
from proreus.cluster.kubelet.runtimes.simulated.requirements import (
    NO_SOURCES,
    literal_variables,
)
from proreus.cluster.kubelet.runtimes.simulated.shell_files import (
    MESSAGE_PATH,
    ContainerPlace,
    FileChange,
    UnixUser,
    files_at,
)
from proreus.cluster.kubelet.runtimes.simulated.shell_result import Line, ScriptResult
from proreus.cluster.kubelet.runtimes.simulated.shell_script import (
    VariablesWanted,
    interpret,
)
from proreus.cluster.kubelet.runtimes.states import INTERRUPTED

LacksImage = Literal["", "pull", "never"]
Environments = Mapping[str, Mapping[str, str]]
"""All variables of containers, by the containers' names."""
_NAMES = frozenset(annotation.name for annotation in ANNOTATIONS)
_JOB_RUNS_S = 1.0
_GRACE_S = 30.0


class FailedProbe(msgspec.Struct, frozen=True, gc=False):
    """``at_s`` after the start. ``kills``: the container is ended for it."""

    at_s: float
    kind: str
    output: str
    kills: bool = False


class ContainerPlan(msgspec.Struct, frozen=True, gc=False):
    """Seconds; None means never (``exits`` None: no limit). ``lines`` is what it prints; None: its
    command is not understood. ``missing_image``: a pull fails, or is never tried. A container that
    runs is started again when its ``definition`` is another. ``explains_by_log``: the end of its
    log says why it failed; ``messages``: what it writes to say itself how it ended."""

    name: str
    image: str
    definition: Json = msgspec.field(default_factory=dict)
    start_delay_s: float = 0.0
    ready_after_s: float | None = 0.0
    exit_after_s: float | None = None
    exit_code: int = 0
    exits: int | None = None
    stop_after_s: float = 0.0
    restart_policy: str = ALWAYS
    restart_rules: tuple[Json, ...] = ()
    is_sidecar: bool = False
    lines: tuple[Line, ...] | None = None
    missing_image: LacksImage = ""
    explains_by_log: bool = False
    messages: tuple[FileChange, ...] = ()
    failed_probes: tuple[FailedProbe, ...] = ()


class PodPlan(msgspec.Struct, frozen=True, gc=False):
    """``faults``: annotations that cannot be read, in words. ``active_deadline_s``: how long it may
    be on its node; None: for ever. ``wants_environment``: commands read variables that are not
    known yet."""

    init: tuple[ContainerPlan, ...]
    containers: tuple[ContainerPlan, ...]
    ephemeral: tuple[ContainerPlan, ...] = ()
    faults: tuple[str, ...] = ()
    active_deadline_s: float | None = None
    grace_s: float = _GRACE_S
    wants_environment: bool = False


def read_plan(
    pod: KubeObject,
    missing_images: Sequence[str] = (),
    sources: ValueSources = NO_SOURCES,
    environments: Environments | None = None,
) -> PodPlan:
    """``missing_images``: patterns, beside those that the pod names itself. ``environments``: of
    all containers that can have one; None: only what stands in the pod is known."""
    spec = plain_field(pod, "spec")
    annotations = {key: str(value) for key, value in pod.annotations.items() if DOMAIN in key}
    faults: list[str] = []
    init, containers = spec.get("initContainers") or (), spec.get("containers") or ()
    ephemeral = spec.get("ephemeralContainers") or ()
    faults += _unknown(annotations, {c["name"] for c in (*init, *containers, *ephemeral)})
    own = annotations.get(f"{DOMAIN}/{MISSING_IMAGE}", "")
    reading = _PlanReader(
        pod,
        annotations,
        spec.get("restartPolicy") or ALWAYS,
        (*missing_images, *filter(None, (part.strip() for part in own.split(",")))),
        faults,
        sources,
        environments,
    )
    deadline_s, grace_s = (
        spec.get(field) for field in ("activeDeadlineSeconds", "terminationGracePeriodSeconds")
    )
    return PodPlan(
        init=tuple(reading.container(container, is_init=True) for container in init),
        containers=tuple(reading.container(container) for container in containers),
        ephemeral=tuple(
            msgspec.structs.replace(reading.container(container), restart_policy=NEVER)
            for container in ephemeral
        ),
        faults=tuple(dict.fromkeys(faults)),
        active_deadline_s=float(deadline_s) if deadline_s is not None else None,
        grace_s=float(grace_s) if grace_s is not None else _GRACE_S,
        wants_environment=bool(reading.wanting),
    )


def _unknown(annotations: Mapping[str, str], containers: Collection[str]) -> Iterator[str]:
    for key in annotations:
        prefix, _, name = key.partition("/")
        owner = prefix.removesuffix(DOMAIN).removesuffix(".")
        if prefix not in (DOMAIN, f"{owner}.{DOMAIN}"):
            continue  # of another domain
        if name not in _NAMES or (owner and name == MISSING_IMAGE):
            yield f"annotation {key} is not known"
        elif owner and owner not in containers:
            yield f"annotation {key}: there is no container {owner}"


class _Annotations:
    """The annotations that concern one container, the most specific first."""

    def __init__(
        self, annotations: Mapping[str, str], owners: tuple[str, ...], faults: list[str]
    ) -> None:
        self._annotations = annotations
        self._prefixes = [f"{owner}.{DOMAIN}/" if owner else f"{DOMAIN}/" for owner in owners]
        self._faults = faults

    def seconds(self, name: str, default: float | None) -> float | None:
        key, said = self._get(name)
        if said == "never":
            return None
        try:
            return max(0.0, parse_duration(said)) if said else default
        except ValueError:
            self._faults.append(f'annotation {key}: "{said}" is not a duration such as 5s')
            return default

    def number(self, name: str) -> int | None:
        key, said = self._get(name)
        if said.isascii() and said.isdecimal() and len(said) < 10:
            return int(said)
        if said:
            self._faults.append(f'annotation {key}: "{said}" is not a number')
        return None

    def _get(self, name: str) -> tuple[str, str]:
        if not self._annotations:
            return "", ""
        for prefix in self._prefixes:
            if said := self._annotations.get(prefix + name, "").strip():
                return prefix + name, said
        return "", ""


@dataclass(frozen=True, slots=True)
class _PlanReader:
    """Of one pod's containers; ``faults`` collects what cannot be read, ``wanting`` the containers
    whose commands read variables that are not known yet."""

    pod: KubeObject
    annotations: Mapping[str, str]
    policy: str
    missing: tuple[str, ...]
    faults: list[str]
    sources: ValueSources
    environments: Environments | None
    wanting: list[str] = field(default_factory=list)

    def container(self, content: Json, *, is_init: bool = False) -> ContainerPlan:
        name, image = content["name"], content.get("image") or ""
        said = _Annotations(self.annotations, (name,) if is_init else (name, ""), self.faults)
        serves = is_sidecar(content, is_init=is_init)
        performed = self._performed(content)
        runs_s: float | None = None
        if performed is not None:
            runs_s = performed.runs_s
        elif is_init and not serves:
            runs_s = 0.0
        elif not is_init and _is_of_job(self.pod) and not runs_for_ever(image):
            runs_s = _JOB_RUNS_S
        code, exit_code = said.number(EXIT_CODE), performed.exit_code if performed else 0
        probed = self._probed(content, performed)
        if probed.killed_s is not None and (runs_s is None or probed.killed_s < runs_s):
            runs_s, exit_code = probed.killed_s, INTERRUPTED
        ready_s, ends_s = (
            said.seconds(READY_AFTER, probed.ready_s),
            said.seconds(EXIT_AFTER, runs_s),
        )
        annotated = {
            kind
            for kind, is_annotated in (
                ("readiness", ready_s != probed.ready_s),
                ("liveness", ends_s != runs_s),
            )
            if is_annotated
        }
        return ContainerPlan(
            name=name,
            image=image,
            definition=definition(content),
            start_delay_s=said.seconds(START_DELAY, 0.0) or 0.0,
            ready_after_s=ready_s,
            exit_after_s=ends_s,
            exit_code=code if code is not None else exit_code,
            exits=said.number(EXITS),
            stop_after_s=said.seconds(STOP_AFTER, 0.0) or 0.0,
            restart_policy=restart_policy(content, self.policy, is_init=is_init),
            restart_rules=restart_rules(content),
            is_sidecar=serves,
            lines=performed.lines if performed is not None else None,
            missing_image=self._missing_image(image, content.get("imagePullPolicy") or ""),
            messages=_messages(performed, content.get("terminationMessagePath") or MESSAGE_PATH),
            failed_probes=tuple(one for one in probed.failures if one.kind not in annotated),
            explains_by_log=content.get("terminationMessagePolicy") == "FallbackToLogsOnError",
        )

    def _missing_image(self, image: str, policy: str) -> LacksImage:
        is_missing = any(fnmatchcase(image, pattern) for pattern in self.missing)
        if not (is_missing or says_it_is_missing(image)):
            return ""
        return "never" if policy == "Never" else "pull"

    def _performed(self, content: Json) -> ScriptResult | None:
        command, arguments = content.get("command") or (), content.get("args") or ()
        return self._interpreted(content, [*command, *arguments])

    def _interpreted(
        self, content: Json, words: Sequence[str], files: Mapping[str, str | None] | None = None
    ) -> ScriptResult | None:
        """None: not understood. ``files``: of a command that runs beside the container's own."""
        if not words:
            return None
        known = (self.environments or {}).get(content["name"])
        place, is_known = _place(self.pod, content), known is not None
        variables = known or literal_variables(self.pod, content, self.sources)
        parts = [str(word) for word in words]
        expanded = [expand(part, variables) for part in parts]
        try:
            if not is_known and any(unresolved(part, variables) for part in parts):
                raise VariablesWanted
            return interpret(expanded, variables, place, are_all_known=is_known, files=files)
        except VariablesWanted:
            self.wanting.append(content["name"])
            return interpret(expanded, variables, place, files=files)  # as if there were no more

    def _probed(self, content: Json, performed: ScriptResult | None) -> _Probed:
        """By exec probes whose commands are understood."""
        readiness, liveness = content.get("readinessProbe"), content.get("livenessProbe")
        default_s = float((readiness or {}).get("initialDelaySeconds") or 0)
        if not (readiness or liveness) or content.get("startupProbe"):
            return _Probed(default_s)
        changes = performed.files if performed is not None else ()
        ready_s: float | None = default_s
        killed_s: float | None = None
        failures: list[FailedProbe] = []
        for probe in read_probes(content):
            words = (probe.content.get("exec") or {}).get("command")
            if not words:
                continue
            ask = self._asking(content, probe, changes)
            times = failures_of(probe, changes, ask)
            failures += [self._failure(content, probe, changes, at) for at in times]
            if probe.kind == "liveness":
                killed_s = killed_after(probe, changes, ask)
            elif (found := ready_after(probe, changes, ask)) is not None:
                ready_s = found if found < math.inf else None
        said = [
            msgspec.structs.replace(one, kills=one.at_s == killed_s and one.kind == "liveness")
            for one in failures
            if killed_s is None or one.at_s <= killed_s
        ]
        return _Probed(ready_s, killed_s, tuple(sorted(said, key=lambda one: one.at_s)))

    def _failure(
        self, content: Json, probe: ProbeSpec, changes: Sequence[FileChange], at_s: float
    ) -> FailedProbe:
        words = probe.content["exec"]["command"]
        answer = self._interpreted(content, words, files_at(changes, at_s))
        printed = "".join(line.text for line in answer.lines or ()) if answer else ""
        return FailedProbe(at_s, probe.kind, printed)

    def _asking(self, content: Json, probe: ProbeSpec, changes: Sequence[FileChange]) -> Ask:
        words = probe.content["exec"]["command"]

        def ask(at_s: float) -> bool | None:
            answer = self._interpreted(content, words, files_at(changes, at_s))
            if answer is None:
                return None
            is_late = answer.runs_s is None or answer.runs_s > probe.timeout_s
            return answer.exit_code == 0 and not is_late

        return ask


@dataclass(frozen=True, slots=True)
class _Probed:
    """Seconds after the start; ``ready_s`` None: never, ``killed_s`` None: never."""

    ready_s: float | None
    killed_s: float | None = None
    failures: tuple[FailedProbe, ...] = ()


def _messages(performed: ScriptResult | None, path: str) -> tuple[FileChange, ...]:
    return tuple(one for one in performed.files if one.path == path) if performed else ()


def _place(pod: KubeObject, content: Json) -> ContainerPlace:
    own = content.get("securityContext") or {}
    of_pod = plain_field(pod, "spec").get("securityContext") or {}
    security = {**of_pod, **own}
    groups = [*(of_pod.get("supplementalGroups") or ()), of_pod.get("fsGroup")]
    user = UnixUser(
        security.get("runAsUser") or 0,
        security.get("runAsGroup") or 0,
        tuple(group for group in groups if group is not None),
    )
    return ContainerPlace(
        user,
        content.get("workingDir") or "/",
        tuple(mount["mountPath"] for mount in content.get("volumeMounts") or ()),
        content.get("terminationMessagePath") or MESSAGE_PATH,
        bool(own.get("readOnlyRootFilesystem")),
    )


def _is_of_job(pod: KubeObject) -> bool:
    owners = plain_field(pod, "metadata").get("ownerReferences") or ()
    return any(owner.get("controller") and owner["kind"] == "Job" for owner in owners)
