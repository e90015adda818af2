"""With an informer: a Secret per ConfigMap that asks for one, deleted with it.

The program is ``buggy`` in that it believes its cache when it looks for what is to be deleted.
"""

from __future__ import annotations

import contextlib
import queue
import sys

from proreus.api.status import NotFound
from proreus.blocking import Client, SharedInformerFactory

IS_BUGGY = sys.argv[1] == "buggy"


def main() -> None:
    names: queue.Queue[str] = queue.Queue()
    with Client.from_env() as client, SharedInformerFactory(client, namespace="default") as caches:
        secrets = client.core_v1.secrets("default")
        caches.informer("configmaps").add_handler(
            on_add=lambda new: names.put(new.name), on_delete=lambda old: names.put(old.name)
        )
        caches.start()
        caches.wait_for_cache_sync()
        for secret in secrets.list(label_selector="made"):
            names.put(secret.name)
        while True:
            name = names.get()
            if is_wanted(client, caches, name):
                metadata = {"name": name, "labels": {"made": "yes"}}
                body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata}
                secrets.apply(body, force=True)
            else:
                with contextlib.suppress(NotFound):
                    secrets.delete(name)


def is_wanted(client: Client, caches: SharedInformerFactory, name: str) -> bool:
    found = caches.lister("configmaps").find(name, "default")
    if found is None and not IS_BUGGY:
        with contextlib.suppress(NotFound):
            found = client.core_v1.configmaps("default").get(name)
    return found is not None and bool(found.labels.get("secret"))


main()
