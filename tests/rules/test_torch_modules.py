"""All of torch.nn under decomposition, module by module: the plain run's value bit for bit, the module on the baseline,
completeness, and reverse mode."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils import rnn

import npdec as np
from npdec._rules import recurrent_multipliers
from tiers import turns
from torch_checks import check, check_forward, flat, is_decomposed
from torch_modules import LOOKED_AT, MODES, TABLE, D
from torch_samples import Sample

Function = Callable[..., Any]


pytestmark = pytest.mark.usefixtures("decomposition_warnings_alone")


# -- torch's own samples of modules ------------------------------------------------------------------------------------

NO_GRADIENT = {
    "BCELoss": "torch refuses targets that are moved outside",
    "CTCLoss": "torch's gradient is that of the log-softmax before it",
}


def _called(module: nn.Module) -> Function:
    """Calls of the module as it is now: what it learns of one (statistics) is not there at the next."""
    return copy.deepcopy(module)


@pytest.mark.parametrize(("name", "training"), MODES)
def test_modules_of_the_table(name: str, training: bool) -> None:
    info = TABLE[name]
    inputs = info.module_inputs_func(info, device="cpu", dtype=D, requires_grad=False, training=training)
    for chosen in [inputs[0], *([inputs[-1]] if len(inputs) > 1 else [])]:
        torch.manual_seed(0)
        module = info.module_cls(*chosen.constructor_input.args, **chosen.constructor_input.kwargs).to(D)
        module.train(training)
        args, kwargs = chosen.forward_input.args, chosen.forward_input.kwargs
        sample = Sample(name, _called(module), tuple(args), dict(kwargs), looked_at=LOOKED_AT.get(name, ()))
        if sample.leaves:
            check(sample.run, sample.inputs, sample.bases, small=name not in NO_GRADIENT)


# -- the others --------------------------------------------------------------------------------------------------------

_SOURCE = torch.Generator().manual_seed(2)


def _n(*shape: int) -> torch.Tensor:
    return torch.randn(shape, generator=_SOURCE, dtype=D)


def _eval(module: nn.Module) -> nn.Module:
    return module.eval()


_PLACES = torch.tensor([[[1, 2, 5]]])
_TARGET = torch.tensor([2, 0, 5])
OTHERS: dict[str, tuple[Function, tuple[torch.Tensor, ...]]] = {
    "AdaptiveLogSoftmaxWithLoss": (lambda: _with(nn.AdaptiveLogSoftmaxWithLoss(4, 6, [2, 4]), _TARGET), (_n(3, 4),)),
    "AlphaDropout": (lambda: nn.AlphaDropout(0.3), (_n(3, 4),)),
    "AlphaDropout eval": (lambda: _eval(nn.AlphaDropout(0.3)), (_n(3, 4),)),
    "ChannelShuffle": (lambda: nn.ChannelShuffle(2), (_n(1, 4, 2, 2),)),
    "CosineSimilarity": (nn.CosineSimilarity, (_n(3, 4), _n(3, 4))),
    "DataParallel": (lambda: nn.DataParallel(nn.Linear(4, 2).to(D)), (_n(3, 4),)),
    "Dropout": (lambda: nn.Dropout(0.3), (_n(3, 4),)),
    "Dropout in place": (lambda: nn.Sequential(nn.Linear(4, 4).to(D), nn.Dropout(0.3, inplace=True)), (_n(3, 4),)),
    "Dropout1d": (lambda: nn.Dropout1d(0.3), (_n(2, 3, 4),)),
    "Dropout2d": (lambda: nn.Dropout2d(0.3), (_n(2, 3, 2, 2),)),
    "Dropout3d": (lambda: nn.Dropout3d(0.3), (_n(1, 3, 2, 2, 1),)),
    "Dropout3d eval": (lambda: _eval(nn.Dropout3d(0.3)), (_n(1, 3, 2, 2, 1),)),
    "FeatureAlphaDropout": (lambda: nn.FeatureAlphaDropout(0.3), (_n(2, 3, 2, 2),)),
    "Flatten": (lambda: nn.Flatten(0, 1), (_n(2, 3, 2),)),
    "Fold": (lambda: nn.Fold((3, 3), (2, 2)), (_n(1, 8, 4),)),
    "FractionalMaxPool3d": (lambda: nn.FractionalMaxPool3d(2, output_size=(2, 2, 3)), (_n(1, 4, 5, 6),)),
    "Hardsigmoid": (nn.Hardsigmoid, (_n(3, 4) * 3,)),
    "Identity": (nn.Identity, (_n(3, 4),)),
    "LazyBatchNorm1d": (lambda: nn.LazyBatchNorm1d(dtype=D), (_n(5, 3),)),
    "LazyBatchNorm2d": (lambda: nn.LazyBatchNorm2d(dtype=D), (_n(2, 3, 2, 2),)),
    "LazyBatchNorm3d": (lambda: nn.LazyBatchNorm3d(dtype=D), (_n(2, 2, 2, 2, 2),)),
    "LazyInstanceNorm1d": (lambda: nn.LazyInstanceNorm1d(affine=True, dtype=D), (_n(2, 3, 4),)),
    "LazyInstanceNorm2d": (lambda: nn.LazyInstanceNorm2d(dtype=D), (_n(1, 3, 2, 3),)),
    "LazyInstanceNorm3d": (lambda: nn.LazyInstanceNorm3d(dtype=D), (_n(1, 2, 2, 2, 2),)),
    "LazyLinear": (lambda: nn.LazyLinear(3, dtype=D), (_n(2, 4),)),
    "MaxUnpool1d": (lambda: _with(nn.MaxUnpool1d(2), _PLACES), (_n(1, 1, 3),)),
    "MaxUnpool2d": (lambda: _pooled(nn.MaxPool2d(2, return_indices=True), nn.MaxUnpool2d(2)), (_n(1, 2, 4, 4),)),
    "MaxUnpool3d": (lambda: _pooled(nn.MaxPool3d(2, return_indices=True), nn.MaxUnpool3d(2)), (_n(1, 1, 2, 4, 4),)),
    "ModuleDict": (lambda: _Chosen(nn.ModuleDict({"a": nn.Linear(4, 3), "b": nn.Tanh()}).to(D)), (_n(2, 4),)),
    "ModuleList": (lambda: _Chain(nn.ModuleList([nn.Linear(4, 3), nn.ReLU()]).to(D)), (_n(2, 4),)),
    "PairwiseDistance": (nn.PairwiseDistance, (_n(3, 4), _n(3, 4))),
    "ParameterDict": (lambda: _Scaled(nn.ParameterDict({"w": nn.Parameter(_W)})), (_n(2, 4),)),
    "ParameterList": (lambda: _Scaled(nn.ParameterList([nn.Parameter(_W)])), (_n(2, 4),)),
    "PixelShuffle": (lambda: nn.PixelShuffle(2), (_n(1, 4, 2, 2),)),
    "PixelUnshuffle": (lambda: nn.PixelUnshuffle(2), (_n(1, 1, 4, 2),)),
    "RReLU": (lambda: _eval(nn.RReLU()), (_n(3, 4),)),
    "Sequential": (lambda: nn.Sequential(nn.Linear(4, 3), nn.GELU("tanh"), nn.Linear(3, 2)).to(D), (_n(2, 4),)),
    "TransformerDecoder": (
        lambda: nn.TransformerDecoder(nn.TransformerDecoderLayer(4, 2, 6, 0.2, batch_first=True), 2).to(D),
        (_n(2, 3, 4), _n(2, 2, 4)),
    ),
    "TripletMarginLoss": (lambda: nn.TripletMarginLoss(swap=True), (_n(3, 4), _n(3, 4), _n(3, 4))),
    "TripletMarginWithDistanceLoss": (
        lambda: nn.TripletMarginWithDistanceLoss(reduction="none"), (_n(3, 4), _n(3, 4), _n(3, 4))),
    "Unflatten": (lambda: nn.Unflatten(1, (2, 2)), (_n(3, 4),)),
    "Unfold": (lambda: nn.Unfold((2, 2)), (_n(1, 2, 3, 3),)),
    "Upsample": (lambda: nn.Upsample(scale_factor=2, mode="bicubic"), (_n(1, 2, 2, 3),)),
    "Upsample trilinear": (lambda: nn.Upsample(size=(3, 2, 3), mode="trilinear", align_corners=True),
                           (_n(1, 1, 2, 2, 2),)),
    "Upsample linear": (lambda: nn.Upsample(scale_factor=1.5, mode="linear"), (_n(1, 2, 4),)),
    "Upsample antialias": (
        lambda: _with_options(F.interpolate, size=(3, 3), mode="bilinear", antialias=True),
        (_n(1, 1, 5, 4),)),
    "UpsamplingBilinear2d": (lambda: nn.UpsamplingBilinear2d(scale_factor=2), (_n(1, 2, 2, 3),)),
    "UpsamplingNearest2d": (lambda: nn.UpsamplingNearest2d(scale_factor=2), (_n(1, 2, 2, 3),)),
}  # fmt: skip
_W = _n(4)
FREEZES = dict.fromkeys(("MaxUnpool2d", "MaxUnpool3d"), "the places are those of the value's maxima")
NOT_TESTED: dict[str, str] = {
    "Container": "a deprecated name of Module",
    "Module": "what all of them are",
    "RNNBase": "what RNN, LSTM and GRU are",
    "RNNCellBase": "what the cells are",
    "NLLLoss2d": "a deprecated name of NLLLoss",
    "SyncBatchNorm": "needs several devices; in evaluation it is torch.nn.functional.batch_norm",
    "CrossMapLRN2d": "its autograd Function writes in place without telling what of: LocalResponseNorm is the same",
    "EmbeddingBag": "the input is looked at; of the weight, see below",
    "Embedding": "the input is looked at; of the weight, see below",
    "CTCLoss": "see test_torch_coverage.py",
}


class _Chain(nn.Module):
    def __init__(self, parts: Any) -> None:
        super().__init__()
        self.parts = parts

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for part in self.parts:
            x = part(x)
        return x


class _Chosen(_Chain):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.parts["b"](self.parts["a"](x))


class _Scaled(_Chain):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * (self.parts["w"] if isinstance(self.parts, nn.ParameterDict) else self.parts[0])


def _with(module: nn.Module, *more: Any) -> Function:
    made = module.to(D)
    return lambda x: tuple(out) if isinstance(out := made(x, *more), tuple) else out


def _with_options(function: Function, **options: Any) -> Function:
    return lambda x: function(x, **options)


def _pooled(pool: nn.Module, back: nn.Module) -> Function:
    return lambda x: back(*pool(x))


@pytest.mark.parametrize("name", OTHERS)
def test_other_modules(name: str) -> None:
    make, inputs = OTHERS[name]

    def run(*tensors: torch.Tensor) -> Any:
        torch.manual_seed(3)  # parameters, and what is drawn: lazy modules get theirs from the input
        made = make()
        return made.to(D)(*tensors) if isinstance(made, nn.Module) and "Lazy" not in name else made(*tensors)

    sample = Sample(name, run, inputs)
    check(sample.run, sample.inputs, sample.bases, freezes=name in FREEZES)


def test_every_class_is_tested_or_has_a_reason() -> None:
    classes = {name for name, cls in vars(nn).items() if inspect.isclass(cls) and issubclass(cls, nn.Module)}
    tested = {name for name, _ in MODES} | {name.partition(" ")[0] for name in OTHERS}
    assert not classes - tested - set(NOT_TESTED), "neither tested nor listed"
    assert not set(NOT_TESTED) - classes, "no such class"


# -- recurrent networks ------------------------------------------------------------------------------------------------

_SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "bidirectional stack": {"num_layers": 2, "bidirectional": True},
    "batch first without biases": {"batch_first": True, "bias": False},
    "dropout": {"num_layers": 3, "dropout": 0.4, "bidirectional": True},
    "batch first dropout": {"num_layers": 2, "dropout": 0.4, "batch_first": True},
    "projection": {"proj_size": 2, "num_layers": 2, "bidirectional": True},
    "relu": {"nonlinearity": "relu"},
}
_NETWORKS = [
    (kind, setting)
    for kind in ("RNN", "LSTM", "GRU")
    for setting in _SETTINGS
    if (setting != "projection" or kind == "LSTM") and (setting != "relu" or kind == "RNN")
]


def _network(kind: str, setting: str) -> nn.Module:
    torch.manual_seed(1)
    made: nn.Module = getattr(nn, kind)(4, 3, dtype=D, **_SETTINGS[setting])
    return made


def _check(function: Function, *inputs: torch.Tensor) -> None:
    sample = Sample("", function, inputs)
    check(sample.run, sample.inputs, sample.bases)


@pytest.mark.parametrize(("kind", "setting"), _NETWORKS)
@pytest.mark.parametrize("form", ["padded", "packed", "with a state"])
def test_recurrent_networks(kind: str, setting: str, form: str) -> None:
    network = _network(kind, setting)
    x = _n(5, 3, 4)
    if form == "padded":
        _check(network, x)
        return
    lengths = [5, 2, 3]

    def packed(x: torch.Tensor, *state: torch.Tensor) -> Any:
        given = rnn.pack_padded_sequence(x, lengths, enforce_sorted=False)
        out, last = network(given, (state if len(state) > 1 else state[0]) if state else None)
        return rnn.pad_packed_sequence(out)[0], last

    if form == "packed":
        _check(packed, x)
        return
    with torch.no_grad():
        last = network(rnn.pack_padded_sequence(x, lengths, enforce_sorted=False))[1]
    states = [torch.randn(s.shape, dtype=D) for s in (last if isinstance(last, tuple) else (last,))]
    _check(packed, x, *states)


@pytest.mark.parametrize(
    ("kind", "at_once"), [(kind, n) for i, kind in enumerate(("RNN", "LSTM", "GRU")) for n in turns([1, 60, 100], i, 3)]
)
def test_steps_of_which_few_are_made_at_once(monkeypatch: pytest.MonkeyPatch, kind: str, at_once: int) -> None:
    monkeypatch.setattr(recurrent_multipliers, "_AT_ONCE", at_once)
    for length in (1, 2, 3, 5):
        _check(_network(kind, "bidirectional stack"), _n(length, 3, 4))


@pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
def test_weights_of_recurrent_networks(kind: str) -> None:
    network = _network(kind, "plain")
    names = list(dict(network.named_parameters()))
    x = _n(3, 2, 4)

    def run(x: torch.Tensor, *weights: torch.Tensor) -> Any:
        return torch.func.functional_call(network, dict(zip(names, weights, strict=True)), (x,))

    _check(run, x, *[p.detach() for p in network.parameters()])
    _check(lambda x: network(x[:, 0]), x)


@pytest.mark.parametrize("kind", ["RNNCell", "LSTMCell", "GRUCell"])
def test_cells_in_a_loop(kind: str) -> None:
    torch.manual_seed(1)
    cell = getattr(nn, kind)(4, 3, dtype=D)

    def run(x: torch.Tensor) -> Any:
        state = None
        for step in x:
            state = cell(step, state)
        return state

    _check(run, _n(3, 2, 4))


def test_packed_sequences_by_themselves() -> None:
    def run(a: torch.Tensor, b: torch.Tensor) -> Any:
        packed = rnn.pack_sequence([a, b], enforce_sorted=False)
        doubled = rnn.PackedSequence(
            packed.data * 2, packed.batch_sizes, packed.sorted_indices, packed.unsorted_indices
        )
        return rnn.unpad_sequence(*rnn.pad_packed_sequence(doubled, batch_first=True), batch_first=True)

    _check(run, _n(2, 3), _n(4, 3))


# -- parameters, attention ---------------------------------------------------------------------------------------------


def test_rows_of_embeddings() -> None:
    index = torch.tensor([[1, 0, 3], [2, 2, 1]])

    def rows(weight: torch.Tensor) -> torch.Tensor:
        return torch.func.functional_call(nn.Embedding(4, 3, dtype=D), {"weight": weight}, (index,))

    def bags(weight: torch.Tensor, mode: str) -> torch.Tensor:
        return torch.func.functional_call(nn.EmbeddingBag(4, 3, mode=mode, dtype=D), {"weight": weight}, (index,))

    _check(rows, _n(4, 3))
    for mode in ("sum", "mean", "max"):
        _check(lambda weight, mode=mode: bags(weight, mode), _n(4, 3))


@pytest.mark.parametrize("options", [{}, {"need_weights": False}, {"average_attn_weights": False}])
@pytest.mark.parametrize("training", [True, False])
def test_attention_between_decomposed_sequences(training: bool, options: dict[str, bool]) -> None:
    torch.manual_seed(1)
    attention = nn.MultiheadAttention(4, 2, 0.2, batch_first=True, add_bias_kv=True, dtype=D).train(training)
    mask = torch.tensor([[False, False, True], [False, False, False]])
    _check(lambda q, k, v: attention(q, k, v, key_padding_mask=mask, **options), _n(2, 2, 4), _n(2, 3, 4), _n(2, 3, 4))


@pytest.mark.parametrize("norm_first", [True, False])
@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_the_fused_kernel_of_transformers_differs_by_rounding(norm_first: bool, activation: str) -> None:
    """torch takes its fused kernel for plain tensors only, without gradients and in evaluation; the numbers of a
    decomposed tensor are those of the functions in the module, bit for bit."""
    torch.manual_seed(1)
    layer = nn.TransformerEncoderLayer(
        8, 2, 16, batch_first=True, norm_first=norm_first, activation=activation, dtype=D
    ).eval()
    stack = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).eval()
    padding = torch.tensor([[False] * 4, [False, False, True, True]])
    x, base = _n(2, 4, 8), _n(2, 4, 8)
    for module in (layer, stack):
        with torch.no_grad():
            fused = module(x, src_key_padding_mask=padding)
        before = torch.backends.mha.get_fastpath_enabled()
        torch.backends.mha.set_fastpath_enabled(False)
        try:
            (made,) = check_forward(lambda x, m=module: m(x, src_key_padding_mask=padding), [x], [base])
        finally:
            torch.backends.mha.set_fastpath_enabled(before)
        torch.testing.assert_close(made.value[~padding], fused[~padding], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("function", [F.batch_norm, F.instance_norm])
def test_statistics_that_are_decomposed(function: Function) -> None:
    """In evaluation they scale the input; in training they are only written."""
    x, mean, var, weight, bias = _n(3, 2, 4), _n(2), _n(2).abs() + 0.5, _n(2), _n(2)
    _check(lambda x, m, v, w: function(x, m, v.abs(), w, bias, False), x, mean, var, weight)
    _check(lambda m, v: function(x, m, v.abs(), weight, bias, False), mean, var)
    marked_mean = np.decompose(mean.clone())
    assert not is_decomposed(function(x, marked_mean, var.clone(), weight, bias, True))


# -- what cannot be ----------------------------------------------------------------------------------------------------


def test_devices_do_not_mix() -> None:
    d = np.decompose(torch.ones(2, dtype=D))
    with pytest.raises(RuntimeError, match=r"device|meta"):
        d + torch.ones(2, dtype=D, device="meta")
    with pytest.raises(RuntimeError, match=r"device|meta"):
        nn.Linear(2, 2, dtype=D, device="meta")(d)
    moved = d.to("meta")
    assert moved.device.type == "meta"
    assert {t.device.type for t in (moved.value, moved.residual, moved.components)} == {"meta"}


def test_dtypes_mix_as_in_torch() -> None:
    single = np.decompose(torch.tensor([1.5, 2.5]), labels=["a", "b"])
    double = single * torch.tensor([2.0, 3.0], dtype=D)
    assert double.value.dtype == double.residual.dtype == double.components.dtype == D
    assert torch.equal(double.components, torch.tensor([[3.0, 0.0], [0.0, 7.5]], dtype=D))
    with pytest.raises(RuntimeError, match="dtype"):
        nn.Linear(2, 2, dtype=D)(single)
    with pytest.raises(RuntimeError, match="dtype"):
        torch.matmul(single, torch.eye(2, dtype=D))


def test_labels_of_two_decompositions_unite() -> None:
    a = np.decompose(torch.tensor([1.0, 2.0], dtype=D), labels=["p", "q"])
    b = np.decompose(torch.tensor([3.0, 4.0], dtype=D), labels=["q", "r"])
    network = nn.Bilinear(2, 2, 1, dtype=D)
    for made in (a * b, torch.cat([a, b]), torch.cdist(a[None], b[None]), network(a, b), nn.GRUCell(2, 2, dtype=D)(
        a[None], b[None])):  # fmt: skip
        assert made.labels == ("p", "q", "r")
        torch.testing.assert_close(made.c_sum(), made.value)


def test_arguments_that_no_rule_names_keep_their_contributions() -> None:
    """The window of istft, which divides; the bounds of a clamp; what is only looked at for its shape has none."""
    x = torch.complex(_n(5, 6), _n(5, 6))
    window = np.decompose(torch.hann_window(8, dtype=D) + 0.3, baseline=torch.ones(8, dtype=D))
    made = torch.istft(x, 8, 4, window=window)
    torch.testing.assert_close(made.c_sum(), made.value)
    assert made.components.any()
    d = np.decompose(_n(4))
    assert torch.equal(torch.ones(4, dtype=D).view_as(d), torch.ones(4, dtype=D))
    assert torch.equal((d * 2).reshape_as(d).components, (d * 2).components)


@pytest.mark.parametrize("read", [lambda d: d.numpy(), lambda d: d.__array__(), lambda d: d.__dlpack__()])
def test_memory_of_others_holds_no_contributions(read: Function) -> None:
    with pytest.raises((TypeError, NotImplementedError), match=r"\.value"):
        read(np.decompose(torch.ones(2)))


def test_a_plain_tensor_stays_plain() -> None:
    for out in flat(nn.LSTM(2, 2)(torch.ones(1, 1, 2))):
        assert not is_decomposed(out)
