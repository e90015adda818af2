"""With the official client: as many Secrets as a ConfigMap's size says, and how often it was made.

The program is ``buggy`` in two ways: it takes sizes to go down by one, and it counts events.
"""

from __future__ import annotations

import sys
from typing import Any

from kubernetes import client, config, watch
from kubernetes.client.exceptions import ApiException

IS_BUGGY = sys.argv[1] == "buggy"


def scale(api: client.CoreV1Api, name: str, size: int) -> None:
    there = {one.metadata.name for one in api.list_namespaced_secret("default").items}
    for number in range(size):
        if f"{name}-{number}" not in there:
            body = client.V1Secret(metadata=client.V1ObjectMeta(name=f"{name}-{number}"))
            api.create_namespaced_secret("default", body)
    surplus = [one for one in there if one.startswith(f"{name}-") and int(one[-1]) >= size]
    for secret in [f"{name}-{size}"] if IS_BUGGY and surplus else surplus:
        if secret in there:
            api.delete_namespaced_secret(secret, "default")


def count(api: client.CoreV1Api, found: Any) -> None:
    """Notes that a map was made: in an annotation, as the number of times or as its uid."""
    before = (found.metadata.annotations or {}).get("made", "")
    after = str(int(before or 0) + 1) if IS_BUGGY else "yes"
    if after != before:
        body = {"metadata": {"annotations": {"made": after}}}
        api.patch_namespaced_config_map(found.metadata.name, "default", body)


def main() -> None:
    config.load_kube_config()
    api = client.CoreV1Api()
    while True:
        try:
            for event in watch.Watch().stream(
                api.list_namespaced_config_map, "default", label_selector="scaled"
            ):
                if event["type"] == "DELETED":
                    continue
                found = event["object"]
                scale(api, found.metadata.name, int(found.data["size"]))
                if event["type"] == "ADDED":
                    count(api, found)
        except ApiException as problem:
            if problem.status != 410:
                raise


main()
