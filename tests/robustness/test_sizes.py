"""No object is stored that is larger than etcd takes, whatever way it grew."""

from __future__ import annotations

import json

from proreus.server.app import ApiServer
from proreus.server.storage.interface import VALUE_BYTES_MAX
from tests.robustness.custom import APPLY, JSON_PATCH, MERGE, WIDGETS, create, define, widget
from tests.robustness.wire import CONFIG_MAPS, Answer, ask, assert_alive, config_map, names

TEXT = {"type": "string"}
TEXTS = {"type": "array", "items": TEXT}
MANY = {"type": "object", "additionalProperties": TEXT}
MEGABYTE = "x" * 1_000_000


def assert_too_large(answer: Answer) -> None:
    assert answer.code == 500, answer
    assert answer.json == {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": "etcdserver: request is too large",
        "code": 500,
    }


async def test_an_object_that_is_too_large_is_refused_as_by_kubernetes(server: ApiServer) -> None:
    await define(server, a=TEXT, b=TEXT)

    assert_too_large(await create(server, "a", a=MEGABYTE, b=MEGABYTE))
    assert await names(server, WIDGETS) == []
    assert (await create(server, "a", a=MEGABYTE)).code == 201


async def test_patches_do_not_let_an_object_grow_without_end(server: ApiServer) -> None:
    await define(server, m=MANY, l=TEXTS)
    assert (await create(server, "a", m={"first": MEGABYTE}, l=["y" * 400_000])).code == 201
    one = f"{WIDGETS}/a"
    merged = json.dumps({"spec": {"m": {"second": MEGABYTE}}}).encode()
    copied = json.dumps([{"op": "copy", "from": "/spec/l/0", "path": "/spec/l/-"}] * 2).encode()
    whole = widget("a", m={"third": MEGABYTE})

    assert_too_large(await ask(server, "PATCH", one, merged, MERGE))
    assert_too_large(await ask(server, "PATCH", one, copied, JSON_PATCH))
    assert_too_large(await ask(server, "PATCH", f"{one}?fieldManager=b", whole, APPLY))
    kept = (await ask(server, "GET", one)).json
    assert list(kept["spec"]["m"]) == ["first"]
    assert len(kept["spec"]["l"]) == 1


async def test_metadata_counts_as_well(server: ApiServer) -> None:
    owner = {"apiVersion": "v1", "kind": "Pod", "uid": "u", "name": "n" * 900_000}
    obj = json.loads(config_map("a", x="x" * 900_000))
    obj["metadata"]["ownerReferences"] = [owner]

    assert_too_large(await ask(server, "POST", CONFIG_MAPS, json.dumps(obj).encode()))


async def test_an_object_that_fits_without_its_managed_fields_is_stored_without_them(
    server: ApiServer,
) -> None:
    await define(server, m=MANY)
    keys = {f"{number:06}" + "k" * 90: "v" for number in range(10_000)}
    large = widget("a", m=keys)
    assert len(large) < VALUE_BYTES_MAX < 2 * len(large)  # every key is owned, and named there

    created = await ask(server, "POST", WIDGETS, large)
    applied = await ask(server, "PATCH", f"{WIDGETS}/b?fieldManager=b", widget("b", m=keys), APPLY)

    assert created.code == 201, created
    assert "managedFields" not in created.json["metadata"]
    assert_too_large(applied)  # who applies must own


async def test_defaults_that_multiply_are_not_filled_in(server: ApiServer) -> None:
    item = {"type": "object", "properties": {"d": {**TEXT, "default": "d" * 50_000}}}
    nested = {"type": "array", "items": item}
    await define(server, l=nested, m={"type": "object", "additionalProperties": item})

    assert_too_large(await create(server, "a", l=[{}] * 20_000))
    assert_too_large(await create(server, "b", m={str(number): {} for number in range(20_000)}))
    assert (await create(server, "c", l=[{}] * 20)).code == 201
    grown = json.dumps({"spec": {"l": [{}] * 20_000}}).encode()
    assert_too_large(await ask(server, "PATCH", f"{WIDGETS}/c", grown, MERGE))
    assert_too_large(await ask(server, "PUT", f"{WIDGETS}/c", widget("c", l=[{}] * 20_000)))
    assert await names(server, WIDGETS) == ["c"]
    await assert_alive(server)
