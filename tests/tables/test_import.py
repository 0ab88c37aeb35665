"""What the import of npdec does to the process."""

import subprocess
import sys

import pytest

PROGRAMS = {
    "collects": "import gc, npdec; assert gc.isenabled()",
    "does not": "import gc; gc.disable(); import npdec; assert not gc.isenabled()",
    "does again where the import fails": """
import gc, sys
sys.modules["npdec._functions.vectorize"] = None  # one of the last that is imported
try:
    import npdec
except ImportError:
    pass
else:
    raise AssertionError
assert gc.isenabled()
""",
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_the_collector_is_after_the_import_as_it_was_before(name):
    """While npdec is imported nothing is collected: to look through torch's objects takes as long as all the rest."""
    subprocess.run([sys.executable, "-c", PROGRAMS[name]], check=True)
