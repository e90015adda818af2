"""The lease by which a server says that it exists, in kube-system; expired ones are removed."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable

import structlog

from proreus.aio.clock import Clock
from proreus.aio.supervised_part import Worked
from proreus.api.json_types import Json, JsonObject
from proreus.api.status import AlreadyExists, Conflict, NotFound
from proreus.api.values.timestamp import format_micro_time, parse_time
from proreus.api.wire import splice
from proreus.api.wire.options import DeleteOptions
from proreus.server.registry.collection import UnreadableObject
from proreus.server.registry.collections import Collections
from proreus.server.registry.verbs.create import Create
from proreus.server.registry.verbs.delete import Delete
from proreus.server.registry.verbs.update import replacing
from proreus.server.registry.write import Write

_log = structlog.get_logger(__name__)
NAMESPACE = "kube-system"
IDENTITY = "apiserver.kubernetes.io/identity"
_COMPONENT = "kube-apiserver"
_LASTS_S = 3600
_RENEW_S = 10.0
_CLEAN_S = 3600.0


def server_id(host_name: str, address: str) -> str:
    """The same for every start of a server. Kubernetes has one server per machine and takes its
    name alone; ``address`` tells several of one machine apart."""
    digest = hashlib.sha256(f"{host_name} {address}".encode()).digest()[:16]
    return f"apiserver-{base64.b32encode(digest).decode().rstrip('=').lower()}"


def identity_lease(
    name: str, host_name: str, address: str, holder: str, renewed: float
) -> JsonObject:
    metadata: JsonObject = {
        "name": name,
        "namespace": NAMESPACE,
        "labels": {IDENTITY: _COMPONENT, "kubernetes.io/hostname": host_name},
    }
    if address:
        metadata["annotations"] = {"kubernetes.io/peer-advertise-address": address}
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": metadata,
        "spec": {
            "holderIdentity": holder,
            "leaseDurationSeconds": _LASTS_S,
            "renewTime": format_micro_time(renewed),
        },
    }


def is_expired(lease: Json, now: float) -> bool:
    """One that does not say until when it holds never held."""
    spec = lease.get("spec") or {}
    renewed, lasts_s = spec.get("renewTime"), spec.get("leaseDurationSeconds")
    if renewed is None or lasts_s is None:
        return True
    return bool(parse_time(renewed) + lasts_s < now)


class IdentityLease:
    """Keeps this server's lease. ``address``: "host:port" at which others reach it, "" if they
    cannot; ``bound`` is where it listens, for its name. Workers of one server have the same
    ``run_id`` and keep one lease."""

    def __init__(
        self,
        collections: Collections,
        clock: Clock,
        host_name: str,
        address: Callable[[], str],
        bound: Callable[[], str],
        run_id: str,
    ) -> None:
        self._leases = collections.named("coordination.k8s.io", "v1", "leases")
        self._clock = clock
        self._host_name = host_name
        self._address = address
        self._bound = bound
        self._run_id = run_id
        self._is_renewed = False

    async def renew(self) -> None:
        """Raises ApiError, StorageError."""
        name = server_id(self._host_name, self._address() or self._bound())
        now = self._clock.now()
        wanted = identity_lease(
            name, self._host_name, self._address(), f"{name}_{self._run_id}", now
        )
        write = Write.of_server(self._leases, NAMESPACE, name, now)
        stored = await self._leases.store.get(self._leases.key(NAMESPACE, name))
        try:
            if stored is None:
                await Create(write, wanted).commit()
            else:
                existing = self._leases.decode(stored)
                await replacing(write, {**existing, "spec": wanted["spec"]}).commit()
        except (AlreadyExists, NotFound, Conflict):
            return  # it is renewed again soon
        self._is_renewed = True

    async def run(self, worked: Worked) -> None:
        """For ever."""
        if not self._is_renewed:
            await self.renew()
        while True:
            worked()
            await self._clock.sleep(_RENEW_S)
            await self.renew()


class ExpiredLeases:
    """Removes leases of servers that are gone: an hour after they were last renewed."""

    def __init__(self, collections: Collections, clock: Clock) -> None:
        self._leases = collections.named("coordination.k8s.io", "v1", "leases")
        self._clock = clock

    async def run(self, worked: Worked) -> None:
        while True:
            await self._clean()
            worked()
            await self._clock.sleep(_CLEAN_S)

    async def _clean(self) -> None:
        for found in self._leases.cache.peek_all(NAMESPACE) or ():
            is_server = found.labels.get(IDENTITY) == _COMPONENT
            if is_server and is_expired(splice.decode_item(found.item), self._clock.now()):
                await self._remove(found.name, str(found.revision))

    async def _remove(self, name: str, revision: str) -> None:
        write = Write.of_server(self._leases, NAMESPACE, name, self._clock.now())
        try:
            await Delete(write, DeleteOptions(resource_version=revision)).commit()
        except (NotFound, Conflict, UnreadableObject):
            return  # renewed meanwhile, or removed by another server
        _log.info("removed the lease of an API server that is gone", lease=name)
