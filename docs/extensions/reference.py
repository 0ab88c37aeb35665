"""Every public function has its place in the reference: a name that the build has not met is a warning."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from typing import Any

from sphinx.util import logging

MODULES = (
    "npdec npdec.linalg npdec.fft npdec.random npdec.func npdec.attribution npdec.overrides npdec.testing npdec.extend "
    "npdec.exceptions npdec.pydec npdec.emath"
).split()

log = logging.getLogger(__name__)


def public() -> Iterator[tuple[str, Any]]:
    """All public functions and classes that are npdec's own, with their dotted names."""
    for name in MODULES:
        module = importlib.import_module(name)
        for own in getattr(module, "__all__", ()):
            item = getattr(module, own)
            if callable(item) and getattr(item, "__module__", name).startswith("npdec"):
                yield f"{name}.{own}", item


def _find(dotted: str) -> Any:
    """What stands under a dotted name; None for what is no attribute of a module."""
    module, _, name = dotted.rpartition(".")
    found = sys.modules.get(module)
    return None if found is None else getattr(found, name, None)


def _check(app: Any, env: Any) -> None:
    described = {id(_find(name)) for name in env.domains["py"].objects}  # an alias has the page of its function
    missing = sorted(name for name, item in public() if id(item) not in described)
    if missing:
        log.warning("%d public names have no place in the reference: %s", len(missing), " ".join(missing))


def setup(app: Any) -> dict[str, bool]:
    app.connect("env-check-consistency", _check)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
