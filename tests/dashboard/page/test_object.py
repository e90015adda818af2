"""One object: editing with dry run and conflict, field owners, logs, a terminal, actions."""

from __future__ import annotations

import re

from proreus.client import Client
from tests.dashboard.page.seen import SESSION_LOOP, Page
from tests.dashboard.page.workloads import config_map, deployment, pod

pytestmark = SESSION_LOOP


async def test_an_edit_is_tried_compared_and_applied(page: Page, client: Client) -> None:
    maps = client.core_v1.configmaps("default")
    await maps.create(config_map("edited"))
    await page.visit("object/core/v1/configmaps/default/edited?tab=yaml")

    await replace_text(page, "greeting: hello", "greeting: good evening")
    await page.tab.get_by_role("button", name="Check").click()

    await page.sees("greeting: hello", ".removed")
    await page.sees("greeting: good evening", ".added")
    assert (await maps.get("edited"))["data"] == {"greeting": "hello"}
    await page.photograph("dashboard-diff")
    await page.tab.get_by_role("button", name="Apply").click()
    await page.sees("Applied", ".notice")
    written = await maps.get("edited")
    assert written["data"] == {"greeting": "good evening"}
    assert "proreus-dashboard" in {one["manager"] for one in written["metadata"]["managedFields"]}


async def test_a_mistake_is_refused_in_the_servers_words(page: Page, client: Client) -> None:
    await client.core_v1.configmaps("default").create(config_map("mistaken"))
    await page.visit("object/core/v1/configmaps/default/mistaken?tab=yaml")

    await replace_text(page, "data:", "dota:")
    await page.tab.get_by_role("button", name="Check").click()

    await page.sees('unknown field "dota"', ".failure")
    assert "dota:" in await page.tab.locator(".editor").input_value()


async def test_a_conflict_is_said_and_both_changes_are_kept(page: Page, client: Client) -> None:
    maps = client.core_v1.configmaps("default")
    await maps.create(config_map("contested", {"mine": "old", "theirs": "old"}))
    await page.visit("object/core/v1/configmaps/default/contested?tab=yaml")
    await replace_text(page, "mine: old", "mine: new")
    await maps.patch("contested", {"data": {"theirs": "new"}}, field_manager="somebody-else")

    await page.tab.get_by_role("button", name="Check").click()

    await page.sees("was changed by somebody-else while you edited it", ".conflict")
    await page.sees("theirs: new", ".added")
    await page.photograph("dashboard-conflict")
    await page.tab.get_by_role("button", name="Put my changes on top").click()
    await page.tab.locator(".editor").wait_for()
    await page.tab.get_by_role("button", name="Check").click()
    await page.sees("mine: new", ".added")
    await page.tab.get_by_role("button", name="Apply").click()
    await page.sees("Applied", ".notice")
    assert (await maps.get("contested"))["data"] == {"mine": "new", "theirs": "new"}


async def test_every_field_names_its_owner(page: Page, client: Client) -> None:
    maps = client.core_v1.configmaps("default")
    await maps.create(config_map("owned"), field_manager="first-owner")
    await maps.patch("owned", {"data": {"extra": "1"}}, field_manager="second-owner")

    await page.visit("object/core/v1/configmaps/default/owned?tab=fields")

    await page.tab.locator(".line", has_text="greeting: hello").wait_for()
    line = page.tab.locator(".line", has_text="greeting: hello").locator(".owner")
    assert await line.inner_text() == "first-owner"
    line = page.tab.locator(".line", has_text='extra: "1"').locator(".owner")
    assert await line.inner_text() == "second-owner"


async def test_a_log_is_followed(page: Page, client: Client) -> None:
    count = "i=0; while :; do echo tick $i; i=$((i+1)); sleep 0.2; done"
    await client.core_v1.pods("default").create(pod("talker", count))
    await client.core_v1.pods("default").wait_for("talker", "condition=Ready", timeout_s=60)

    await page.visit("object/core/v1/pods/default/talker?tab=logs")
    await page.row("tick").first.wait_for()
    await page.photograph("dashboard-logs")
    lines = await page.tab.locator(".logs .row:not([hidden])").all_inner_texts()
    later = max(int(line.removeprefix("tick ")) for line in lines if line) + 10
    await page.tab.get_by_label("Filter").fill(f"tick {later}")

    await page.row(f"tick {later}").first.wait_for()
    assert await page.row("tick 0").count() == 0


