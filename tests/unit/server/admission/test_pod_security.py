"""The Pod Security Standards: what each level and version asks of a pod, and in which words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from proreus.server.admission.plugins.pod_security import is_significant, pod_warnings
from proreus.server.admission.pod_security.configuration import parse_pod_security
from proreus.server.admission.pod_security.evaluation import details, violations
from proreus.server.admission.pod_security.policy import (
    BASELINE,
    LEVELS,
    PREFIX,
    RESTRICTED,
    LevelVersion,
    Reading,
    SecurityPolicy,
    read_policy,
)
from proreus.server.admission.pod_security.violation import Pod
from proreus.server.config_files.fields import ConfigFileInvalid

HARDENED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
POD_HARDENED = {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}}


def said(
    level: str = BASELINE,
    version: str = "latest",
    *,
    notes: dict[str, str] | None = None,
    pod: dict[str, Any] | None = None,
    **container: Any,
) -> str:
    spec = {"containers": [{"name": "c", **container}], **(pod or {})}
    return details(
        violations(LevelVersion(level, version), Pod({"annotations": notes or {}}, spec))
    )


def secured(**context: Any) -> dict[str, Any]:
    return {"securityContext": context}


@pytest.mark.parametrize(
    ("broken", "text"),
    [
        ({"pod": {"hostNetwork": True, "hostPID": True, "hostIPC": True}},
         "host namespaces (hostNetwork=true, hostPID=true, hostIPC=true)"),
        ({"pod": {"volumes": [{"name": "a", "hostPath": {}}, {"name": "b", "hostPath": {}}]}},
         'hostPath volumes (volumes "a", "b")'),
        ({"ports": [{"hostPort": 22}, {"hostPort": 12}, {"containerPort": 1}]},
         'hostPort (container "c" uses hostPorts 12, 22)'),
        ({"livenessProbe": {"httpGet": {"host": "h"}}, "lifecycle": {"preStop": {"tcpSocket": {
            "host": "g"}}}},
         'probe or lifecycle host (container "c" uses probe or lifecycle hosts "g", "h")'),
        (secured(procMount="Unmasked"),
         'procMount (container "c" must not set securityContext.procMount to "Unmasked")'),
        ({"pod": secured(seLinuxOptions={"user": "u", "type": "x"})},
         'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type "x"; '
         "user may not be set)"),
        (secured(seLinuxOptions={"role": "r"}),
         'seLinuxOptions (container "c" set forbidden securityContext.seLinuxOptions: '
         "role may not be set)"),
        ({**secured(seccompProfile={"type": "Unconfined"}),
          "pod": secured(seccompProfile={"type": "Unconfined"})},
         'seccompProfile (pod and container "c" must not set securityContext.seccompProfile.type '
         'to "Unconfined")'),
        ({"pod": secured(sysctls=[{"name": "kernel.x"}, {"name": "net.ipv4.tcp_rmem"}])},
         "forbidden sysctls (kernel.x)"),
        (secured(windowsOptions={"hostProcess": True}),
         'hostProcess (container "c" must not set '
         "securityContext.windowsOptions.hostProcess=true)"),
        ({**secured(appArmorProfile={"type": "Unconfined"}),
          "notes": {"container.apparmor.security.beta.kubernetes.io/c": "unconfined"}},
         'forbidden AppArmor profiles (container "c" and annotation must not set AppArmor profile '
         'type to "Unconfined", '
         '"container.apparmor.security.beta.kubernetes.io/c="unconfined"")'),
    ],
)  # fmt: skip
def test_baseline_names_what_leads_out_of_a_container(broken: Any, text: str) -> None:
    assert said(**broken) == text


@pytest.mark.parametrize(
    ("broken", "text"),
    [
        ({"pod": {**secured(**POD_HARDENED), "volumes": [{"name": "v", "nfs": {}},
                                                         {"name": "w", "sometime": {}},
                                                         {"name": "x", "image": {}}]}},
         'restricted volume types (volumes "v", "w" use restricted volume types "nfs", "unknown")'),
        ({**secured(**HARDENED, runAsNonRoot=False),
          "pod": secured(**{**POD_HARDENED, "runAsNonRoot": False})},
         'runAsNonRoot != true (pod and container "c" must not set '
         "securityContext.runAsNonRoot=false)"),
        ({"pod": secured(**POD_HARDENED, runAsUser=0)},
         "runAsUser=0 (pod must not set runAsUser=0)"),
        (secured(allowPrivilegeEscalation=False, capabilities={"add": ["CHOWN"]}),
         'unrestricted capabilities (container "c" must set '
         'securityContext.capabilities.drop=["ALL"]; container "c" must not include "CHOWN" in '
         "securityContext.capabilities.add)"),
    ],
)  # fmt: skip
def test_restricted_wants_pods_hardened(broken: Any, text: str) -> None:
    wanted = {"pod": secured(**POD_HARDENED), **secured(**HARDENED)}

    assert said(RESTRICTED, **{**wanted, **broken}) == text


RESERVED = {"pod": secured(sysctls=[{"name": "net.ipv4.ip_local_reserved_ports"}])}
IDLE = {"pod": secured(sysctls=[{"name": "net.ipv4.tcp_slow_start_after_idle"},
                                {"name": "net.ipv4.tcp_notsent_lowat"}])}  # fmt: skip
WINDOWS = {"pod": {**secured(runAsNonRoot=True), "os": {"name": "windows"}}}


@pytest.mark.parametrize(
    ("level", "version", "broken", "is_refused"),
    [
        (BASELINE, "v1.33", {"startupProbe": {"httpGet": {"host": "h"}}}, False),
        (BASELINE, "v1.34", {"startupProbe": {"httpGet": {"host": "h"}}}, True),
        (BASELINE, "v1.26", RESERVED, True),
        (BASELINE, "v1.27", RESERVED, False),
        (BASELINE, "v1.36", IDLE, True),
        (BASELINE, "v1.37", IDLE, False),
        (BASELINE, "v1.30", secured(seLinuxOptions={"type": "container_engine_t"}), True),
        (BASELINE, "v1.31", secured(seLinuxOptions={"type": "container_engine_t"}), False),
        (BASELINE, "v1.18", secured(seccompProfile={"type": "Unconfined"}), False),
        (BASELINE, "v1.18", {"notes": {"seccomp.security.alpha.kubernetes.io/pod": "x"}}, True),
        (BASELINE, "v1.34", {"pod": {"hostUsers": False}, **secured(procMount="Unmasked")}, True),
        (BASELINE, "v1.35", {"pod": {"hostUsers": False}, **secured(procMount="Unmasked")}, False),
        (RESTRICTED, "v1.7", {"pod": secured(runAsNonRoot=True)}, False),
        (RESTRICTED, "v1.8", {"pod": secured(runAsNonRoot=True)}, True),
        (RESTRICTED, "v1.24", WINDOWS, True),
        (RESTRICTED, "v1.25", WINDOWS, False),
        (RESTRICTED, "v1.99", WINDOWS, False),
    ],
)  # fmt: skip
def test_versions_ask_what_they_asked_when_they_came_out(
    level: str, version: str, broken: Any, is_refused: bool
) -> None:
    assert bool(said(level, version, **broken)) == is_refused


def test_what_is_enforced_is_warned_of_unless_a_label_says_otherwise() -> None:
    enforced = {f"{PREFIX}enforce": "restricted", f"{PREFIX}enforce-version": "v1.25"}

    alone = read_policy(enforced, Reading(SecurityPolicy())).policy
    apart = read_policy({**enforced, f"{PREFIX}warn": "baseline"}, Reading(SecurityPolicy())).policy

    assert str(alone.warn) == str(alone.audit) == "restricted:v1.25"
    assert (str(apart.warn), str(apart.audit)) == ("baseline:latest", "restricted:v1.25")


def test_a_level_that_nobody_understands_is_enforced_as_the_strictest() -> None:
    read = read_policy(
        {f"{PREFIX}enforce": "strict", f"{PREFIX}warn": "x"}, Reading(SecurityPolicy())
    )

    assert (str(read.policy.enforce), str(read.policy.warn)) == (
        "restricted:latest",
        "privileged:latest",
    )
    assert [error.field for error in read.errors] == [
        f"metadata.labels[{PREFIX}enforce]",
        f"metadata.labels[{PREFIX}warn]",
    ]


@given(
    st.dictionaries(
        st.sampled_from([f"{PREFIX}{mode}" for mode in ("enforce", "audit", "warn")]),
        st.sampled_from(LEVELS),
    )
)
def test_nothing_is_enforced_silently(labels: dict[str, str]) -> None:
    policy = read_policy(labels, Reading(SecurityPolicy())).policy

    order = LEVELS.index
    if f"{PREFIX}warn" not in labels:
        assert order(policy.warn.level) == order(policy.enforce.level)
    assert policy.allows_everything == all(level == LEVELS[0] for level in labels.values())


def test_only_updates_that_change_images_or_containers_are_validated_again() -> None:
    def pod(image: str = "i", **more: Any) -> dict[str, Any]:
        return {"metadata": {}, "spec": {"containers": [{"name": "c", "image": image}], **more}}

    debugged = pod(ephemeralContainers=[{"name": "d", "image": "i"}])

    assert not is_significant(pod(activeDeadlineSeconds=5), pod())
    assert is_significant(pod("other"), pod())
    assert is_significant(debugged, pod())
    assert not is_significant(debugged, debugged)


def test_pods_that_break_the_same_are_counted_together() -> None:
    found = {"privileged": ["b", "a", "c"], "hostPort": ["x", "w"], "host namespaces": ["n"]}

    assert list(pod_warnings("ns", LevelVersion(BASELINE, "v1.30"), found)) == [
        'existing pods in namespace "ns" violate the new PodSecurity enforce level '
        '"baseline:v1.30"',
        "a (and 2 other pods): privileged",
        "n: host namespaces",
        "w (and 1 other pod): hostPort",
    ]


def test_a_configuration_says_what_holds_without_labels_and_who_is_exempt() -> None:
    text = b"""
