"""A program of tests/programs, read with another library in the place of NumPy."""

from __future__ import annotations

import sys
import types
from unittest import mock

IMPORT = "import numpy as np"


def load(path, library):
    """The program as a module that imports another library; in `sys.modules` while it runs, for dataclasses."""
    source = path.read_text()
    assert source.count(IMPORT) == 1
    module = types.ModuleType(path.stem)
    with mock.patch.dict(sys.modules, {path.stem: module}):
        exec(compile(source.replace(IMPORT, f"import {library} as np"), str(path), "exec"), vars(module))
    return module
