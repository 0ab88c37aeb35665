"""Decomposed DTensors and tensor-parallel networks, as several gloo processes of one machine compute them: each case is
run by tests/attribution/test_parallel.py in processes of its own (see mesh_cases.py, whose ways these are)."""

from __future__ import annotations

import copy
import functools
import pickle

import torch
import torch.nn.functional as F
from torch.distributed import _functional_collectives as functional
from torch.distributed.tensor import DTensor, Partial, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import parallelize_module

import npdec as np
from mesh_cases import error_of, main_of
from parallel_networks import HEADS, TOKENS, WIDTH, plans

F64 = torch.float64


def numbers(*shape, seed=0):
    return torch.randn(*shape, dtype=F64, generator=torch.Generator().manual_seed(seed))


# -- functions ---------------------------------------------------------------------------------------------------------

A = numbers(4, 6, 8, seed=1)
B = numbers(8, 6, seed=2)
W, BIAS = numbers(12, 8, seed=3), numbers(12, seed=4)

# Of x, decomposed, of shape (4, 6, 8), and y, decomposed, of the same: `c` puts constants on the mesh.
FUNCTIONS = {
    "linear": lambda x, y, c: F.linear(x, c(W), c(BIAS)),
    "matmul": lambda x, y, c: x @ c(B),
    "matmul of two": lambda x, y, c: x @ y.transpose(-1, -2),
    "einsum": lambda x, y, c: torch.einsum("bik,kj->bij", x, c(B)),
    "times": lambda x, y, c: x * y,
    "over": lambda x, y, c: x / (y * y + 1),
    "plus": lambda x, y, c: x + y * 2 - 1,
    "plus a row": lambda x, y, c: x + y[:, :1] * c(A)[0, 0],
    "scaled": lambda x, y, c: 3 * x / 4,
    "exp": lambda x, y, c: x.exp(),
    "gelu": lambda x, y, c: F.gelu(x),
    "silu": lambda x, y, c: F.silu(x, inplace=False),
    "power": lambda x, y, c: x**2 + x.pow(3),
    "clamp": lambda x, y, c: x.clamp(-0.5, 0.5),
    "where": lambda x, y, c: torch.where(x > 0, x, y),
    "maximum": lambda x, y, c: torch.maximum(x, y),
    "softmax, last": lambda x, y, c: torch.softmax(x, -1),
    "softmax, middle": lambda x, y, c: x.softmax(dim=1),
    "log_softmax": lambda x, y, c: F.log_softmax(x, dim=-1),
    "layer_norm": lambda x, y, c: F.layer_norm(x, (8,), c(W)[0], c(B)[:, 0]),
    "rms_norm": lambda x, y, c: F.rms_norm(x, (8,), c(W)[0]),
    "written out": lambda x, y, c: x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5),
    "dropout": lambda x, y, c: F.dropout(x, 0.5, training=False),
    "sum": lambda x, y, c: x.sum(),
    "sums": lambda x, y, c: x.sum(1),
    "mean": lambda x, y, c: x.mean((0, 2), keepdim=True),
    "exp of sums": lambda x, y, c: x.sum(0).exp(),
    "var": lambda x, y, c: x.var(-1),
    "norm": lambda x, y, c: torch.linalg.vector_norm(x, dim=-1),
    "max": lambda x, y, c: x.amax(-1),
    "cumsum": lambda x, y, c: x.cumsum(1),
    "sort": lambda x, y, c: x.sort(-1)[0],
    "view": lambda x, y, c: x.view(4, 6, 2, 4).transpose(1, 2),
    "flatten": lambda x, y, c: x.flatten(0, 1),
    "permute": lambda x, y, c: x.permute(2, 0, 1).contiguous(),
    "index": lambda x, y, c: x[0],
    "slice": lambda x, y, c: x[:, 1:3],
    "chunks": lambda x, y, c: torch.cat([piece * 2 for piece in x.chunk(2, -1)], 1),
    "cat": lambda x, y, c: torch.cat([x, y], 0),
    "stack": lambda x, y, c: torch.stack([x, y], 1),
    "half": lambda x, y, c: x.to(torch.float32).double(),
    "solve": lambda x, y, c: torch.linalg.solve(x @ x.transpose(-1, -2) + c(30 * torch.eye(6, dtype=F64)), x),
    "attention": lambda x, y, c: torch.softmax((x @ y.transpose(-1, -2)) / 3, -1) @ x,
}  # fmt: skip
PLACEMENTS = {
    "first": Shard(0), "middle": Shard(1), "last": Shard(2), "everywhere": Replicate(), "sums": Partial(),
}  # fmt: skip


