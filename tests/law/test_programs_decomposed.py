"""Whole programs on decomposed inputs: the contributions add up, and are what running the program again says.

Where a program is linear in its input, a contribution is the program's result for that part of the input alone.
Elsewhere the baseline lies a small step from the value: then a contribution is the central difference of the program,
from two runs of NumPy's, up to the third order of the step.
"""

from __future__ import annotations

from pathlib import Path

import numpy
import pytest

import npdec as np
from program_loader import load

STEP = 2.0**-9


def program(name, library="npdec"):
    return load(Path(__file__).parents[1] / "programs" / f"{name}.py", library)


def assert_complete(y, plain, baseline, tolerance=1e-12):
    """Decomposing changes no value, the residual is the program's result on the baseline, the components add up."""
    scale = tolerance * max(1.0, float(numpy.abs(plain).max()))
    assert numpy.array_equal(numpy.asarray(y.value), numpy.asarray(plain))
    numpy.testing.assert_allclose(numpy.asarray(y.residual), numpy.asarray(baseline), rtol=0, atol=scale)
    total = numpy.asarray(y.residual + y.components.sum(0))
    numpy.testing.assert_allclose(total, numpy.asarray(y.value), rtol=0, atol=scale)


def steps(value, step, axis):
    """For each index along the axis, the points half a step of that part above and below the middle of the way."""
    middle = value - step / 2
    for i in range(value.shape[axis]):
        part = numpy.zeros_like(step)
        at = (slice(None),) * axis + (i,)
        part[at] = step[at] / 2
        yield middle + part, middle - part


def central_differences(f, value, step, axis):
    return numpy.array([f(above) - f(below) for above, below in steps(value, step, axis)])


def assert_is_a_central_difference(components, differences):
    scale = numpy.abs(differences).max()
    assert scale > 0
    numpy.testing.assert_allclose(numpy.asarray(components), differences, rtol=0, atol=20 * STEP**2 * scale)


def test_heat_flows_from_each_edge():
    def run(library, top, left):
        plate = program("waves", library).Heat(9, 11)
        plate.edges(top, left)
        plate.run(1e-2, most=40)
        return plate

    edges = np.array(100.0), np.array(20.0)
    top, left = np.decompose(edges, baseline=(10.0, 5.0), groups=(0, 1), labels=["top", "left"])
    plate, plain = run("npdec", top, left), run("npdec", 100.0, 20.0)
    assert plate.u.labels == ("top", "left")
    cold = program("waves").Heat(9, 11)
    cold.edges(10.0, 5.0)
    for _ in range(plain.steps):
        cold.step()
    assert_complete(plate.u, plain.u, cold.u)
    for component, edges in zip(plate.u.components, [(90.0, 0.0), (0.0, 15.0)]):
        alone = program("waves", "numpy").Heat(9, 11)
        alone.edges(*edges)
        for _ in range(plate.steps):
            alone.step()
        numpy.testing.assert_allclose(numpy.asarray(component), alone.u, rtol=0, atol=1e-11)
    assert (plate.inner.components == plate.u.components[:, 1:-1, 1:-1]).all()


def test_sounds_pass_filters_and_spectra_apart():
    ours, theirs = program("spectra"), program("spectra", "numpy")
    t = numpy.arange(400) / 400.0
    sounds = numpy.stack([numpy.sin(2 * numpy.pi * 30 * t), 0.5 * numpy.cos(2 * numpy.pi * 75 * t), t - 0.5])
    window = numpy.hanning(33)[:-1]

    def run(lib, x, w):
        S = lib.stft(x, w, 8)
        back = lib.istft(S, w, 8, x.shape[-1])
        return S, back, lib.brick_wall(x, 400.0, 20, 50), lib.overlap_add(x, lib.windowed_sinc(50, 400.0, 21), 64)

    mixed = np.decompose(np.array(sounds), axis=0, labels=["low", "high", "ramp"]).sum(axis=0)
    plain = run(ours, np.array(sounds).sum(axis=0), np.array(window))
    nothing = run(theirs, numpy.zeros(400), window)
    apart = [run(theirs, sound, window) for sound in sounds]
    for i, y in enumerate(run(ours, mixed, np.array(window))):
        assert y.labels == ("low", "high", "ramp")
        assert_complete(y, plain[i], nothing[i])
        for component, alone in zip(y.components, apart):
            numpy.testing.assert_allclose(numpy.asarray(component), alone[i], rtol=0, atol=1e-12)


def test_tokens_contribute_to_logits():
    ours, theirs = (program("transformer", lib).GPT(7, 12, 16, 4, 2, seed=3) for lib in ("npdec", "numpy"))
    ids = [0, 3, 1, 6, 2]
    x = theirs.embed(ids)
    step = STEP * numpy.random.default_rng(4).standard_normal(x.shape)
    y = ours.run(np.decompose(np.array(x), baseline=np.array(x - step), axis=0))[0]
    assert_complete(y, ours.run(np.array(x))[0], theirs.run(x - step)[0])
    differences = central_differences(lambda x: theirs.run(x)[0], x, step, 0)
    assert_is_a_central_difference(y.components, differences)
    for position in range(len(ids)):
        assert (y.components[position, :position] == 0).all()  # no token contributes to what stands before it

    far = ours.run(np.decompose(np.array(x), baseline=np.array(x.mean(0)), axis=0))[0]
    assert_complete(far, ours.run(np.array(x))[0], theirs.run(numpy.broadcast_to(x.mean(0), x.shape))[0], 1e-9)


def test_tokens_contribute_through_the_cache():
    model = program("transformer").GPT(7, 12, 16, 4, 1, seed=3)
    x = np.decompose(model.embed([0, 3, 1, 6, 2]), baseline=0.1, axis=0)
    whole = model.run(x)[0]
    cache = model.run(x[:3])[1]
    assert np.allclose(model.run(x[3:], cache)[0].components, whole.components[:, 3:], rtol=1e-7, atol=1e-10)


