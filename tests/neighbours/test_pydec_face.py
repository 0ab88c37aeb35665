"""Programs for PyDec 0.3.0 run with another import, and give the same numbers.

Each is a text, run once with `import pydec` and once with the line replaced.
"""

from __future__ import annotations

import contextvars
import inspect
import threading

import pytest
import torch

import npdec as np
import npdec.pydec as face

pydec = pytest.importorskip("pydec")

TINY = """
import torch
import pydec
torch.manual_seed(5)

class TinyModel(torch.nn.Module):
    def __init__(self):
        super(TinyModel, self).__init__()
        self.linear1 = torch.nn.Linear(4, 10)
        self.activation = torch.nn.ReLU()
        self.linear2 = torch.nn.Linear(10, 2)

    def forward(self, x):
        x = self.linear1(x)
        x = self.activation(x)
        x = self.linear2(x)
        return x

tinymodel = TinyModel()
x = torch.rand(4)
c = pydec.zeros(x.size(), c_num=x.size(0))
c = pydec.diagonal_init(c, src=x, dim=0)
"""

# Name: (program, the compositions and tensors that it makes).
PROGRAMS = {
    "a model": (TINY + "out = tinymodel(c)\ntotal = out.c_sum()", "c out total"),
    "a product": (TINY + "out = torch.mul(c, 2)\ntwice = c * 3 + c - 1", "out twice"),
    "parts": (
        TINY + "components, residual, count, rows = c.components, c.residual, c.numc(), c.c_size()\n"
        "again = pydec.Composition(components, residual + 1)\ncopy = pydec.Composition(again)\n"
        "bare = pydec.Composition(components)\nrecovery = again.recovery",
        "components residual count rows again copy bare recovery",
    ),
    "a batch of words": (
        TINY + "x = torch.randn(2, 5, 4)\n"
        "c = pydec.zeros(x.size(), c_num=x.size(1))\nc = pydec.diagonal_init(c, src=x, dim=1)\n"
        "out = tinymodel(c)\nshape = out.size()\nlength = len(out)",
        "c out shape length",
    ),
    "functions of components": (
        TINY + "a = pydec.c_apply(c, torch.abs)\nb = pydec.c_map(c, a, torch.add)\nd = pydec.c_cat([c, b])\n"
        "e = pydec.c_cat([c, b], sum_residual=False)\nf = pydec.c_stack([x, 2 * x])\n"
        "g = pydec.c_index_select(tinymodel(c), torch.tensor([0, 2]))\n"
        "h = pydec.c_index_select(tinymodel(c), torch.tensor([0, 2]), with_residual=False)\n"
        "i = pydec.c_masked_fill(c, torch.tensor([True, False, False, True]), 0.5)\n"
        "j = pydec.as_composition(torch.ones(3, 2), torch.ones(2))\nk = pydec.as_composition(torch.ones(3, 2))\n"
        "l = pydec.numc(d)\nm = pydec.c_numel(d), pydec.c_numel(d, count_residual=True)\nn = pydec.c_sum(d)\n"
        "o = pydec.cat([c, b])\np = pydec.diagonal_init(pydec.zeros((2, 3), c_num=4), torch.ones(2, 3), 1, offset=-1)",
        "a b d e f g h i j k l m n o p",
    ),
    "a gated unit": (
        TINY
        + "h = tinymodel.linear1(c)\nout = torch.sigmoid(h) * torch.tanh(h)\nw = out.reshape(2, 5).transpose(0, 1)[1:]",
        "h out w",
    ),
    "linearised by hand": (
        TINY
        + """
class LlamaRMSNorm(torch.nn.Module):
    def __init__(self, hidden_size, eps=1e-6):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(hidden_size))
        self.variance_epsilon = eps

    def forward(self, hidden_states):
        input_dtype = hidden_states.dtype
        hidden_states = hidden_states.to(torch.float32)
        if isinstance(hidden_states, pydec.Composition):
            variance = hidden_states.c_sum().pow(2).mean(-1, keepdim=True)
        else:
            variance = hidden_states.pow(2).mean(-1, keepdim=True)
        hidden_states = hidden_states * torch.rsqrt(variance + self.variance_epsilon)
        return self.weight * hidden_states.to(input_dtype)

norm = LlamaRMSNorm(2)
out = norm(tinymodel(c))
plain = norm(tinymodel(x))
""",
        "out plain",
    ),
    "registered": (
        TINY + "known = pydec.overrides.is_registered(torch.nn.functional.relu)\n"
        "unknown = pydec.overrides.is_registered(torch.linalg.matrix_exp)\n"
        "@pydec.overrides.register_torch_function(torch.nn.functional.softsign)\n"
        "def softsign(input):\n    return input * 2\n"
        "out = torch.nn.functional.softsign(c)",
        "known unknown out",
    ),
    "rules": (
        TINY + "h = tinymodel.linear1(c)\n"
        "with pydec.decOVF.using_decomposition_func('abs_affine'):\n    a = torch.relu(h)\n"
        "with pydec.decOVF.using_decomposition_func('scaling'):\n    b = torch.tanh(h)\n"
        "with pydec.decOVF.using_decomposition_func('none'):\n    d = torch.tanh(h)\n"
        "e = torch.tanh(h)\nname = pydec.decOVF.get_decomposition_name()",
        "a b d e name",
    ),
    "options": (
        TINY + "h = tinymodel.linear1(c)\npydec.decOVF.set_decomposition_args(update=False, threshold=0.8)\n"
        "pydec.decOVF.set_decomposition_func('abs_affine')\na = torch.relu(h)\n"
        "args = dict(pydec.decOVF.get_decomposition_args())\n"
        "with pydec.decOVF.using_decomposition_args(eps=2):\n    more = dict(pydec.decOVF.get_decomposition_args())\n"
        "pydec.decOVF.set_decomposition_func('affine')\nb = torch.relu(h)\n"
        "pydec.decOVF.set_decomposition_args(update=False)\nnone = dict(pydec.decOVF.get_decomposition_args())",
        "a args more b none",
    ),
    "a gradient": (
        TINY + "c = pydec.diagonal_init(pydec.zeros(x.size(), c_num=4), src=x.requires_grad_(), dim=0)\n"
        "tinymodel(c).components[1].sum().backward()\ngrad = x.grad\nweights = tinymodel.linear1.weight.grad",
        "grad weights",
    ),
    "functions": (
        TINY + "h = pydec.stack([c, c])\na = pydec.add(c, 1.0)\nb = pydec.sum(h, dim=0)\n"
        "d = pydec.mean(h, dim=1, keepdim=True)\n"
        "e = pydec.mul(c, c)\nf = pydec.permute(h, (1, 0))\ng = pydec.matmul(c, torch.ones(4, 2))\n"
        "i = pydec.relu(c - 0.5)\n"
        "j = pydec.masked_fill(c, x > 0.5, 0.0)\nk = pydec.zeros((2, 3), 4)\nl = pydec.zeros(2, 3, c_num=4)\n"
        "m = pydec.numel(h)\nn = pydec.index_select(h, 1, torch.tensor([0, 2]))\no = pydec.div(c, 3)\n"
        "q = pydec.zeros(x.size(), c_num=4, dtype=torch.float64).dtype",
        "h a b d e f g i j k l m n o q",
    ),
    "types": (
        TINY + "right = isinstance(tinymodel(c), pydec.Composition)\nwrong = isinstance(x, pydec.Composition)\n"
        "a = pydec.Composition(component_tensor=x[:, None], residual_tensor=x[:1])\n"
        "b = pydec.Composition(composition=a)",
        "right wrong a b",
    ),
}


