/* The law of powers of a few complex numbers, by the same steps as `npdec._law.complex_laws`, where they are explained. */
#include "complex_numbers.h"
#include "means.h"
#include <float.h>

#define WHOLE 100.0 /* as there */
#define WANTED (1e-12 / 8)
#define ALIKE 1e-7 /* the square of which is what twice as many nodes leave */
#define MOST_NODES 32
#define LEAST 0x1p-10 /* `npdec._law.powers_at_zero` */
#define FAR 6.0       /* `npdec._law.powers_of_few` */
#define TERMS 40
#define LEVELS 3
static struct {
    double at[MOST_NODES], weight[MOST_NODES];
    Py_ssize_t count;
} nodes[LEVELS]; /* each twice as many */

int
set_power_nodes(PyObject *const *levels)
{
    for (int which = 0; which < LEVELS; which++) {
        Py_ssize_t count = PyTuple_GET_SIZE(levels[which]);
        nodes[which].count = count;
        for (Py_ssize_t i = 0; i < count; i++)
            if (count > MOST_NODES
                || !PyArg_ParseTuple(PyTuple_GET_ITEM(levels[which], i), "dd", &nodes[which].at[i],
                                     &nodes[which].weight[i]))
                return PyErr_Occurred() != NULL ? 0 : (PyErr_SetString(PyExc_ValueError, "too many nodes"), 0);
    }
    return 1;
}

/* The mean gradients along the path from (r, s) to (x, y). */
static void
means_of_power(int which, Py_complex x, Py_complex r, Py_complex y, Py_complex s, Py_complex *means)
{
    Py_complex step = minus(x, r), other = minus(y, s);
    means[0] = means[1] = real(0);
    for (Py_ssize_t i = 0; i < nodes[which].count; i++) {
        Py_complex at = real(nodes[which].at[i]), base = plus(r, times(at, step)), exponent = plus(s, times(at, other));
        Py_complex logarithm = {log(size(base)), atan2(base.imag, base.real)}, turned = times(exponent, logarithm);
        double radius = exp(turned.real) * nodes[which].weight[i];
        Py_complex whole = {radius * cos(turned.imag), radius * sin(turned.imag)};
        means[0] = plus(means[0], over(times(exponent, whole), base));
        means[1] = plus(means[1], times(logarithm, whole));
    }
}

static int
means_by_nodes(Py_complex x, Py_complex r, Py_complex y, Py_complex s, Py_complex *means)
{
    Py_complex fewer[2];
    means_of_power(0, x, r, y, s, means);
    for (int level = 1; level < LEVELS; level++) {
        memcpy(fewer, means, sizeof(fewer));
        means_of_power(level, x, r, y, s, means);
        if (size(minus(fewer[0], means[0])) <= ALIKE * size(means[0])
            && size(minus(fewer[1], means[1])) <= ALIKE * size(means[1]))
            return 1;
    }
    return 0;
}

/* Whether a segment meets neither zero nor a negative number, where logarithms jump. */
static int
is_beside_negatives(Py_complex x, Py_complex r)
{
    if ((x.real > 0 && r.real > 0) || x.imag * r.imag > 0)
        return 1;
    double rise = x.imag - r.imag;
    return rise != 0 && (r.real * x.imag - x.real * r.imag) / rise > 0;
}

/* The mean gradients from where the base is zero to an end of the path, by a series of which each term is an integral of
 * a power of t and one of log b t: `npdec._law.powers_of_few`. 0 where its terms cancel. */
static int
series(Py_complex end, Py_complex v0, Py_complex moved, Py_complex *means)
{
    Py_complex log_of = {log(size(end)), atan2(end.imag, end.real)}, powers[TERMS + 1] = {real(1)};
    Py_complex of_base = real(0), of_exponent = real(0), factor = real(1), before = real(0);
    if (!(size(moved) * (size(log_of) + 1) <= FAR))
        return 0;
    for (int k = 0; k < TERMS; k++) {
        Py_complex inverse = over(real(1), plus(v0, real(k + 1))), part = inverse, last = part;
        powers[k + 1] = times(powers[k], log_of);
        for (int n = 1; n <= k + 1; n++) {
            last = part;
            part = times(minus(powers[n], times(real(n), part)), inverse);
        }
        Py_complex ahead = k > 0 ? times(v0, before) : real(!is_zero(v0)), first = plus(times(moved, last), ahead);
        Py_complex term = times(factor, part), terms = times(factor, first);
        of_base = plus(of_base, terms);
        of_exponent = plus(of_exponent, term);
        if (size(term) <= DBL_EPSILON / 4 * size(of_exponent) && size(terms) <= DBL_EPSILON / 4 * size(of_base)) {
            Py_complex turned = times(v0, log_of);
            double radius = exp(turned.real);
            Py_complex scale = {radius * cos(turned.imag), radius * sin(turned.imag)};
            means[0] = over(times(of_base, scale), end);
            means[1] = times(of_exponent, scale);
            return 1;
        }
        factor = over(times(factor, moved), real(k + 1));
        before = part;
    }
    return 0;
}

