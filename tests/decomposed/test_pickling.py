"""What is pickled, copied, saved or sent to another process is the same there: numbers, contributions, labels."""

from __future__ import annotations

import copy
import io
import multiprocessing as mp
import os
import pickle
import subprocess
import sys
from collections import OrderedDict
from collections.abc import Callable
from multiprocessing.reduction import ForkingPickler
from pathlib import Path
from typing import Any

import cloudpickle
import dask
import joblib
import numpy
import pytest
import torch

import npdec as np
import pickled
from pickled import CASES, TABLE, told


@pytest.fixture(autouse=True)
def _parameters_are_torchs(monkeypatch):
    """PyDec, which other tests import, gives torch's class of parameters its own name, and pickles hold that."""
    monkeypatch.setattr(torch.nn.Parameter, "__module__", "torch.nn.parameter")


def out_of_band(x: Any) -> Any:
    buffers: list[Any] = []
    data = pickle.dumps(x, 5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=[bytearray(buffer) for buffer in buffers])


def dumped(x: Any, **options: Any) -> Any:
    file = io.BytesIO()
    joblib.dump(x, file, **options)
    file.seek(0)
    return joblib.load(file)


def saved(x: Any, **options: Any) -> Any:
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return torch.load(file, **options)


WAYS: dict[str, Callable[[Any], Any]] = {
    **{
        f"protocol {protocol}": lambda x, protocol=protocol: pickle.loads(pickle.dumps(x, protocol))
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1)
    },
    "out of band": out_of_band,
    "in Python": lambda x: pickle._loads(pickle._dumps(x)),
    "copy.copy": copy.copy,
    "copy.deepcopy": copy.deepcopy,
    "cloudpickle": lambda x: pickle.loads(cloudpickle.dumps(x)),
    "joblib": dumped,
    "joblib, compressed": lambda x: dumped(x, compress=3),
    "multiprocessing": lambda x: pickle.loads(ForkingPickler.dumps(x)),
    "torch.save": lambda x: saved(x, weights_only=False),
    "torch.save, weights only": lambda x: saved(x, weights_only=True),
    "torch.save, to a device": lambda x: saved(x, map_location="cpu"),
}
COPIES = ("copy.copy", "copy.deepcopy")


@pytest.mark.parametrize("way", WAYS)
def test_every_dtype_in_every_layout(way):
    for name, make in TABLE.items():
        x = make()
        assert told(WAYS[way](x)) == told(x), name


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CASES)
def test_all_that_is_carried(name, way):
    x = CASES[name]()
    back = WAYS[way](x)
    assert told(back) == told(x)
    if way not in COPIES:  # a copy of a parameter is a result, as torch's is
        assert type(getattr(back, "tensor", None)) is type(getattr(x, "tensor", None))
    if isinstance(labels := getattr(x, "labels", None), tuple):
        assert set(back.labels) == set(labels)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("form", ["list", "tuple", "dict", "OrderedDict", "nested"])
def test_containers(form, way):
    """Things that are one stay one, labels that are shared stay shared."""
    x = np.decompose(np.arange(3.0))
    things = {"x": x, "again": x, "y": x * 2, "t": x.tensor, "plain": np.arange(4), "scalar": x[1], "type": x.dtype}
    made = {
        "list": list(things.values()),
        "tuple": tuple(things.values()),
        "dict": things,
        "OrderedDict": OrderedDict(things),
        "nested": [{"state": {"weights": (things["x"], [things["again"], things["y"]])}, "step": 3}],
    }[form]
    back = WAYS[way](made)
    assert told(back) == told(made)
    if form == "dict" and way != "copy.copy":
        assert back["x"] is back["again"]
        assert back["x"] is not x
        assert (back["x"] + x).labels == x.labels
        assert (back["y"] - 2 * x).components.tolist() == [[0] * 3] * 3


