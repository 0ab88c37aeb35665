"""Compiles `npdec._native` with the package. Where that fails, or is not for this Python, npdec is pure Python."""

from __future__ import annotations

import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from setuptools import Distribution, Extension
from setuptools.command.build_ext import build_ext


class NativeHook(BuildHookInterface[Any]):
    """The library lies beside its sources, so that an editable installation finds it there."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
            return
        folder = Path(self.root, "npdec", "_native")
        sources = [str(path.relative_to(self.root)) for path in sorted(folder.glob("*.c"))]
        headers = [str(path.relative_to(self.root)) for path in sorted(folder.glob("*.h"))]
        # Optional: setuptools goes on with a warning where there is no compiler.
        # Names of other libraries, which are looked at first, are not to stand in for its own.
        hidden = [] if sys.platform == "win32" else ["-fvisibility=hidden"]
        native = Extension("npdec._native._calls", sources, depends=headers, extra_compile_args=hidden, optional=True)
        command = build_ext(Distribution({"name": "npdec", "packages": ["npdec"], "ext_modules": [native]}))
        command.inplace = True
        with tempfile.TemporaryDirectory() as scratch:
            command.build_lib = command.build_temp = scratch
            command.ensure_finalized()
            library = Path(self.root, command.get_ext_fullpath(native.name))
            written = max(Path(self.root, path).stat().st_mtime_ns for path in [*sources, *headers])
            if not library.exists() or library.stat().st_mtime_ns < written:
                library.unlink(missing_ok=True)  # of other sources
                command.run()
        if library.exists():
            build_data["artifacts"].append(f"/{library.relative_to(self.root).as_posix()}")
            build_data["pure_python"] = False
            build_data["infer_tag"] = True
