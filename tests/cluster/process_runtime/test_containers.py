"""Containers are processes: they start in order, crash, are restarted and end as their pod says."""

from __future__ import annotations

import asyncio
import os
from typing import Any

import pytest

from tests.cluster.process_runtime.conftest import Stage, shell, state
from tests.processes import wait_gone


async def test_a_container_runs_to_its_end_and_its_last_words_are_kept(stage: Stage) -> None:
    script = 'echo out; echo err >&2; echo "because" > $PROREUS_TERMINATION_LOG; exit 3'
    await stage.run("once", shell(script), restartPolicy="Never")

    pod = await stage.phase("once", "Failed")

    ended = state(pod).state.terminated
    assert (ended.exitCode, ended.reason, ended.message) == (3, "Error", "because\n")
    assert state(pod).containerID.startswith("process://")
    assert ended.containerID == state(pod).containerID
    assert sorted((await stage.logs("once")).split()) == ["err", "out"]
    conditions = {c.type: c.status for c in pod.status.conditions}
    assert conditions["Ready"] == conditions["PodReadyToStartContainers"] == "False"


async def test_the_end_of_the_log_can_stand_for_last_words(stage: Stage) -> None:
    container = shell("echo doomed; exit 1", terminationMessagePolicy="FallbackToLogsOnError")
    await stage.run("once", container, restartPolicy="Never")

    pod = await stage.phase("once", "Failed")

    assert state(pod).state.terminated.message == "doomed\n"


async def test_a_container_killed_by_a_signal_says_which(stage: Stage) -> None:
    await stage.run("hurt", shell("kill -SEGV $$$$"), restartPolicy="Never")

    pod = await stage.phase("hurt", "Failed")

    assert state(pod).state.terminated.exitCode == 128 + 11


async def test_init_containers_run_in_order_and_share_volumes_with_the_rest(stage: Stage) -> None:
    mount = {"volumeMounts": [{"name": "shared", "mountPath": "/shared"}], "image": "none"}
    init = [
        {"name": "first", **shell("echo one > shared/log", **mount)},
        {"name": "second", **shell("echo two >> $PROREUS_ROOT/shared/log", **mount)},
    ]
    volumes = [{"name": "shared", "emptyDir": {}}]

    await stage.run(
        "ordered", shell("cat shared/log", **mount),
        initContainers=init, volumes=volumes, restartPolicy="Never",
    )  # fmt: skip
    pod = await stage.phase("ordered", "Succeeded")

    assert await stage.logs("ordered", "c1") == "one\ntwo\n"
    assert all(status.ready for status in pod.status.initContainerStatuses)
    assert {c.type: c.status for c in pod.status.conditions}["Initialized"] == "True"


async def test_a_sidecar_runs_beside_the_work_and_is_ended_after_it(stage: Stage) -> None:
    sidecar = {
        "name": "side",
        "image": "none",
        "restartPolicy": "Always",
        "command": [
            "sh",
            "-c",
            "trap 'echo ending; exit 0' TERM; echo up; touch up; while :; do sleep 1; done",
        ],
        "startupProbe": {"exec": {"command": ["test", "-e", "up"]}, "periodSeconds": 1},
    }
    await stage.run("pair", shell("echo working"), initContainers=[sidecar], restartPolicy="Never")

    pod = await stage.phase("pair", "Succeeded")

    assert state(pod, "side").state.terminated.exitCode == 0
    assert (await stage.logs("pair", "side")).split() == ["up", "ending"]


async def test_a_crashing_container_backs_off_and_its_previous_log_is_kept(stage: Stage) -> None:
    await stage.run("loop", shell("echo life; exit 2"))

    def is_backing_off(pod: Any) -> bool:
        waiting = state(pod).state.waiting if pod.status.containerStatuses else None
        return waiting is not None and waiting.reason == "CrashLoopBackOff"

    pod = await stage.until("loop", is_backing_off)

    assert state(pod).restartCount == 1
    assert state(pod).lastState.terminated.exitCode == 2
    assert state(pod).state.waiting.message.startswith(
        "back-off 10s restarting failed container=c1"
    )
    assert pod.status.phase == "Running"
    assert await stage.logs("loop", previous=True) == "life\n"
    assert "Back-off restarting failed container c1" in await stage.saw("BackOff")


