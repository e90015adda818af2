"""The authorizers of a server, made of their settings, and replaced when a file changes them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any

from proreus.aio.clock import Clock
from proreus.aio.gate import Gate
from proreus.aio.tasks import background
from proreus.server.authz.authorizer import (
    Authorization,
    Authorizer,
    Chain,
    ChainLink,
    RulesOf,
    everything,
    nothing,
)
from proreus.server.authz.builtin_authorizers import (
    allow_authenticated,
    allow_masters,
    allow_public,
    always_deny,
)
from proreus.server.authz.configuration import (
    ALWAYS_ALLOW,
    ALWAYS_DENY,
    NODE,
    RBAC,
    AuthorizationOptions,
    AuthorizerSettings,
    parse_authorization,
    settings_of_flags,
)
from proreus.server.authz.creation import authorize_creation
from proreus.server.authz.metrics import AuthorizationMetrics
from proreus.server.authz.node.authorizer import NodeAuthorizer
from proreus.server.authz.node.following import followed_graph
from proreus.server.authz.node.restriction import NodeRestriction
from proreus.server.authz.rbac.authorizer import Rbac
from proreus.server.authz.rbac.escalation import EscalationPrevention
from proreus.server.authz.rbac.following import follow_policy
from proreus.server.authz.webhook.authorizer import WebhookAuthorizer
from proreus.server.config_files.fields import ConfigFileInvalid
from proreus.server.config_files.followed_file import FollowedFile
from proreus.server.offload import Runner
from proreus.server.prometheus import CollectorRegistry
from proreus.server.registry.admission_step import Admit
from proreus.server.registry.collections import Collections

_Settings = Sequence[AuthorizerSettings]
_FOLLOWING = frozenset({NODE, RBAC})


class AccessControl:
    """Members of ``system:masters`` may do everything, whatever the settings.

    Which of Node and RBAC there are is decided at the start: they follow watch caches.
    ``after_mutation`` is what is asked of writes to roles and bindings, ``creation`` of creates
    that name their object in the path, once these are known in full. ``restricts_nodes``: the
    authorizer Node is among them.
    """

    def __init__(
        self,
        settings: _Settings,
        collections: Collections,
        metrics: AuthorizationMetrics,
        clock: Clock,
        runner: Runner,
    ) -> None:
        self._metrics = metrics
        self._clock = clock
        self._runner = runner
        self._webhooks: list[WebhookAuthorizer] = []
        self._replaced: list[WebhookAuthorizer] = []
        self._has_replaced = Gate()
        self.authorization = Authorization(Chain(()))
        self._rbac: Rbac | None = None
        self._nodes: NodeAuthorizer | None = None
        self.node_restriction: Admit = NodeRestriction(collections, self.authorization).admit
        self.after_mutation: tuple[Admit, ...] = ()
        types = [each.type for each in settings]
        if NODE in types:
            self._nodes = NodeAuthorizer(followed_graph(collections))
        if RBAC in types:
            self._rbac = Rbac()
            follow_policy(self._rbac, collections)
            self.after_mutation = (EscalationPrevention(self._rbac, self.authorization).admit,)
        creation = (partial(authorize_creation, self.authorization),)
        self.creation: tuple[Admit, ...] = () if types == [ALWAYS_ALLOW] else creation
        self.authorization.chain = self._chain(settings)

    @property
    def restricts_nodes(self) -> bool:
        return self._nodes is not None

    @property
    def has_rbac(self) -> bool:
        return self._rbac is not None

    def replace(self, settings: _Settings) -> None:
        """From the next decision on; webhooks that are being asked still answer."""
        self._replaced += self._webhooks
        self._webhooks = []
        self.authorization.chain = self._chain(settings)
        self._has_replaced.open()

    async def run(self) -> None:
        """Closes what was replaced."""
        while True:
            await self._has_replaced.wait_open()
            self._has_replaced.shut()
            while self._replaced:
                await self._replaced.pop().retire()

    async def close(self) -> None:
        for webhook in (*self._webhooks, *self._replaced):
            await webhook.close()

    def _chain(self, settings: _Settings) -> Chain:
        links, rules = [ChainLink(allow_masters)], list[RulesOf]()
        for each in settings:
            authorize, rules_of = self._authorizer(each)
            if each.type == ALWAYS_ALLOW:
                links.append(ChainLink(allow_public))
            links.append(self._metrics.counted(each.type, each.name, authorize))
            rules.append(rules_of)
        return Chain(tuple(links), tuple(rules))

    def _authorizer(self, settings: AuthorizerSettings) -> tuple[Authorizer, RulesOf]:
        if settings.type == ALWAYS_ALLOW:
            return allow_authenticated, everything
        if settings.type == ALWAYS_DENY:
            return always_deny, nothing
        if settings.type == NODE:
            assert self._nodes is not None, "it was enabled at the start"
            return self._nodes.authorize, self._nodes.rules_of
        if settings.type == RBAC:
            assert self._rbac is not None, "it was enabled at the start"
            return self._rbac.authorize, self._rbac.rules_of
        assert settings.webhook is not None, settings
        webhook = WebhookAuthorizer(
            settings.name, settings.webhook, self._metrics.webhooks, self._clock, self._runner
        )
        self._webhooks.append(webhook)
        return webhook.authorize, webhook.rules_of

    def __repr__(self) -> str:
        return f"<AccessControl: {self.authorization!r}>"


class _ConfigurationReader:
    """Reads an AuthorizationConfiguration, the first one and later ones."""

    def __init__(self) -> None:
        self._enabled = _FOLLOWING

    def read(self, text: bytes) -> tuple[AuthorizerSettings, ...]:
        """Raises ConfigFileInvalid."""
        settings = parse_authorization(text)
        types = _FOLLOWING.intersection(each.type for each in settings)
        for kind in sorted(types - self._enabled):
            raise ConfigFileInvalid(
                f"authorizer type {kind} is not allowed if it was not enabled at initial server "
                "startup"
            )
        return settings

    def begin_with(self, settings: _Settings) -> None:
        self._enabled = _FOLLOWING.intersection(each.type for each in settings)


@asynccontextmanager
async def open_access_control(
    options: AuthorizationOptions,
    collections: Collections,
    registry: CollectorRegistry,
    clock: Clock,
    runner: Runner,
) -> AsyncIterator[AccessControl]:
    """Raises ConfigFileInvalid."""
    metrics = AuthorizationMetrics(registry)
    make = partial(
        AccessControl, collections=collections, metrics=metrics, clock=clock, runner=runner
    )
    following: list[Coroutine[Any, Any, None]] = []
    if options.config_file is None:
        access = make(settings_of_flags(options))
    else:
        reader = _ConfigurationReader()
        file = FollowedFile(
            options.config_file,
            "authorization configuration",
            reader.read,
            metrics.reloads,
            clock,
            on_change=lambda settings: access.replace(settings),
        )
        reader.begin_with(file.value)
        access = make(file.value)
        following = [file.run(runner), access.run()]
    async with background(*following):
        try:
            yield access
        finally:
            await access.close()
