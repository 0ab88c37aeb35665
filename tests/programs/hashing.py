"""Checksums, hashes, ciphers and generators whose arithmetic wraps around, one value or a whole array at a time."""

import numpy as np

MASK32 = np.uint32(0xFFFFFFFF)


def rotl32(x, r):
    return (x << np.uint32(r)) | (x >> np.uint32(32 - r))


def rotl64(x, r):
    return (x << np.uint64(r)) | (x >> np.uint64(64 - r))


def crc_table(polynomial, dtype):
    table = np.arange(256, dtype=dtype)
    for _ in range(8):
        odd = (table & 1).astype(bool)
        table >>= 1
        table[odd] ^= dtype(polynomial)
    return table


def crc32(data, table):
    """The checksum of every row of `data` at once."""
    c = np.full(data.shape[0], MASK32)
    for column in data.T:
        c = table[(c ^ column) & 0xFF] ^ (c >> 8)
    return c ^ MASK32


def adler32(data):
    a = 1 + np.cumsum(data, axis=-1, dtype=np.uint64)
    b = a.sum(axis=-1) % 65521
    return ((b << np.uint64(16)) | (a[..., -1] % 65521)).astype(np.uint32)


def fnv1a(data):
    h = np.full(len(data), 0xCBF29CE484222325, dtype=np.uint64)
    prime = np.uint64(0x100000001B3)
    for column in data.T:
        h ^= column
        h *= prime
    return h


def murmur_mix(h):
    h = h.copy()
    h ^= h >> 16
    h *= np.uint32(0x85EBCA6B)
    h ^= h >> 13
    h *= np.uint32(0xC2B2AE35)
    h ^= h >> 16
    return h


class SplitMix:
    def __init__(self, seed):
        self.state = np.array(seed, dtype=np.uint64)

    def __call__(self, n):
        steps = np.arange(1, n + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
        z = self.state + steps
        self.state = z[-1:].reshape(())
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def xoshiro(seed, n):
    """Several streams side by side: the columns of `s` are their states."""
    s = SplitMix(seed)(12).reshape(4, 3)
    out = np.empty((n, 3), dtype=np.uint64)
    for k in range(n):
        out[k] = rotl64(s[1] * np.uint64(5), 7) * np.uint64(9)
        t = s[1] << np.uint64(17)
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotl64(s[3], 45)
    return out


def quarter_round(s, a, b, c, d):
    for x, y, z, r in ((a, b, d, 16), (c, d, b, 12), (a, b, d, 8), (c, d, b, 7)):
        s[x] += s[y]
        s[z] = rotl32(s[z] ^ s[x], r)


def chacha(key, nonce, blocks):
    """The key stream of all blocks at once: sixteen rows of words."""
    state = np.empty((16, blocks), dtype=np.uint32)
    state[:4] = np.frombuffer(b"expand 32-byte k", dtype=np.uint32)[:, None]
    state[4:12] = np.frombuffer(key, dtype=np.uint32).reshape(-1, 1)
    state[12] = np.arange(1, blocks + 1)
    state[13:] = np.frombuffer(nonce, dtype=np.uint32)[:, None]
    work = state.copy()
    for _ in range(10):
        for j in range(4):
            quarter_round(work, j, 4 + j, 8 + j, 12 + j)
        for j in range(4):
            quarter_round(work, j, 4 + (j + 1) % 4, 8 + (j + 2) % 4, 12 + (j + 3) % 4)
    work += state
    return np.ascontiguousarray(work.T).view(np.uint8).ravel()


def life(rows, steps):
    """Conway's life in the bits of one word a row, by adders."""
    for _ in range(steps):
        up, down = np.roll(rows, 1), np.roll(rows, -1)
        ones, twos, fours = np.zeros((3, rows.size), dtype=np.uint16)
        for r in (up, rows, down):
            for shifted in (r << 1, r >> 1, r) if r is not rows else (r << 1, r >> 1):
                carry = ones & shifted
                ones = ones ^ shifted
                fours |= twos & carry
                twos = twos ^ carry
        rows = twos & ~fours & (ones | rows)
    return rows


def hamming(a, b):
    x = a ^ b
    x = x - ((x >> 1) & 0x55555555)
    x = (x & 0x33333333) + ((x >> 2) & 0x33333333)
    x = (x + (x >> 4)) & 0x0F0F0F0F
    return (x * np.uint32(0x01010101)) >> 24


def main():
    words = [b"123456789", b"wikipedia", b"numpy----", b"\x00\xff\x00\xff\x80\x7f\x01\xfe\x55"]
    data = np.stack([np.frombuffer(w, dtype=np.uint8) for w in words])
    table = crc_table(0xEDB88320, np.uint32)
    sums = crc32(data, table), adler32(data), fnv1a(data)
    for word, crc, adler, fnv in zip(words, *sums):
        print(f"{word!r:>48} {crc:08x} {adler:08x} {fnv:016x}")
    mixed = murmur_mix(np.arange(5, dtype=np.uint32))
    print(" ".join(map(hex, mixed.tolist())), mixed.dtype)
    split = SplitMix(42)
    draws = np.concatenate([split(3), split(2)])
    uniform = (draws >> np.uint64(11)) * 2.0**-53
    print(draws, uniform)
    streams = xoshiro(7, 6)
    print(streams)
    stream = chacha(bytes(range(32)), b"\0\0\0\x09\0\0\0\x4a\0\0\0\0", 2)
    text = np.frombuffer(b"Ladies and Gentlemen of the class", dtype=np.uint8)
    sealed = text ^ stream[: text.size]
    print(sealed.tobytes().hex(), (sealed ^ stream[: text.size]).tobytes().decode())
    glider = np.array([0, 0b0000010000000000, 0b0000001000000000, 0b0000111000000000, 0, 0, 0, 0], dtype=np.uint16)
    for row in life(glider, 8):
        print(f"{row:016b}".replace("0", "."))
    gray = np.arange(8, dtype=np.uint8)
    gray ^= gray >> 1
    wrap = np.array([100, -100], dtype=np.int8) + np.array([100, -100], dtype=np.int8)
    bits = (data[3][:, None] >> np.arange(7, -1, -1, dtype=np.uint8)) & 1
    flat = np.uint64(1) << np.arange(0, 64, 9, dtype=np.uint64)
    parity = np.bitwise_xor.reduce(bits, axis=1)
    return dict(
        table=table,
        sums=sums,
        mixed=mixed,
        draws=draws,
        uniform=uniform,
        stream=stream,
        gray=gray,
        wrap=wrap,
        bits=bits,
        flat=flat,
        parity=parity,
        distance=hamming(table[:6], table[6:12]),
        masks=np.bitwise_or.accumulate(flat[:4]),
        back=np.left_shift(1, bits.sum(axis=0)),
        high=np.array([2**64 - 1], dtype=np.uint64) // 3 % np.uint64(1000),
    )
