"""What classes below ndarray, and those of other libraries, are asked for before their numbers are taken."""

import itertools

import numpy
import pytest

import npdec

BOTH = pytest.mark.parametrize("lib", [numpy, npdec], ids=["numpy", "npdec"])


def _of(lib):
    return type("S", (lib.ndarray,), {}), type("T", (lib.ndarray,), {})


def test_average_gives_the_sums_of_weights_in_the_class_of_the_weights():
    seen = []
    for lib in (numpy, npdec):
        S, T = _of(lib)
        plain = lib.array([[1.0, 2], [3, 4]])
        kinds = (plain, plain.view(S), plain.view(T))
        names = []
        for x, weights, axis in itertools.product(kinds, (None, *kinds, *(k[0] for k in kinds)), (None, 0, 1)):
            if weights is None or weights.ndim == 2 or axis is not None:
                made = lib.average(x, axis=axis, weights=weights, returned=True)
                names.append([type(part).__name__ for part in made])
        seen.append(names)
    assert seen[0] == seen[1]


@BOTH
def test_what_indices_choose_is_a_view_of_a_plain_array(lib):
    S, _ = _of(lib)
    s = lib.arange(6.0).reshape(2, 3).view(S)
    for key in ([0, 1], s > 1, (slice(None), [2, 0])):
        chosen = s[key]
        assert type(chosen) is S
        assert type(chosen.base) is lib.ndarray
        assert lib.shares_memory(chosen, chosen.base)
        assert not lib.shares_memory(chosen, s)
    assert s[1:].base is s
    assert type(lib.arange(3.0)[lib.arange(3).view(S)]) is lib.ndarray


@BOTH
@pytest.mark.parametrize("random", ["random", "random.RandomState(0)", "random.default_rng(0)"])
def test_random_functions_ask_a_number_for_itself(lib, random):
    class Refusing(lib.ndarray):
        def __float__(self):
            raise LookupError

        __int__ = __index__ = __float__

    source = eval(f"lib.{random}", {"lib": lib})
    number, whole = lib.array(1.0).view(Refusing), lib.array(1).view(Refusing)
    for call in (
        lambda: source.uniform(number, 2.0),
        lambda: source.normal(0.0, number),
        lambda: source.hypergeometric(whole, 1, 1),
    ):
        with pytest.raises(LookupError):
            call()
    S, _ = _of(lib)
    assert 1 <= source.uniform(lib.array(1.0).view(S), 2.0) < 2


@BOTH
def test_ufuncs_of_python_functions_ask_classes(lib):
    class Asked:
        def __array_ufunc__(self, function, method, *inputs, **kwargs):
            return method, len(inputs), function.nin, kwargs

    class Refusing:
        def __array_ufunc__(self, *args, **kwargs):
            return NotImplemented

    function = lib.frompyfunc(lambda a, b, c: a, 3, 1)
    for place in range(3):
        given = [1, 2.0, lib.ones(2)]
        given[place] = Asked()
        assert function(*given) == ("__call__", 3, 3, {})
        given[place - 1] = Refusing()
        assert function(*given) == ("__call__", 3, 3, {})
    with pytest.raises(TypeError, match="NotImplemented"):
        function(1, Refusing(), 2)
    assert function(1, 2, 3) == 1


@BOTH
def test_arrays_know_no_functions_of_others(lib):
    class Other:
        def __array_function__(self, *args):
            return NotImplemented

    x = lib.ones(2)
    call = lambda *args: "called"  # noqa: E731
    call.__module__ = __name__
    assert x.__array_function__(lib.concatenate, (lib.ndarray, Other), ((x, Other()),), {}) is NotImplemented
    assert x.__array_function__(lib.concatenate, (lib.ndarray,), ((x, x),), {}).tolist() == [1, 1, 1, 1]
    with pytest.raises(TypeError, match="no implementation found"):
        lib.concatenate((x, Other()))


@BOTH
def test_dlpack_of_a_class_of_its_own(lib):
    class Old(lib.ndarray):
        def __dlpack__(self, stream=None):
            return super().__dlpack__(stream=None)

    x = lib.arange(3.0)
    assert lib.from_dlpack(x.view(_of(lib)[0])).flags.writeable
    old = lib.from_dlpack(x.view(Old))
    assert not old.flags.writeable
    x[0] = 7
    assert old.tolist() == [7, 1, 2]


@BOTH
def test_numbers_of_a_class_of_its_own_say_its_name(lib):
    for name in ("int16", "float32", "float64", "uint8", "complex64"):
        made = type("Length", (getattr(lib, name),), {})(3)
        assert repr(made).startswith("Length(" if "int" in name else f"np.{name}(")
        assert repr(getattr(lib, name)(3)).startswith(f"np.{name}(")


