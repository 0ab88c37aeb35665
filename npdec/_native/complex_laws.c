/* The laws of a few complex numbers: what their components are multiplied with, by the same steps as
 * `npdec._law.complex_laws`, where they are explained. */
#include "complex_numbers.h"
#include <math.h>

#define FEWER 64.0   /* as there */
#define APART 1e-3
#define KEPT 16.0
#define ROUNDINGS 32 /* `npdec._law.of_few` */

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
int
complex_secant(const ComplexCall *call, Py_ssize_t i, Py_complex step, Py_complex *slope)
{
    Py_complex difference = minus(call->after[i], call->before[i]);
    double after = size(call->after[i]), before = size(call->before[i]);
    if (is_zero(step) || !(KEPT * size(difference) > (before > after ? before : after)))
        return 0;
    *slope = over(difference, step);
    double steep = size(*slope);
    return 1 / (given.steep * given.steep * given.steep * given.steep) <= steep && steep <= call->limits->steepest;
}

int
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
        int are_even = is_zero(plus(a->x[i], a->r[i])) && is_zero(difference); /* opposite ends of an even function */
        if (!are_even && !complex_secant(call, i, step, &weights[0][i]))
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
