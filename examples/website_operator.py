"""An operator in forty lines: a Website gets a page, a Deployment that serves it, and a Service.

KUBECONFIG=… python examples/website_operator.py [ADDRESS]
kubectl create -f - <<< '{"apiVersion": "example.com/v1", "kind": "Website",
                          "metadata": {"name": "shop"}, "spec": {"html": "<h1>Shop</h1>"}}'
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

from proreus.api.kinds.apps_v1 import Deployment
from proreus.api.kinds.core_v1 import ConfigMap, Service
from proreus.client import custom_resource
from proreus.client.controller import generation_changed
from proreus.client.operator import Operator, Reconciliation, StatusCondition


@dataclass
class WebsiteSpec:
    html: str
    replicas: int = 1


@custom_resource(group="example.com", version="v1")
@dataclass
class Website:
    spec: WebsiteSpec
    status: dict[str, Any] | None = None


operator = Operator("website-operator", address=(sys.argv[1:] or [":8080"])[0])


@operator.reconciler(
    Website,
    owns=[ConfigMap, Deployment, Service],
    when=generation_changed,
    finalizer="example.com/farewell",
    concurrency=4,
)
async def reconcile(site: Reconciliation[Website]) -> None:
    spec, name, labels = site.value.spec, site.name, {"website": site.name}
    page = {"name": "page", "configMap": {"name": name}}
    mount = {"name": "page", "mountPath": "/usr/share/nginx/html"}
    server = {"name": "nginx", "image": "nginx", "volumeMounts": [mount]}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [server], "volumes": [page]}}
    running = {"replicas": spec.replicas, "selector": {"matchLabels": labels}, "template": template}
    ports = {"selector": labels, "ports": [{"port": 80}]}
    of = {"metadata": {"name": name}}
    for body in (
        {"apiVersion": "v1", "kind": "ConfigMap", **of, "data": {"index.html": spec.html}},
        {"apiVersion": "apps/v1", "kind": "Deployment", **of, "spec": running},
        {"apiVersion": "v1", "kind": "Service", **of, "spec": ports},
    ):
        made = await site.own(body)
        if made.has_changed:
            site.event(made.outcome.capitalize(), f"{made.object.kind} {name} {made.outcome}")
    found = site.lister(Deployment).find(name, site.namespace)
    ready = ((found.get("status") or {}).get("readyReplicas") or 0) if found else 0
    is_ready, message = ready >= spec.replicas, f"{ready} of {spec.replicas} replicas are ready"
    reason = "Serving" if is_ready else "Starting"
    await site.set_status({"replicas": ready}, StatusCondition("Ready", is_ready, reason, message))


@reconcile.finalize
async def farewell(site: Reconciliation[Website]) -> None:
    print(f"{site.key} is going; what it owns goes with it", flush=True)


if __name__ == "__main__":
    operator.run(log_format="json")
