"""Arrays on a device that is not the host: an accelerator where there is one, else one that the host stands for."""

from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

import device_tables
import elsewhere
import npdec as np

ACCELERATOR = torch.accelerator.current_accelerator(check_available=True)
there = pytest.mark.skipif(ACCELERATOR is None, reason="torch finds no accelerator")
on_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="torch finds no CUDA")
LENT = torch.ones(3, device="meta")  # a device on which only shapes are computed


@pytest.mark.parametrize("call", [
    lambda x: np.take(x, [0, 2]), lambda x: np.append(x, 1.0), lambda x: np.hypot(x, [1, 2, 3]),
    lambda x: np.concatenate([x, [1.0, 2.0]]), lambda x: np.stack([x, [1.0, 2.0, 3.0]]), lambda x: np.kron(2.0, x),
    lambda x: np.einsum("i,i->i", x, [1, 2, 3]), lambda x: np.multiply.outer([1, 2], x), lambda x: np.block([x, 1.0]),
    lambda x: np.select([x > 0], [[1.0, 2.0, 3.0]], 7.0), lambda x: np.searchsorted([0.0, 1.0], x, sorter=[0, 1]),
    lambda x: np.where([True, False, True], x, [1, 2, 3]), lambda x: np.add(x, 1, where=[True, False, True], out=x),
    lambda x: np.add.reduce(x, where=[True, False, True]), lambda x: np.polyval([1.0, 2.0], x),
    lambda x: np.piecewise(x, [[True, False, True]], [1.0, 2.0]), lambda x: np.average(x, weights=[1, 2, 3]),
    lambda x: np.gradient(x.reshape(1, 3), axis=1),
    lambda x: np.linspace(0.0, x, 3), lambda x: np.append([1, 2], x), lambda x: np.meshgrid(x, [1, 2])[1],
], ids=range(21))  # fmt: skip
def test_lists_and_numbers_go_where_the_arrays_are(call):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert call(np.asarray(LENT)).device.type == "meta"


def test_lists_are_written_where_the_array_is():
    x = np.asarray(torch.ones(3, device="meta"))
    x[[0, 1]] = [1.0, 2.0]
    x[1:] = [1.0, 2.0]
    x.fill(2.0)
    x += [1, 2, 3]
    np.put(x, [0], [1.0])
    np.place(x, [True, False, True], [1.0])
    np.copyto(x, [1, 2, 3], where=[True, False, True])
    assert x.device.type == "meta"


@pytest.mark.parametrize(
    "other", [np.ones(3), torch.ones(3), np.ones(3).__array__()], ids=["array", "tensor", "NumPy's"]
)
def test_what_has_a_device_stays_there(other):
    """No array is moved to another device unasked."""
    with pytest.raises(RuntimeError, match="device"):
        np.take(np.asarray(LENT), np.concatenate([np.asarray(LENT), other]))


@pytest.mark.long
@pytest.mark.skipif(elsewhere.COMPILER is None, reason="there is no g++")
def test_every_call_on_a_device_that_the_host_stands_for():
    program = Path(device_tables.__file__)
    done = subprocess.run([sys.executable, str(program), "elsewhere"], capture_output=True, text=True, check=False)
    assert not done.returncode, done.stdout + done.stderr


@there
@pytest.mark.slow
@pytest.mark.parametrize("table", device_tables.TABLES)
def test_every_call_on_an_accelerator(table):
    _, found = device_tables.differences(table, ACCELERATOR)
    assert not found, "\n".join(found)


# -- networks ----------------------------------------------------------------------------------------------------------


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.values = (nn.Linear(8, 8) for _ in range(3))
        self.norm = nn.LayerNorm(8)

    def forward(self, x):
        h = self.norm(x)
        q, k, v = (f(h).reshape(*x.shape[:2], 2, 4).transpose(1, 2) for f in (self.query, self.key, self.values))
        return (x + F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(x.shape)).mean(1)


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers, self.head = nn.LSTM(4, 5, 2, batch_first=True, bidirectional=True), nn.Linear(10, 3)

    def forward(self, x):
        return self.head(self.layers(x)[0][:, -1])


def _convolutions() -> nn.Module:
    layers = [nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(4, 6, 3), nn.SiLU()]
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(24, 3)).eval()


NETWORKS = {
    "mlp": (lambda: nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.LayerNorm(16), nn.GELU(), nn.Linear(16, 3)), (5, 6)),
    "cnn": (_convolutions, (2, 1, 10, 10)),
    "attention": (Attention, (2, 5, 8)),
    "lstm": (Recurrent, (2, 4, 4)),
}


def _network(name, device, dtype):
    torch.manual_seed(0)
    make, shape = NETWORKS[name]
    return make().to(device, dtype), torch.randn(shape).to(device, dtype)


