"""What simulated containers do by their commands, and what keeps them from starting."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from proreus.api.object import KubeObject
from proreus.cluster.kubelet.runtimes.pod_spec.references import Reference
from proreus.cluster.kubelet.runtimes.simulated.log import SimulatedLog
from proreus.cluster.kubelet.runtimes.simulated.plan import read_plan
from proreus.cluster.kubelet.runtimes.simulated.pod import report
from proreus.cluster.kubelet.runtimes.simulated.requirements import Missing, requirements_of
from proreus.cluster.kubelet.runtimes.simulated.state import SimulatedPod, StartBlockers
from proreus.cluster.kubelet.runtimes.states import Running, Terminated, Waiting
from proreus.cluster.kubelet.runtimes.streams import LogOptions

BEGUN = 1_000_000.0


def pod(*containers: dict[str, Any], annotations: dict[str, str] | None = None, **spec: Any) -> Any:
    named = [{"name": "c", "image": "i", **content} for content in containers or ({},)]
    metadata = {"name": "p", "namespace": "d", "uid": "u", "annotations": annotations or {}}
    return KubeObject.from_dict({"metadata": metadata, "spec": {"containers": named, **spec}})


def shell(script: str, **more: Any) -> dict[str, Any]:
    return {"command": ["sh", "-c", script], **more}


def simulate(described: KubeObject, *missing: str) -> SimulatedPod:
    return SimulatedPod(read_plan(described, missing), BEGUN)


def waits(simulated: SimulatedPod, seconds: float, hold: StartBlockers | None = None) -> str:
    """The reason why the first container does; empty if it does not."""
    simulated.advance(BEGUN + seconds, hold)
    state = simulated.containers[0].state
    return state.reason if isinstance(state, Waiting) else ""


def test_a_container_ends_as_its_command_says() -> None:
    simulated = simulate(pod(shell("sleep 3; exit 4"), restartPolicy="Never"))

    simulated.advance(BEGUN + 2.9)
    assert simulated.phase == "Running"
    simulated.advance(BEGUN + 3)

    assert simulated.phase == "Failed"
    assert simulated.containers[0].state == Terminated(4, BEGUN, BEGUN + 3)


@pytest.mark.parametrize(
    ("policy", "script", "phase"),
    [("OnFailure", "false", "Running"), ("OnFailure", "true", "Succeeded")],
)
def test_commands_obey_the_restart_policy(policy: str, script: str, phase: str) -> None:
    simulated = simulate(pod(shell(script), restartPolicy=policy))

    simulated.advance(BEGUN)

    assert simulated.phase == phase


def test_an_init_container_whose_command_fails_fails_the_pod() -> None:
    init = [{"name": "first", "image": "i", **shell("sleep 1; exit 1")}]
    simulated = simulate(pod(restartPolicy="Never", initContainers=init))

    simulated.advance(BEGUN + 1)

    assert simulated.phase == "Failed"


def test_variables_of_the_pod_reach_the_command() -> None:
    path = "metadata.annotations['batch.kubernetes.io/job-completion-index']"
    index = {"name": "INDEX", "valueFrom": {"fieldRef": {"fieldPath": path}}}
    described = pod(
        shell("test $INDEX -eq 1 && exit $(CODE)", env=[index, {"name": "CODE", "value": "42"}]),
        annotations={"batch.kubernetes.io/job-completion-index": "1"},
    )

    assert read_plan(described).containers[0].exit_code == 42


def test_annotations_win_over_commands_and_unknown_commands_change_nothing() -> None:
    annotations = {"proreus.dev/exit-after": "never"}

    assert (
        read_plan(pod(shell("exit 1"), annotations=annotations)).containers[0].exit_after_s is None
    )
    assert read_plan(pod({"command": ["nginx"]})).containers[0].exit_after_s is None
    assert read_plan(pod({"args": ["sleep", "7"]})).containers[0].exit_after_s == 7


def test_the_log_is_what_the_command_prints_by_then() -> None:
    plan = read_plan(pod(shell("echo one; sleep 5; echo two >&2; sleep 5; echo three")))
    log = SimulatedLog(plan.containers[0], LogOptions())
    running = Running(BEGUN)

    assert log.next_piece(running, BEGUN) == b"one\n"
    assert log.next_piece(running, BEGUN + 4) == b""
    assert log.next_piece(running, BEGUN + 20) == b"two\nthree\n"
    cut = Terminated(137, BEGUN, BEGUN + 7)
    for options, said in (
        (LogOptions(), b"one\ntwo\n"),
        (LogOptions(stream="Stderr"), b"two\n"),
        (LogOptions(tail_lines=1), b"two\n"),
        (LogOptions(limit_bytes=2), b"on"),
        (LogOptions(since=BEGUN + 1), b"two\n"),
    ):
        assert SimulatedLog(plan.containers[0], options).next_piece(cut, BEGUN + 50) == said


@pytest.mark.parametrize("by_annotation", [False, True])
def test_a_missing_image_is_pulled_again_ever_more_rarely_until_it_is_there(
    by_annotation: bool,
) -> None:
    annotations = {"proreus.dev/missing-image": "other, i*"} if by_annotation else {}
    simulated = simulate(pod(annotations=annotations), *(() if by_annotation else ("i?", "?")))

    seen = [(at, waits(simulated, at)) for at in (0, 1.9, 2, 9.9, 10, 12, 29.9, 30, 32, 70)]

    failed, backing_off = "ErrImagePull", "ImagePullBackOff"
    assert seen == [
        (0, failed), (1.9, failed), (2, backing_off), (9.9, backing_off), (10, failed),
        (12, backing_off), (29.9, backing_off), (30, failed), (32, backing_off), (70, failed),
    ]  # fmt: skip
    assert simulated.phase == "Pending"
    simulated.update(read_plan(pod()))
    assert waits(simulated, 75) == ""
    assert simulated.containers[0].state == Running(BEGUN + 75)


def test_an_image_whose_tag_says_that_there_is_none_is_not_pulled_until_another_is_named() -> None:
    simulated = simulate(pod({"image": "web:404"}))

    assert waits(simulated, 0) == "ErrImagePull"
    simulated.update(read_plan(pod({"image": "web:2"})))
    assert waits(simulated, 5) == ""


def test_an_image_that_is_never_pulled_is_waited_for() -> None:
    simulated = simulate(pod({"imagePullPolicy": "Never"}), "i")

    assert waits(simulated, 0) == "ErrImageNeverPull"
    assert simulated.next_due(BEGUN) is None
    simulated.update(read_plan(pod({"imagePullPolicy": "Never"})))
    assert waits(simulated, 5) == ""


def test_a_pod_without_its_volumes_waits_and_starts_when_they_are_there() -> None:
    simulated = simulate(pod())

    assert waits(simulated, 0, StartBlockers(blocks_pod=True)) == "ContainerCreating"
    assert waits(simulated, 60, StartBlockers(blocks_pod=True)) == "ContainerCreating"
    assert waits(simulated, 61) == ""
    assert simulated.containers[0].state == Running(BEGUN + 61)


def test_a_container_without_its_variables_waits_alone() -> None:
    simulated = simulate(pod({}, {"name": "other"}))

    assert (
        waits(simulated, 0, StartBlockers(problems={"c": "gone"})) == "CreateContainerConfigError"
    )
    assert isinstance(simulated.containers[1].state, Running)
    assert simulated.phase == "Pending"
    assert waits(simulated, 9) == ""
    assert simulated.phase == "Running"


def missing(described: KubeObject, **objects: dict[str, Any]) -> Missing:
    """Objects by kind; all are called x."""
    needs = requirements_of(described)
    assert needs is not None
    found = {
        Reference(kind, "x"): KubeObject.from_dict({"metadata": {"name": "x"}, **content})  # type: ignore[arg-type]  # by name
        for kind, content in objects.items()
    }
    return needs.missing(found)


def volume(**kind: Any) -> KubeObject:
    described: KubeObject = pod(volumes=[{"name": "v", **kind}])
    return described


CONFIG, SECRET = {"data": {"key": "v"}}, {"data": {"key": base64.b64encode(b"v").decode()}}
PREFIX = 'MountVolume.SetUp failed for volume "v" : '
ITEM = [{"key": "other", "path": "p"}]


def projected(**source: Any) -> KubeObject:
    return volume(projected={"sources": [source]})


@pytest.mark.parametrize(
    ("described", "objects", "said"),
    [
        (volume(configMap={"name": "x"}), {}, 'configmap "x" not found'),
        (volume(configMap={"name": "x", "optional": True}), {}, ""),
        (volume(configMap={"name": "x"}), {"configmap": CONFIG}, ""),
        (
            volume(configMap={"name": "x", "items": ITEM}),
            {"configmap": CONFIG},
            "references non-existent key: other",
        ),
        (volume(secret={"secretName": "x"}), {}, 'secret "x" not found'),
        (volume(secret={"secretName": "x"}), {"secret": SECRET}, ""),
        (projected(secret={"name": "x"}), {}, 'secret "x" not found'),
        (projected(configMap={"name": "x"}), {"configmap": CONFIG}, ""),
        (projected(serviceAccountToken={"path": "token"}), {}, ""),
        (
            projected(clusterTrustBundle={"name": "x", "path": "p"}),
            {},
            'clustertrustbundle.certificates.k8s.io "x" not found',
        ),
        (
            projected(clusterTrustBundle={"signerName": "a.b/c", "path": "p", "labelSelector": {}}),
            {},
            "combination of signerName and labelSelector matched zero ClusterTrustBundles",
        ),
        (projected(clusterTrustBundle={"name": "x", "path": "p", "optional": True}), {}, ""),
        (projected(clusterTrustBundle={"name": "x", "path": "p"}), {"clustertrustbundle": {}}, ""),
        (projected(podCertificate={"signerName": "example.com/s", "keyPath": "k"}), {}, ""),
        (volume(emptyDir={}), {}, ""),
        (volume(nfs={"server": "s"}), {}, ""),
    ],
)
def test_volumes_need_what_they_are_made_of(
    described: KubeObject, objects: dict[str, Any], said: str
) -> None:
    assert missing(described, **objects).mount == (PREFIX + said if said else "")


@pytest.mark.parametrize(
    ("content", "objects", "said"),
    [
        ({"envFrom": [{"configMapRef": {"name": "x"}}]}, {}, 'configmap "x" not found'),
        ({"envFrom": [{"secretRef": {"name": "x", "optional": True}}]}, {}, None),
        ({"envFrom": [{"secretRef": {"name": "x"}}]}, {"secret": SECRET}, None),
        (
            {"env": [{"name": "V", "valueFrom": {"configMapKeyRef": {"name": "x", "key": "k"}}}]},
            {"configmap": CONFIG},
            "couldn't find key k in ConfigMap d/x",
        ),
        (
            {"env": [{"name": "V", "valueFrom": {"secretKeyRef": {"name": "x", "key": "key"}}}]},
            {"secret": SECRET},
            None,
        ),
    ],
)
def test_variables_need_what_they_are_taken_from(
    content: dict[str, Any], objects: dict[str, Any], said: str | None
) -> None:
    assert missing(pod(content), **objects).problems.get("c") == said


def test_a_pod_that_refers_to_nothing_needs_nothing() -> None:
    assert requirements_of(pod()) is None
    needs = requirements_of(volume(configMap={"name": "x"}))
    assert needs is not None
    assert needs.references == {Reference("configmap", "x")}


def test_annotations_that_cannot_be_read_are_named() -> None:
    annotations = {
        "proreus.dev/start-delay": "soon",
        "proreus.dev/exits": "many",
        "proreus.dev/exit-afer": "5s",
        "c.proreus.dev/exit-code": "1",
        "nobody.proreus.dev/exit-code": "1",
        "notproreus.dev/exit-code": "x",
        "example.com/proreus.dev": "x",
    }

    assert sorted(read_plan(pod(annotations=annotations)).faults) == [
        "annotation nobody.proreus.dev/exit-code: there is no container nobody",
        "annotation proreus.dev/exit-afer is not known",
        'annotation proreus.dev/exits: "many" is not a number',
        'annotation proreus.dev/start-delay: "soon" is not a duration such as 5s',
    ]


def test_a_pod_that_is_active_for_too_long_has_failed() -> None:
    described = pod(
        annotations={"proreus.dev/stop-after": "1s"},
        activeDeadlineSeconds=5,
        terminationGracePeriodSeconds=2,
    )
    simulated = simulate(described)

    simulated.advance(BEGUN)
    assert simulated.next_due(BEGUN) == BEGUN + 5
    simulated.advance(BEGUN + 5)
    assert simulated.phase == "Running"
    simulated.advance(BEGUN + 6)

    said = report(described, simulated, BEGUN + 6)
    assert (said.phase, said.reason) == ("Failed", "DeadlineExceeded")


def test_a_pod_that_ended_in_time_has_not_failed() -> None:
    simulated = simulate(pod(shell("sleep 1"), activeDeadlineSeconds=5, restartPolicy="Never"))

    simulated.advance(BEGUN + 10)

    assert (simulated.phase, simulated.has_exceeded_deadline) == ("Succeeded", False)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("here", None),
        ("/there", "error SubPath `/there` must not be an absolute path"),
        ("..", "unable to provision SubPath `..`: must not contain '..'"),
        (None, "missing value for NAME in subPathExpr $(NAME)"),
    ],
)
def test_a_mount_shows_a_part_of_its_own_volume(value: str | None, said: str | None) -> None:
    mount = {"name": "v", "mountPath": "/m", "subPathExpr": "$(NAME)"}
    env = [{"name": "NAME", "value": value}] if value is not None else []
    described = pod({"volumeMounts": [mount], "env": env}, volumes=[{"name": "v", "emptyDir": {}}])

    assert missing(described).problems.get("c") == said
