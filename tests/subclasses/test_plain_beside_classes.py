"""Plain arrays in calls with arrays of a program's own class: as arguments, as `out=`, as indices and masks, beside
NumPy's. What they give, its class, and what the call has written."""

from __future__ import annotations

from typing import Any

import numpy
import pytest

import npdec
from outcomes import same

# `p` is plain, `x` of the class, `xi` integers and `w` booleans of it; the others are written.
CALLS = (
    "p.std(0,None,o1,0)",
    "p.std(0,None,o1,1)",
    "p.mean(0,None,o1)",
    "p.mean(0,out=o1,where=w)",
    "p.sum(0,out=o1,where=w,initial=3)",
    "p.max(0,o1)",
    "p.min(0,o1,where=w,initial=9)",
    "p.prod(0,None,o1)",
    "p.cumsum(0,None,o2)",
    "p.cumprod(0,out=o2)",
    "p.clip(x*0,x*0+1,o2)",
    "p.clip(0,1,o2)",
    "p.clip(x*0,x*0+1)",
    "p.clip(0,1,out=o2)",
    "p.clip(min=x*0)",
    "p.clip(max=x*0+1,out=o2)",
    "p.fill(x[0,0])",
    "p.fill(s0)",
    "p.put([0,1],x[0])",
    "p.put(xi,[9.,8.])",
    "p.take(xi)",
    "p.take(xi,0,o2)",
    "p.take([0,1],0,o2)",
    "p.dot(x)",
    "p.dot(x,o2)",
    "p.dot(p,o2)",
    "p.choose(x)",
    "(p>1).choose(x,x,out=o2)",
    "(p>1).choose([x,x])",
    "p.compress(x[0]>0,0)",
    "p.compress([True,False],0,o3)",
    "p.repeat(xi)",
    "p.round(1,o2)",
    "p.round(out=o2)",
    "p[0].searchsorted(x)",
    "p.trace(0,0,1,None,s0)",
    "p.diagonal()",
    "p.argmax(0,oi)",
    "p.argmin(0,out=oi)",
    "p.all(0,out=ob)",
    "p.conj(o2)",
    "p.item(xi[0])",
    "p.reshape(xi)",
    "p.partition(xi[0])",
    "p.argpartition(xi[0])",
    "p.astype(x.dtype)",
    "p.__setitem__(0,x[0])",
    "p.__setitem__(x>0,0)",
    "p.__setitem__(xi,x)",
    "p[xi]",
    "p[x>0]",
    "p.__contains__(x[0,0])",
    "p.__matmul__(x)",
    "p.__iadd__(x)",
    "p.__imatmul__(x)",
    "p.__divmod__(x)",
    "p.__pow__(x)",
    "p.resize(xi)",
    "np.std(p,0,None,o1,1)",
    "np.mean(p,0,out=o1,where=w)",
    "np.sum(p,0,out=o1,where=w,initial=4)",
    "np.clip(p,0,1,o2)",
    "np.clip(p,x*0,1)",
    "np.median(p,0,o1)",
    "np.quantile(p,.5,0,o1)",
    "np.nanstd(p,0,out=o1,ddof=1)",
    "np.nanmean(p,0,out=o1)",
    "np.nansum(p,0,out=o1)",
    "np.nanmedian(p,0,o1)",
    "np.concatenate([p,p],out=o4)",
    "np.stack([p,p],out=o5)",
    "np.einsum('ij,jk',p,p,out=o2)",
    "np.dot(p,p,o2)",
    "np.matmul(p,p,o2)",
    "np.cumsum(p,0,out=o2)",
    "np.outer(p[0],p[0],o2)",
    "np.choose(p>1,[p,p],o2)",
    "np.take(p,[0],0,o6)",
    "np.ptp(p,0,o1)",
    "np.around(p,1,o2)",
    "np.compress([True,False],p,0,o3)",
    "np.argmax(p,0,oi)",
    "np.copyto(p,x)",
    "np.copyto(x,p)",
    "np.put(p,[0],x[0,0])",
    "np.place(p,p>0,x[0])",
    "np.putmask(p,p>0,x)",
    "np.put_along_axis(p,numpy.array([[0],[1]]),x[:,:1],1)",
    "np.fill_diagonal(p,x[0])",
    "np.add(p,1,o2)",
    "np.add(p,p,out=o2,where=p>1)",
    "np.modf(p,o2,p.copy())",
    "np.divmod(p,2,o2,p.copy())",
    "np.add.reduce(p,0,None,o1)",
    "np.add.accumulate(p,0,None,o2)",
    "np.add.reduceat(p,[0,1],0,None,o2)",
    "np.add.at(p,[0],x[0])",
    "np.linalg.multi_dot([p,p,p],out=o2)",
    "np.fft.fft(p,out=oc)",
    "np.cross(p,p)",
    "np.nanmax(p,0,o1)",
    "np.nanmin(p,axis=0,out=o1,where=w,initial=9)",
    "np.nanprod(p,0,out=o1)",
    "np.nancumsum(p,0,out=o2)",
    "np.percentile(p,50,0,o1)",
    "np.nan_to_num(x,False)",
    "np.isposinf(p,ob2)",
    "np.fix(p,o2)",
    "np.trace(p,out=s0)",
    "np.where(p>1,x,p)",
    "np.select([p>1],[x],x)",
    "np.digitize(p,x[0])",
    "np.average(p,0,x)",
    "np.linspace(p[0],x[0],3)",
    "np.full((2,2),x)",
    "np.full_like(p,x)",
    "np.searchsorted(p[0],x)",
    "np.isin(p,x)",
    "np.insert(p,0,x[0],0)",
    "np.append(p,x)",
    "np.roll(p,xi[0])",
    "np.rot90(p,xi[0])",
    "np.bincount(xi,x[0])",
    "np.histogram(p,x[0])",
    "np.histogram(p,2,weights=x)",
    "np.convolve(p[0],x[0])",
    "np.trapezoid(p,x)",
    "np.unravel_index(xi,(3,3))",
    "np.ravel_multi_index((xi,xi),(3,3))",
    "np.apply_along_axis(lambda v:v.sum(),0,p)",
    "np.tile(p,xi)",
    "np.repeat(p,xi,0)",
    "np.swapaxes(p,xi[0],xi[1])",
    "np.moveaxis(p,xi[0],xi[1])",
    "np.zeros(xi)",
    "np.arange(x[0,0],5)",
    "np.array([x,p])",
    "np.array([x[0],p[0]])",
    "np.asarray((x,x))",
    "np.polyval(x[0],p)",
    "np.lexsort((p[0],x[0]))",
    "np.ix_(xi,xi)",
    "np.allclose(p,x)",
    "np.array_equal(p,x)",
    "np.testing.assert_allclose(p,x)",
    "np.vander(x[0])",
    "np.cov(p,x)",
    "np.corrcoef(p,x)",
    "np.block([[p,x]])",
    "np.r_[p,x]",
    "np.c_[p,x]",
    "np.broadcast_to(p,xi+1)",
    "np.vectorize(lambda a:a)(x)",
    "np.piecewise(p,[x>0],[1,0])",
    "p.var(axis=0,out=o1,where=w)",
    "p.std(axis=0,out=o1,where=w)",
    "np.std(p,0,out=o1,where=w)",
    "p.any(0,out=ob)",
    "np.interp(p,[1,2],x[0])",
    "p.setfield(x,float)",
)
WRITTEN = {
    "o1": [0.0, 0.0], "o2": [[0.0, 0.0], [0.0, 0.0]], "o3": [[0.0, 0.0]], "o4": [[0.0, 0.0]] * 4,
    "o5": [[[0.0, 0.0], [0.0, 0.0]]] * 2, "o6": [[0.0, 0.0]], "oi": [0, 0], "ob": [False, False],
    "ob2": [[False, False]] * 2, "oc": [[0j, 0j]] * 2, "s0": 3.0,
}  # fmt: skip