def _attributed(name, device, dtype):
    model, x = _network(name, device, dtype)
    groups = torch.arange(x[0].numel(), device=device).reshape(x.shape[1:]) % 3
    with torch.no_grad():
        made = model(np.decompose(x, baseline=0.0, groups=groups))
    back = np.attribute(lambda t: model(t)[:, 0].sum(), x).attribution
    return [made.value, made.residual, made.components, torch.as_tensor(back)]


@there
@pytest.mark.parametrize(("dtype", "digits"), [(torch.float64, 1e-10), (torch.float32, 1e-4)], ids=["double", "single"])
@pytest.mark.parametrize("name", NETWORKS)
def test_networks_on_an_accelerator(name, dtype, digits, monkeypatch):
    monkeypatch.setattr(torch.backends.cudnn, "allow_tf32", False)
    found, wanted = _attributed(name, ACCELERATOR, dtype), _attributed(name, "cpu", dtype)
    for part, want in zip(found, wanted, strict=True):
        assert part.device.type == ACCELERATOR.type
        torch.testing.assert_close(part.detach().cpu(), want.detach(), rtol=digits, atol=digits)


@on_cuda
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("backend", ["MATH", "FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION"])
def test_attention_by_each_kernel_has_the_plain_value(backend, dtype):
    torch.manual_seed(0)
    q, k, v = (torch.randn(2, 4, 64, 32).to("cuda", dtype) for _ in range(3))
    groups = torch.arange(32, device="cuda") % 3
    parts = np.decompose((q, k, v), baseline=(0.0, 0.0, 0.0), groups=(groups, groups + 3, groups + 6))
    with torch.nn.attention.sdpa_kernel(getattr(torch.nn.attention.SDPBackend, backend)), torch.no_grad():
        plain = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        made = F.scaled_dot_product_attention(*parts, is_causal=True)
    assert torch.equal(made.value, plain)
    rest = (made.value - made.residual).double() - made.components.double().sum(0)
    assert rest.abs().max() < 0.03 * plain.double().abs().max()


# -- waiting for it ----------------------------------------------------------------------------------------------------

PROGRAMS = {
    "arithmetic": lambda x: np.sin(x) * x + 2.0,
    "remainder": lambda x: x % 1.5,
    "statistics": lambda x: (x - x.mean()) / x.std(),
    "writes": lambda x: np.add(x, 1.0, out=np.empty(16, device="cuda")),
    "creation": lambda x: x + np.linspace(0.0, 1.0, 16, device="cuda") * np.arange(16, device="cuda"),
    "choice": lambda x: np.where(x > 0, x, np.clip(x, -1, 1)),
    "scalars": lambda x: x[3] * 2.0 + x.max(),
    "products": lambda x: x.reshape(4, 4) @ x.reshape(4, 4),
    "order": lambda x: np.sort(x)[::-1],
    "lists of numbers": lambda x: np.concatenate([x, x]) ** 2,
    "unsigned integers": lambda x: (np.arange(16, device="cuda").astype("uint32") * 3) & 5,
}


@on_cuda
@pytest.mark.parametrize("name", PROGRAMS)
def test_plain_programs_do_not_wait(name):
    program, x = PROGRAMS[name], np.asarray(torch.randn(16, dtype=torch.float64, device="cuda"))
    program(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it says that it is a prototype
        torch.cuda.set_sync_debug_mode("error")
    try:
        program(x)
    finally:
        torch.cuda.set_sync_debug_mode("default")


@on_cuda
@pytest.mark.parametrize("name", [*PROGRAMS, "indices"])
def test_a_cuda_graph_of_a_plain_program(name):
    """An index is not looked at while a graph is captured."""
    program = PROGRAMS.get(name, lambda x: x[np.arange(3, device="cuda")] * 2.0)
    x = torch.randn(16, dtype=torch.float64, device="cuda")
    with torch.cuda.stream(torch.cuda.Stream()):
        program(np.asarray(x))
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        made = program(np.asarray(x)).tensor
    x.copy_(torch.randn_like(x))
    graph.replay()
    assert torch.equal(made, program(np.asarray(x)).tensor)


@on_cuda
def test_an_index_out_of_bounds_is_an_error_that_leaves_the_device_as_it_was():
    x = np.asarray(torch.ones(3, 4, device="cuda"))
    for key in (np.array([3]), (np.array([0, 1]), np.array([0, -5]))):
        with pytest.raises(IndexError, match="out of bounds"):
            x[key]
    assert float(x.sum()) == 12


@on_cuda
def test_kernels_of_the_device_are_compared():
    report = np.debug.compare(lambda x: (np.sin(x) * np.arange(3.0)).sum(), np.ones(3), against="cuda")
    assert report
    assert report["cuda"].operations > 2