def on_mesh(tensor, mesh, placement):
    """A tensor that all processes have, laid out."""
    whole = DTensor.from_local(tensor, mesh, [Replicate()])
    if placement.is_partial():
        return torch.stack([whole / mesh.size()] * mesh.size()).redistribute(placements=[Shard(0)]).sum(0)
    return whole.redistribute(placements=[placement])


def parts(one):
    """Value, residual and components, on each process whole."""
    if isinstance(one, DTensor):
        one = one.full_tensor()
    return [one.value, one.residual, one.components]


def kind_of_error(call):
    """The kind of error that torch itself, whose DTensors do not pass every function, answers with."""
    return (error_of(call) or "").partition(":")[0]


def distance(made, expected):
    return max(float((a - b).detach().abs().max()) for a, b in zip(made, expected, strict=True))


def inputs():
    x, y = (np.decompose(numbers(4, 6, 8, seed=s), baseline=numbers(8, seed=s + 5)) for s in (10, 11))
    pairs = (x, range(6)), (y, range(3, 9))
    return [np.decompose(t.value, baseline=t.residual, axis=1, labels=list(labels)) for t, labels in pairs]


def functions(mesh):
    """Every function of decomposed DTensors, by every placement, beside what one process finds; the value bit for bit
    that of the plain DTensor."""
    found = {}
    for where, placement in PLACEMENTS.items():
        x, y = inputs()
        x_, y_ = (on_mesh(t, mesh, placement) for t in (x, y))
        c = lambda t: distribute_tensor(t, mesh, [Replicate()])  # noqa: E731
        for name, f in FUNCTIONS.items():
            expected = f(x, y, lambda t: t)
            if kind := kind_of_error(lambda f=f: f(x_.value, y_.value, c)):  # noqa: B023
                found[f"{name}, {where}"] = kind == kind_of_error(lambda f=f: f(x_, y_, c))  # noqa: B023
                continue
            try:
                made = f(x_, y_, c)
                plain = f(x_.value, y_.value, c)
                bits = torch.equal(made.full_tensor().value, plain.full_tensor())
                off = distance(parts(made), parts(expected))
                missing = distance([made.full_tensor().value], [made.full_tensor().c_sum()])
                ok = off < 1e-11 and missing < (1e-6 if name == "half" else 1e-12) and made.labels == expected.labels
                found[f"{name}, {where}"] = (ok and bits) or f"{off} {missing} {bits}"
            except Exception as error:
                found[f"{name}, {where}"] = f"{type(error).__name__}: {error}"
    return found


def reversed(mesh):
    """As `functions`, in reverse mode."""
    found = {}
    x, y = (t.value for t in inputs())
    for where, placement in PLACEMENTS.items():
        c = lambda t: distribute_tensor(t, mesh, [Replicate()])  # noqa: E731
        for name, f in FUNCTIONS.items():

            def number(a, b, f=f, c=None):
                if c is not None:
                    a, b = (on_mesh(t, mesh, placement) for t in (a, b))  # noqa: B023
                made = f(a, b, c or (lambda t: t))
                made = made if c is None else made.full_tensor()
                return (made * torch.linspace(0.5, 1, made.numel(), dtype=F64).reshape(made.shape)).sum()

            options = {"baseline": (numbers(8, seed=3), 0.1)}
            if kind := kind_of_error(lambda f=f: f(*[on_mesh(t, mesh, placement) for t in (x, y)], c)):  # noqa: B023
                found[f"{name}, {where}"] = kind == kind_of_error(
                    lambda number=number: np.attribute(functools.partial(number, c=c), x, y)  # noqa: B023
                )
                continue
            expected = np.attribute(number, x, y, **options)
            try:
                made = np.attribute(functools.partial(number, c=c), x, y, **options)
                apart = name == "written out" and where in ("last", "sums")  # which goes one operation after the other
                off = distance([made.value], [expected.value])
                off = max(off, abs(float(made.error)) if apart else distance(made.attribution, expected.attribution))
                found[f"{name}, {where}"] = off < (1e-4 if name == "half" else 1e-10) or str(off)
            except Exception as error:
                found[f"{name}, {where}"] = f"{type(error).__name__}: {error}"
    return found


# -- networks ----------------------------------------------------------------------------------------------------------


def full(tensor):
    return tensor.full_tensor() if isinstance(tensor, DTensor) else tensor