# -- memory ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", [way for way in WAYS if way != "copy.copy"])
@pytest.mark.parametrize("decomposed", [False, True])
def test_memory_is_their_own(way, decomposed):
    """As NumPy's: arrays over one memory are several afterwards, each of which knows all that is written to it."""
    for make in (lambda x: x.reshape(2, 3), lambda x: x[::-1], lambda x: x[1:4]):
        x = np.arange(6.0)
        x = np.decompose(x, labels=list("abcdef")) if decomposed else x
        first, second = WAYS[way]((x, make(x)))
        plain = numpy.arange(6.0)
        wanted, other = pickle.loads(pickle.dumps((plain, make(plain))))
        for one, two in ((first, wanted), (second, other)):
            one[...] = one * 10
            two[...] *= 10
        first[:1] = np.decompose(np.array([7.0]), labels=["new"])
        assert second.tolist() == other.tolist()
        assert x.tolist() == plain.tolist()
        assert not second.is_decomposed or "new" not in second.labels
        assert np.completeness(first).tolist() == [0] * 6


def test_only_its_own_elements_are_written():
    x = np.decompose(np.arange(100_000.0), groups=np.arange(100_000) % 2)
    for part in (x[:3], x.value[5:8], x[::2][:2], x.tensor[:3]):
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            assert len(pickle.dumps(part, protocol)) < 5000
        file = io.BytesIO()
        torch.save(part, file)
        assert file.tell() < 5000


@pytest.mark.parametrize("make", [np.exp, lambda x: x], ids=["result", "input"])
def test_zeros_of_components_are_not_written(make):
    """One component for each of 20,000 elements has 4·10^8 numbers, nearly all of them zero."""
    x = make(np.decompose(np.linspace(0, 1, 20_000)))
    for protocol in (2, 4, 5):
        data = pickle.dumps(x, protocol)
        assert len(data) < 200 * x.size
        back = pickle.loads(data)
        assert back.labels == x.labels
        numpy.testing.assert_array_equal(back.sum().components.to_numpy(), x.sum().components.to_numpy())
    assert copy.deepcopy(x).sum().components[7] == x.sum().components[7]


def test_the_pickle_of_an_array_is_always_the_same():
    """What caches results by their arguments (joblib.Memory, dask) finds them again."""
    for make in (lambda: np.arange(5.0), lambda: np.decompose(np.arange(3.0), labels=["a", "b", "c"]), lambda: np.pi):
        assert joblib.hash(make()) == joblib.hash(make())
        assert pickle.dumps(make()) == pickle.dumps(make())
        assert dask.base.tokenize(make()) == dask.base.tokenize(make())


@pytest.mark.parametrize("dtype", pickled.FLOATS + pickled.WHOLE)
def test_numbers_of_the_other_byte_order(dtype):
    """As a pickle that was made on such a machine has them."""
    x = numpy.arange(1, 7).reshape(2, 3).astype("float32" if dtype == "bfloat16" else dtype)
    swapped = x.astype(x.dtype.newbyteorder())
    if dtype == "bfloat16":  # the upper half of a float32
        bits = (x.view("uint32") >> 16).astype("uint16")
        swapped = bits.astype(bits.dtype.newbyteorder())
    assert swapped.tobytes() != x.tobytes() or swapped.dtype.itemsize == 1
    make, about = np.array(x, dtype).__reduce_ex__(4)
    make, (_, *known) = about[0].__reduce_ex__(4)
    other = {"little": "big", "big": "little"}[sys.byteorder]
    back = make(swapped.tobytes(), *known[:-1], other)
    assert back.tolist() == x.tolist()


# -- torch.save --------------------------------------------------------------------------------------------------------


def test_saved_files_ask_for_nothing_that_is_not_allowed(tmp_path):
    for name, make in {**TABLE, **CASES}.items():
        torch.save(make(), tmp_path / "x.pt")
        assert torch.serialization.get_unsafe_globals_in_checkpoint(tmp_path / "x.pt") == [], name
    for name, make in CASES.items():
        torch.save(made := make(), tmp_path / "x.pt")
        assert told(torch.load(tmp_path / "x.pt", mmap=True)) == told(made), name
        if isinstance(getattr(made, "tensor", made), torch.Tensor):
            moved = torch.load(tmp_path / "x.pt", map_location="meta")
            assert getattr(moved, "tensor", moved).is_meta, name


