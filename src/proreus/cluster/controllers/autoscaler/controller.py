"""The autoscaler: reads the load of a target's pods and sets the target's scale.

Receives: keys of HorizontalPodAutoscalers, from their events and every 15 s. Usage comes from the
metrics API (``pods.metrics.k8s.io``), whoever serves it; without it autoscalers say so and only
keep their targets within bounds.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from proreus.api.object import KubeObject
from proreus.api.selectors.labels import LabelSelector
from proreus.api.status import ApiError
from proreus.client.controller import Controller, Result, Watch, changed_beside_status
from proreus.client.discovery.mapper import UnknownResource
from proreus.cluster.controllers.autoscaler.decisions import (
    Decision,
    Said,
    at_once,
    decide,
    status_of,
)
from proreus.cluster.controllers.autoscaler.pace import Pace
from proreus.cluster.controllers.autoscaler.proposal import (
    NoMetric,
    Proposal,
    propose,
    usage_by_pod,
)
from proreus.cluster.controllers.own_writes import OwnWrites, reconciling
from proreus.cluster.controllers.setting import Setting

WORKERS = 5
PERIOD_S = 15.0
METRICS = "pods.v1beta1.metrics.k8s.io"
_AUTOSCALERS = "horizontalpodautoscalers.v2.autoscaling"


def autoscaler_controller(setting: Setting) -> Controller:
    sync = Autoscalers(setting)
    return Controller(
        reconciling(sync.informer, sync.writes, sync.sync, sync.pace.forget),
        Watch(sync.informer, when=changed_beside_status),
        name="horizontalpodautoscaler",
        concurrency=WORKERS,
    )


class Autoscalers:
    """Looks at one autoscaler at a time."""

    def __init__(self, setting: Setting) -> None:
        self._client = setting.client
        self._clock = setting.clock
        self._recorder = setting.recorder("horizontal-pod-autoscaler")
        self.informer = setting.informers.informer(_AUTOSCALERS)
        self._pods = setting.owned("pods")
        self.writes = OwnWrites()
        self.pace = Pace()

    async def sync(self, autoscaler: KubeObject) -> Result | None:
        now, target = self._clock.now(), autoscaler.spec.scaleTargetRef
        resource = self._client.resource(api_version=target.apiVersion, kind=target.kind)
        api = resource(autoscaler.namespace)
        try:
            scale = await api.get_scale(target.name)
        except (ApiError, UnknownResource) as problem:
            text = f"the HPA controller was unable to get the target's current scale: {problem}"
            self._recorder.event(autoscaler, "Warning", "FailedGetScale", str(problem))
            failed = Decision(None, (Said("AbleToScale", False, "FailedGetScale", text),))
            await self._write(autoscaler, status_of(autoscaler, 0, failed, (), now))
            return Result(PERIOD_S)
        current = int(scale.spec.replicas or 0)
        decision, proposals = await self._decide(autoscaler, scale, current, now)
        if decision.replicas not in (None, current):
            await api.set_scale(target.name, decision.replicas or 0)
            self.pace.changed(autoscaler.key, (decision.replicas or 0) - current, now)
            message = f"New size: {decision.replicas}; reason: {decision.why}"
            self._recorder.event(autoscaler, "Normal", "SuccessfulRescale", message)
            text = "the HPA controller was able to update the target scale to "
            done = Said("AbleToScale", True, "SucceededRescale", f"{text}{decision.replicas}")
            decision = Decision(decision.replicas, (*decision.said, done), decision.why)
        await self._write(autoscaler, status_of(autoscaler, current, decision, proposals, now))
        return Result(PERIOD_S)

    async def _decide(
        self, autoscaler: KubeObject, scale: KubeObject, current: int, now: float
    ) -> tuple[Decision, list[Proposal]]:
        clear = at_once(autoscaler, current)
        if clear is not None:
            return clear, []
        proposals: list[Proposal] = []
        problem = "no metrics are asked for"
        for metric in autoscaler.spec.metrics or ():
            try:
                proposals.append(await self._propose(autoscaler, metric, scale, current))
            except NoMetric as why:
                problem = str(why)
                reason = f"FailedGet{metric['type']}Metric"
                self._recorder.event(autoscaler, "Warning", reason, problem)
        silent = len(autoscaler.spec.metrics or ()) - len(proposals)
        # With some metrics unknown the others may ask for more, never for less.
        if not proposals or (silent and max(one.replicas for one in proposals) < current):
            text = f"the HPA was unable to compute the replica count: {problem}"
            reason = f"FailedGet{autoscaler.spec.metrics[0]['type']}Metric"
            able = "the HPA controller was able to get the target's current scale"
            said = (
                Said("AbleToScale", True, "SucceededGetScale", able),
                Said("ScalingActive", False, reason, text),
            )
            return Decision(None, said), proposals
        return decide(autoscaler, self.pace, current, proposals, now), proposals

    async def _propose(
        self, autoscaler: KubeObject, metric: Mapping[str, Any], scale: KubeObject, current: int
    ) -> Proposal:
        if metric["type"] != "Resource":
            raise NoMetric(f"metrics of type {metric['type']} are not supported")
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
        api = self._client.resource(METRICS)(namespace)
        try:
            return (await api.list(label_selector=selector)).items
        except (ApiError, UnknownResource) as problem:
            said = f"failed to get {resource} utilization: unable to get metrics for resource "
            raise NoMetric(f"{said}{resource}: {problem}") from problem

    async def _write(self, autoscaler: KubeObject, status: dict[str, Any]) -> None:
        if (autoscaler.status or {}) == status:
            return
        api = self._client.resource(_AUTOSCALERS)(autoscaler.namespace)
        written = await api.replace_status({**autoscaler.to_dict(), "status": status})
        self.writes.wrote(autoscaler.key, self.informer, written)
