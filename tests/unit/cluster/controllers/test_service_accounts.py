"""The service accounts that controllers work as."""

from __future__ import annotations

import pytest

from proreus.aio.clock import SystemClock
from proreus.api.status import Forbidden
from proreus.client import TransportError
from proreus.cluster.controllers import CONTROLLERS
from proreus.cluster.controllers.service_accounts import ACCOUNTS, AccountClients, AccountToken
from proreus.server.authz.rbac.bootstrap import bootstrap_policy
from proreus.testing.server import running_server
from proreus.testing.virtual_clock import VirtualClock


def test_every_controller_has_an_account_that_the_cluster_s_policy_knows() -> None:
    bound = {
        subject["name"]
        for one in bootstrap_policy()
        if one.plural == "clusterrolebindings"
        for subject in one.decoded(0).get("subjects", ())
        if subject["kind"] == "ServiceAccount"
    }

    assert ACCOUNTS.keys() == CONTROLLERS.keys()
    assert {*ACCOUNTS.values()} <= bound


async def test_an_account_is_made_when_it_is_needed_and_again_when_it_was_deleted() -> None:
    async with (
        running_server() as server,
        server.client() as admin,
        AccountClients(admin, SystemClock()) as accounts,
    ):
        jobs = accounts.of("job-controller").batch_v1.jobs("default")
        made = admin.core_v1.serviceaccounts("kube-system")
        before = await made.list()
        await jobs.list()
        await made.delete("job-controller")
        with pytest.raises(Exception, match="Unauthorized"):
            await jobs.list()
        await jobs.list()

        assert [account.name for account in before] == []
        assert [account.name for account in await made.list()] == ["job-controller"]
        with pytest.raises(Forbidden):
            await accounts.of("job-controller").core_v1.secrets("default").list()


async def test_a_token_is_renewed_before_it_expires() -> None:
    clock = VirtualClock()
    async with running_server(clock=clock) as server, server.client(clock=clock) as admin:
        token = AccountToken(admin, "job-controller", clock)
        first, again = await token.current(), await token.current()
        await clock.advance(2900)
        later = await token.current()

    assert first == again
    assert later != first


async def test_who_may_not_ask_for_tokens_is_refused_and_nothing_is_sent() -> None:
    async with (
        running_server() as server,
        server.client_as("ann") as ann,
        AccountClients(ann, SystemClock()) as accounts,
    ):
        with pytest.raises(TransportError, match="no token for service account kube-system/x: "):
            await accounts.of("x").core_v1.pods("default").list()


async def test_a_token_is_in_no_repr() -> None:
    async with running_server() as server, server.client() as admin:
        token = AccountToken(admin, "job-controller", SystemClock())
        credential = await token.current()

    assert credential.authorization.startswith("Bearer ey")
    assert "ey" not in repr(credential)
    assert repr(token) == "<AccountToken of kube-system/job-controller>"
