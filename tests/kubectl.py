"""Whether there is a kubectl to test with."""

from __future__ import annotations

import shutil

import pytest

needs_kubectl = pytest.mark.skipif(
    not shutil.which("kubectl"), reason="kubectl is not installed (Debian: kubernetes-client)"
)
