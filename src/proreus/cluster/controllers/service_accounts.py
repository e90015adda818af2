"""The service account that each controller works as (kube-controller-manager:
``--use-service-account-credentials``).

The cluster's bootstrap policy gives every account what its controller needs. Informers are shared,
and follow the cluster with the rights of who runs the controllers; what a controller writes, and
reads besides, it does as its own account.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType

from proreus.aio.clock import Clock
from proreus.api.status import AlreadyExists, ApiError, NotFound
from proreus.api.values.timestamp import parse_time
from proreus.client.client import Client
from proreus.client.client_config import AuthSettings, ClientConfig
from proreus.client.credentials import Credential, CredentialError
from proreus.client.service_account_tokens import request_token
from proreus.cluster.leader_election import note_warning

NAMESPACE = "kube-system"
ACCOUNTS: Mapping[str, str] = MappingProxyType(
    {
        "replicaset": "replicaset-controller",
        "replicationcontroller": "replication-controller",
        "deployment": "deployment-controller",
        "statefulset": "statefulset-controller",
        "job": "job-controller",
        "job-orphans": "job-controller",
        "endpointslice": "endpointslice-controller",
        "endpointslice-mirroring": "endpointslicemirroring-controller",
        "cronjob": "cronjob-controller",
        "daemonset": "daemon-set-controller",
        "node-lifecycle": "node-controller",
        "namespace": "namespace-controller",
        "serviceaccount": "service-account-controller",
        "root-ca": "root-ca-cert-publisher",
        "clusterrole-aggregation": "clusterrole-aggregation-controller",
        "csrapproving": "certificate-controller",
        "csrsigning": "certificate-controller",
        "csrcleaner": "certificate-controller",
        "disruption": "disruption-controller",
        "horizontalpodautoscaler": "horizontal-pod-autoscaler",
        "resourcequota": "resourcequota-controller",
        "pod-garbage": "pod-garbage-collector",
        "pvc-protection": "pvc-protection-controller",
        "pv-protection": "pv-protection-controller",
        "volumeattributesclass-protection": "volumeattributesclass-protection-controller",
        "persistentvolume-binder": "persistent-volume-binder",
        "persistentvolume-phases": "persistent-volume-binder",
        "volume-provisioner": "persistent-volume-binder",
        "volume-deleter": "persistent-volume-binder",
        "ephemeral-volume": "ephemeral-volume-controller",
        "garbage-collector": "generic-garbage-collector",
        "service-cidr": "service-cidrs-controller",
        "storage-version-migrator": "storage-version-migrator-controller",
    }
)
_TOKEN_S = 3600
_RENEW_AFTER = 0.8  # of a token's life


class AccountToken:
    """The token of one account, asked for when it is first needed and again before it expires.

    A ``CredentialSource``. An account that is missing is made.
    """

    def __init__(self, owner: Client, account: str, clock: Clock) -> None:
        """``owner`` may create service accounts and their tokens."""
        self._accounts = owner.core_v1.serviceaccounts(NAMESPACE)
        self._account = account
        self._clock = clock
        self._credential = Credential()
        self._good_until = float("-inf")
        self._asking = asyncio.Lock()

    async def current(self) -> Credential:
        if not self._is_good():
            async with self._asking:  # whoever waited finds what the first one got
                if not self._is_good():
                    await self._renew()
        return self._credential

    def refused(self, used: Credential) -> None:
        if used == self._credential:
            self._good_until = float("-inf")

    def _is_good(self) -> bool:
        return self._clock.now() < self._good_until

    async def _renew(self) -> None:
        now = self._clock.now()
        try:
            try:
                expires, token = await self._requested()
            except NotFound:
                await self._make_account()
                expires, token = await self._requested()
        except ApiError as refusal:
            name = f"{NAMESPACE}/{self._account}"
            raise CredentialError(f"no token for service account {name}: {refusal}") from refusal
        self._credential = Credential(f"Bearer {token}")
        self._good_until = now + (expires - now) * _RENEW_AFTER

    async def _requested(self) -> tuple[float, str]:
        spec = {"expirationSeconds": _TOKEN_S}
        answer = await request_token(self._accounts, self._account, spec)
        return parse_time(answer.status.expirationTimestamp), str(answer.status.token)

    async def _make_account(self) -> None:
        try:
            await self._accounts.create({"metadata": {"name": self._account}})
        except AlreadyExists:
            return

    def __repr__(self) -> str:
        return f"<AccountToken of {NAMESPACE}/{self._account}>"


class AccountClients:
    """A client per account, all at the server of ``owner``. Use as an async context manager."""

    def __init__(self, owner: Client, clock: Clock) -> None:
        self._owner = owner
        self._clock = clock
        self._clients: dict[str, Client] = {}

    def of(self, account: str) -> Client:
        found = self._clients.get(account)
        if found is None:
            found = self._clients[account] = Client(
                without_identity(self._owner.config),
                clock=self._clock,
                on_warning=note_warning,
                credentials=AccountToken(self._owner, account, self._clock),
            )
        return found

    async def __aenter__(self) -> AccountClients:
        return self

    async def __aexit__(self, *exc: object) -> None:
        for client in self._clients.values():
            await client.close()


def without_identity(config: ClientConfig) -> ClientConfig:
    """The same server, trusted for the same reason, and nobody who asks."""
    tls = replace(config.tls, cert_file=None, cert_data=None, key_file=None, key_data=None)
    return replace(config, tls=tls, auth=AuthSettings(), impersonate=None)
