"""What ``plain_yaml`` writes is read as what was written, and looks as ``yaml`` writes it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from proreus.api.wire import plain_yaml, yaml

_TEXTS = st.text(st.characters(codec="utf-8"), max_size=20) | st.sampled_from(
    ["yes", "Off", "null", "~", "1e3", "0755", "12:30", "=", "a: b", "a:", "- a", "#", "", " "]
)
_TREES = st.recursive(
    st.dictionaries(_TEXTS, _TEXTS),
    lambda below: st.dictionaries(
        _TEXTS,
        _TEXTS | below | st.lists(_TEXTS | st.dictionaries(_TEXTS, below, min_size=1)),
    ),
    max_leaves=20,
)


@settings(max_examples=30, deadline=None)
@given(_TREES)
def test_every_tree_of_text_is_read_as_it_was_written(tree: dict[str, plain_yaml.Tree]) -> None:
    if tree:
        assert yaml.decode_strict(plain_yaml.encode(tree))[0] == tree


def test_a_kubeconfig_looks_as_it_did() -> None:
    tree: dict[str, plain_yaml.Tree] = {
        "kind": "Config",
        "apiVersion": "v1",
        "clusters": [
            {
                "name": "proreus",
                "cluster": {
                    "server": "https://127.0.0.1:6443",
                    "certificate-authority-data": "YQ==",
                },
            }
        ],
        "users": [{"name": "kubernetes-admin", "user": {"token": "123"}}],
        "current-context": "proreus",
        "preferences": {},
    }

    assert plain_yaml.encode(tree) == yaml.encode(tree)