async def test_a_program_that_is_not_there_is_a_failed_start(stage: Stage) -> None:
    await stage.run("nothing", {"command": ["no-such-program"]}, restartPolicy="Never")

    pod = await stage.phase("nothing", "Failed")

    ended = state(pod).state.terminated
    assert (ended.exitCode, ended.reason) == (128, "StartError")
    assert ended.message == 'exec: "no-such-program": executable file not found in $PATH'


async def test_without_a_command_there_is_nothing_to_run(stage: Stage) -> None:
    await stage.run("image-only", {"image": "nginx"})

    def has_said_why(pod: Any) -> bool:
        waiting = state(pod).state.waiting if pod.status.containerStatuses else None
        return waiting is not None and waiting.reason == "ErrImageNeverPull"

    pod = await stage.until("image-only", has_said_why)

    assert "the process runtime has no images" in state(pod).state.waiting.message
    assert "the process runtime has no images" in await stage.saw("Failed")
    await stage.delete("image-only")


async def test_a_process_gets_its_grace_and_then_is_killed(stage: Stage) -> None:
    stubborn = "trap '' TERM; echo up; while :; do sleep 1; done"
    await stage.run("stubborn", shell(stubborn), terminationGracePeriodSeconds=1)
    await stage.ready("stubborn")
    await stage.wrote("stubborn", "up")
    pods = stage.client.core_v1.pods("default")
    seen: list[int] = []

    async with asyncio.timeout(60), pods.watch(field_selector="metadata.name=stubborn") as events:
        await pods.delete("stubborn")
        async for event in events:
            ended = event.object.status.containerStatuses if event.type != "BOOKMARK" else None
            if ended and ended[0].state.terminated:
                seen.append(ended[0].state.terminated.exitCode)
            if event.type == "DELETED":
                break

    assert seen[-1] == 137
    assert "Stopping container c1" in await stage.saw("Killing")


async def test_a_process_may_end_by_itself_within_its_grace(stage: Stage) -> None:
    polite = "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.1; done"
    await stage.run("polite", shell(polite), terminationGracePeriodSeconds=30)
    await stage.ready("polite")
    await stage.wrote("polite", "up")
    pods = stage.client.core_v1.pods("default")
    await pods.patch("polite", {"metadata": {"finalizers": ["example.com/look"]}})

    await pods.delete("polite")
    pod = await stage.phase("polite", "Succeeded")

    assert state(pod).state.terminated.exitCode == 0
    assert (await stage.logs("polite")).split() == ["up", "bye"]
    await pods.patch("polite", {"metadata": {"finalizers": None}})
    await pods.wait_deleted("polite", timeout_s=60)


async def test_everything_a_container_started_ends_with_it(stage: Stage) -> None:
    daemon = "(env -i setsid sleep 1000 >/dev/null 2>&1 & echo $!)"
    script = f"sleep 1000 & echo $!; setsid sleep 1000 & echo $!; {daemon}; echo done; wait"
    pod = await stage.run("tree", shell(script), terminationGracePeriodSeconds=1)
    await stage.ready("tree")
    async with stage.client.core_v1.pods("default").follow_logs("tree") as lines:
        said: list[str] = []
        async for line in lines:
            said.append(line)
            if line == "done":
                break

    await stage.delete("tree")

    assert len(said) == 4
    for pid in said[:3]:
        await wait_gone(int(pid))
    await stage.wait_cleared(pod)


async def test_a_pod_deleted_by_force_leaves_no_process(stage: Stage) -> None:
    script = "trap '' TERM; echo $$$$ > pid; touch ready; while :; do sleep 1; done"
    probe = {"exec": {"command": ["test", "-e", "ready"]}, "periodSeconds": 1}
    pod = await stage.run(
        "forced", shell(script, readinessProbe=probe), terminationGracePeriodSeconds=1
    )
    await stage.ready("forced")
    pid = int((stage.root(pod) / "pid").read_text())

    await stage.delete("forced", grace_s=0)

    await wait_gone(pid)


