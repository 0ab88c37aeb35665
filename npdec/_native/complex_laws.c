/* The laws of a few complex numbers: what their components are multiplied with, by the same steps as
 * `npdec._law.complex_laws`, where they are explained. */
#include "few_complex.h"
#include <errno.h>
#include <math.h>

#define FEWER 64.0   /* as there */
#define APART 1e-3
#define KEPT 16.0
#define WHOLE 100.0
#define ROUNDINGS 32 /* `npdec._law.of_few` */
#define WANTED (1e-12 / 8)
#define ALIKE 1e-7 /* the square of which is what twice as many nodes leave */
#define MOST_NODES 32

static Py_complex
real(double number)
{
    return (Py_complex){number, 0};
}

static Py_complex
conjugate(Py_complex z)
{
    return (Py_complex){z.real, -z.imag};
}

static int
is_zero(Py_complex z)
{
    return z.real == 0 && z.imag == 0;
}

static Py_complex
plus(Py_complex a, Py_complex b)
{
    return (Py_complex){a.real + b.real, a.imag + b.imag};
}

static Py_complex
minus(Py_complex a, Py_complex b)
{
    return (Py_complex){a.real - b.real, a.imag - b.imag};
}

static Py_complex
times(Py_complex a, Py_complex b)
{
    return (Py_complex){a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real};
}

/* Python says what is divided by zero, and magnitudes beyond the range, by errors: here by `errno`. */
static Py_complex
over(Py_complex a, Py_complex b)
{
    int before = errno;
    errno = 0;
    Py_complex found = _Py_c_quot(a, b);
    if (errno == 0)
        errno = before;
    return found;
}

static double
size(Py_complex z)
{
    int before = errno;
    double found = _Py_c_abs(z);
    if (errno == 0)
        errno = before;
    return found;
}

static Py_complex
middle_of(const ComplexOperand *x, Py_ssize_t i)
{
    return x->carries ? over(plus(x->x[i], x->r[i]), real(2)) : x->x[i];
}

static int
of_product(const ComplexCall *call, Py_complex (*weights)[HANDFUL])
{
    for (int of = 0; of < 2; of++)
        for (Py_ssize_t i = 0; i < call->count; i++) {
            weights[of][i] = middle_of(&call->of[!of], i);
            if (call->of[of].carries && !(size(weights[of][i]) <= given.steep))
                return 0;
        }
    return 1;
}

static int
of_quotient(const ComplexCall *call, Py_complex (*weights)[HANDFUL])
{
    const ComplexOperand *a = &call->of[0], *b = &call->of[1];
    for (Py_ssize_t i = 0; i < call->count; i++) {
        Py_complex middle = middle_of(a, i);
        double first = size(b->x[i]), second = size(b->r[i]);
        double least = second < first ? second : first, most = second < first ? first : second;
        if (!(1 / given.steep <= least && most <= given.steep && most <= FEWER * least && size(middle) <= given.steep))
            return 0;
        if (b->carries && least * most * call->limits->steepest < 1)
            return 0;
        Py_complex high = over(real(1), b->x[i]), low = over(real(1), b->r[i]);
        weights[0][i] = over(plus(high, low), real(2));
        weights[1][i] = times(times(_Py_c_neg(high), low), middle);
    }
    return 1;
}

/* Whether a component of an element is not zero. */
static int
moves(const ComplexCall *call, Py_ssize_t i)
{
    for (Py_ssize_t row = 0; row < call->rows; row++)
        if (!is_zero(call->of[0].components[row * call->count + i]))
            return 1;
    return 0;
}

/* The slope between the ends of an element, a step apart; 0 where it has lost digits, or is steep. */
static int
secant(const ComplexCall *call, Py_ssize_t i, Py_complex step, Py_complex *slope)
{
    Py_complex difference = minus(call->after[i], call->before[i]);
    double after = size(call->after[i]), before = size(call->before[i]);
    if (is_zero(step) || !(KEPT * size(difference) > (before > after ? before : after)))
        return 0;
    *slope = over(difference, step);
    double steep = size(*slope);
    return 1 / (given.steep * given.steep * given.steep * given.steep) <= steep && steep <= call->limits->steepest;
}

static int
of_holomorphic(const ComplexCall *call, Py_complex (*weights)[HANDFUL])
{
    const ComplexOperand *a = &call->of[0];
    for (Py_ssize_t i = 0; i < call->count; i++) {
        Py_complex step = minus(a->x[i], a->r[i]), difference = minus(call->after[i], call->before[i]);
        weights[0][i] = real(0);
        if (is_zero(step)) {
            if (!is_zero(difference) || !a->carries || moves(call, i))
                return 0;
            continue;
        }
        if (!secant(call, i, step, &weights[0][i]))
            return 0;
    }
    return 1;
}

/* --- powers ------------------------------------------------------------------------------------------------------- */

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

/* Whether a segment meets neither zero nor a negative number, where logarithms jump. */
static int
is_beside_negatives(Py_complex x, Py_complex r)
{
    if ((x.real > 0 && r.real > 0) || x.imag * r.imag > 0)
        return 1;
    double rise = x.imag - r.imag;
    return rise != 0 && (r.real * x.imag - x.real * r.imag) / rise > 0;
}

