"""Images of bytes: windows, histograms, filters, the Game of Life."""

import numpy as np


def im2col(x, k):
    h, w = x.shape
    return np.array([x[i : i + k, j : j + k].ravel() for i in range(h - k + 1) for j in range(w - k + 1)])


def conv(x, kern):
    kh, kw = kern.shape
    out = np.zeros((x.shape[0] - kh + 1, x.shape[1] - kw + 1), dtype=x.dtype)
    for i in range(kh):
        for j in range(kw):
            out += kern[i, j] * x[i : i + out.shape[0], j : j + out.shape[1]]
    return out


def life(b):
    n = sum(np.roll(np.roll(b, i, 0), j, 1) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0))
    return ((n == 3) | (b & (n == 2))).astype(b.dtype)


def main():
    rng = np.random.RandomState(5)
    img = rng.randint(0, 256, size=(12, 14), dtype=np.uint8)
    f = img.astype(np.float64) / 255
    k = np.outer([1, 2, 1], [-1, 0, 1]).astype(float)
    a = conv(f, k)
    b = (im2col(f, 3) @ k.ravel()).reshape(a.shape)
    assert np.allclose(a, b)
    mag = np.hypot(a, conv(f, k.T))
    ang = np.degrees(np.arctan2(conv(f, k.T), a)) % 180
    hist = np.bincount(img.ravel(), minlength=256)
    cdf = hist.cumsum()
    cdf = (cdf - cdf.min()) * 255 // (cdf.max() - cdf.min())
    eq = cdf.astype("uint8")[img]
    inv = 255 - img
    bright = img + np.uint8(100)
    sat = np.clip(img.astype(int) + 100, 0, 255).astype(np.uint8)
    thr = img > img.mean()
    packed = np.where(thr, 255, 0).astype(np.uint8)
    pool = img[:12, :12].reshape(6, 2, 6, 2).max(axis=(1, 3))
    rgb = np.dstack([img, inv, eq])
    gray = rgb @ np.array([0.299, 0.587, 0.114])
    gray2 = np.dot(rgb[..., :3], [0.2, 0.7, 0.1])
    rot = np.rot90(img, 1)
    fl = np.fliplr(img)
    fu = np.flipud(img)
    tr = rgb.transpose(2, 0, 1)
    med = np.median(im2col(f, 3), axis=1)
    noise = rng.normal(0, 0.1, f.shape)
    nz = np.clip(f + noise, 0, 1)
    mse = ((nz - f) ** 2).mean()
    psnr = 10 * np.log10(1 / mse)
    print(f"psnr {psnr:.2f} dB, dtype {img.dtype}, min {img.min()} max {img.max()}")
    board = np.zeros((6, 6), dtype=bool)
    board[[0, 1, 2, 2, 2], [1, 2, 0, 1, 2]] = True
    boards = [board]
    for g in range(8):
        boards.append(life(boards[-1]))
    for row in boards[4]:
        print("".join("#" if c else "." for c in row))
    print(boards[-1].astype(int))
    print(img[:2, :5], img[0, 0], repr(img[0, 0]), repr(img[:2, :3]))
    ys, xs = np.nonzero(boards[-1])
    cen = ys.mean(), xs.mean()
    bb = np.argwhere(boards[-1])
    box = (bb.min(0), bb.max(0) + 1)
    ib = np.zeros((13, 15))
    ib[1:, 1:] = f.cumsum(0).cumsum(1)
    ssum = ib[5, 6] - ib[2, 6] - ib[5, 3] + ib[2, 3]
    F = np.fft.fft2(f)
    lp = np.fft.ifftshift(
        np.where(np.abs(np.fft.fftshift(np.fft.fftfreq(12)))[:, None] < 0.25, 1, 0) * np.fft.fftshift(F, axes=0), axes=0
    )
    low = np.fft.ifft2(lp).real
    cs = (
        img.sum(),
        img.sum(axis=0).dtype.name,
        img.mean(),
        img.astype(np.uint16) * 300,
        img // 16,
        img % 7,
        img >> 4,
        img & 0x0F,
        ~img,
        img**2,
        -img,
        img / 2,
        img * 2,
        img - np.uint8(200),
        np.left_shift(img, 1),
        img ^ 255,
    )
    return dict(
        a=a,
        mag=mag,
        ang=ang,
        hist=hist,
        eq=eq,
        inv=inv,
        bright=bright,
        sat=sat,
        packed=packed,
        pool=pool,
        gray=gray,
        gray2=gray2,
        rot=rot,
        fl=fl,
        fu=fu,
        tr=tr,
        med=med,
        nz=nz,
        psnr=psnr,
        boards=boards,
        cen=cen,
        box=box,
        ssum=ssum,
        low=low,
        cs=cs,
    )
