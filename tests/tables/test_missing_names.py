"""A name that is misspelt is answered with the one that was meant, of all public names."""

from __future__ import annotations

import pickle

import pytest

import npdec as np
from npdec.exceptions import MissingNameError

MODULES = {
    "npdec": np,
    "npdec.linalg": np.linalg,
    "npdec.fft": np.fft,
    "npdec.random": np.random,
    "npdec.testing": np.testing,
}


def misspelt(name):
    """A letter twice, a letter left out, two letters the other way round."""
    return name + name[-1], name[:-2] + name[-1], name[:-2] + name[-1] + name[-2]


@pytest.mark.parametrize("module", MODULES)
def test_misspelt_names_are_understood(module):
    names = {name for name in dir(MODULES[module]) if name.islower() and len(name) > 5 and not name.startswith("_")}
    said = right = 0
    for name in sorted(names)[::7]:
        for wrong in set(misspelt(name)) - set(dir(MODULES[module])):
            with pytest.raises(
                AttributeError, match=f"module '{module}' has no attribute '{wrong}'; did you"
            ) as caught:
                getattr(MODULES[module], wrong)
            said += 1
            right += str(caught.value).endswith(f"did you mean {name!r}?")
    assert said >= 3
    assert right >= 0.85 * said, f"{right} of {said}"


def test_what_is_like_no_name_is_not_guessed():
    with pytest.raises(AttributeError, match=r"^module 'npdec' has no attribute 'zzyzx'$"):
        np.zzyzx
    assert not hasattr(np, "_exp_")
    assert getattr(np, "expp", 3) == 3


def test_the_guess_is_made_when_the_message_is_read(monkeypatch):
    asked = []
    monkeypatch.setattr("difflib.get_close_matches", lambda *args, **kwargs: asked.append(args) or [])
    assert not hasattr(np, "expp")
    assert not asked
    str(MissingNameError("npdec", "expp"))
    assert asked


def test_it_travels():
    error = pickle.loads(pickle.dumps(MissingNameError("npdec", "expp")))
    assert (type(error), str(error)) == (
        MissingNameError,
        "module 'npdec' has no attribute 'expp'; did you mean 'exp'?",
    )
