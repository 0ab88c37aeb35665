"""Methods, operators, attributes and ufuncs of arrays of a program's own class, and calls by the class, beside NumPy's:
the results are of the same class, with the same attributes and numbers."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy
import pytest

import npdec
from subclasses_of import signal_class

# `x` is of the class, `p` is plain, `lib` the library.
CALLS = (
    "x.astype('f8', copy=False) is x",
    "x.astype('f8', subok=False, copy=False) is x",
    "x.astype('f8', subok=False, copy=False)",
    "x.conj() is x",
    "x.real is x",
    "lib.asanyarray(x) is x",
    "lib.atleast_1d(x) is x",
    "lib.require(x) is x",
    "x.all()",
    "x.all(axis=0)",
    "x.any(0)",
    "x.argmax()",
    "x.argmax(1)",
    "x.argmin(axis=0)",
    "x.argpartition(1)",
    "x.argsort()",
    "x.astype('f4')",
    "x.astype('f4',subok=False)",
    "x.astype('f8',copy=False)",
    "x.byteswap()",
    "(x>0).astype(int).choose([x,x])",
    "x.clip(0,1)",
    "x.compress([True,False],axis=0)",
    "x.conj()",
    "x.conjugate()",
    "x.copy()",
    "x.cumprod()",
    "x.cumsum(axis=1)",
    "x.diagonal()",
    "x.dot(x.T)",
    "x[0].dot(x[0])",
    "x.fill(3)",
    "x.flatten()",
    "x.getfield('f4')",
    "x.item(0)",
    "x.max()",
    "x.mean()",
    "x.mean(axis=0)",
    "x.min(axis=(0,1))",
    "x.nonzero()",
    "x.partition(1)",
    "x.prod(keepdims=True)",
    "x.put([0],[5])",
    "x.ravel()",
    "x.ravel('F')",
    "x.repeat(2,axis=0)",
    "x.reshape(3,2)",
    "x.copy().resize(3,2)",
    "x.round()",
    "x.round(1)",
    "x[0].searchsorted([1.,2.])",
    "x.sort()",
    "x[:1].squeeze()",
    "x.std()",
    "x.std(0)",
    "x.sum()",
    "x.swapaxes(0,1)",
    "x.take([0,1])",
    "x.take(0)",
    "x.tobytes()",
    "x.tolist()",
    "x.trace()",
    "x.transpose()",
    "x.T",
    "x.mT",
    "x.real",
    "x.imag",
    "x.var()",
    "x.view()",
    "x.view(lib.ndarray)",
    "x.view('i8')",
    "x.view('i8',lib.ndarray)",
    "x.view(type=lib.ndarray)",
    "x.flat[1:3]",
    "x.flat.copy()",
    "list(x)",
    "x[0]",
    "x[0,0]",
    "x[:,1:]",
    "x[0,0,...]",
    "x[x>0]",
    "x[[0,1]]",
    "x[[0],[1]]",
    "x[None]",
    "x[::-1]",
    "x+1",
    "1+x",
    "x-p",
    "p-x",
    "x*x",
    "x/2",
    "x//2",
    "x%2",
    "divmod(x,2)",
    "divmod(3,x)",
    "x**2",
    "2**x",
    "-x",
    "+x",
    "abs(x)",
    "x<1",
    "x==x",
    "x!=None",
    "p>=x",
    "x@x.T",
    "p@x.T",
    "~(x>0)",
    "(x>0)&(x<1)",
    "(x>0)|True",
    "(x>0)^(x>0)",
    "x.astype(int)<<1",
    "1.0 in x",
    "len(x)",
    "bool(x[:1,:1])",
    "float(x[0,:1].sum())",
    "lib.float64(2)*x",
    "[1,2,3]*x",
    "lib.add(x,x,out=x.copy())",
    "lib.add(x,x,out=p.copy())",
    "lib.add(p,p,out=x.copy())",
    "lib.add(x,x,subok=False)",
    "lib.add.reduce(x)",
    "lib.add.reduce(x,axis=None)",
    "lib.add.accumulate(x)",
    "lib.add.outer(x,[1,2])",
    "lib.add.outer([1,2],x)",
    "lib.add.reduceat(x,[0,1])",
    "lib.add.at(x,[0],1)",
    "lib.add.at(p,[0],x[0])",
    "x.sum(axis=0,keepdims=True)",
    "x.sum(axis=0,out=x[0].copy())",
    "lib.modf(x)",
    "lib.frexp(x)",
    "lib.sqrt(abs(x),where=x>0,out=x.copy())",
    "lib.add(x[0],1,out=...)",
    "lib.add.reduce(x,axis=None,out=...)",
    "lib.array(x)",
    "lib.array(x,subok=True)",
    "lib.asarray(x)",
    "lib.asanyarray(x)",
    "lib.asanyarray(x,dtype='f4')",
    "lib.copy(x)",
    "lib.copy(x,subok=True)",
    "lib.array(x,copy=None,subok=True)",
    "lib.array(x,subok=True,ndmin=3)",
    "lib.ascontiguousarray(x)",
    "lib.require(x,None,['E'])",
    "lib.require(x,'f4')",
    "lib.broadcast_to(x,(2,2,3))",
    "lib.broadcast_to(x,(2,2,3),subok=True)",
    "lib.broadcast_arrays(x,p,subok=True)",
    "lib.lib.stride_tricks.as_strided(x,(2,),(8,))",
    "lib.lib.stride_tricks.as_strided(x,(2,),(8,),subok=True)",
    "lib.lib.stride_tricks.sliding_window_view(x[0],2)",
    "lib.lib.stride_tricks.sliding_window_view(x[0],2,subok=True)",
    "lib.empty_like(x)",
    "lib.empty_like(x,subok=False)",
    "lib.zeros_like(x)",
    "lib.full_like(x,3)",
    "lib.array([x,x])",
    "lib.stack([x,x])",
    "lib.array([[x[0,0]]])",
    "x.__setitem__(0,p[0])",
    "p.__setitem__(0,x[0])",
    "p[x.astype(int)[:,:1]%2]",
    "p[x>0]",
    "x.__isub__(1)",
    "p.__isub__(x)",
    "copy.copy(x)",
    "copy.deepcopy(x)",
    "reconstructed(x)",
    "repr(x)",
    "str(x)",
    "f'{x.sum():.2f}'",
    "x.view().base is x",
    "x.shape",
    "x.dtype.name",
    "x.flags.writeable",
    "x.ndim",
    "x.size",
    "x.strides",
    "x.nbytes",
    "isinstance(x,lib.ndarray)",
    "x.__array_priority__",
    "lib.ndarray.__getitem__(x,0)",
    "lib.ndarray.sum(x,axis=0)",
    "lib.ndarray.__add__(x,1)",
    "lib.ndarray.view(x,lib.ndarray)",
    "lib.ndarray.reshape(x,-1)",
    "lib.ndarray.__repr__(x)",
    "lib.ndarray.copy(x)",
    "lib.ndarray.__setitem__(x,0,1.)",
    "lib.ndarray.__array_wrap__(x,p)",
    "lib.ndarray.transpose(x)",
    "lib.ndarray.astype(x,int)",
    "lib.ndarray.flatten(x)",
    "lib.ndarray.tolist(x)",
    "lib.ndarray.__str__(x)",
    "lib.ndarray.T.__get__(x)",
    "lib.ndarray.shape.__get__(x)",
    "lib.ndarray.__reduce__(x)[1][0].__name__",
    "lib.ndarray.max(x)",
    "lib.ndarray.dot(x,x.T)",
    "lib.ndarray.__eq__(x,x)",
    "lib.ndarray.__iadd__(x,1)",
    "lib.ndarray.__array_ufunc__(x,lib.add,'__call__',x,1)",
    "lib.ndarray.fill(x,1)",
    "lib.ndarray.sort(x)",
    "lib.ndarray.item(x,0)",
    "lib.ndarray.__contains__(x,1.)",
    "lib.ndarray.clip(x,0,1)",
    "lib.ndarray.round(x)",
    "lib.ndarray.ravel(x)",
    "lib.ndarray.dtype.__get__(x).name",
    "lib.ndarray.tobytes(x)",
    "lib.ndarray.conj(x)",
    "lib.ndarray.compress(x,[True,False],axis=0)",
    "lib.ndarray.choose(x.astype(int)*0,[x,x])",
    "lib.ndarray.put(x,[0],[1.])",
    "lib.ndarray.real.__get__(x)",
    "lib.ndarray.ndim.__get__(x)",
    "lib.ndarray.size.__get__(x)",
    "lib.ndarray.flat.__get__(x)[0]",
    "lib.ndarray.partition(x,1)",
    "lib.ndarray.strides.__get__(x)",
    "lib.ndarray.nbytes.__get__(x)",
    "lib.ndarray.itemsize.__get__(x)",
    "lib.ndarray.swapaxes(x,0,1)",
    "lib.ndarray.flags.__get__(x).c_contiguous",
)

CLASSES = {numpy: signal_class(numpy), npdec: signal_class(npdec)}


def reconstructed(x: Any) -> Any:
    """What a pickle makes again: the class stands in no module."""
    make, arguments, state = x.__reduce__()
    made = make(*arguments)
    made.__setstate__(state)
    return made


def seen(lib: Any, x: Any, depth: int = 0) -> Any:
    """What a result is: class, attribute and numbers."""
    if type(x) is CLASSES[lib]:
        return "signal", x.info, x.tolist()
    if isinstance(x, lib.ndarray):
        return "plain", x.tolist()
    if isinstance(x, lib.generic):
        return "scalar", x.item()
    if isinstance(x, (list, tuple)) and depth < 3:
        return [seen(lib, item, depth + 1) for item in x]
    return type(x).__name__ if callable(x) else x


def outcome(lib: Any, text: str) -> Any:
    p = lib.array([[1.0, -2.0, 3.0], [4.0, 5.0, -6.0]])
    x = lib.array([[1.0, 2.0, 3.5], [4.0, 0.5, 6.0]]).view(CLASSES[lib])
    x.info = "of x"
    names = {"lib": lib, "x": x, "p": p, "copy": copy, "pickle": pickle, "reconstructed": reconstructed}
    try:
        made = eval(text, names)
    except Exception as error:
        return type(error).__name__
    return [seen(lib, one) for one in (made, x, p)]


def _check(texts: Any) -> None:
    for text in texts:
        if text.startswith("lib.empty_like"):
            continue
        assert outcome(npdec, text) == outcome(numpy, text), text


def test_a_part_of_the_calls() -> None:
    _check(CALLS[::5])


@pytest.mark.slow
def test_all_calls() -> None:
    _check(CALLS)
