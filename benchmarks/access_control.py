"""What a decision by roles costs, for a user with a hundred bindings, alone and in a GET."""

from __future__ import annotations

import asyncio
import timeit
from collections.abc import Callable
from contextlib import AsyncExitStack
from time import process_time

from benchmarks.report import Row
from proreus.api.wire import json
from proreus.server.app import ApiServer
from proreus.server.authz.authorizer import Action
from proreus.server.authz.rbac.authorizer import Rbac
from proreus.server.authz.rbac.bindings import Binding, Subject
from proreus.server.authz.rbac.rules import PolicyRule
from proreus.server.config import ServerConfig
from proreus.server.registry.user import User

_BINDINGS = 100
_GETS, _ROUNDS = 200, 60
_ANN = User("ann", ("devs", "ops", "system:authenticated"))


def run() -> list[Row]:
    rbac = _policy()
    last = f"r{_BINDINGS - 1}"

    def get(resource: str) -> Action:
        return Action(user=_ANN, verb="get", resource=resource, namespace="n", name="p")

    def change() -> None:
        rbac.put_role("", last, [_rule(last)])
        rbac.authorize(get(last))

    plain_us, checked_us = asyncio.run(_gets())
    return [
        Row("allowed everywhere", _us(lambda: rbac.authorize(get("r1"))), "µs", 5),
        Row("allowed in its namespace", _us(lambda: rbac.authorize(get("r0"))), "µs", 5),
        Row("refused", _us(lambda: rbac.authorize(get("secrets"))), "µs", 5),
        Row("the first one after a change", _us(change, 50), "µs"),
        Row("a GET with its client, every user may do everything", plain_us, "µs"),
        Row("a GET with its client, by Node and RBAC", checked_us, "µs", plain_us * 1.05),
    ]


async def _gets() -> tuple[float, float]:
    """The least of many rounds in turn, so that both meet the machine in the same state."""
    async with AsyncExitStack() as running:
        loads = [
            await running.enter_async_context(_Load(modes))
            for modes in (("AlwaysAllow",), ("Node", "RBAC"))
        ]
        rounds = [[await load.us_per_get() for load in loads] for _ in range(_ROUNDS)]
    plain, checked = (min(times) for times in zip(*rounds, strict=True))
    return plain, checked


class _Load:
    """A server, and a user with a hundred bindings on one connection to it."""

    def __init__(self, modes: tuple[str, ...]) -> None:
        self._server = ApiServer(ServerConfig(authorization_mode=modes, tokens={"ann": _ANN}))

    async def __aenter__(self) -> _Load:
        await self._server.__aenter__()
        host, _, port = self._server.url.removeprefix("http://").rpartition(":")
        self._reader, self._writer = await asyncio.open_connection(host, int(port))
        await self._grant()
        return self

    async def __aexit__(self, *_: object) -> None:
        self._writer.close()
        await self._writer.wait_closed()
        await self._server.__aexit__(None, None, None)

    async def us_per_get(self) -> float:
        begun = process_time()
        for _ in range(_GETS):
            assert await self._ask("GET", "/api/v1/namespaces/default", "ann") == 200
        return (process_time() - begun) / _GETS * 1e6

    async def _grant(self) -> None:
        rules = [{"verbs": ["get"], "apiGroups": [""], "resources": ["namespaces"]}]
        group = "/apis/rbac.authorization.k8s.io/v1"
        for number in range(_BINDINGS):
            name = f"r{number}"
            role = {"metadata": {"name": name}, "rules": rules}
            binding = {
                "metadata": {"name": name},
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name,
                },
                "subjects": [{"kind": "User", "name": "ann"}],
            }  # fmt: skip
            for kind, obj in (("clusterroles", role), ("clusterrolebindings", binding)):
                code = await self._ask("POST", f"{group}/{kind}", self._server.token, obj)
                assert code == 201

    async def _ask(self, method: str, path: str, token: str, obj: object = None) -> int:
        body = b"" if obj is None else json.encode(obj)
        head = (
            f"{method} {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        self._writer.write(head.encode() + body)
        answer = await self._reader.readuntil(b"\r\n\r\n")
        length = answer.lower().partition(b"content-length: ")[2].partition(b"\r")[0]
        await self._reader.readexactly(int(length))
        return int(answer[9:12])


def _policy() -> Rbac:
    """Half of it in the namespace, a third by a group."""
    rbac = Rbac()
    for number in range(_BINDINGS):
        role = f"r{number}"
        rbac.put_role("", role, [_rule(role)])
        subject = Subject("User", "ann") if number % 3 else Subject("Group", "devs")
        rbac.put_binding(
            Binding(
                namespace="" if number % 2 else "n",
                name=f"b{number}",
                role_kind="ClusterRole",
                role_name=role,
                subjects=(subject,),
            )
        )
    return rbac


def _rule(resource: str) -> PolicyRule:
    return PolicyRule(verbs=("get", "list", "watch"), groups=("",), resources=(resource, "others"))


def _us(work: Callable[[], object], number: int = 2000) -> float:
    return min(timeit.repeat(work, number=number, repeat=5, timer=process_time)) / number * 1e6