@BOTH
def test_objects_say_themselves_whether_they_are_complex(lib):
    class Column:
        def __init__(self, dtype):
            self.dtype = dtype

    class Extension:
        type = type("Own", (lib.complex64,), {})

    for dtype, expected in ((lib.dtype("c8"), True), (lib.dtype("f4"), False), (Extension, True)):
        assert lib.iscomplexobj(Column(dtype)) is expected
        assert lib.isrealobj(Column(dtype)) is not expected
    for x, expected in (
        (lib.ones(2, "c16"), True),
        (1j, True),
        ([1.0], False),
        (lib.clongdouble(1), True),
        ("a", False),
    ):
        assert lib.iscomplexobj(x) is expected


def _moments(lib):
    """The moments of an array of a class that computes ufuncs itself, by all options, and which ufuncs it was asked."""
    asked = []

    def bare(x):
        return x.view(lib.ndarray) if isinstance(x, Own) else x

    class Own(lib.ndarray):
        def __array_ufunc__(self, function, method, *inputs, **kwargs):
            asked.append((function.__name__, method))
            out = kwargs.pop("out", None)
            if out:
                kwargs["out"] = tuple(map(bare, out))
            kwargs = {name: bare(x) for name, x in kwargs.items()}
            made = getattr(function, method)(*map(bare, inputs), **kwargs)
            return out[0] if out else made.view(Own) if isinstance(made, lib.ndarray) else made

    numbers = lib.arange(12.0).reshape(3, 4) * lib.array([1.0, -2.0, 0.5, 3.0])
    mask = lib.array([[True, False, True, True], [True, False, True, True], [False, True, True, False]])
    spread = ({}, {"ddof": 1}, {"correction": 1}, "mean")
    for x in (numbers, numbers.astype("i8"), numbers + 1j):
        x = x.view(Own)
        for axis, keepdims, where in itertools.product((None, 1), (False, True), (None, mask.view(Own))):
            given = {} if where is None else {"where": where}
            for name, options in [("mean", {}), *itertools.product(("var", "std"), spread)]:
                if options == "mean":
                    options = {"mean": lib.mean(numbers.astype(x.dtype), axis=axis, keepdims=True)}
                asked.clear()
                made = getattr(lib, name)(x, axis=axis, keepdims=keepdims, **options, **given)
                steps = tuple(asked) if x.dtype.kind != "c" else None
                yield (type(made).__name__, str(made.dtype), lib.shape(made), steps), lib.asarray(made).ravel().tolist()


@pytest.mark.slow
def test_moments_of_a_class_that_computes_ufuncs_itself():
    pairs = list(zip(_moments(numpy), _moments(npdec), strict=True))
    assert len(pairs) > 200
    for (said, numbers), (expected, wanted) in pairs:
        assert said == expected
        assert numbers == pytest.approx(wanted)
    own = npdec.ones(2).view(type("Own", (npdec.ndarray,), {"__array_ufunc__": lambda self, *args, **kwargs: 1}))
    with pytest.raises(ValueError, match="ddof and correction"):
        npdec.var(own, ddof=1, correction=1)


def test_libraries_that_stay_numpys_ask_a_class_with_npdecs_functions_where_it_knows_no_others():
    class Metres(npdec.ndarray):
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            asked.append(ufunc)
            return "a sum" if (ufunc, method) == (npdec.add, "__call__") else NotImplemented

        def __array_function__(self, func, types, args, kwargs):
            asked.append(func)
            return "joined" if func is npdec.concatenate else NotImplemented

    class Feet(Metres):
        pass

    class Own(Metres):
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            return "own"

    for kind in (Metres, Feet):
        asked: list[object] = []
        x = npdec.ones(2).view(kind)
        assert numpy.add(x, 1.0) == npdec.add(x, 1.0) == "a sum"
        assert asked == [numpy.add, npdec.add, npdec.add]
        assert numpy.concatenate([x, x]) == npdec.concatenate([x, x]) == "joined"
        with pytest.raises(TypeError, match="returned NotImplemented"):
            numpy.sin(x)
        with pytest.raises(TypeError, match="no implementation found"):
            numpy.stack([x])
    assert numpy.sin(npdec.ones(2).view(Own)) == "own"


@BOTH
def test_a_class_of_arrays_has_no_to_numpy(lib):
    S, _ = _of(lib)
    x = lib.ones(2).view(S)
    assert not hasattr(x, "to_numpy")
    with pytest.raises(AttributeError, match="has no attribute 'to_numpy'"):
        x.to_numpy()
    own = type("Own", (lib.ndarray,), {"to_numpy": lambda self: "numbers"})
    assert lib.ones(2).view(own).to_numpy() == "numbers"
    assert npdec.asarray(npdec.ones(2).view(_of(npdec)[0])).to_numpy().tolist() == [1.0, 1.0]
