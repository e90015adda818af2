"""However much of a body is wrong, refusing it costs little, and nobody else waits for it."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest

from proreus.api.field_error import FAULTS_MAX, FieldError
from proreus.server.app import ApiServer
from proreus.server.http.body_syntax import is_long
from proreus.server.http.negotiation import SERVED, BodyMedia
from proreus.server.kinds.core.pod.status import validate_status
from proreus.server.kinds.parts.pod_template.warnings import pod_spec_warnings
from proreus.server.registry import metadata, metadata_rules
from tests.growth import grows_with_its_square
from tests.robustness.wire import CONFIG_MAPS, ask, assert_alive, names
from tests.unit.server.kinds.creating import CONTAINER, errors

PODS = "/api/v1/namespaces/default/pods"
STRICT = "?fieldValidation=Strict"
MANY = 20_000


def wrong_metadata(**fields: Any) -> bytes:
    return json.dumps({"metadata": {"name": "a", **fields}}).encode()


def wrong_pod(**fields: Any) -> bytes:
    spec = {"containers": [{"name": "c", "image": "i"}], **fields}
    return json.dumps({"metadata": {"name": "a"}, "spec": spec}).encode()


CONTROLLER = {"apiVersion": "v1", "kind": "Pod", "uid": "u", "controller": True}
FAULTS = {
    "labels": (CONFIG_MAPS, wrong_metadata(labels={f"/{n}": "/" for n in range(MANY)})),
    "annotations": (CONFIG_MAPS, wrong_metadata(annotations={f"/{n}": "" for n in range(MANY)})),
    "finalizers": (CONFIG_MAPS, wrong_metadata(finalizers=[f"/{n}" for n in range(MANY)])),
    "owners": (CONFIG_MAPS, wrong_metadata(ownerReferences=[{"uid": str(n)} for n in range(MANY)])),
    "keys": (
        CONFIG_MAPS,
        json.dumps(
            {"metadata": {"name": "a"}, "data": {f"/{n}": "" for n in range(MANY)}}
        ).encode(),
    ),
    "containers": (PODS, wrong_pod(containers=[{}] * MANY)),
    "volumes": (PODS, wrong_pod(volumes=[{}] * MANY)),
    "tolerations": (PODS, wrong_pod(tolerations=[{"operator": "x"}] * MANY)),
}


@pytest.mark.parametrize("what", FAULTS)
async def test_of_very_many_faults_the_first_are_reported(server: ApiServer, what: str) -> None:
    path, body = FAULTS[what]

    answer = await ask(server, "POST", path, body)

    assert (answer.code, answer.reason) == (422, "Invalid")
    assert len(answer.json["details"]["causes"]) == FAULTS_MAX
    assert answer.message.endswith("and more]")
    assert await names(server, path) == []
    await assert_alive(server)


async def test_faults_that_quote_everything_are_reported_once_or_twice(server: ApiServer) -> None:
    """Each would quote all owners: 20,000 times two megabytes."""
    owners = [{**CONTROLLER, "name": str(n), "uid": str(n)} for n in range(20_000)]

    answer = await ask(server, "POST", CONFIG_MAPS, wrong_metadata(ownerReferences=owners))

    assert (answer.code, answer.reason) == (422, "Invalid")
    assert len(answer.body) < 10 * 3 * 1024 * 1024


UNKNOWN = [f'"x{n}":1' for n in range(MANY)]
DOUBLED = [f'"x{n}":1,"x{n}":1' for n in range(MANY)]


@pytest.mark.parametrize("fields", [UNKNOWN, DOUBLED], ids=["unknown", "doubled"])
async def test_of_very_many_strange_fields_the_first_are_reported(
    server: ApiServer, fields: list[str]
) -> None:
    body = ('{"metadata":{"name":"a"},' + ",".join(fields) + "}").encode()

    refused = await ask(server, "POST", CONFIG_MAPS + STRICT, body)
    taken = await ask(server, "POST", CONFIG_MAPS, body)

    assert (refused.code, refused.reason) == (400, "BadRequest")
    assert refused.message.endswith(", and more")
    assert refused.message.count(' field "') == FAULTS_MAX
    assert taken.code == 201
    assert ' field \\"x' in taken.headers["warning"]


async def test_as_many_faults_as_are_reported_are_listed_without_a_last_word(
    server: ApiServer,
) -> None:
    fields = ",".join(UNKNOWN[:FAULTS_MAX])
    body = ('{"metadata":{"name":"a"},' + fields + "}").encode()

    answer = await ask(server, "POST", CONFIG_MAPS + STRICT, body)

    assert answer.message.endswith(f'unknown field "x{FAULTS_MAX - 1}"')


async def test_a_long_object_is_validated_beside_the_loop(
    server: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []
    violations = metadata_rules.violations

    def watched(*args: Any) -> list[FieldError]:
        threads.append(threading.current_thread())
        return violations(*args)

    monkeypatch.setattr(metadata_rules, "violations", watched)
    for size in (1, 30_000):
        labels = {f"k{n}": "v" for n in range(size)}
        body = json.dumps({"metadata": {"generateName": "a", "labels": labels}}).encode()
        assert (await ask(server, "POST", CONFIG_MAPS, body)).code == 201

    assert [thread is threading.main_thread() for thread in threads] == [True, False]


@pytest.mark.parametrize("media", SERVED)
def test_three_megabytes_are_parsed_beside_the_loop(media: BodyMedia) -> None:
    assert is_long(bytes(3 * 1024 * 1024), media)


def test_pods_with_many_spread_constraints_are_validated_in_linear_time() -> None:
    def validate(size: int) -> None:
        constraint = {"maxSkew": 1, "whenUnsatisfiable": "DoNotSchedule"}
        spread = [{**constraint, "topologyKey": f"k{n}"} for n in range(size)]
        spec = {"containers": [CONTAINER], "topologySpreadConstraints": spread}
        assert errors("v1", "Pod", spec=spec) == []

    assert not grows_with_its_square(validate, 500)


def test_duplicate_owners_are_found_in_linear_time() -> None:
    def find(size: int) -> None:
        owners = [{"uid": str(n)} for n in range(size)] * 2
        obj = {"metadata": {"ownerReferences": owners}}
        assert len(metadata.unique_owner_references(obj)) == size

    assert not grows_with_its_square(find, 500)


@pytest.mark.parametrize("is_repeated", [True, False])
def test_pods_with_many_ports_of_one_number_are_warned_of_in_linear_time(
    *, is_repeated: bool
) -> None:
    def warned(count: int) -> list[str]:
        ports = [{"containerPort": 80, "hostPort": 1 if is_repeated else n} for n in range(count)]
        return pod_spec_warnings({"containers": [{**CONTAINER, "ports": ports}]}, "spec")

    assert not grows_with_its_square(warned, 300)
    assert len(warned(2000)) <= FAULTS_MAX


def test_many_addresses_of_a_pod_are_validated_in_linear_time() -> None:
    def validated(count: int) -> list[FieldError]:
        addresses = [{"ip": f"10.{n >> 16}.{n >> 8 & 255}.{n & 255}"} for n in range(count)]
        pod = {"metadata": {}, "spec": {}, "status": {"podIP": "10.0.0.0", "podIPs": addresses}}
        return validate_status(pod, {"metadata": {}, "spec": {}, "status": {}})

    assert not grows_with_its_square(validated, 500)