def compared(mesh, net, parallel, x, base, output):
    """Whether decomposed and attributed the parallel network is what it is plainly, and what one process has."""
    marked = np.decompose(x, baseline=base, axis=1)
    with torch.no_grad():
        made, value, residual = full(parallel(marked)), full(parallel(x)), full(parallel(base))
        expected = net(np.decompose(x, baseline=base, axis=1))
    found = {
        "value": torch.equal(made.value, value),
        "residual": torch.equal(made.residual, residual),
        "complete": distance([made.value], [made.c_sum()]) < 1e-12,
        "parts": distance(parts(made), parts(expected)) < 1e-12,
        "labels": made.labels == marked.labels,
    }
    for name, options in {"forward": {"mode": "forward", "chunk_size": 50}, "reverse": {}}.items():
        made, expected = (np.attribute(f, x, baseline=base, output=output, **options) for f in (parallel, net))
        near = distance([made.attribution], [expected.attribution]) < 1e-12
        found[name] = bool(made.value == value[output]) and near
        found[f"{name} is complete"] = abs(float(made.error)) < 1e-12
        theirs = [torch.empty_like(made.attribution) for _ in range(mesh.size())]
        torch.distributed.all_gather(theirs, made.attribution.contiguous())
        found[f"{name} everywhere"] = all(torch.equal(one, theirs[0]) for one in theirs)
    return found


def networks(mesh):
    found = {}
    x, base = numbers(2, TOKENS, WIDTH, seed=1), numbers(2, TOKENS, WIDTH, seed=2)
    for name, (make, *plan) in plans().items():
        torch.manual_seed(0)
        net = make().to(F64).eval()
        parallel = copy.deepcopy(net)
        for one in plan:
            parallel = parallelize_module(parallel, mesh, one)
        one = compared(mesh, net, parallel, x, base, (0, 3, 5))
        found |= {f"{name}: {key}": value for key, value in one.items()}
    return found


def llama(mesh):
    """A network of transformers by its own plan."""
    import transformers
    from transformers.distributed.parallel_utils import replace_layer_number_by_wildcard
    from transformers.distributed.tensor_parallel import apply_tensor_parallelism

    transformers.logging.set_verbosity_error()
    torch.set_default_dtype(F64)
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=32, hidden_size=WIDTH, num_hidden_layers=2, num_attention_heads=HEADS, num_key_value_heads=HEADS,
        intermediate_size=2 * WIDTH, use_cache=False, bos_token_id=None, eos_token_id=None,
    )  # fmt: skip
    net = transformers.LlamaForCausalLM(config).eval()
    parallel = copy.deepcopy(net)
    names = [name for name, _ in (*parallel.named_modules(), *parallel.named_parameters())]
    styles = parallel._tp_plan
    wanted = {name: styles.get(replace_layer_number_by_wildcard(name)) for name in names}
    owners = {name: wanted.get(name.rpartition(".")[0]) for name in names}
    weights = dict(parallel.named_parameters())
    plan = {name: wanted[name] or (owners[name] if name in weights else None) for name in names}
    apply_tensor_parallelism(parallel, mesh, {name: style for name, style in plan.items() if style})
    x = numbers(1, 6, WIDTH)
    found = {"laid out": isinstance(parallel.model.layers[0].mlp.up_proj.weight, DTensor)}
    f, one = ((lambda e, net=net: net(inputs_embeds=e).logits) for net in (parallel, net))
    for name, options in {"forward": {"mode": "forward", "chunk_size": 32}, "reverse": {}}.items():
        made, expected = (np.attribute(g, x, output=(0, -1, 3), **options) for g in (f, one))
        with torch.no_grad():
            found[f"{name}: value"] = bool(made.value == f(x)[0, -1, 3])
        found[f"{name}: attribution"] = distance([made.attribution], [expected.attribution]) < 1e-12
        found[f"{name}: something"] = float(made.attribution.abs().max()) > 1e-4
        # The norms of this network compute in single precision.
        found[f"{name}: error"] = (
            abs(float(made.error) - float(expected.error)) < 1e-12 and abs(float(made.error)) < 1e-6
        )
    return found