static int
of_any_power(const ComplexCall *call, Py_complex (*weights)[HANDFUL])
{
    const ComplexLimits *its = call->limits;
    for (Py_ssize_t i = 0; i < call->count; i++) {
        Py_complex x = call->of[0].x[i], r = call->of[0].r[i], y = call->of[1].x[i], s = call->of[1].r[i];
        Py_complex fewer[2], means[2], change = minus(call->after[i], call->before[i]);
        int are_both = call->of[0].carries && call->of[1].carries;
        if (!are_both && secant(call, i, call->of[0].carries ? minus(x, r) : minus(y, s), &weights[0][i])) {
            weights[1][i] = weights[0][i];
            continue;
        }
        if (is_zero(x) || is_zero(r) || (call->of[0].carries && !is_beside_negatives(x, r)))
            return 0;
        int level = 1, are_enough = 0;
        for (means_of_power(0, x, r, y, s, means); level < LEVELS && !are_enough; level++) {
            memcpy(fewer, means, sizeof(means));
            means_of_power(level, x, r, y, s, means);
            are_enough = size(minus(fewer[0], means[0])) <= ALIKE * size(means[0])
                      && size(minus(fewer[1], means[1])) <= ALIKE * size(means[1]);
        }
        if (!are_enough)
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

static int
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

static int
of_length(const ComplexCall *call, Py_complex (*weights)[HANDFUL])
{
    const ComplexOperand *a = &call->of[0];
    for (Py_ssize_t i = 0; i < call->count; i++) {
        Py_complex x = a->x[i], r = a->r[i], step = minus(x, r);
        double after = size(x), before = size(r), way = after + before, path = size(step);
        if (!(way < INFINITY))
            return 0;
        if (path == 0)
            weights[0][i] = is_zero(x) ? real(0) : over(conjugate(x), real(after));
        else if (!(way - path > APART * path)) {
            if (!is_zero(x) && !is_zero(r) && times(conjugate(r), x).imag != 0)
                return 0;
            weights[0][i] = times(real((after - before) / path), over(conjugate(step), real(path)));
        }
        else {
            Py_complex unit = over(step, real(path)), back = conjugate(unit);
            double along = times(x, back).real + times(r, back).real, across = times(conjugate(r), x).imag / path;
            if (!(path / way < 1))
                return 0;
            double mean = 2 * atanh(path / way) / path;
            Py_complex sideways = times(times(real(across * mean), (Py_complex){0, 1}), unit);
            weights[0][i] = conjugate(minus(times(real(along / way), unit), sideways));
        }
    }
    return 1;
}

static int
of_compared(const ComplexCall *call, Py_complex (*weights)[HANDFUL])
{
    const ComplexOperand *a = &call->of[0], *b = &call->of[1];
    const ComplexLimits *its = call->limits;
    if (!are_steps_usual())
        return 0;
    for (Py_ssize_t i = 0; i < call->count; i++) {
        double jump = call->after[i].real - call->before[i].real, gross = 0;
        Py_complex total = real(0);
        for (Py_ssize_t row = 0; row < call->rows; row++) {
            Py_ssize_t at = row * call->count + i;
            Py_complex its_own = !b->carries ? a->components[at]
                               : a->carries ? minus(a->components[at], b->components[at]) : _Py_c_neg(b->components[at]);
            total = plus(total, its_own);
            gross += size(its_own);
        }
        weights[0][i] = weights[1][i] = real(0);
        if (!(gross < INFINITY))
            return 0;
        if (jump == 0) {
            weights[1][i] = _Py_c_neg(real(0));
            continue;
        }
        Py_complex step = minus(minus(a->x[i], b->x[i]), minus(a->r[i], b->r[i]));
        double sum = size(total);
        int is_known = size(minus(step, total)) <= ROUNDINGS * its->eps * gross
                    && sum > fmax(1 / given.steep, sqrt(its->eps)) * gross;
        if (!is_known || !(its->tiny / its->eps <= 1 / sum && 1 / sum <= given.steep * given.steep))
            return 0;
        weights[0][i] = over(real(jump), total);
        weights[1][i] = _Py_c_neg(weights[0][i]);
    }
    return 1;
}

int
complex_weights(int law, const ComplexCall *call, Py_complex (*weights)[HANDFUL])
{
    if (law >= COMPLEX_LESS)
        return call->operands == 2 && order_weights(law, call, weights);
    static int (*const laws[])(const ComplexCall *, Py_complex (*)[HANDFUL]) = {
        of_product, of_quotient, of_holomorphic, of_power, of_length, of_compared};
    int operands = law == COMPLEX_HOLOMORPHIC || law == COMPLEX_LENGTH ? 1 : 2;
    if (call->operands != operands && !(law == COMPLEX_HOLOMORPHIC && !call->of[1].carries))
        return 0;
    errno = 0;
    return laws[law - COMPLEX_PRODUCT](call, weights) && errno == 0;
}
