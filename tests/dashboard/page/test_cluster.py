"""Logging in, and the cluster as it changes: tables, workloads, nodes, events, keys."""

from __future__ import annotations

import asyncio
import sys

from playwright.async_api import Browser, BrowserContext

from proreus.client import Client
from proreus.client.service_account_tokens import request_token
from tests.dashboard.page.seen import SESSION_LOOP, Page, open_context
from tests.dashboard.page.workloads import config_map, deployment
from tests.running_server import RunningServer

pytestmark = SESSION_LOOP


async def test_a_token_logs_in_and_a_wrong_one_is_refused_in_words(
    context: BrowserContext, cluster: RunningServer
) -> None:
    page = await Page.open(context, cluster.url)

    await page.tab.get_by_label("A token that the cluster accepts").fill("no such token")
    await page.tab.get_by_role("button", name="Log in").click()
    await page.tab.locator(".failure", has_text="nauthorized").wait_for()
    await page.photograph("dashboard-login")
    await page.log_in(cluster.token)

    assert await page.tab.locator(".who").inner_text() == "kubernetes-admin"
    assert await page.tab.evaluate("document.cookie") == ""


async def test_the_link_that_proreus_dashboard_prints_logs_in_once(
    context: BrowserContext, cluster: RunningServer
) -> None:
    command = [sys.executable, "-m", "proreus.cli.main", "dashboard"]
    asked = await asyncio.create_subprocess_exec(
        *command, "--kubeconfig", str(cluster.kubeconfig), stdout=asyncio.subprocess.PIPE
    )
    printed, _ = await asked.communicate()
    [link] = [word for word in printed.decode().split() if "code=" in word]
    tab = await context.new_page()

    await tab.goto(link)
    await tab.locator(".who", has_text="kubernetes-admin").wait_for()

    assert tab.url.split("#", 1)[0] == f"{cluster.url}/dashboard/"
    await context.clear_cookies()
    await tab.goto(link)
    await tab.get_by_role("heading", name="This link is used up").wait_for()


async def test_logging_out_ends_what_the_page_shows(page: Page) -> None:
    await page.visit("kinds/core/v1/namespaces")
    await page.row("kube-system").wait_for()

    await page.tab.get_by_role("button", name="Log out").click()

    await page.tab.get_by_role("button", name="Log in").wait_for()
    assert await page.tab.locator(".row").count() == 0


async def test_a_table_follows_what_happens(page: Page, client: Client) -> None:
    maps = client.core_v1.configmaps("default")
    await maps.create(config_map("first", team="red"))
    await page.visit("kinds/core/v1/configmaps")
    await page.row("first").wait_for()

    await maps.create(config_map("second", team="blue"))
    await page.row("second").wait_for()
    await maps.delete("first")
    await page.gone(page.row("first"))

    await page.tab.get_by_label("Label selector").fill("team=blue")
    await page.gone(page.row("kube-root-ca.crt"))
    await page.row("second").wait_for()
    await maps.create(config_map("third", team="red"))
    await maps.create(config_map("fourth", team="blue"))
    await page.row("fourth").wait_for()
    assert await page.row("third").count() == 0


async def test_keys_filter_move_open_and_go_back(page: Page, client: Client) -> None:
    maps = client.core_v1.configmaps("default")
    for name in ("keys-a", "keys-b", "keys-c"):
        await maps.create(config_map(name))
    await page.visit("kinds/core/v1/configmaps")
    await page.row("keys-c").wait_for()

    await page.tab.keyboard.press("/")
    await page.tab.keyboard.type("keys-")
    await page.gone(page.row("kube-root-ca.crt"))
    await page.tab.keyboard.press("Escape")
    await page.tab.keyboard.press("ArrowDown")
    await page.tab.keyboard.press("j")
    await page.tab.locator(".row[aria-selected=true]", has_text="keys-b").wait_for()
    await page.tab.keyboard.press("Enter")
    await page.tab.get_by_role("heading", name="keys-b").wait_for()
    await page.tab.keyboard.press("Escape")

    await page.tab.get_by_role("heading", name="ConfigMap").wait_for()
    await page.tab.keyboard.press("?")
    await page.tab.get_by_role("dialog", name="Shortcuts").wait_for()
    await page.tab.keyboard.press("Escape")
    await page.tab.keyboard.press("Control+k")
    await page.tab.keyboard.type("nodes")
    await page.tab.keyboard.press("Enter")
    await page.tab.get_by_role("heading", name="Nodes").wait_for()