async def test_hooks_run_after_the_start_and_before_the_end(stage: Stage) -> None:
    lifecycle = {
        "postStart": {"exec": {"command": ["sh", "-c", "echo hello > began"]}},
        "preStop": {"exec": {"command": ["sh", "-c", "echo stopping > hook; cp hook began keep"]}},
    }
    mounts = [{"name": "keep", "mountPath": "/keep"}]
    pod = await stage.run(
        "hooked",
        shell("while :; do sleep 0.1; done", lifecycle=lifecycle, volumeMounts=mounts),
        volumes=[{"name": "keep", "emptyDir": {}}],
    )
    await stage.ready("hooked")
    pods = stage.client.core_v1.pods("default")
    await pods.patch("hooked", {"metadata": {"finalizers": ["example.com/look"]}})

    await pods.delete("hooked")
    await stage.phase("hooked", "Failed")  # a shell without a handler ends by the signal

    kept = stage.root(pod) / "keep"
    assert (kept / "began").read_text() == "hello\n"
    assert (kept / "hook").read_text() == "stopping\n"
    await pods.patch("hooked", {"metadata": {"finalizers": None}})


async def test_a_container_whose_first_hook_fails_is_killed(stage: Stage) -> None:
    hook = {"postStart": {"exec": {"command": ["sh", "-c", "echo no; exit 1"]}}}
    await stage.run("unhooked", shell("sleep 1000", lifecycle=hook), restartPolicy="Never")

    pod = await stage.phase("unhooked", "Failed")

    assert state(pod).state.terminated.exitCode == 143
    assert "PostStartHook failed: no" in await stage.saw("FailedPostStartHook")


async def test_a_pod_has_its_time_and_no_more(stage: Stage) -> None:
    await stage.run("brief", shell("echo up; exec sleep 1000"))
    await stage.ready("brief")
    await stage.wrote("brief", "up")  # or its time may be over before it has begun

    patch = {"spec": {"activeDeadlineSeconds": 1}}
    await stage.client.core_v1.pods("default").patch("brief", patch)

    pod = await stage.phase("brief", "Failed")

    assert pod.status.reason == "DeadlineExceeded"
    assert state(pod).state.terminated.exitCode == 143


async def test_a_pod_for_another_system_is_refused(stage: Stage) -> None:
    await stage.run("foreign", shell("true"), os={"name": "windows"})

    assert (await stage.phase("foreign", "Failed")).status.reason == "PodOSNotSupported"


@pytest.mark.parametrize("kind", ["liveness", "startup"])
async def test_a_container_that_fails_its_probe_is_restarted(stage: Stage, kind: str) -> None:
    # Answers once the container has decided: a startup probe that passes is not asked again.
    ask = "until test -e decided; do sleep 0.05; done; test ! -e sick"
    probe = {"exec": {"command": ["sh", "-c", ask]}, "periodSeconds": 1, "timeoutSeconds": 60}
    counted = {f"{kind}Probe": {**probe, "failureThreshold": 1}}
    mounts = [{"name": "keep", "mountPath": "/keep"}]
    decide = "test -e keep/again || touch sick keep/again; touch decided"
    script = f"{decide}; while :; do sleep 0.1; done"
    await stage.run(
        "sick", shell(script, **counted, volumeMounts=mounts),
        volumes=[{"name": "keep", "emptyDir": {}}],
    )  # fmt: skip

    pod = await stage.until("sick", lambda pod: bool(_restarts(pod) and state(pod).started))

    assert state(pod).restartCount == 1
    assert state(pod).lastState.terminated.exitCode == 143
    assert f"c1 failed {kind} probe, will be restarted" in await stage.saw("Killing")
    assert f"{kind.capitalize()} probe failed" in await stage.saw("Unhealthy")


def _restarts(pod: Any) -> int:
    return int(state(pod).restartCount) if pod.status.containerStatuses else 0