def collectives(mesh):
    """Sums and pieces go part by part, in place and not; what is not linear is refused."""
    rank, size = mesh.get_local_rank(), mesh.size()
    values = [numbers(4, 2, seed=r) for r in range(size)]
    mine = np.decompose(values[rank], baseline=0.5, labels=["a", "b", "c", "d"], axis=0)
    everyone = [np.decompose(v, baseline=0.5, labels=["a", "b", "c", "d"], axis=0) for v in values]
    total = everyone[0]
    for one in everyone[1:]:
        total = total + one
    summed = mine * 1
    view = summed[1:]
    torch.distributed.all_reduce(summed)
    later = mine * 1
    torch.distributed.all_reduce(later, torch.distributed.ReduceOp.SUM, async_op=True).wait()
    cases = {
        "all_reduce": (summed, total),
        "a view of it": (view, total[1:]),
        "asynchronously": (later, total),
        "functional sum": (functional.all_reduce(mine, "sum", mesh), total),
        "gathered": (functional.all_gather_single(mine, 0, mesh), torch.cat(everyone)),
        "gathered beside": (functional.all_gather_single(mine, 1, mesh), torch.cat(everyone, 1)),
        "scattered": (functional.reduce_scatter_single(mine, "sum", 0, mesh), total.chunk(size)[rank]),
        "kept": (mine, everyone[rank]),
    }
    found = {name: distance(parts(made), parts(expected)) < 1e-14 for name, (made, expected) in cases.items()}
    said = {
        "max": lambda: torch.distributed.all_reduce(mine * 1, torch.distributed.ReduceOp.MAX),
        "functional max": lambda: functional.all_reduce(mine, "max", mesh),
        "broadcast": lambda: torch.distributed.broadcast(mine * 1, 0),
    }
    found |= {name: "what other processes send" in (error_of(call) or "") for name, call in said.items()}
    total = lambda a: functional.all_reduce(a, "sum", mesh).sum()  # noqa: E731
    found["reverse"] = "choose mode='forward'" in (error_of(lambda: np.attribute(total, values[rank])) or "")
    made = np.attribute(total, values[0], mode="forward")
    found["forward"] = distance([made.attribution], [size * values[0]]) < 1e-13
    return found


def refused(mesh):
    """What decomposed DTensors do not pass, and what asks for numbers that other processes have."""
    x = np.decompose(numbers(4, 2), baseline=0.5)
    whole = DTensor.from_local(x, mesh, [Replicate()])
    cut = whole.redistribute(placements=[Shard(0)])
    calls = {
        "writes": lambda: cut.add_(1),
        "assigns": lambda: cut.__setitem__(0, 1.0),
        "adds in place": lambda: cut.__iadd__(1),
        "out": lambda: torch.exp(cut, out=cut.value),
        "largest": lambda: DTensor.from_local(x, mesh, [Partial("max")]),
        "dropout": lambda: F.dropout(cut, 0.5),
        "pickle": lambda: pickle.dumps(cut),
        "func": lambda: torch.func.jvp(torch.exp, (cut,), (cut,)),
        "compile": lambda: torch.compile(lambda a: a * 2, backend="eager")(cut),
        "mixed": lambda: cut + x,
        "plain": lambda: cut + x.value,
        "twice": lambda: DTensor.from_local(cut, mesh, [Shard(0)]),
        "function": lambda: torch.autograd.function.FunctionMeta("Own", (torch.autograd.Function,), {
            "forward": staticmethod(lambda ctx, a: a * 2), "backward": staticmethod(lambda ctx, g: g * 2),
        }).apply(cut),
    }  # fmt: skip
    said = {name: error_of(call) for name, call in calls.items()}
    kept = np.decompose(x.value, baseline=0.5, axis=0, labels=list("abcd"))
    local = DTensor.from_local(kept, mesh, [Shard(0)])
    cases = {
        "is one": isinstance(cut, DTensor) and cut.is_decomposed,
        "shape": tuple(cut.shape) == (4, 2) and len(cut) == 4 and cut.ndim == 2 and cut.dtype is F64,
        "shape of parts": tuple(local.shape) == (4 * mesh.size(), 2) and local.labels == tuple("abcd"),
        "here": distance(parts(local.to_local()), parts(kept)) == 0,
        "a number": abs(cut.sum().item() - float(x.value.sum())) < 1e-12,
        "a choice": bool(cut.sum() > 0) is bool(x.value.sum() > 0),
        "list": cut.full_tensor().tolist() == x.value.tolist(),
        "repr": repr(cut).startswith("DecomposedDTensor(DecomposedTensor("),
        "distributed": distance(parts(distribute_tensor(x, mesh, [Shard(0)], src_data_rank=None)), parts(x)) == 0,
        "checked": distance(parts(DTensor.from_local(x, mesh, [Replicate()], run_check=True)), parts(x)) == 0,
        "of indices": (cut > 0).full_tensor().tolist() == (x.value > 0).tolist(),
    }  # fmt: skip
    return {"said": said, "cases": cases}


CASES = {case.__name__: case for case in (collectives, functions, llama, networks, refused, reversed)}

if __name__ == "__main__":
    main_of(CASES)