def called(text: str, np: Any, given: Any, written: Any) -> Any:
    names = {
        "np": np, "numpy": numpy, "p": np.array([[1.0, 2.0], [3.0, 5.0]]), "x": given([[2.0, 1.0], [0.5, 4.0]]),
        "xi": given([0, 1]), "w": given([[True, False], [True, True]]),
        **{name: written(values) for name, values in WRITTEN.items()},
    }  # fmt: skip
    made = eval(text, names)
    kind = type(made).__name__ if isinstance(made, np.ndarray) else None
    return kind, made, [names[name].tolist() for name in ("p", "x", *WRITTEN)]


@pytest.mark.parametrize("text", CALLS)
def test_plain_arrays_take_arrays_of_classes_beside_them(text):
    def program(np: Any) -> Any:
        class Signal(np.ndarray):
            pass

        def given(values: Any) -> Any:
            return np.array(values).view(Signal)

        return called(text, np, given, given)

    same(program)


@pytest.mark.parametrize("text", [text for text in CALLS if "out=" in text or ",o" in text])
def test_plain_arrays_are_written_to_arrays_of_numpys(text):
    def program(np: Any) -> Any:
        kind, made, written = called(text, np, np.array, numpy.array)
        return (made.tolist() if kind else made), written

    same(program)


def test_what_cannot_be_written_is_told_before_anything_is_let_go_of():
    x = npdec.array([[1.0, 2.0], [3.0, 5.0]])
    for out in ([1.0, 2.0], "out"):
        for call in (lambda: x.sum(0, out=out), lambda: npdec.cumsum(x, 0, out=out)):  # noqa: B023
            with pytest.raises(TypeError, match="ArrayType"):
                call()
    assert x.tolist() == [[1.0, 2.0], [3.0, 5.0]]


class Told:
    """A class that computes functions itself by NumPy's own implementation of them, which asks no class again."""

    asked: list[str]

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        self.asked.append(function.__name__)
        return function._implementation(*args, **kwargs)


@pytest.mark.parametrize(
    "text",
    [
        "np.concatenate([x, x])", "np.linalg.norm(x)", "np.std(x, ddof=1)", "np.fft.fft(x[0]).real", "np.sort(x)",
        "np.array2string(x)", "np.where(x > 1, x, p)", "np.real(x)", "np.einsum('ij->i', x)", "np.cumsum(x, out=o)",
        "np.result_type(x, x)", "np.lib.stride_tricks.sliding_window_view(x, (1, 2))", "np.trace(x)",
    ],
)  # fmt: skip
def test_functions_have_an_implementation_that_asks_no_class(text):
    def program(np: Any) -> Any:
        class Asking(Told, np.ndarray):
            asked: list[str] = []

        x = np.array([[2.0, 1.0], [0.5, 4.0]]).view(Asking)
        made = eval(text, {"np": np, "x": x, "p": np.ones((2, 2)), "o": np.zeros(4)})
        return made, Asking.asked[:1]

    same(program)


def test_every_function_that_asks_classes_has_an_implementation():
    for theirs, ours in ((numpy, npdec), (numpy.linalg, npdec.linalg), (numpy.fft, npdec.fft)):
        for name in dir(theirs):
            if hasattr(getattr(theirs, name, None), "_implementation") and "bus" not in name and "datetime" not in name:
                assert "npdec" in type(getattr(ours, name)._implementation).__module__, name
