"""Grouping, ranking and sorting."""

import numpy as np


def group_mean(keys, vals):
    u, inv = np.unique(keys, return_inverse=True)
    s = np.zeros(len(u))
    np.add.at(s, inv, vals)
    return u, s / np.bincount(inv)


def groupby_reduceat(keys, vals):
    o = np.argsort(keys, kind="mergesort")
    k, v = keys[o], vals[o]
    starts = np.flatnonzero(np.concatenate(([True], k[1:] != k[:-1])))
    return k[starts], np.add.reduceat(v, starts), np.maximum.reduceat(v, starts), np.diff(np.append(starts, len(k)))


def rle(x):
    idx = np.where(np.diff(x) != 0)[0] + 1
    return [(seg[0], len(seg)) for seg in np.split(x, idx)]


def topk(x, k):
    part = np.argpartition(x, -k)[-k:]
    return part[np.argsort(x[part])[::-1]]


def rank(x):
    r = np.empty(len(x), dtype=np.intp)
    r[x.argsort()] = np.arange(len(x))
    return r


def quicksort(a):
    if len(a) <= 1:
        return a
    p = a[len(a) // 2]
    return np.concatenate([quicksort(a[a < p]), a[a == p], quicksort(a[a > p])])


def insertion(a):
    a = a.copy()
    for i in range(1, len(a)):
        k = a[i]
        j = i - 1
        while j >= 0 and a[j] > k:
            a[j + 1] = a[j]
            j -= 1
        a[j + 1] = k
    return a


def auc(y, s):
    o = np.argsort(-s)
    y = y[o]
    tpr = np.concatenate([[0], np.cumsum(y) / y.sum()])
    fpr = np.concatenate([[0], np.cumsum(1 - y) / (1 - y).sum()])
    return np.sum((fpr[1:] - fpr[:-1]) * (tpr[1:] + tpr[:-1]) / 2)


def main():
    rng = np.random.default_rng(99)
    keys = rng.integers(0, 5, 30)
    vals = rng.uniform(0, 10, 30).round(2)
    gm = group_mean(keys, vals)
    gr = groupby_reduceat(keys, vals)
    names = np.array([10, 20, 30, 40, 50])[keys]
    order = np.lexsort((vals, keys))
    bins = np.array([0, 2.5, 5, 7.5, 10])
    dig = np.digitize(vals, bins)
    ss = np.searchsorted(bins, vals, side="right")
    assert (dig == ss).all()
    x = np.array([1, 1, 2, 2, 2, 3, 1, 1])
    r = rle(x)
    print(r)
    tk = topk(vals, 4)
    print("top:", tk, vals[tk])
    for k, v in zip(*gm):
        print(f"{k}: {v:7.3f}")
    d = {k: vals[keys == k].sum() for k in np.unique(keys)}
    print(sorted(d, key=d.get), max(d.values()) == max(d[k] for k in d))
    dd = dict(zip(gm[0].tolist(), gm[1].round(2).tolist()))
    print(dd)
    y = (vals + rng.normal(0, 3, 30) > 5).astype(int)
    un = np.unique(np.array([[1, 2], [3, 4], [1, 2]]), axis=0, return_counts=True)
    u4 = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    sets = (
        np.intersect1d([1, 2, 3], [2, 3, 5]),
        np.union1d([1, 2], [2, 4]),
        np.setdiff1d(x, [1]),
        np.isin(x, [2, 3]),
        np.setxor1d([1, 2], [2, 3]),
    )
    ms = (
        np.sort(vals)[::-1][:3],
        sorted(vals)[:3],
        sorted(vals.tolist(), reverse=True)[0],
        max(vals),
        min(vals),
        sum(x),
        any(x > 2),
        all(x > 0),
        list(x),
        list(reversed(x)),
        list(map(int, x)),
        [*x[:2]],
        set(x.tolist()),
        3 in x,
        len(x),
        tuple(x[:2]),
    )
    q = np.quantile(vals, [0.25, 0.5, 0.75])
    bp = q[2] - q[0]
    out = vals[(vals < q[0] - 1.5 * bp) | (vals > q[2] + 1.5 * bp)]
    cross = np.zeros((5, 2), int)
    for a, b in zip(keys, y):
        cross[a, b] += 1
    z = (vals - vals.mean()) / vals.std()
    cond = np.select([vals < 3, vals < 7], [0, 1], default=2)
    ch = np.choose(cond, [np.zeros(30), vals, -vals])
    pw = np.piecewise(vals, [vals < 5, vals >= 5], [lambda t: t**2, lambda t: -t])
    ex = (
        np.extract(vals > 8, vals),
        np.compress(x > 1, x),
        np.take(vals, [0, 3]),
        np.repeat(x, 2),
        np.tile(x[:2], (2, 3)),
        np.delete(x, [0, 2]),
        np.insert(x, 1, 9),
        np.append(x, [7]),
        np.resize(x, 10),
        np.trim_zeros(np.array([0, 1, 0])),
        np.ediff1d(x),
        np.partition(vals, 3)[3],
        np.ptp(vals),
    )
    tal = np.take_along_axis(vals.reshape(5, 6), np.argsort(vals.reshape(5, 6), axis=1), axis=1)
    pa = np.zeros((2, 3))
    np.put_along_axis(pa, np.array([[1], [2]]), 5, axis=1)
    mk = x.copy()
    np.putmask(mk, mk > 2, -1)
    np.put(mk, [0], 77)
    np.place(mk, mk == 1, [5, 6])
    nd = np.unravel_index(vals.argmax(), (5, 6)), np.ravel_multi_index((1, 2), (5, 6))
    print(nd)
    s1 = vals.copy()
    s1.sort()
    s2 = keys.reshape(5, 6).copy()
    s2.sort(axis=0)
    st = rng.permutation(5)
    rng.shuffle(st)
    cnts = np.zeros(5)
    np.maximum.at(cnts, keys, vals)
    np.subtract.at(cnts, [0, 0], 1)
    return dict(
        gm=gm,
        gr=gr,
        names=names,
        order=order,
        dig=dig,
        r=r,
        tk=tk,
        d=list(d.items()),
        auc=auc(y, vals),
        un=un,
        u4=tuple(u4),
        sets=sets,
        ms=ms,
        q=q,
        out=out,
        cross=cross,
        z=z,
        cond=cond,
        ch=ch,
        pw=pw,
        ex=ex,
        tal=tal,
        pa=pa,
        mk=mk,
        nd=nd,
        s1=s1,
        s2=s2,
        st=st,
        cnts=cnts,
        qs=quicksort(keys),
        ins=insertion(vals),
        rank=rank(vals),
        w=np.bincount(keys, weights=vals),
    )