@pytest.mark.parametrize("what", [np.frompyfunc, np.vectorize, np.load, np.attribute, np.poly1d])
def test_functions_that_do_more_than_hold_numbers_are_not_allowed(what):
    with pytest.raises(pickle.UnpicklingError, match="Unsupported global"):
        saved(what)


def test_state_dicts():
    class Net(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = torch.nn.Linear(2, 2)
            self.register_buffer("prior", np.decompose(torch.tensor([1.0, 2.0]), labels=["a", "b"]))

        def get_extra_state(self) -> Any:
            return {"scale": np.float32(0.5), "table": np.arange(3)}

        def set_extra_state(self, state: Any) -> None:
            self.extra = state

    net = Net()
    back = saved(net.state_dict(), weights_only=True)
    assert told(back) == told(net.state_dict())
    other = Net()
    other.load_state_dict(back)
    assert told(other.prior) == told(net.prior)
    assert told(other.extra) == told(net.get_extra_state())


@pytest.mark.slow
def test_a_process_that_has_decomposed_nothing_loads_what_another_saved(tmp_path):
    x = np.exp(np.decompose(np.array([[1.0, 2.0], [3.0, 4.0]]), axis=0))
    torch.save({"x": x, "t": x.tensor}, tmp_path / "x.pt")
    (tmp_path / "x.pickle").write_bytes(pickle.dumps(x))
    code = """if True:
        import pickle, sys, torch, npdec as np
        from pathlib import Path
        at = sys.argv[1]
        x, y = torch.load(at + "/x.pt", weights_only=True)["x"], pickle.loads(Path(at, "x.pickle").read_bytes())
        assert x.labels == y.labels and str(x.labels[0]) == "[0]"
        print((x - y).components.tolist(), (x + np.decompose(x.value, axis=0)).components.shape)
    """
    command = [sys.executable, "-W", "error", "-c", code, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.stderr, done.stdout) == ("", f"{[[[0.0] * 2] * 2] * 2} (4, 2, 2)\n")


# -- files of NumPy's --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in TABLE if "bfloat16" not in name])
def test_npy_files_hold_the_value(name, tmp_path):
    x = TABLE[name]()
    if name.startswith("decomposed"):
        with pytest.warns(np.DecompositionWarning):
            np.save(tmp_path / "x.npy", x)
    else:
        np.save(tmp_path / "x.npy", x)
    for back in (np.load(tmp_path / "x.npy"), numpy.load(tmp_path / "x.npy")):
        assert back.dtype == x.dtype
        assert back.tolist() == x.tolist()


# -- labels ------------------------------------------------------------------------------------------------------------


def test_labels_of_separate_calls_differ():
    made = [np.decompose(np.arange(2.0)) for _ in range(1000)]
    assert len({label for x in made for label in x.labels}) == 2000
    one, two = pickle.loads(pickle.dumps(made[0])), pickle.loads(pickle.dumps(made[1]))
    assert (one + two).labels == (made[0] + made[1]).labels
    assert len((one + made[0]).labels) == 2
    assert copy.deepcopy(made[0].labels) == made[0].labels
    assert made[0].labels[0] != made[0].labels[1]
    assert made[0].labels[0] != (0,)


@pytest.mark.slow
def test_labels_tell_inputs_apart_in_compiled_code():
    x = np.decompose(torch.tensor([1.0, 2.0]))
    again, other = pickle.loads(pickle.dumps(x)), np.decompose(torch.tensor([1.0, 2.0]))
    add = torch.compile(lambda a, b: a + b, backend="eager", fullgraph=True)
    assert add(x, again).labels == x.labels
    assert add(x, other).labels == (*x.labels, *other.labels)


# -- other processes ---------------------------------------------------------------------------------------------------

SENT = {**{name: make for name, make in TABLE.items() if " rows" in name or "reversed" in name}, **CASES}


@pytest.mark.slow
@pytest.mark.parametrize("method", ["spawn", "forkserver"])
def test_processes_get_arguments_and_answer(method):
    """An argument, what goes through a pipe and through a queue."""
    context = torch.multiprocessing.get_context(method) if method == "spawn" else mp.get_context(method)
    given = {name: make() for name, make in SENT.items()}
    ours, theirs = context.Pipe()
    queue = context.SimpleQueue()
    process = context.Process(target=pickled.answer, args=(given, theirs, queue))
    process.start()
    theirs.close()
    try:
        answers = [queue.get()]
        ours.send(given)
        answers.append(ours.recv())
    finally:
        process.join(60)
    assert process.exitcode == 0
    for there, back in answers:
        for name, x in given.items():
            wanted = told(x)
            assert dict(there)[name] == wanted, name
            assert told(back[name]) == wanted, name
    back = answers[0][1]["two inputs"]
    assert (back + given["two inputs"]).labels == given["two inputs"].labels


WORKERS = """if True:
    import sys
    import multiprocessing as mp
    from concurrent.futures import ProcessPoolExecutor

    import joblib, torch, torch.multiprocessing
    from torch.utils.data import DataLoader

    import npdec as np
    import pickled

    torch.set_num_threads(1)


    def main(way):
        x = np.decompose(np.arange(6.0).reshape(2, 3))
        if way == "joblib":
            rows = joblib.Parallel(n_jobs=2)(joblib.delayed(pickled.row_sums)(x, i) for i in range(2))
            apart = joblib.Parallel(n_jobs=2)(joblib.delayed(pickled.made_here)(i) for i in range(2))
        elif way == "DataLoader":
            loader = DataLoader([row for row in x], batch_size=None, num_workers=1, multiprocessing_context="spawn")
            rows = [row.sum() for row in loader]
            apart = []
        else:
            kind, method = way.split()
            count = 2 if method == "fork" else 1  # it takes seconds to start one
            context = (torch.multiprocessing if kind == "torch" else mp).get_context(method)
            pool = ProcessPoolExecutor(count, context) if kind == "executor" else context.Pool(count)
            with pool:
                rows = list(pool.map(pickled.double, [x[0].sum(), x[1].sum()]))
                rows = [row / 2 for row in rows]
                apart = list(pool.map(pickled.made_here, range(4)))
                random = list(pool.map(pickled.draws, [np.random.default_rng(3)] * 2))
                assert random == [np.random.default_rng(3).random(3).tolist()] * 2
                called = list(pool.map(pickled.call, [np.sin, np.add.reduce, np.linalg.norm, np.float32]))
                assert [type(c).__name__ for c in called] == ["ndarray", "float64", "float64", "ndarray"]
        total = rows[0] + rows[1] + x[0, 0]
        assert total.labels == x.labels, total.labels
        assert np.completeness(total) == 0
        assert total.components.tolist() == [0, 1, 2, 3, 4, 5], total.components
        labels = [label for made in [x, *apart, np.decompose(np.zeros(2))] for label in made.labels]
        assert len(set(labels)) == len(labels)


    if __name__ == "__main__":
        for way in sys.argv[1:]:
            main(way)
        print("done")
"""


@pytest.mark.long
@pytest.mark.parametrize(
    "ways",
    [
        ("pool fork", "executor fork", "torch fork"),
        ("executor spawn",),
        ("DataLoader",),
        ("joblib",),
    ],
    ids=", ".join,
)
def test_workers(ways, tmp_path):
    """One input that two workers were given is one input; inputs that they decompose are several."""
    (tmp_path / "workers.py").write_text(WORKERS.replace("\n    ", "\n").removeprefix("if True:"))
    shared, package = Path(__file__).parents[1], Path(np.__file__).parents[1]
    places = os.pathsep.join([str(shared), str(package)])
    done = subprocess.run(
        [sys.executable, str(tmp_path / "workers.py"), *ways],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "PYTHONPATH": places, "OMP_NUM_THREADS": "1"},
    )
    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr
