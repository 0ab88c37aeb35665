"""Bodies under gravity: leapfrog, Runge and Kutta, Kepler's equation, energy and momentum kept."""

import numpy as np

G = 4 * np.pi**2  # astronomical units, years, solar masses


class System:
    def __init__(self, names, mass, position, velocity, softening=0.0):
        self.names = list(names)
        self.m = np.array(mass)
        self.x = np.array(position)
        self.v = np.array(velocity)
        self.eps2 = softening**2
        assert self.x.shape == self.v.shape == (len(self.m), 3)
        self.to_centre()

    def to_centre(self):
        self.x -= np.average(self.x, axis=0, weights=self.m)
        self.v -= self.m @ self.v / self.m.sum()

    def acceleration(self, x):
        d = x[None, :, :] - x[:, None, :]
        r2 = (d**2).sum(axis=-1) + self.eps2
        r2[np.diag_indices_from(r2)] = 1.0
        return G * np.einsum("ijk,ij,j->ik", d, r2**-1.5, self.m)

    def energy(self):
        kinetic = 0.5 * (self.m * (self.v**2).sum(1)).sum()
        i, j = np.triu_indices(len(self.m), k=1)
        r = np.sqrt(((self.x[i] - self.x[j]) ** 2).sum(1) + self.eps2)
        return kinetic - G * (self.m[i] * self.m[j] / r).sum()

    def momentum(self):
        return np.cross(self.x, self.m[:, None] * self.v).sum(axis=0)

    def leapfrog(self, dt, steps, every=1):
        track = np.empty((steps // every + 1, *self.x.shape))
        track[0] = self.x
        a = self.acceleration(self.x)
        for n in range(1, steps + 1):
            self.v += 0.5 * dt * a
            self.x += dt * self.v
            a = self.acceleration(self.x)
            self.v += 0.5 * dt * a
            if n % every == 0:
                track[n // every] = self.x
        return track

    def runge_kutta(self, dt, steps):
        def slope(y):
            return np.stack((y[1], self.acceleration(y[0])))

        y = np.stack([self.x, self.v])
        for _ in range(steps):
            k1 = slope(y)
            k2 = slope(y + dt / 2 * k1)
            k3 = slope(y + dt / 2 * k2)
            k4 = slope(y + dt * k3)
            y += dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        self.x, self.v = y


def kepler(mean, e, rounds=8):
    """The eccentric anomaly by Newton's method, for all points at once."""
    E = np.where(e > 0.8, np.pi, mean)
    for _ in range(rounds):
        E -= (E - e * np.sin(E) - mean) / (1 - e * np.cos(E))
    return E


def planets():
    au = np.array([0.387, 0.723, 1.0, 1.524])
    e = np.array([0.206, 0.007, 0.017, 0.093])
    angle = np.deg2rad([20, 100, 190, 300])
    tilt = np.radians(np.array([7.0, 3.4, 0.0, 1.85]))
    near = au * (1 - e)
    speed = np.sqrt(G * (1 + e) / near)
    flat = np.column_stack((np.cos(angle), np.sin(angle), np.zeros(4)))
    along = np.column_stack([-np.sin(angle) * np.cos(tilt), np.cos(angle) * np.cos(tilt), np.sin(tilt)])
    x, v = near[:, None] * flat, speed[:, None] * along
    origin = np.zeros((1, 3))
    mass = np.r_[1.0, 1.66e-7, 2.45e-6, 3.0e-6, 3.2e-7]
    return ["Sun", "Mercury", "Venus", "Earth", "Mars"], mass, np.vstack((origin, x)), np.vstack((origin, v))


def elements(x, v):
    """Semi-major axis and eccentricity from position and velocity relative to a sun of mass one."""
    r, v2 = np.linalg.norm(x, axis=-1), np.sum(v * v, axis=-1)
    a = 1 / (2 / r - v2 / G)
    h = np.cross(x, v)
    ecc = np.cross(v, h) / G - x / r[..., None]
    return a, np.sqrt((ecc**2).sum(-1)), np.degrees(np.arccos(h[..., 2] / np.linalg.norm(h, axis=-1)))


def main():
    solar = System(*planets())
    e0, l0 = solar.energy(), solar.momentum()
    track = solar.leapfrog(dt=1 / 300, steps=300, every=20)
    drift = abs(solar.energy() / e0 - 1)
    a, ecc, tilt = elements(solar.x[1:] - solar.x[0], solar.v[1:] - solar.v[0])
    for row in zip(solar.names[1:], a, ecc, tilt):
        print("{:<8s} a={:6.3f} e={:.3f} i={:5.2f}".format(*row))
    print(f"energy {e0:.6f}, drift {drift:.1e}, momentum kept: {np.allclose(solar.momentum(), l0)}")
    again = System(*planets())
    again.runge_kutta(1 / 100, 100)
    print("methods differ by", np.abs(again.x - solar.x).max().round(4))
    figure8 = System(
        "abc",
        np.ones(3) / G,
        [[0.97000436, -0.24308753, 0], [-0.97000436, 0.24308753, 0], [0, 0, 0]],
        np.array([[0.466203685, 0.43236573, 0]] * 2 + [[-0.93240737, -0.86473146, 0]]),
    )
    start = figure8.x.copy()
    loop = figure8.leapfrog(6.3259 / 200, 200, every=50)
    print("figure of eight returns to", f"{np.linalg.norm(figure8.x - start):.2e}")
    mean = np.linspace(0, 2 * np.pi, 9)[:, None]
    E = kepler(mean, np.array([0.0, 0.5, 0.9]))
    distance = np.ptp(np.linalg.norm(track[:, 1:] - track[:, :1], axis=-1), axis=0)
    closest = np.unravel_index(np.argmin(np.linalg.norm(track[:, 2] - track[:, 3], axis=1)), (4, 4))
    return dict(
        track=track,
        drift=float(f"{drift:.2e}"),
        x=again.x,
        loop=loop,
        E=E,
        distance=distance,
        closest=closest,
        elements=(a, ecc, tilt),
    )
