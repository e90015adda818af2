"""Random requests: every one gets an answer that somebody meant, and the server lives on.

What nobody meant is answered with one sentence (``http/errors``), so that is what is looked for.
The default run is always the same; ``HYPOTHESIS_PROFILE=thorough`` looks further.
"""

from __future__ import annotations

import asyncio
import copy
import json
import os
import threading
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from proreus.server.app import ApiServer
from proreus.server.config import ServerConfig
from tests.robustness.samples import Json, samples
from tests.robustness.wire import CONFIG_MAPS, Answer, ask, assert_alive, config_map

T = TypeVar("T")
IS_THOROUGH = os.environ.get("HYPOTHESIS_PROFILE") == "thorough"
UNEXPECTED = b"the server could not complete the request"
SAMPLES = samples()


def examples(count: int) -> settings:
    return settings(
        max_examples=int(os.environ.get("FUZZ_EXAMPLES", count * (10 if IS_THOROUGH else 1))),
        derandomize=not IS_THOROUGH,
        deadline=None,
    )


class Served:
    """A server in a loop of its own, so that plain tests can ask it."""

    def __init__(self) -> None:
        self.server = ApiServer(ServerConfig())
        self.loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._end = asyncio.Event()
        self.thread = threading.Thread(target=self.loop.run_until_complete, args=(self._serve(),))

    def start(self) -> None:
        self.thread.start()
        assert self._ready.wait(60)

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self._end.set)
        self.thread.join(60)
        self.loop.close()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(60)

    def ask(self, method: str, path: str, body: bytes | None, headers: Any = ()) -> Answer | None:
        """None if the connection was dropped."""
        try:
            answer = self.run(ask(self.server, method, path, body, headers))
        except (ConnectionError, asyncio.IncompleteReadError):
            return None
        assert UNEXPECTED not in answer.body, answer
        assert b"500 Internal Server Error" not in answer.body, answer
        return answer

    async def _serve(self) -> None:
        async with self.server:
            self._ready.set()
            await self._end.wait()


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    running = Served()
    running.start()
    yield running
    running.run(assert_alive(running.server))
    running.stop()


odd_text = st.one_of(
    st.text(max_size=20),
    st.sampled_from(["", ".", "..", "\0", "a/b", "%", "-1", "0", "9" * 30, "true", "null", "é"]),
    st.sampled_from(["*", "Exact", "NotOlderThan", "All", "Strict", "1e9", "1Gi", "a=b", "in ("]),
    st.just("A" * 300),
)
scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.floats(allow_nan=False, allow_infinity=False),
    odd_text,
)
json_values = st.recursive(
    scalars,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3), st.dictionaries(odd_text, inner, max_size=3)
    ),
    max_leaves=6,
)

words = st.sampled_from(
    ["api", "apis", "v1", "apps", "namespaces", "default", "pods", "configmaps", "deployments"]
    + ["watch", "status", "scale", "nodes", "openapi", "v2", "v3", "readyz", "log", "binding"]
    + ["batch", "autoscaling", "horizontalpodautoscalers", "eviction", "token", "finalize"]
)
segments = st.one_of(words, words, words, odd_text.map(lambda text: quote(text, safe="")))
paths = st.one_of(
    st.lists(segments, max_size=8).map(lambda parts: "/" + "/".join(parts)),
    st.builds(
        lambda sample, tail: "/".join([sample[0], *tail]),
        st.sampled_from(SAMPLES),
        st.lists(segments, max_size=2),
    ),
)
parameters = st.sampled_from(
    ["watch", "limit", "continue", "resourceVersion", "resourceVersionMatch", "timeoutSeconds"]
    + ["labelSelector", "fieldSelector", "sendInitialEvents", "allowWatchBookmarks", "pretty"]
    + ["dryRun", "fieldManager", "fieldValidation", "force", "timeout", "includeObject"]
    + ["gracePeriodSeconds", "propagationPolicy", "orphanDependents", "x"]
)
queries = st.lists(st.tuples(parameters, odd_text), max_size=4).map(
    lambda pairs: "&".join(f"{name}={quote(value)}" for name, value in pairs)
)
header_text = st.text(st.characters(min_codepoint=32, max_codepoint=255), max_size=30)
headers = st.lists(
    st.tuples(
        st.sampled_from(
            ["Accept", "Content-Type", "User-Agent", "Accept-Encoding", "Impersonate-User"]
            + ["Impersonate-Group", "Impersonate-Extra-x", "If-None-Match", "Audit-Id", "Range"]
        ),
        st.one_of(
            header_text,
            st.sampled_from(
                ["application/json", "application/yaml", "application/vnd.kubernetes.protobuf"]
                + ["application/json;as=Table;v=v1;g=meta.k8s.io", "application/merge-patch+json"]
                + ["application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", "gzip"]
                + ["application/apply-patch+yaml", "application/strategic-merge-patch+json"]
                + ["application/json-patch+json", "*/*"]
            ),
        ),
    ),
    max_size=3,
)
methods = st.sampled_from(["GET", "GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"])
bodies = st.one_of(
    st.none(),
    st.binary(max_size=60),
    json_values.map(lambda value: json.dumps(value).encode()),
    st.sampled_from(SAMPLES).map(lambda sample: json.dumps(sample[1]).encode()),
)


