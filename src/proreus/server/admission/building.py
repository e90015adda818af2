"""The admission of a server, put together from what its plugins need."""

from __future__ import annotations

import asyncio

from proreus.aio.clock import Clock
from proreus.lazy_dataclass import dataclass
from proreus.server.admission.configuration_file import read_admission_configuration
from proreus.server.admission.expressions import ExpressionRunner
from proreus.server.admission.options import AdmissionOptions
from proreus.server.admission.plugin_metrics import PluginMetrics
from proreus.server.admission.pod_security.metrics import PodSecurityMetrics
from proreus.server.admission.policies.plugin import AdmissionPolicies, PolicyInputs
from proreus.server.admission.policies.rights import PolicyParamRights
from proreus.server.admission.policies.status import PolicyStatus
from proreus.server.admission.standard import UsersAdmission, standard_admission
from proreus.server.admission.versions import ObjectVersions
from proreus.server.admission.webhooks.plugin import AdmissionWebhooks
from proreus.server.authz.modes import AccessControl
from proreus.server.key_queue import KeyQueues
from proreus.server.offload import Offload
from proreus.server.prometheus import CollectorRegistry
from proreus.server.registry.admission import Admission
from proreus.server.registry.catalog import Catalog
from proreus.server.registry.collections import Collections
from proreus.server.registry.kinds import KnownKinds
from proreus.server.resource.conversion import Convert


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionInputs:
    catalog: Catalog
    collections: Collections
    kinds: KnownKinds
    convert: Convert
    access: AccessControl
    offload: Offload
    registry: CollectorRegistry
    queues: KeyQueues
    clock: Clock


@dataclass(frozen=True, slots=True)
class BuiltAdmission:
    """``run`` owns the connections to webhooks, compiles policies, and keeps their status if that
    is done here."""

    admission: Admission
    webhooks: AdmissionWebhooks
    policies: AdmissionPolicies
    policy_status: PolicyStatus | None

    async def run(self) -> None:
        """For ever."""
        async with asyncio.TaskGroup() as parts:
            parts.create_task(self.webhooks.run(), name="admission webhooks")
            parts.create_task(self.policies.run(), name="admission policies")
            if self.policy_status is not None:
                parts.create_task(self.policy_status.run(), name="admission policies: status")


def build_admission(options: AdmissionOptions, inputs: AdmissionInputs) -> BuiltAdmission:
    """Raises ConfigFileInvalid."""
    offload, collections, clock = inputs.offload, inputs.collections, inputs.clock
    versions = ObjectVersions(inputs.catalog, inputs.kinds, inputs.convert, offload.bodies)
    expressions = ExpressionRunner(inputs.access.authorization, offload.expressions)
    configuration = read_admission_configuration(options.config_file)
    webhooks = AdmissionWebhooks(
        collections, versions, expressions, inputs.registry, clock, configuration
    )
    policies = AdmissionPolicies(
        PolicyInputs(
            catalog=inputs.catalog,
            collections=collections,
            versions=versions,
            expressions=expressions,
            compiling=offload.definitions,
            registry=inputs.registry,
            clock=clock,
        )
    )
    params = PolicyParamRights(inputs.access.authorization, inputs.catalog, collections)
    admission = standard_admission(
        collections,
        clock,
        inputs.access,
        UsersAdmission(policies, webhooks, params),
        options,
        configuration,
        PodSecurityMetrics(inputs.registry),
    )
    webhooks.on_change(admission.choose_anew)
    policies.on_change(admission.choose_anew)
    PluginMetrics(inputs.registry, admission)
    status = None
    if options.checks_policy_types:
        status = PolicyStatus(
            collections, inputs.catalog, inputs.kinds, offload.definitions, clock, inputs.queues
        )
    return BuiltAdmission(admission, webhooks, policies, status)