apiVersion: pod-security.admission.config.k8s.io/v1
kind: PodSecurityConfiguration
defaults: {enforce: baseline, enforce-version: v1.30}
exemptions: {usernames: [ci], namespaces: [kube-system], runtimeClasses: [kata]}
"""
    found = parse_pod_security(text)

    assert str(found.unlabelled.policy.enforce) == "baseline:v1.30"
    assert found.exemption("kube-system", "") == "namespace"
    assert found.exemption("default", "ci") == "user"
    assert found.exemption("default", "anna") == ""


@pytest.mark.parametrize(
    ("part", "why"),
    [
        ("defaults: {enforce: strict}", "defaults.enforce: Invalid value"),
        ("defaults: {warn-version: v2}", "defaults.warn-version: Invalid value"),
        ("defaults: {level: x}", 'unknown field "defaults.level"'),
        ("exemptions: {namespaces: [a, a]}", "exemptions.namespaces[1]: Duplicate value"),
        ("exemptions: {usernames: ['']}", "exemptions.usernames[0]: Required value"),
    ],
)
def test_a_configuration_that_is_wrong_names_the_field(part: str, why: str) -> None:
    head = "apiVersion: pod-security.admission.config.k8s.io/v1\nkind: PodSecurityConfiguration\n"

    with pytest.raises(ConfigFileInvalid) as caught:
        parse_pod_security(f"{head}{part}\n".encode())

    assert why in str(caught.value)
