"""Names that every docstring's example may use, and one thread a process, since tests run in several processes."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import npdec

torch.set_num_threads(1)


@pytest.fixture(autouse=True)
def _names(doctest_namespace: dict[str, Any]) -> None:
    doctest_namespace["np"] = npdec
    doctest_namespace["torch"] = torch
