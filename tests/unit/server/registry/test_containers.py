"""Which container is meant, in Kubernetes' words."""

from __future__ import annotations

import pytest

from proreus.api.status import BadRequest
from proreus.server.registry.subresources.containers import choose_container


def pod(*names: str, init: tuple[str, ...] = ()) -> dict[str, object]:
    spec = {
        "containers": [{"name": name} for name in names],
        "initContainers": [{"name": name} for name in init],
    }
    return {"metadata": {"name": "web"}, "spec": spec}


def test_the_only_one_need_not_be_named() -> None:
    assert choose_container(pod("a", init=("i",)), "") == "a"


def test_any_kind_of_container_may_be_named() -> None:
    assert choose_container(pod("a", init=("i",)), "i") == "i"


@pytest.mark.parametrize(
    ("of", "asked", "said"),
    [
        (pod("a", "b"), "", "a container name must be specified for pod web, choose one of: [a b]"),
        (
            pod("a", "b", init=("i", "j")),
            "",
            "a container name must be specified for pod web, choose one of: [i j a b]",
        ),
        (pod("a"), "c", "container c is not valid for pod web"),
        (pod(), "", "a container name must be specified for pod web"),
    ],
)
def test_what_is_unclear_is_a_bad_request(of: dict[str, object], asked: str, said: str) -> None:
    with pytest.raises(BadRequest) as refused:
        choose_container(of, asked)

    assert refused.value.message == said
