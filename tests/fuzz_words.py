"""What options and arguments may be, as expressions: by the name of the parameter, and of methods."""

from __future__ import annotations

# What parameters may be, by name: expressions.
WORDS: dict[str, tuple[str, ...]] = {
    "order": ("'C'", "'F'", "'A'", "'K'", "'Z'", "None"),
    "casting": ("'same_kind'", "'unsafe'", "'safe'", "'no'", "'equiv'", "'other'"),
    "mode": ("'raise'", "'wrap'", "'clip'", "'valid'", "'same'", "'full'", "'reduced'", "'complete'", "'r'", "'edge'"),
    "kind": ("None", "'quicksort'", "'stable'", "'mergesort'", "'heapsort'", "'sort'", "'table'"),
    "side": ("'left'", "'right'", "'middle'"),
    "norm": ("None", "'backward'", "'ortho'", "'forward'", "'other'"),
    "indexing": ("'xy'", "'ij'", "'ab'"),
    "UPLO": ("'L'", "'U'", "'l'", "'X'"),
    "method": (
        "'linear'", "'lower'", "'higher'", "'midpoint'", "'nearest'", "'hazen'", "'weibull'", "'median_unbiased'",
        "'inverted_cdf'", "'averaged_inverted_cdf'", "'closest_observation'", "'interpolated_inverted_cdf'",
        "'normal_unbiased'", "'no'",
    ),
    "trim": ("'fb'", "'f'", "'b'", "'x'"),
    "ord": ("None", "1", "2", "-1", "-2", "np.inf", "-np.inf", "'fro'", "'nuc'", "0", "3", "0.5"),
    "axis": ("0", "-1", "None", "1", "(0, 1)", "2", "-2", "(0,)", "()", "(-1, 0)", "-4", "3", "(0, 0)", "1.0",
             "np.int8(0)"),
    "axes": ("(0, 1)", "None", "(1, 0)", "0", "(0,)", "(-1,)", "(0, 0)", "([0], [0])", "([1], [0])", "5"),
    "ddof": ("0", "1", "2", "0.5", "7"),
    "correction": ("0", "1", "0.5"),
    "initial": ("0", "1", "2.5", "True", "-3", "None", "np.int8(2)", "1j"),
    "copy": ("None", "True", "False"),
    "device": ("'cpu'", "None", "'other'"),
    "bins": ("4", "1", "[0, 1, 3]", "'auto'", "[1.0, 0.0]", "0", "'sturges'", "2.5", "np.array([-1, 0, 2.5])"),
    "range": ("None", "(0, 2)", "(-1.5, 3)", "(1, 1)", "(2, 0)", "(0, np.inf)", "[(0, 1), (0, 2)]"),
    "decimals": ("0", "1", "-1", "3", "20"),
    "like": ("None",),
    "subok": ("False", "True"),
    "signature": ("None",),
    "edge_order": ("1", "2", "3"),
    "k": ("0", "1", "-1", "4", "-7"),
    "n": ("2", "1", "0", "3", "-1", "5", "None"),
    "s": ("None", "(2, 3)", "(3,)", "(0, 1)", "4"),
    "where": ("True", "False"),
    "posinf": ("None", "1.5", "2"), "neginf": ("None", "-1.5", "-2"), "nan": ("0.0", "3", "1.5"),
    "period": ("None", "3.0", "0", "-2"),
    "pad_width": ("1", "(1, 2)", "((1, 0), (0, 2))", "0", "-1", "((1,),)", "{0: 1}", "{-1: (1, 2)}", "1.5"),
    "stat_length": ("1", "2", "None", "(1, 2)"),
    "reflect_type": ("'even'", "'odd'"),
    "minlength": ("0", "3", "-1"),
    "rcond": ("None", "1e-3", "0.5"), "rtol": ("1e-5", "0.1", "0.0"), "atol": ("1e-8", "0.5", "[0.0, 1.0, 2.0]"),
    "tol": ("None", "1e-3", "[0.1, 0.2]"),
    "sorter": ("None", "[0, 1, 2]", "[2, 1, 0]"),
}  # fmt: skip
METHODS: dict[str, tuple[str, ...]] = {
    "astype": (
        "({dtype})", "({dtype}, casting={casting})", "({dtype}, order={order}, copy={copy})", "({dtype}, copy=False)",
    ),
    "item": ("()", "(0)", "(-1)", "(7)", "(0, 1)", "((0, 0))", "('a')"),
    "tolist": ("()",),
    "tobytes": ("()", "({order})"),
    "view": ("()", "({dtype})"),
    "fill": ("(1)", "(2.5)", "(-1)", "(np.nan)", "(True)", "(300)", "(1j)", "([1, 2])"),
    "flatten": ("()", "({order})"),
    "copy": ("()", "({order})"),
    "reshape": ("(-1)", "(2, -1)", "((3, 2))", "(3, 2, order={order})", "(-1, -1)", "(1, -1, copy=False)", "()", "(0)"),
    "transpose": ("()", "(1, 0)", "((1, 0))", "(None)", "(0, 1, 2)", "(-1, 0)", "(0, 0)"),
    "sort": ("()", "(0)", "(axis={axis})", "(kind='stable')", "(axis=None)"),
    "partition": ("(1)", "(0, 0)", "(-1)", "([0, 1])", "(5)"),
    "resize": ("(2)", "((2, 3))", "(2, 2)", "(0)", "(-1)", "((4,), refcheck=False)"),
    "compress": ("([True, False])", "([1, 0, 1], axis={axis})", "([0, 1], 0)"),
    "setflags": ("(write=False)", "(write=True)"),
    "__len__": ("()",), "__bool__": ("()",), "__int__": ("()",), "__float__": ("()",), "__complex__": ("()",),
    "__index__": ("()",), "__contains__": ("(1)", "(0.5)", "(np.nan)"), "__copy__": ("()",), "__deepcopy__": ("({})",),
    "__abs__": ("()",), "__neg__": ("()",), "__pos__": ("()",), "__invert__": ("()",),
}  # fmt: skip
ATTRIBUTES = ("T", "mT", "real", "imag", "shape", "strides", "nbytes", "itemsize", "size", "ndim", "dtype")
OPERATORS = "+ - * / // % ** @ & | ^ << >> < <= > >= == !=".split()
IN_PLACE = [f"{word}=" for word in OPERATORS[:13]]
UFUNC_METHODS = ("reduce", "accumulate", "reduceat", "outer", "at")
