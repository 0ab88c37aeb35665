"""Dynamic programming element by element, hashes and checksums with unsigned integers."""

import numpy as np


def knapsack(w, v, cap):
    n = len(w)
    t = np.zeros((n + 1, cap + 1), dtype=np.int64)
    for i in range(1, n + 1):
        for c in range(cap + 1):
            t[i, c] = t[i - 1, c]
            if w[i - 1] <= c:
                t[i, c] = max(t[i, c], t[i - 1, c - w[i - 1]] + v[i - 1])
    picks, c = [], cap
    for i in range(n, 0, -1):
        if t[i][c] != t[i - 1][c]:
            picks.append(i - 1)
            c -= w[i - 1]
    return t[n, cap], picks[::-1], c


def edit(a, b):
    d = np.zeros((len(a) + 1, len(b) + 1), int)
    d[:, 0] = np.arange(len(a) + 1)
    d[0] = range(len(b) + 1)
    for i in range(1, len(a) + 1):
        for j in range(1, len(b) + 1):
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + (a[i - 1] != b[j - 1]))
    return d


def needleman(a, b, gap=-2):
    n, m = len(a), len(b)
    F = np.zeros((n + 1, m + 1))
    ptr = np.zeros_like(F, dtype=np.int8)
    F[:, 0] = gap * np.arange(n + 1)
    F[0, :] = gap * np.arange(m + 1)
    for i, x in enumerate(a, 1):
        for j, y in enumerate(b, 1):
            c = [F[i - 1, j - 1] + (1 if x == y else -1), F[i - 1, j] + gap, F[i, j - 1] + gap]
            ptr[i, j] = np.argmax(c)
            F[i, j] = c[ptr[i, j]]
    return F, ptr


def lis(a):
    best = np.ones(len(a), dtype=int)
    for i in range(len(a)):
        for j in range(i):
            if a[j] < a[i] and best[j] + 1 > best[i]:
                best[i] = best[j] + 1
    return best


def coins(cs, t):
    ways = np.zeros(t + 1, dtype=np.uint64)
    ways[0] = 1
    for c in cs:
        for s in range(c, t + 1):
            ways[s] += ways[s - c]
    return ways


def sieve(n):
    s = np.ones(n + 1, dtype=bool)
    s[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if s[i]:
            s[i * i :: i] = False
    return np.nonzero(s)[0]


def crc_table():
    t = np.zeros(256, dtype=np.uint32)
    for i in range(256):
        c = np.uint32(i)
        for _ in range(8):
            c = np.uint32(0xEDB88320) ^ (c >> np.uint32(1)) if c & np.uint32(1) else c >> np.uint32(1)
        t[i] = c
    return t


def crc(data, t):
    c = np.uint32(0xFFFFFFFF)
    for b in data:
        c = t[(c ^ b) & 0xFF] ^ (c >> 8)
    return c ^ np.uint32(0xFFFFFFFF)


def popcount(x):
    x = x - ((x >> 1) & 0x55555555)
    x = (x & 0x33333333) + ((x >> 2) & 0x33333333)
    return ((x + (x >> 4) & 0x0F0F0F0F) * np.uint32(0x01010101)) >> 24


def xorshift(seed, n):
    x = np.uint32(seed)
    out = []
    for _ in range(n):
        x ^= x << np.uint32(13)
        x ^= x >> np.uint32(17)
        x ^= x << np.uint32(5)
        out.append(int(x))
    return out


def fnv(words):
    h = np.uint64(14695981039346656037)
    p = np.uint64(1099511628211)
    a = np.array([h, h])
    for w in words:
        a = (a ^ np.uint64(w)) * p
    return a


def main():
    w, v = np.array([2, 3, 4, 5]), np.array([3, 4, 5, 6])
    best, picks, left = knapsack(w, v, 8)
    print(best, picks, left, type(best).__name__)
    d = edit("kitten", "sitting")
    print(d)
    print("distance:", d[-1, -1])
    F, ptr = needleman("GATTACA", "GCATGCU")
    print(F)
    a = np.array([3, 1, 4, 1, 5, 9, 2, 6])
    l = lis(a)
    ways = coins([1, 2, 5], 20)
    pr = sieve(60)
    print(pr)
    t = crc_table()
    data = np.frombuffer(b"123456789", dtype=np.uint8)
    c = crc(data, t)
    print(hex(c), f"{c:08x}", f"{c:#x}", bin(t[1]), "%08X" % c)
    x = np.array([0, 1, 255, 0xFFFFFFFF, 0x12345678], dtype=np.uint32)
    pc = popcount(x)
    xs = xorshift(2463534242, 4)
    h = fnv([1, 2, 300])
    print(h, xs)
    fib = np.array([[1, 1], [1, 0]])
    fm = np.linalg.matrix_power(fib, 40)
    i8 = np.array([100, 100], dtype=np.int8)
    ov = i8 + i8
    ov2 = i8 * np.int8(3)
    memo = {}
    for val in np.array([3, 3, 5]):
        memo[val] = memo.get(val, 0) + 1
    print(memo, {int(k): q for k, q in memo.items()}, sorted(memo))
    bits = (5 >> np.arange(8)) & 1
    bits2 = (np.arange(8)[:, None] & (1 << np.arange(3))) > 0
    col = 27
    n = np.int64(col)
    steps = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    g = np.gcd(12, 18), np.lcm.reduce(np.array([2, 3, 4])), np.gcd.reduce([12, 18, 30])
    return dict(
        best=best,
        picks=picks,
        left=left,
        d=d,
        F=F,
        ptr=ptr,
        l=l,
        ways=ways,
        pr=pr,
        t=t,
        c=c,
        pc=pc,
        xs=xs,
        h=h,
        fm=fm,
        ov=ov,
        ov2=ov2,
        memo=list(memo.items()),
        bits=bits,
        bits2=bits2,
        n=n,
        steps=steps,
        g=g,
        rest=(
            np.int64(7) // 2,
            np.int64(-7) // 2,
            np.int64(-7) % 3,
            divmod(np.int64(-7), 3),
            np.float64(7) // 2,
            np.int32(5) / 2,
            2 ** np.int64(10),
            np.int64(2) ** 10,
            np.uint8(3) << 2,
            5 & np.int64(3),
            abs(np.int64(-4)),
            -np.int64(4),
            +np.int8(3),
            ~np.int64(4),
            pow(np.int64(3), 4),
            np.int64(3) * 2.5,
            3 - np.float32(1),
            True + np.int8(1),
            np.bool_(True) & False,
            not np.bool_(True),
            np.True_ | np.False_,
        ),
    )
