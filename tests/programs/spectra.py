"""Spectra: windows, a short-time transform and its inverse, filters, autocorrelation, peaks."""

import numpy as np


def chirp(t, f0, f1):
    return np.cos(2 * np.pi * (f0 * t + (f1 - f0) / (2 * t[-1]) * t**2))


def stft(x, window, hop):
    size = len(window)
    padded = np.pad(x, size // 2, mode="reflect")
    frames = np.lib.stride_tricks.sliding_window_view(padded, size)[::hop]
    return np.fft.rfft(frames * window, axis=-1).T


def istft(S, window, hop, length):
    size = len(window)
    frames = np.fft.irfft(S.T, n=size) * window
    out = np.zeros(size + hop * (len(frames) - 1))
    norm = np.zeros_like(out)
    for k, frame in enumerate(frames):
        out[k * hop : k * hop + size] += frame
        norm[k * hop : k * hop + size] += window**2
    keep = norm > 1e-10
    out[keep] /= norm[keep]
    return out[size // 2 :][:length]


def brick_wall(x, rate, low, high):
    X = np.fft.rfft(x)
    f = np.fft.rfftfreq(x.size, d=1 / rate)
    X[(f < low) | (f > high)] = 0
    return np.fft.irfft(X, n=x.size)


def windowed_sinc(cutoff, rate, taps):
    n = np.arange(taps) - (taps - 1) / 2
    h = np.sinc(2 * cutoff / rate * n) * np.blackman(taps)
    return h / h.sum()


def overlap_add(x, h, block):
    """Convolution in blocks through transforms whose length is a power of two."""
    n = 1 << int(np.ceil(np.log2(block + len(h) - 1)))
    H = np.fft.fft(h, n)
    y = np.zeros(len(x) + len(h) - 1)
    for start in range(0, len(x), block):
        part = np.fft.ifft(np.fft.fft(x[start : start + block], n) * H).real
        stop = min(start + n, len(y))
        y[start:stop] += part[: stop - start]
    return y


def cooley_tukey(x):
    x = np.asarray(x, dtype=complex)
    if x.size <= 8:
        n = np.arange(x.size)
        return np.exp(-2j * np.pi * n[:, None] * n / x.size) @ x
    even, odd = cooley_tukey(x[::2]), cooley_tukey(x[1::2])
    twist = np.exp(-2j * np.pi * np.arange(x.size // 2) / x.size) * odd
    return np.concatenate([even + twist, even - twist])


def goertzel(x, k):
    """One bin of the transform, by a recursion over the samples."""
    w = 2 * np.pi * k / len(x)
    c = 2 * np.cos(w)
    s1 = s2 = 0.0
    for sample in x:
        s1, s2 = sample + c * s1 - s2, s1
    return s1 * np.exp(1j * w) - s2


def mel_filters(count, size, rate):
    def mel(f):
        return 2595 * np.log10(1 + np.asarray(f) / 700)

    edges = 700 * (10 ** (np.linspace(mel(0), mel(rate / 2), count + 2) / 2595) - 1)
    f = np.fft.rfftfreq(size, 1 / rate)
    low, middle, high = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    return np.clip(np.minimum((f - low) / (middle - low), (high - f) / (high - middle)), 0, None)


def peaks(p, count):
    inner = (p[1:-1] > p[:-2]) & (p[1:-1] > p[2:])
    at = np.flatnonzero(inner) + 1
    best = at[np.argsort(p[at])[::-1][:count]]
    a, b, c = np.log(p[best - 1]), np.log(p[best]), np.log(p[best + 1])
    return best + 0.5 * (a - c) / (a - 2 * b + c)


def main():
    rate = 800.0
    t = np.arange(0, 1, 1 / rate)
    rng = np.random.default_rng(21)
    noise = 0.3 * rng.standard_normal(t.size)
    tones = np.sin(2 * np.pi * 50 * t) + 0.5 * np.sin(2 * np.pi * 120.5 * t + 1)
    x = tones + noise
    window = np.hanning(65)[:-1]
    S = stft(x + chirp(t, 10, 300), window, 16)
    back = istft(S, window, 16, t.size)
    print(S.shape, S.dtype, "inverse:", np.allclose(back, x + chirp(t, 10, 300)))
    power = 20 * np.log10(np.abs(S) / np.abs(S).max() + 1e-6)
    shades = " .:-=+*#%@"
    for row in power[::-4, ::3]:
        print("".join(shades[i] for i in np.digitize(row, np.linspace(-45, -5, 9))))
    clean = brick_wall(x, rate, 40, 130)
    h = windowed_sinc(90, rate, 41)
    low = overlap_add(x, h, 100)
    assert np.allclose(low, np.convolve(x, h))
    print(
        f"snr before {10 * np.log10(np.var(tones) / np.var(noise)):.2f} dB, "
        f"after {10 * np.log10(np.var(tones) / np.var(clean - tones)):.2f} dB"
    )
    spectrum = np.abs(np.fft.rfft(x * np.hamming(x.size))) ** 2
    print("peaks at", np.array2string(peaks(spectrum, 2) * rate / x.size, precision=2), "Hz")
    assert np.allclose(cooley_tukey(x[:256]), np.fft.fft(x[:256]))
    one = goertzel(x[:100], 6)
    auto = np.fft.ifft(np.abs(np.fft.fft(x - x.mean(), 2 * x.size)) ** 2).real[: x.size]
    auto /= auto[0]
    mel = mel_filters(6, 64, rate)
    ceps = np.log(mel @ np.abs(S) ** 2 + 1e-9)
    with np.printoptions(formatter={"float_kind": "{:7.3f}".format}):
        print(ceps[:, ::16])
    picture = np.add.outer(np.sin(np.arange(12)), np.cos(np.arange(10)))
    F = np.fft.fftshift(np.fft.fft2(picture))
    y, x2 = np.ogrid[-6:6, -5:5]
    F[np.hypot(y, x2) > 3] = 0
    blurred = np.fft.ifft2(np.fft.ifftshift(F)).real
    phase = np.unwrap(np.angle(S[5]))
    return dict(S=S, clean=clean, low=low, one=one, auto=auto, mel=mel, blurred=blurred, phase=phase, h=h)