def test_masses_move_planets():
    names, mass, position, velocity = program("orbits", "numpy").planets()
    mass = numpy.array([1.0, 0.03, 0.02, 0.04, 0.01])
    step = STEP * mass * numpy.array([1.0, -0.5, 0.25, 1.0, 0.5])

    def run(lib, mass):
        system = lib.System(names, mass, position, velocity, softening=0.1)
        track = system.leapfrog(dt=1 / 50, steps=20, every=5)
        return track, system.energy()

    ours, theirs = program("orbits"), program("orbits", "numpy")
    y = run(ours, np.decompose(np.array(mass), baseline=np.array(mass - step), labels=names))
    plain, below = run(ours, np.array(mass)), run(theirs, mass - step)
    for i in range(2):
        assert y[i].labels == tuple(names)
        assert_complete(y[i], plain[i], below[i])
        assert_is_a_central_difference(
            y[i].components, central_differences(lambda m, i=i: run(theirs, m)[i], mass, step, 0)
        )


def test_emissions_explain_a_likelihood():
    start, step = [0.6, 0.4], [[0.8, 0.2], [0.3, 0.7]]
    emit = numpy.array([[0.5, 0.3, 0.2], [0.1, 0.3, 0.6]])
    seen = numpy.array([0, 0, 2, 1, 2, 2, 0, 1, 0])
    change = STEP * numpy.array([[0.5, -0.2, 0.3], [-0.1, 0.4, 0.2]])

    def run(lib, emit):
        model = lib.HMM(start, step, numpy.eye(2, 3))
        model.emit = emit
        gamma, xi, loglik = model.posterior(seen)
        return gamma, xi, loglik

    ours, theirs = program("markov"), program("markov", "numpy")
    y = run(ours, np.decompose(np.array(emit), baseline=np.array(emit - change), axis=1, labels="abc"))
    plain, below = run(ours, np.array(emit)), run(theirs, emit - change)
    for i in range(3):
        assert_complete(y[i], plain[i], below[i])
        differences = central_differences(lambda e, i=i: run(theirs, e)[i], emit, change, 1)
        assert_is_a_central_difference(y[i].components, differences)


def test_pixels_contribute_to_a_loss_and_its_gradient():
    ours, theirs = program("layers"), program("layers", "numpy")
    x, labels = theirs.bars(3, numpy.random.default_rng(2))
    step = STEP * 0.1 * numpy.random.default_rng(3).standard_normal(x.shape)

    def run(lib, x):
        layers = lib.network(lib.np.random.default_rng(1))
        loss, grad = lib.cross_entropy(lib.forward(layers, x), labels)
        for layer in layers[::-1]:
            grad = layer.backward(grad)
        return loss, grad, layers[0].dW

    y = run(ours, np.decompose(np.array(x), baseline=np.array(x - step), axis=2))
    plain, below = run(ours, np.array(x)), run(theirs, x - step)
    for i in range(3):
        assert len(y[i].labels) == 8
        assert_complete(y[i], plain[i], below[i])
        differences = central_differences(lambda x, i=i: run(theirs, x)[i], x, step, 2)
        assert_is_a_central_difference(y[i].components, differences)


def test_scores_of_letters_make_up_the_score_of_an_alignment():
    ours = program("alignment")
    a, b = ours.encode("ACACACTATTGACCGT"), ours.encode("AGCACACATTGCCG")
    score = numpy.where(numpy.eye(4, dtype=bool), 3.0, -2.0) + numpy.arange(16).reshape(4, 4) / 100
    step = STEP * numpy.linspace(0.1, 1, 16).reshape(4, 4)
    H, _ = ours.smith_waterman(a, b, np.decompose(np.array(score), baseline=np.array(score - step)), 2.0)
    plain, match = ours.smith_waterman(a, b, np.array(score), 2.0)
    below = program("alignment", "numpy").smith_waterman(a.tensor.numpy(), b.tensor.numpy(), score - step, 2.0)[0]
    assert_complete(H, plain, below)
    lines, _ = ours.traceback(plain, match, 2.0, a, b)
    used = numpy.zeros((4, 4))
    for above, beside in zip(lines[0], lines[2]):
        if "-" not in (above, beside):
            used["ACGT".index(above), "ACGT".index(beside)] += 1
    best = numpy.unravel_index(numpy.argmax(numpy.asarray(plain)), plain.shape)
    assert used.sum() > 8
    numpy.testing.assert_allclose(numpy.asarray(H[best].components), (used * step).ravel(), rtol=1e-9, atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*at the baseline it would choose otherwise")  # the labels
@pytest.mark.parametrize("count", [1, 3])
def test_points_pull_their_centres(count):
    """With labels that do not change, a centre is the mean of its points, which contribute each its share."""
    rng = numpy.random.default_rng(6)
    X = rng.normal(size=(12, 2)) + numpy.repeat([[0, 0], [6, 0], [0, 6]], 4, axis=0)
    points = np.decompose(np.array(X), axis=0)
    model = program("clusters").KMeans(count, seed=0).fit(points)
    plain = program("clusters").KMeans(count, seed=0).fit(np.array(X))
    assert (model.labels == plain.labels).all()
    assert numpy.array_equal(numpy.asarray(model.centres.value), numpy.asarray(plain.centres))
    member = numpy.asarray(plain.labels)[:, None] == numpy.arange(count)
    share = member / member.sum(0)
    numpy.testing.assert_allclose(numpy.asarray(model.centres.components), share[:, :, None] * X[:, None], atol=1e-12)