async def test_a_terminal_runs_a_shell(page: Page, client: Client) -> None:
    await client.core_v1.pods("default").create(pod("entered"))
    await client.core_v1.pods("default").wait_for("entered", "condition=Ready", timeout_s=60)

    await page.visit("object/core/v1/pods/default/entered?tab=terminal")
    await type_in_terminal(page, r"PS1='$ '; printf '\033[2J\033[3J\033[H'")
    await page.tab.locator(".screen-line", has_text=re.compile(r"^\$ *$")).wait_for()
    await type_in_terminal(page, "echo $((6 * 7)) is the answer")

    await page.sees("42 is the answer", ".screen-line")
    await type_in_terminal(page, r"printf '\033[31mred\033[0m \033[1mbold\033[0m\n'")
    await page.tab.locator(".screen-line span.bold", has_text=re.compile("^bold$")).wait_for()
    await type_in_terminal(page, "stty size")
    columns = page.tab.locator(".screen-line", has_text=re.compile(r"^\d+ \d\d+ *$"))
    await columns.first.wait_for()
    await page.photograph("dashboard-terminal")
    await type_in_terminal(page, "exit")
    await page.sees("The command has ended.")


async def test_owners_and_dependents_are_found_in_every_kind(page: Page, client: Client) -> None:
    await client.apps_v1.deployments("default").create(deployment("family", 1))
    await client.apps_v1.deployments("default").wait_for(
        "family", "condition=Available", timeout_s=60
    )

    await page.visit("object/apps/v1/deployments/default/family?tab=relations")
    await page.tab.locator("td a", has_text="family-").click()
    await page.tab.get_by_role("tab", name="Owners and dependents").click()

    await page.tab.locator("td a", has_text=re.compile("^family$")).wait_for()
    await page.tab.locator("tr", has_text="Pod").locator("a", has_text="family-").wait_for()


async def test_a_workload_is_scaled_restarted_and_deleted(page: Page, client: Client) -> None:
    deployments = client.apps_v1.deployments("default")
    await deployments.create(deployment("acted-on", 1))
    await page.visit("object/apps/v1/deployments/default/acted-on")

    await page.tab.get_by_role("button", name="Scale").click()
    await page.tab.get_by_label("Replicas", exact=True).fill("2")
    await page.tab.get_by_role("dialog").get_by_role("button", name="Scale").click()
    await deployments.wait_for("acted-on", "jsonpath={.spec.replicas}=2", timeout_s=60)
    await page.tab.get_by_role("button", name="Restart").click()
    await page.tab.get_by_role("dialog").get_by_role("button", name="Restart").click()
    await deployments.wait_for(
        "acted-on", lambda one: "restartedAt" in str(one["spec"]["template"]), timeout_s=60
    )
    await page.photograph("dashboard-object")
    await page.tab.get_by_role("button", name="Delete").click()
    await page.tab.get_by_role("dialog").get_by_role("button", name="Delete").click()

    await deployments.wait_deleted("acted-on", timeout_s=60)
    await page.sees("deleted", "h1")


async def replace_text(page: Page, old: str, new: str) -> None:
    await page.tab.get_by_role("button", name="Edit").click()
    field = page.tab.locator(".editor")
    text = await field.input_value()
    assert old in text
    await field.fill(text.replace(old, new))


async def type_in_terminal(page: Page, command: str) -> None:
    await page.sees("Connected", "[role=status]")
    # A prompt says that the shell listens.
    await page.tab.locator(".screen-line", has_text=re.compile(r"[#$] *$")).last.wait_for()
    await page.tab.locator(".terminal").focus()
    await page.tab.keyboard.type(command)
    await page.tab.keyboard.press("Enter")
