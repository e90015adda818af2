"""The autoscaler: reads the load of a target's pods and sets the target's scale.

Receives: keys of HorizontalPodAutoscalers, from their events and every 15 s. Usage comes from the
metrics API (``pods.metrics.k8s.io``), from any server; without it autoscalers report so and only
keep their targets within bounds.
"""

from __future__ import annotations

from collections.abc import Sequence

from proreus.api.json_types import Json
from proreus.api.object import KubeObject
from proreus.api.selectors.labels import LabelSelector
from proreus.api.status import ApiError
from proreus.client.controller import Controller, Result, changed_beside_status
from proreus.client.discovery.mapper import UnknownResource
from proreus.cluster.controllers.autoscaler.decisions import (
    ConditionUpdate,
    ScalingDecision,
    concurrently,
    decide,
    status_of,
    with_replicas,
)
from proreus.cluster.controllers.autoscaler.replica_calculator import (
    MetricUnavailable,
    Proposal,
    propose,
    usage_by_pod,
)
from proreus.cluster.controllers.autoscaler.stabilization import Stabilizer
from proreus.cluster.controllers.context import ControllerContext
from proreus.cluster.controllers.reconciler import ObjectReconciler

PERIOD_S = 15.0
METRICS = "pods.v1beta1.metrics.k8s.io"
_AUTOSCALERS = "horizontalpodautoscalers.v2.autoscaling"


def autoscaler_controller(context: ControllerContext) -> Controller:
    return Autoscalers(context).controller("horizontalpodautoscaler", when=changed_beside_status)


class Autoscalers(ObjectReconciler):
    """Reconciles autoscalers."""

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context, _AUTOSCALERS, "horizontal-pod-autoscaler")
        self._pods = context.owned_informer("pods")
        self.stabilizer = Stabilizer()

    def forget(self, key: str) -> None:
        self.stabilizer.forget(key)

    async def sync(self, autoscaler: KubeObject) -> Result | None:
        now, target = self.clock.now(), autoscaler.spec.scaleTargetRef
        # Without a version it is of the core group, where hardly anything has a scale.
        resource = self.client.resource(api_version=target.apiVersion or "v1", kind=target.kind)
        api = resource(autoscaler.namespace)
        try:
            scale = await api.get_scale(target.name)
        except (ApiError, UnknownResource) as problem:
            text = f"the HPA controller was unable to get the target's current scale: {problem}"
            self.warn(autoscaler, "FailedGetScale", str(problem))
            failed = ScalingDecision(
                None, (ConditionUpdate("AbleToScale", False, "FailedGetScale", text),)
            )
            await self.write_status(autoscaler, status_of(autoscaler, 0, failed, (), now))
            return Result(PERIOD_S)
        current = int(scale.spec.replicas or 0)
        decision, proposals = await self._decide(autoscaler, scale, current, now)
        if decision.replicas not in (None, current):
            await api.replace(with_replicas(scale, decision.replicas or 0), subresource="scale")
            self.stabilizer.changed(autoscaler.key, (decision.replicas or 0) - current, now)
            message = f"New size: {decision.replicas}; reason: {decision.why}"
            self.record(autoscaler, "SuccessfulRescale", message)
            text = "the HPA controller was able to update the target scale to "
            done = ConditionUpdate(
                "AbleToScale", True, "SucceededRescale", f"{text}{decision.replicas}"
            )
            decision = ScalingDecision(
                decision.replicas, (*decision.conditions, done), decision.why
            )
        await self.write_status(
            autoscaler, status_of(autoscaler, current, decision, proposals, now)
        )
        return Result(PERIOD_S)

    async def _decide(
        self, autoscaler: KubeObject, scale: KubeObject, current: int, now: float
    ) -> tuple[ScalingDecision, list[Proposal]]:
        clear = concurrently(autoscaler, current)
        if clear is not None:
            return clear, []
        proposals: list[Proposal] = []
        problem = "no metrics are asked for"
        for metric in autoscaler.spec.metrics or ():
            try:
                proposals.append(await self._propose(autoscaler, metric, scale, current))
            except MetricUnavailable as why:
                problem = str(why)
                reason = f"FailedGet{metric['type']}Metric"
                self.warn(autoscaler, reason, problem)
        silent = len(autoscaler.spec.metrics or ()) - len(proposals)
        # With some metrics unknown the others may ask for more, never for less.
        if not proposals or (silent and max(one.replicas for one in proposals) < current):
            text = f"the HPA was unable to compute the replica count: {problem}"
            reason = f"FailedGet{autoscaler.spec.metrics[0]['type']}Metric"
            able = "the HPA controller was able to get the target's current scale"
            conditions = (
                ConditionUpdate("AbleToScale", True, "SucceededGetScale", able),
                ConditionUpdate("ScalingActive", False, reason, text),
            )
            return ScalingDecision(None, conditions), proposals
        return decide(autoscaler, self.stabilizer, current, proposals, now), proposals

    async def _propose(
        self, autoscaler: KubeObject, metric: Json, scale: KubeObject, current: int
    ) -> Proposal:
        if metric["type"] != "Resource":
            raise MetricUnavailable(f"metrics of type {metric['type']} are not supported")
        source = metric["resource"]
        selector = str((scale.status or {}).get("selector") or "")
        pods = self._selected(autoscaler.namespace, selector)
        measured = await self._measured(autoscaler.namespace, source["name"], selector)
        usage = usage_by_pod(measured, source["name"])
        return propose(source["name"], source["target"], pods, usage, current)

    def _selected(self, namespace: str, selector: str) -> list[KubeObject]:
        chosen = LabelSelector.parse(selector)
        return [
            pod for pod in self._pods.lister.list(namespace=namespace) if chosen.matches(pod.labels)
        ]

    async def _measured(self, namespace: str, resource: str, selector: str) -> Sequence[KubeObject]:
        api = self.client.resource(METRICS)(namespace)
        try:
            return (await api.list(label_selector=selector)).items
        except (ApiError, UnknownResource) as problem:
            why = "the server could not find the requested resource (get pods.metrics.k8s.io)"
            if isinstance(problem, ApiError):
                why = problem.message
            said = f"failed to get {resource} utilization: unable to get metrics for resource "
            said += f"{resource}: unable to fetch metrics from resource metrics API: {why}"
            raise MetricUnavailable(said) from problem
