"""What objects say is text, wherever the page shows it."""

from __future__ import annotations

import json

from proreus.client import Client
from tests.dashboard.page.seen import SESSION_LOOP, Page
from tests.dashboard.page.workloads import pod

pytestmark = SESSION_LOOP

EVIL = "<img src=x onerror=alert(1)><script>alert(2)</script>"


async def has_markup(page: Page) -> bool:
    return bool(await page.tab.evaluate("document.querySelector('img, #app script') !== null"))


async def test_markup_in_labels_annotations_data_and_events_stays_text(
    page: Page, client: Client
) -> None:
    metadata = {"name": "evil", "annotations": {"evil": EVIL, "link": "javascript:alert(3)"}}
    await client.core_v1.configmaps("default").create(
        {"metadata": metadata, "data": {"evil": EVIL}}
    )
    about = {"kind": "ConfigMap", "name": "evil", "namespace": "default", "apiVersion": "v1"}
    event = {"involvedObject": about, "type": "Warning", "reason": EVIL, "message": EVIL}
    await client.core_v1.events("default").create({"metadata": {"name": "evil"}, **event})

    for tab in ("", "yaml", "fields", "events"):
        await page.visit(f"object/core/v1/configmaps/default/evil?tab={tab}")
        await page.sees("<script>alert(2)")
        assert not await has_markup(page)
    await page.visit("events")
    await page.row("<img src=x").wait_for()
    assert not await has_markup(page)


async def test_markup_in_names_and_columns_stays_text(page: Page, client: Client) -> None:
    """Names of custom objects are tame, cells of their columns are not."""
    column = {"name": "<b>Evil</b>", "type": "string", "jsonPath": ".spec.evil"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema},
        "additionalPrinterColumns": [column],
    }  # fmt: skip
    names = {"kind": "Trap", "plural": "traps", "singular": "trap"}
    spec = {"group": "evil.example", "scope": "Cluster", "names": names, "versions": [version]}
    kinds = client.apiextensions_v1.customresourcedefinitions
    await kinds.create({"metadata": {"name": "traps.evil.example"}, "spec": spec})
    await kinds.wait_for("traps.evil.example", "condition=Established", timeout_s=60)
    await client.resource("traps.v1.evil.example").create(
        {"metadata": {"name": "trap"}, "spec": {"evil": EVIL}}
    )
    # Roles may be named by anything.
    rules = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}]
    name = '<img src=x onerror="alert(4)">'
    await client.rbac_v1.clusterroles.create({"metadata": {"name": name}, "rules": rules})

    await page.visit("kinds/evil.example/v1/traps")
    await page.row("<script>").wait_for()
    await page.tab.locator(".head", has_text="<b>Evil</b>").wait_for()
    assert not await has_markup(page)
    await page.visit("kinds/rbac.authorization.k8s.io/v1/clusterroles?filter=alert")
    await page.row("<img").click()
    await page.tab.get_by_role("heading", name="<img src=x").wait_for()
    assert not await has_markup(page)


async def test_markup_in_logs_and_terminals_stays_text(page: Page, client: Client) -> None:
    title = r"printf '\033]0;<img src=x onerror=alert(5)>\007'"
    command = f"echo {json.dumps(EVIL)}; {title}; sleep 3600"
    await client.core_v1.pods("default").create(pod("evil", command))
    await client.core_v1.pods("default").wait_for("evil", "condition=Ready", timeout_s=60)

    await page.visit("object/core/v1/pods/default/evil?tab=logs")

    await page.row("<script>alert(2)").wait_for()
    assert not await has_markup(page)
    await page.visit("object/core/v1/pods/default/evil?tab=terminal")
    await page.sees("Connected", "[role=status]")
    await page.tab.locator(".terminal").focus()
    await page.tab.keyboard.type(f"echo '{EVIL}'\n")
    await page.sees("<script>alert(2)", ".screen-line")
    assert not await has_markup(page)
