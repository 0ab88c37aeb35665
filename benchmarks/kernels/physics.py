"""Bodies, fractals, images and spectra."""

import numpy as np


def bodies(place, speed, mass, steps):
    """Masses that draw each other, in place."""
    for _ in range(steps):
        apart = place[None, :, :] - place[:, None, :]
        square = (apart * apart).sum(-1) + 0.01
        pull = (apart * (mass / (square * np.sqrt(square)))[:, :, None]).sum(1)
        speed += 0.01 * pull
        place += 0.01 * speed
    return place, 0.5 * (mass[:, None] * speed**2).sum()


def lennard_jones(place, box):
    """Energy and forces of a fluid in a box that repeats itself."""
    apart = place[:, None, :] - place[None, :, :]
    apart -= box * np.round(apart / box)
    square = (apart**2).sum(-1) + np.eye(len(place))
    inverse = np.where(square < 6.25, 1.0 / square**3, 0.0) * (1 - np.eye(len(place)))
    force = (24 * (2 * inverse**2 - inverse) / square)[:, :, None] * apart
    return 2 * (inverse**2 - inverse).sum(), force.sum(1)


def springs(place, speed, steps):
    """A cloth of springs that hangs from its upper edge."""
    for _ in range(steps):
        force = np.zeros_like(place)
        across, along = place[:, 1:] - place[:, :-1], place[1:] - place[:-1]
        across = across * (1 - 1 / np.sqrt((across**2).sum(-1, keepdims=True)))
        along = along * (1 - 1 / np.sqrt((along**2).sum(-1, keepdims=True)))
        force[:, :-1] += across
        force[:, 1:] -= across
        force[:-1] += along
        force[1:] -= along
        force[..., 1] -= 0.1
        force[0] = 0.0
        speed = 0.99 * speed + 0.05 * force
        place = place + 0.05 * speed
    return place


def mandelbrot(re, im, steps):
    """After how many steps a number has gone, in real numbers."""
    x, y = np.zeros_like(re), np.zeros_like(im)
    count = np.zeros(re.shape, dtype=np.int64)
    for _ in range(steps):
        x2, y2 = x * x, y * y
        inside = x2 + y2 <= 4.0
        count += inside
        y = np.where(inside, 2 * x * y + im, y)
        x = np.where(inside, x2 - y2 + re, x)
    return count


def julia(z, c, steps):
    """The same in complex numbers, by masks."""
    count = np.zeros(z.shape, dtype=np.int64)
    for _ in range(steps):
        inside = np.abs(z) <= 2.0
        count[inside] += 1
        z = np.where(inside, z * z + c, z)
    return count


def sobel(image):
    """Edges, and their direction."""
    p = np.pad(image, 1, mode="edge")
    gx = p[:-2, 2:] + 2 * p[1:-1, 2:] + p[2:, 2:] - p[:-2, :-2] - 2 * p[1:-1, :-2] - p[2:, :-2]
    gy = p[2:, :-2] + 2 * p[2:, 1:-1] + p[2:, 2:] - p[:-2, :-2] - 2 * p[:-2, 1:-1] - p[:-2, 2:]
    return np.hypot(gx, gy), np.arctan2(gy, gx)


def blurred(image, kernel):
    """A separable filter: shifted copies, weighted."""
    r = len(kernel) // 2
    p = np.pad(image, ((r, r), (0, 0)), mode="reflect")
    rows = sum(kernel[k] * p[k : k + image.shape[0]] for k in range(len(kernel)))
    p = np.pad(rows, ((0, 0), (r, r)), mode="reflect")
    return sum(kernel[k] * p[:, k : k + image.shape[1]] for k in range(len(kernel)))


def median_filter(image):
    """The median of nine."""
    p = np.pad(image, 1, mode="edge")
    h, w = image.shape
    return np.median(np.stack([p[i : i + h, j : j + w] for i in range(3) for j in range(3)]), axis=0)


def resized(image, rows, columns):
    """Bilinear interpolation at the given places."""
    i, j = np.floor(rows).astype(int), np.floor(columns).astype(int)
    i, j = np.clip(i, 0, image.shape[0] - 2), np.clip(j, 0, image.shape[1] - 2)
    a, b = (rows - i)[:, None], (columns - j)[None, :]
    i, j = i[:, None], j[None, :]
    upper = image[i, j] * (1 - b) + image[i, j + 1] * b
    return upper * (1 - a) + (image[i + 1, j] * (1 - b) + image[i + 1, j + 1] * b) * a


def box_sums(image, r):
    """Sums of squares of cells, by the table of sums."""
    table = np.zeros((image.shape[0] + 1, image.shape[1] + 1))
    table[1:, 1:] = image.cumsum(0).cumsum(1)
    return table[r:, r:] - table[:-r, r:] - table[r:, :-r] + table[:-r, :-r]


def low_pass(x, keep):
    """A spectrum without its upper end, with a window."""
    spectrum = np.fft.rfft(x * np.hanning(len(x)))
    spectrum[keep:] = 0
    return np.fft.irfft(spectrum, len(x)), np.abs(spectrum[:keep]) ** 2


def radix_two(x):
    """Cooley and Tukey's transform of 2**k numbers, written out."""
    n = len(x)
    even = x.reshape(n, 1).astype(complex)
    while even.shape[0] > 1:
        half = even.shape[0] // 2
        m = even.shape[1]
        turned = np.exp(-1j * np.pi * np.arange(m) / m) * even[half:]
        even = np.concatenate([even[:half] + turned, even[:half] - turned], axis=1)
    return even[0]


def cases(rng):
    """Arguments by name: small ones and real ones."""
    make = lambda *shape: rng.random(shape)  # noqa: E731
    near = lambda *shape: 3.0 * make(*shape) - 2.0  # noqa: E731
    cloth = lambda n: np.stack(np.meshgrid(np.arange(n) * 1.1, -np.arange(n) * 1.1), -1)  # noqa: E731
    yield bodies, (make(4, 3), make(4, 3), make(4), 4), (make(200, 3), make(200, 3), make(200), 10)
    yield lennard_jones, (make(5, 3) * 4, 4.0), (make(400, 3) * 10, 10.0)
    yield springs, (cloth(4), np.zeros((4, 4, 2)), 3), (cloth(200), np.zeros((200, 200, 2)), 10)
    yield mandelbrot, (near(8, 8), near(8, 8), 6), (near(300, 300), near(300, 300), 30)
    yield julia, (near(6, 6) + 1j * near(6, 6), -0.4 + 0.6j, 5), (near(200, 200) + 1j * near(200, 200), -0.4 + 0.6j, 12)
    yield sobel, (make(8, 8),), (make(800, 800),)
    yield blurred, (make(9, 9), make(5)), (make(600, 600), make(9))
    yield median_filter, (make(6, 7),), (make(250, 250),)
    yield resized, (make(6, 7), make(9) * 5, make(8) * 6), (make(400, 400), make(700) * 399, make(700) * 399)
    yield box_sums, (make(7, 8), 2), (make(1000, 1000), 8)
    yield low_pass, (make(16), 4), (make(2**18), 1000)
    yield radix_two, (make(8),), (make(2**14),)
