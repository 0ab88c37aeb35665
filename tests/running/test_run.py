"""`python -m npdec run` is `python`, with another numpy; and pytest's plugin runs a library's tests so."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.slow  # processes

PROGRAM = """\
import sys
import numpy as np
import helper, colors.inner
from fractions import Fraction

class Mine:
    pass

def main(what):
    print(sys.argv[1:], sys.path[0], __name__, __file__, __package__, Mine.__module__)
    print(np.arange(3), helper.np is np, sys.modules["__main__"].main is main)
    if what == "raise":
        helper.fail(Fraction(1))
    if what == "exit":
        sys.exit(7)
    if what == "wait":
        sys.stdout.flush()
        helper.wait()
    if what == "import":
        import broken
    print(np.__name__, helper.np.__name__, colors.inner.np.__name__, file=sys.stderr)

if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
"""
HELPER = """\
import time
import numpy as np

def fail(x):
    raise ValueError("of the helper")

def wait():
    time.sleep(60)
"""


@pytest.fixture
def folder(tmp_path):
    """A program, a module beside it, and a package elsewhere."""
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    for file, text in {
        here / "prog.py": PROGRAM,
        here / "helper.py": HELPER,
        here / "broken.py": "import numpy as np\nx = = 1\n",
        here / "pack" / "__init__.py": "",
        here / "pack" / "__main__.py": "from pack.tool import where\nprint('main', where)",
        here / "pack" / "tool.py": "import numpy\nwhere = numpy.__name__\nprint(__name__, __package__, where)",
        here / "app" / "__main__.py": "import sys, numpy, beside\nprint(sys.argv, numpy.__name__, beside.np.__name__)",
        here / "app" / "beside.py": "import numpy as np",
        elsewhere / "colors" / "__init__.py": "import numpy as np",
        elsewhere / "colors" / "inner.py": "import numpy as np",
    }.items():
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return here


def start(folder, *words):
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    paths = os.pathsep.join([root, str(folder.parent / "elsewhere")])
    return subprocess.Popen(
        [sys.executable, *words],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, "PYTHONDONTWRITEBYTECODE": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process):
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


@pytest.mark.long
def test_a_program_runs_as_under_python(folder):
    for words in (["prog.py", "a", "--also", "-m"], ["prog.py", "raise"], ["prog.py", "exit"]):
        ours = ended(start(folder, "-m", "npdec", "run", *words))
        theirs = ended(start(folder, *words))
        assert ours[:2] == theirs[:2]
        assert ours[2].replace("npdec npdec", "numpy numpy") == theirs[2], words
        if words[1] == "a":
            assert ours[2] == "npdec npdec numpy\n"


def test_packages_are_named_by_also(folder):
    code, _, err = ended(start(folder, "-m", "npdec", "run", "--also", "colors", "prog.py"))
    assert (code, err) == (0, "npdec npdec npdec\n")
    code, _, err = ended(start(folder, "-m", "npdec", "run", "--also=colours", "prog.py"))
    assert (code, err) == (2, "npdec run: error: no package 'colours'\n")


def test_errors_of_syntax_have_the_file_and_line(folder):
    ours = ended(start(folder, "-m", "npdec", "run", "prog.py", "import"))
    theirs = ended(start(folder, "prog.py", "import"))
    assert ours == theirs
    assert ended(start(folder, "-m", "npdec", "run", "broken.py")) == ended(start(folder, "broken.py"))


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_interrupt_ends_it_as_it_ends_python(folder):
    def interrupted(*words):
        process = start(folder, *words, "wait")
        process.stdout.readline()
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        return ended(process)

    code, _, err = interrupted("-m", "npdec", "run", "prog.py")
    assert code == -signal.SIGINT == interrupted("prog.py")[0]
    assert err.endswith("KeyboardInterrupt\n")
    assert err.count("File ") == err.count(str(folder)) > 0


@pytest.mark.long
def test_a_module_of_a_package(folder):
    for words in (["pack"], ["helper"]):
        ours = ended(start(folder, "-m", "npdec", "run", "-m", *words))
        theirs = ended(start(folder, "-m", *words))
        assert ours[0] == theirs[0] == 0
        assert ours[1].replace("npdec", "numpy") == theirs[1]
        assert "numpy" not in ours[1]
    assert ended(start(folder, "-m", "npdec", "run", "-m", "pack.nothing")) == (
        2,
        "",
        "npdec run: error: No module named pack.nothing\n",
    )
    assert ended(start(folder, "-m", "npdec", "run", "app", "x")) == (0, "['app', 'x'] npdec npdec\n", "")


def test_what_is_no_program(folder):
    assert ended(start(folder, "-m", "npdec", "run"))[0] == 2
    code, _, err = ended(start(folder, "-m", "npdec", "run", "nothing.py"))
    assert (code, err) == (2, "npdec run: error: can't open file 'nothing.py': no such file\n")


# --- pytest -----------------------------------------------------------------------------------------------------------

TESTS = '''\
import numpy as np
import pytest
from colors import inner
from helper import again

def test_which(fixture):
    """
    >>> import numpy as np
    >>> np.__name__
    'npdec'
    """
    assert np.__name__ == inner.np.__name__ == again.__name__ == fixture == "npdec"
    import outside
    assert outside.np.__name__ == pytest.importorskip("outside").np.__name__ == "numpy"
    assert np.arange(3).tolist() == pytest.approx(np.array([0, 1, 2]))

def test_failing():
    x = np.arange(2)
    assert x[0] == x[1]
'''


@pytest.mark.long
def test_a_librarys_tests_run_on_npdec(tmp_path):
    files = {
        "tests/conftest.py": "import numpy, pytest\n@pytest.fixture\ndef fixture():\n    return numpy.__name__\n",
        "tests/test_it.py": TESTS,
        "tests/text.txt": ">>> import numpy\n>>> numpy.__name__\n'npdec'\n",
        "tests/helper.py": "import numpy as again",
        "pytest.ini": "[pytest]\n",
    }
    elsewhere = tmp_path / "elsewhere" / "colors"
    elsewhere.mkdir(parents=True)
    (elsewhere / "__init__.py").write_text("")
    (elsewhere / "inner.py").write_text("import numpy as np")
    (elsewhere.parent / "outside.py").write_text("import numpy as np")
    here = tmp_path / "here"
    for name, text in files.items():
        (here / name).parent.mkdir(exist_ok=True, parents=True)
        (here / name).write_text(textwrap.dedent(text))
    words = ["-m", "pytest", "-p", "npdec.pytest_plugin", "-p", "no:cacheprovider", "--doctest-modules"]
    words += ["--doctest-glob=*.txt", "-q"]
    code, out, err = ended(start(here, *words, "--npdec=colors", "--npdec", "colours", "tests"))
    assert not err
    assert "3 passed" in out
    assert "1 failed" in out
    assert "assert np.int64(0) == np.int64(1)" in out  # pytest's own report of an assertion
    assert "npdec: no module of 'colours' has been imported" in out
    assert code == 1
    code, out, _ = ended(start(here, *words, "tests"))
    assert "3 failed, 1 passed" in out or "4 failed" in out  # without the option it is NumPy
    code, _, err = ended(start(here, *words, "--npdec=numpy", "tests"))
    assert code == 4
    assert "--npdec: numpy cannot be run on npdec" in err