/* The mean gradients along a path whose base meets zero; 0 where it does not. */
static int
means_through_zero(Py_complex x, Py_complex r, Py_complex y, Py_complex s, Py_complex *means)
{
    Py_complex step = minus(x, r), other = minus(y, s), along = times(conjugate(r), step), part[2];
    double length = step.real * step.real + step.imag * step.imag, place = -along.real / length;
    if (!(0 < length && length < INFINITY) || along.imag != 0 || !(0 <= place && place <= 1))
        return 0;
    Py_complex v0 = plus(s, times(real(place), other));
    if (!is_zero(v0) && !(v0.real >= LEAST))
        return 0;
    means[0] = means[1] = real(0);
    for (int is_start = 0; is_start < 2; is_start++) {
        double way = is_start ? place : 1 - place;
        if (way == 0)
            continue;
        if (!series(is_start ? r : x, v0, times(real(is_start ? -place : way), other), part))
            return 0;
        means[0] = plus(means[0], times(real(way), part[0]));
        means[1] = plus(means[1], times(real(way), part[1]));
    }
    return 1;
}

/* The mean gradients of a real power whose base is negative at one end at least, and whose exponent moves: in between it
 * is complex, and the real parts add up to its change. */
int
means_beside_negatives(double x, double y, double r, double s, double *means)
{
    Py_complex found[2];
    int is_through_zero = !(x < 0 && r < 0);
    if (y == s || !(is_through_zero ? means_through_zero(real(x), real(r), real(y), real(s), found)
                                    : means_by_nodes(real(x), real(r), real(y), real(s), found)))
        return 0;
    means[0] = found[0].real;
    means[1] = found[1].real;
    return 1;
}

static int
of_any_power(const ComplexCall *call, Py_complex (*weights)[HANDFUL])
{
    const ComplexLimits *its = call->limits;
    for (Py_ssize_t i = 0; i < call->count; i++) {
        Py_complex x = call->of[0].x[i], r = call->of[0].r[i], y = call->of[1].x[i], s = call->of[1].r[i];
        Py_complex means[2], change = minus(call->after[i], call->before[i]);
        int are_both = call->of[0].carries && call->of[1].carries;
        if (!are_both && complex_secant(call, i, call->of[0].carries ? minus(x, r) : minus(y, s), &weights[0][i])) {
            weights[1][i] = weights[0][i];
            continue;
        }
        int is_plain = !call->of[0].carries ? !is_zero(x) : is_beside_negatives(x, r);
        if (!(is_plain ? means_by_nodes(x, r, y, s, means) : means_through_zero(x, r, y, s, means)))
            return 0;
        for (int of = 0; of < 2; of++) {
            if (call->of[of].carries && !(size(means[of]) <= its->steepest))
                return 0;
            weights[of][i] = means[of];
        }
        Py_complex by_a = times(means[0], minus(x, r)), by_b = times(means[1], minus(y, s));
        double ends = size(call->after[i]) + size(call->before[i]), gross = size(by_a) + size(by_b);
        if (!(size(minus(minus(change, by_a), by_b)) <= fmax(WANTED, 10 * its->eps) * ends + 16 * its->eps * gross)
            || !(gross <= its->digits * ends))
            return 0;
    }
    return 1;
}

int
of_power(const ComplexCall *call, Py_complex (*weights)[HANDFUL])
{
    const ComplexOperand *a = &call->of[0], *b = &call->of[1];
    Py_complex n = b->x[0];
    int is_whole = !b->carries && n.imag == 0 && fabs(n.real) < WHOLE && floor(n.real) == n.real;
    for (Py_ssize_t i = 0; i < call->count && is_whole; i++)
        is_whole = b->x[i].real == n.real && b->x[i].imag == 0;
    if (!is_whole)
        return of_any_power(call, weights);
    if (n.real != 2 && n.real != 3 && n.real != 4)
        return of_holomorphic(call, weights);
    for (Py_ssize_t i = 0; i < call->count; i++) {
        Py_complex x = a->x[i], r = a->r[i], both = plus(x, r);
        weights[0][i] = n.real == 2 ? both : n.real == 3 ? plus(times(x, both), times(r, r))
                      : times(both, plus(times(x, x), times(r, r)));
        if (!(size(weights[0][i]) <= call->limits->steepest))
            return 0;
    }
    return 1;
}
