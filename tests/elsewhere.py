"""The device "elsewhere" of torch, which the host stands for: faults of devices are found with it where there is none.

`install()` compiles `elsewhere.cpp`, which takes half a minute, and gives the process the device for good.
"""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import sysconfig
import tempfile
import types
from collections.abc import Callable
from pathlib import Path

import torch
from torch.utils import cpp_extension

COMPILER = shutil.which("g++")


def install() -> Callable[[], int]:
    """Make the device; returns what tells how often a program would have waited for an accelerator."""
    source = Path(__file__).with_name("elsewhere.cpp")
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder, "elsewhere_native.so")
        headers = [*cpp_extension.include_paths(), sysconfig.get_paths()["include"]]
        libraries = [f"-L{path}" for path in cpp_extension.library_paths()]
        libraries += ["-lc10", "-ltorch_cpu", "-ltorch", "-ltorch_python"]
        flags = ["-std=c++20", "-O0", "-w", "-fPIC", "-shared", *[f"-I{path}" for path in headers]]
        command = [str(COMPILER), *flags, str(source), "-o", str(library), *libraries]
        subprocess.run(command, check=True)
        spec = importlib.util.spec_from_file_location("elsewhere_native", library)
        assert spec is not None
        assert spec.loader is not None
        native = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(native)
    torch.utils.rename_privateuse1_backend("elsewhere")
    module = types.ModuleType("torch.elsewhere")
    vars(module).update(
        is_available=lambda: True,
        device_count=lambda: 1,
        current_device=lambda: 0,
        _is_in_bad_fork=lambda: False,
        manual_seed_all=torch.default_generator.manual_seed,
        get_amp_supported_dtype=lambda: [torch.float16, torch.bfloat16],
    )
    torch._register_device_module("elsewhere", module)
    found: Callable[[], int] = native.waits
    return found