def run(text: str, line: str) -> dict[str, object]:
    """The names that the program leaves, run in a context of its own."""
    scope: dict[str, object] = {}
    assert text.count("\nimport pydec\n") == 1
    contextvars.copy_context().run(exec, text.replace("\nimport pydec\n", f"\n{line}\n"), scope)
    return scope


def compare(theirs: object, ours: object, name: str) -> None:
    if isinstance(theirs, pydec.Composition):
        assert type(ours) is np.DecomposedTensor, name
        torch.testing.assert_close(ours.components, theirs.components, msg=name, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(ours.residual, theirs.residual, msg=name, rtol=1e-5, atol=1e-6)
        torch.testing.assert_close(ours.value, theirs.c_sum(), msg=name, rtol=1e-5, atol=1e-6)
    elif isinstance(theirs, torch.Tensor):
        assert type(ours) is torch.Tensor, name
        torch.testing.assert_close(ours, theirs, msg=name)
    else:
        assert ours == theirs, name


@pytest.fixture(autouse=True)
def _nothing_is_left():
    from pydec import overrides

    from npdec._decomposed.registry import rows

    before, handled = dict(rows), dict(overrides._HANDLED_CUSTOMIZED_FUNCTIONS)
    yield
    rows.clear()
    rows.update(before)
    overrides._HANDLED_CUSTOMIZED_FUNCTIONS.clear()
    overrides._HANDLED_CUSTOMIZED_FUNCTIONS.update(handled)


LINE = "import npdec.pydec as pydec"


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_runs_with_another_import(name):
    text, results = PROGRAMS[name]
    theirs, ours = run(text, "import pydec"), run(text, LINE)
    for result in results.split():
        compare(theirs[result], ours[result], result)


def test_layer_norm_is_linearised_by_a_rule():
    text = (
        TINY + "out = torch.nn.functional.layer_norm(tinymodel.linear1(c), (10,), torch.arange(10.0), torch.ones(10))"
    )
    theirs = run(text, "import pydec")["out"]
    with np.rule(normalisation="frozen"):
        compare(theirs, run(text, LINE)["out"], "layer_norm")


def test_all_of_pydecs_functions_are_there():
    from pydec import variable_functions

    names = [
        name
        for name, item in vars(variable_functions).items()
        if inspect.isfunction(item) and "variable_functions" in item.__code__.co_filename and not name.startswith("_")
    ]
    assert len(names) > 60
    missing = [name for name in names if not hasattr(face, name)]
    assert set(missing) == {"void", "empty_indices"}
    for name in missing:
        with pytest.raises(AttributeError, match=f"npdec.pydec has no {name}: "):
            getattr(face, name)
    assert all(callable(getattr(face, name)) for name in face.__all__ if name not in ("nn", "overrides", "decOVF"))


def test_numpys_names_are_numpys():
    assert type(np.zeros(3)) is np.ndarray
    with pytest.raises(TypeError, match="c_num"):
        np.zeros(2, c_num=1)
    for name in ("as_composition", "c_apply", "c_map", "diagonal_init", "decOVF", "numc", "nn"):
        with pytest.raises(AttributeError, match=name):
            getattr(np, name)


def test_what_is_no_composition_is_refused():
    with pytest.raises(TypeError, match=r"not torch\.int64"):
        face.as_composition(torch.ones(3, 2, dtype=torch.int64))
    with pytest.raises(ValueError, match=r"residual of shape \(2,\), not \(3,\)"):
        face.as_composition(torch.ones(3, 2), torch.ones(3))
    with pytest.raises(ValueError, match="residual like them"):
        face.as_composition(torch.ones(3, 2), torch.ones(2, dtype=torch.float64))
    with pytest.raises(TypeError, match="a residual is a"):
        face.Composition(torch.ones(3, 2), np.float32)
    with pytest.raises(ValueError, match="one shape is needed"):
        face.c_cat([face.zeros(2, c_num=1), face.zeros(3, c_num=1)])
    with pytest.raises(ValueError, match="a mask of 2 for 3"):
        face.c_masked_fill(face.zeros(2, c_num=3), torch.ones(2, dtype=torch.bool), 0)
    with pytest.raises(TypeError, match="c_num"):
        face.zeros(3)
    with pytest.raises(TypeError, match="components are a"):
        face.Composition((2, 3))


def test_a_rule_that_is_set_holds_in_its_thread():
    found = []

    def work():
        face.decOVF.set_decomposition_func("none")
        found.append(torch.tanh(face.zeros(2, c_num=2) + 1).components.any().item())
        found.append(face.decOVF.get_decomposition_name())
        face.decOVF.set_decomposition_func("affine")  # what a thread leaves set, torch.compile never knows to be gone

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [False, "none"]
    assert face.decOVF.get_decomposition_name() == "affine"
    with pytest.raises(ValueError, match="unknown rule 'nothing'"):
        face.decOVF.set_decomposition_func("nothing")


def test_a_rule_is_registered_as_pydecs_are():
    @face.decOVF.register_decomposition_func("pydec_face_equal_shares")
    def equal_shares(input, func, *, ref=None, inplace=False, keep=0.0):
        share = (func(ref) - func(input.residual)) * (1 - keep) / input.numc()
        return face.as_composition(share.expand(input.components.shape), func(input.residual))

    c = face.diagonal_init(face.zeros(2, c_num=2), torch.tensor([1.0, 2.0]), 0)
    with face.decOVF.using_decomposition_func("pydec_face_equal_shares"):
        made = torch.exp(c)
        torch.testing.assert_close(made.components, ((c.value.exp() - 1) / 2).expand(2, 2))
        with face.decOVF.using_decomposition_args(keep=1.0, threshold=3):
            assert not torch.exp(c).components.any()