async def test_a_new_image_is_a_new_start(stage: Stage) -> None:
    await stage.run("changed", shell("while :; do sleep 0.1; done"))
    await stage.ready("changed")

    patch = {"spec": {"containers": [{"name": "c1", "image": "other"}]}}
    await stage.client.core_v1.pods("default").patch("changed", patch, type="strategic")
    pod = await stage.until("changed", lambda pod: bool(_restarts(pod) and state(pod).ready))

    assert state(pod).image == "other"
    assert "definition changed" in await stage.saw("Killing")


async def test_a_resize_is_complete_once_its_container_has_been_started_again(stage: Stage) -> None:
    held = "trap 'while [ ! -e open ]; do sleep 0.05; done; exit 0' TERM; "
    held += "echo up; while :; do sleep 0.05; done"
    sized = shell(
        held,
        resources={"requests": {"cpu": "10m"}},
        resizePolicy=[{"resourceName": "cpu", "restartPolicy": "RestartContainer"}],
    )
    pod = await stage.run("sized", sized, terminationGracePeriodSeconds=60)
    await stage.wrote("sized", "up")

    patch = {"spec": {"containers": [{"name": "c1", "resources": {"requests": {"cpu": "20m"}}}]}}
    pods = stage.client.core_v1.pods("default")
    await pods.patch("sized", patch, type="strategic", subresource="resize")
    await pods.wait_for("sized", "condition=PodResizeInProgress", timeout_s=60)
    assert '"cpu":"20m"' in await stage.saw("ResizeStarted")
    events = await stage.client.core_v1.events("default").list()
    early = [event.reason for event in events.items]
    (stage.root(pod) / "open").touch()
    done = await stage.until("sized", lambda pod: bool(_restarts(pod) and state(pod).ready))

    assert "ResizeCompleted" not in early
    assert "completed" in await stage.saw("ResizeCompleted")
    assert "PodResizeInProgress" not in [one.type for one in done.status.conditions]
    await stage.delete("sized", grace_s=0)


async def test_readiness_comes_and_goes_with_its_probe(stage: Stage) -> None:
    probe = {"exec": {"command": ["test", "-e", "open"]}, "periodSeconds": 1, "failureThreshold": 1}
    pod = await stage.run("door", shell("while :; do sleep 0.1; done", readinessProbe=probe))
    await stage.until("door", lambda pod: bool(pod.status.phase == "Running"))
    door = stage.root(pod) / "open"

    door.touch()
    await stage.ready("door")
    door.unlink()

    closed = await stage.client.core_v1.pods("default").wait_for(
        "door", "condition=Ready=False", timeout_s=60
    )
    assert closed is not None
    ready = next(c for c in closed.status.conditions or () if c.type == "Ready")
    assert ready.reason == "ContainersNotReady"
    assert state(closed).restartCount == 0


async def test_nothing_of_the_kubelets_environment_leaks(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBELET_SECRET", "s3cret")
    await stage.run("env", shell("env; pwd"), restartPolicy="Never")

    pod = await stage.phase("env", "Succeeded")

    said = await stage.logs("env")
    assert "s3cret" not in said
    assert f"PATH={os.environ['PATH']}\n" in said
    assert said.splitlines()[-1] == str(stage.root(pod))
    assert stage.root(pod).parent.stat().st_mode & 0o777 == 0o700


async def test_a_container_finds_the_services_of_its_namespace(stage: Stage) -> None:
    spec = {"clusterIP": "10.0.0.99", "ports": [{"port": 8765}]}
    services = stage.client.core_v1.services("default")
    await services.create({"metadata": {"name": "foo"}, "spec": spec})
    await stage.run("links", shell("echo $FOO_SERVICE_HOST $FOO_PORT"), restartPolicy="Never")
    await stage.run(
        "alone", shell("echo .$FOO_PORT"), restartPolicy="Never", enableServiceLinks=False
    )

    await stage.phase("links", "Succeeded")
    await stage.phase("alone", "Succeeded")

    assert await stage.logs("links") == "10.0.0.99 tcp://10.0.0.99:8765\n"
    assert await stage.logs("alone") == ".\n"