async def test_columns_sort(page: Page, client: Client) -> None:
    maps = client.core_v1.configmaps("default")
    await maps.create({"metadata": {"name": "sort-2"}, "data": {"a": "", "b": ""}})
    await maps.create({"metadata": {"name": "sort-10"}, "data": {"a": ""}})
    await page.visit("kinds/core/v1/configmaps?filter=sort-")
    await page.row("sort-2").wait_for()

    async def first() -> str:
        return await page.tab.locator(".row[data-index='0'] .cell").first.inner_text()

    assert await first() == "sort-2"
    await page.tab.locator(".head").get_by_role("button", name="Data").click()
    await page.tab.locator(".row[data-index='0']", has_text="sort-10").wait_for()
    await page.tab.locator(".head").get_by_role("button", name="Data").click()
    await page.tab.locator(".row[data-index='0']", has_text="sort-2").wait_for()


async def test_custom_kinds_are_listed_with_their_columns(page: Page, client: Client) -> None:
    column = {"name": "Taste", "type": "string", "jsonPath": ".spec.taste"}
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema},
        "additionalPrinterColumns": [column],
    }  # fmt: skip
    names = {"kind": "Fruit", "plural": "fruits", "singular": "fruit"}
    spec = {"group": "garden.example", "scope": "Namespaced", "names": names, "versions": [version]}
    kinds = client.apiextensions_v1.customresourcedefinitions
    await kinds.create({"metadata": {"name": "fruits.garden.example"}, "spec": spec})
    await kinds.wait_for("fruits.garden.example", "condition=Established", timeout_s=60)
    fruits = client.resource("fruits.v1.garden.example").in_namespace("default")
    await fruits.create({"metadata": {"name": "quince"}, "spec": {"taste": "sour"}})

    await page.visit("kinds/garden.example/v1/fruits")

    await page.row("quince").wait_for()
    assert "sour" in await page.row("quince").inner_text()
    await page.tab.locator(".head", has_text="Taste").wait_for()


async def test_workloads_hang_below_what_owns_them(page: Page, client: Client) -> None:
    await client.apps_v1.deployments("default").create(deployment("shop", 2))

    await page.visit("workloads")

    await page.row("shop").filter(has_text="Deployment").filter(has_text="2/2").wait_for()
    rows = page.tab.locator(".row:not([hidden])", has_text="shop")
    for index, indent in enumerate(("8px", "26px", "44px", "44px")):
        await rows.nth(index).locator(f".tree[style*='padding-left: {indent}']").wait_for()
    await page.row("Deployment").filter(has_text="shop").locator(".fold").click()
    await page.gone(page.row("ReplicaSet").filter(has_text="shop-"))
    await page.row("Deployment").filter(has_text="shop").locator(".fold").click()
    await page.row("ReplicaSet").filter(has_text="shop-").wait_for()
    await page.photograph("dashboard-workloads")


async def test_nodes_say_what_runs_on_them_and_events_come(page: Page, client: Client) -> None:
    await page.visit("nodes")
    await page.tab.locator(".card", has_text="node-1").filter(has_text="Ready").wait_for()
    await page.visit("events")

    await client.apps_v1.deployments("default").create(deployment("eventful", 1))

    await page.row("ScalingReplicaSet").filter(has_text="eventful").wait_for()
    await page.row("Started").filter(has_text="eventful").first.wait_for()


async def test_what_a_user_may_not_do_is_not_offered(
    chromium: Browser, client: Client, cluster: RunningServer
) -> None:
    await client.core_v1.serviceaccounts("default").create({"metadata": {"name": "viewer"}})
    await client.rbac_v1.rolebindings("default").create({
        "metadata": {"name": "viewer"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"kind": "ServiceAccount", "name": "viewer", "namespace": "default"}],
    })  # fmt: skip
    await client.core_v1.configmaps("default").create(config_map("for-viewers"))
    accounts = client.core_v1.serviceaccounts("default")
    token = (await request_token(accounts, "viewer", {}))["status"]["token"]
    context = await open_context(chromium)
    page = await Page.open(context, cluster.url)
    await page.log_in(token)
    await page.tab.get_by_label("Namespace").fill("default")
    await page.tab.get_by_label("Namespace").press("Enter")

    await page.visit("object/core/v1/configmaps/default/for-viewers?tab=yaml")

    await page.sees("greeting: hello")
    await page.tab.locator(".kinds", has_text="pods").wait_for()
    for button in ("Edit", "Delete"):
        assert await page.tab.get_by_role("button", name=button, exact=True).count() == 0
    assert await page.tab.get_by_role("tab", name="History").count() == 0
    assert await page.tab.locator(".kinds a", has_text="secrets").count() == 0
    await context.close()