@examples(200)
@given(method=methods, path=paths, query=queries, body=bodies, headers=headers)
def test_a_random_request_is_answered_on_purpose(
    served: Served,
    method: str,
    path: str,
    query: str,
    body: bytes | None,
    headers: list[tuple[str, str]],
) -> None:
    # A watch would wait for its end; how long is not what is asked here.
    served.ask(method, f"{path}?timeoutSeconds=-1&{query}", body, headers)


def places(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    if path:
        yield path
    if isinstance(value, dict):
        for key, child in value.items():
            yield from places(child, (*path, key))
    elif isinstance(value, list):
        for index, child in enumerate(value):
            yield from places(child, (*path, index))


def bent(sample: Json, changes: list[tuple[tuple[str | int, ...], Any]]) -> Json:
    """A copy with other values at some places; what is no longer there stays away."""
    changed = copy.deepcopy(sample)
    for (*above, last), value in changes:
        target: Any = changed
        try:
            for step in above:
                target = target[step]
            target[last] = copy.deepcopy(value)
        except (LookupError, TypeError):
            continue
    return changed


@st.composite
def bent_samples(draw: st.DrawFn) -> tuple[str, Json]:
    path, sample = draw(st.sampled_from(SAMPLES))
    all_places = list(places(sample))
    changes = draw(
        st.lists(st.tuples(st.sampled_from(all_places), json_values), min_size=1, max_size=3)
    )
    return path, bent(sample, changes)


@examples(200)
@given(sample=bent_samples(), query=st.sampled_from(["", "&fieldValidation=Strict"]))
def test_an_object_with_something_else_inside_is_validated(
    served: Served, sample: tuple[str, Json], query: str
) -> None:
    path, obj = sample
    served.ask("POST", f"{path}?dryRun=All{query}", json.dumps(obj).encode())


async def test_every_sample_is_fine_before_it_is_bent(server: ApiServer) -> None:
    """Else the bent ones would be refused at the door and prove nothing."""
    for path, obj in SAMPLES:
        answer = await ask(server, "POST", path, json.dumps(obj).encode())
        assert answer.code == 201, (path, answer)


@pytest.mark.parametrize(
    "kind",
    ["merge-patch+json", "strategic-merge-patch+json", "json-patch+json", "apply-patch+yaml"],
)
@examples(50)
@given(sample=bent_samples(), loose=json_values)
def test_a_random_patch_is_validated(
    served: Served, kind: str, sample: tuple[str, Json], loose: Any
) -> None:
    path, obj = sample
    original = next(sample for place, sample in SAMPLES if place == path)
    name = original["metadata"]["name"]
    served.ask("POST", path, json.dumps(original).encode())
    stored = served.ask("GET", f"{path}/{name}", None)
    assert stored is not None
    patch: Any = obj
    if kind == "json-patch+json":
        patch = [{"op": "replace", "path": f"/{key}", "value": obj[key]} for key in obj]
        patch.append(loose)
    elif kind == "apply-patch+yaml" and stored.code == 200:
        patch = {**obj, "kind": stored.json["kind"], "apiVersion": stored.json["apiVersion"]}

    for query in ("dryRun=All&fieldManager=f&force=", "dryRun=All"):
        served.ask(
            "PATCH",
            f"{path}/{name}?{query}",
            json.dumps(patch).encode(),
            [("Content-Type", f"application/{kind}")],
        )


@examples(100)
@given(data=st.binary(max_size=200), prefix=st.booleans())
def test_random_protobuf_is_refused_or_read(served: Served, data: bytes, prefix: bool) -> None:
    body = b"k8s\0" + data if prefix else data
    kind = [("Content-Type", "application/vnd.kubernetes.protobuf")]
    served.ask("POST", f"{CONFIG_MAPS}?dryRun=All", body, kind)


@examples(100)
@given(text=st.text("abc:-[]{}&*!|>'\"#%@`\n\t ,?~0123456789.eé", max_size=60))
def test_random_yaml_is_refused_or_read(served: Served, text: str) -> None:
    body = config_map("a") + b"\n" if not text else text.encode()
    kind = [("Content-Type", "application/yaml")]
    served.ask("POST", f"{CONFIG_MAPS}?dryRun=All", body, kind)
