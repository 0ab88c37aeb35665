/* Functions with jumps of two numbers, of which one may be a constant: rounded quotients, their rests, and signs. What
 * each has of the change is as `npdec._law.quotients_of_few` says. */
#include "few_jumps.h"
#include <float.h>
#include <math.h>

#define CLEAR 1.5    /* times as much, or as little, whatever single precision makes of it */
#define LEAST 0x1p-20 /* of what two make of a quotient, what it has to change by that their shares are known */
#define TIMES 0x1p20 /* that a divisor goes into a number: then the quotient has all its digits */

/* Python's a // b and a % b. */
static void
divided_by(double a, double b, double *quotient, double *rest)
{
    double left = fmod(a, b), times = (a - left) / b;
    if (left != 0 && (b < 0) != (left < 0)) {
        left += b;
        times -= 1;
    }
    else if (left == 0)
        left = copysign(0, b);
    double whole = times != 0 ? floor(times) : copysign(0, a / b);
    *rest = left;
    *quotient = times - whole > 0.5 ? whole + 1 : whole;
}

/* The function in double precision. */
static double
computed(int which, double a, double b)
{
    double quotient, rest;
    switch (which) {
    case QUOTIENT:
    case REST:
        divided_by(a, b, &quotient, &rest);
        return which == REST ? rest : quotient;
    case FMOD: return fmod(a, b);
    case SIGN: return copysign(a, b);
    default: return a == 0 ? b : a > 0;
    }
}

/* The function as torch has it, in the dtype; 0 where torch is to say it. */
int
jump_at(int which, int bits, double a, double b, double *found)
{
    if (which == SIGN || which == STEP || which == FMOD)
        *found = which == FMOD && !(fabs(a) < TIMES * fabs(b)) ? NAN : computed(which, a, b);
    else if (!(b != 0 && fabs(a) < TIMES * fabs(b)))
        return 0;
    else {
        double rest = fmod(a, b), quotient = to_bits(bits, to_bits(bits, a - rest) / b);
        if (rest != 0 && (rest < 0) != (b < 0)) {
            rest = to_bits(bits, rest + b);
            quotient = to_bits(bits, quotient - 1);
        }
        double whole = floor(quotient);
        whole += quotient - whole > 0.5;
        if (quotient == 0)
            whole = copysign(0, a) * copysign(1, b);
        *found = which == QUOTIENT ? whole : rest != 0 ? rest : copysign(0, b);
    }
    return isfinite(a) && isfinite(b) && isfinite(*found);
}

static void
in_both_orders(int which, const Jump *ends, double *by)
{
    double only_a = computed(which, ends->a, ends->s), only_b = computed(which, ends->r, ends->b);
    by[0] = ((only_a - ends->fr) + (ends->fx - only_b)) / 2;
    by[1] = ((only_b - ends->fr) + (ends->fx - only_a)) / 2;
}

/* What each has of the change of a rounded quotient, or of its rest; 0 where a general way knows more. */
static int
by_quotients(int which, int bits, const Jump *its, double *by)
{
    double a = its->a, b = its->b, r = its->r, s = its->s, digits = bits == 64 ? 0x1p26 : 2896.309375740099;
    double by_a = (a - r) * (1 / b + 1 / s) / 2, by_b = (s - b) / (b * s) * (a + r) / 2;
    double change = by_a + by_b, gross = fabs(by_a) + fabs(by_b);
    int are_alike = (b > 0) == (s > 0), is_known = are_alike && fabs(change) > CLEAR * LEAST * gross;
    int are_apart = !is_known;
    if (!(gross < INFINITY) || !(fabs(its->fx - its->fr) < INFINITY)
        || (!is_known && are_alike && fabs(change) * CLEAR > LEAST * gross)) /* it is not clear whether */
        return 0;
    double part = is_known ? by_a / change : 0;
    if (which == QUOTIENT) {
        by[0] = (its->fx - its->fr) * part;
        by[1] = its->fx - its->fr - by[0];
    }
    else {
        double q = rint((a - its->fx) / b), was = rint((r - its->fr) / s), steps = q - was, middle = (b + s) / 2;
        double mean = (q + was) / 2, of_a = middle * (steps * part), of_b = middle * (steps - steps * part);
        are_apart = !is_known && (steps != 0 || !are_alike);
        by[0] = (a - r) - of_a;
        by[1] = -mean * (b - s) - of_b;
        gross = fabs(a - r) + fabs(of_a) + fabs(of_b) + fabs(mean * (b - s));
        if (!are_apart && !(gross <= (fabs(its->fx) + fabs(its->fr) + fabs(by[0]) + fabs(by[1])) * digits))
            return 0;
    }
    if (are_apart)
        in_both_orders(which, its, by);
    return 1;
}

/* What each has of the change, where nothing has to be said of it. */
static int
shares_of(int which, int bits, const Jump *its, double *by)
{
    if (which == SIGN || which == STEP)
        in_both_orders(which, its, by);
    else if (!by_quotients(which, bits, its, by))
        return 0;
    double limit = bits == 64 ? given.steep : fmin(given.steep, 2896.309375740099 * (fabs(its->fx) + fabs(its->fr)));
    return fabs(by[0]) + fabs(by[1]) <= limit;
}

int
jump_between(int which, int bits, int carries_a, int carries_b, Jump *its, double *by)
{
    if (!jump_at(which, bits, its->a, its->b, &its->fx) || !jump_at(which, bits, its->r, its->s, &its->fr))
        return 0;
    by[0] = by[1] = 0;
    if (carries_a && carries_b)
        return shares_of(which, bits, its, by);
    by[!carries_a] = its->fx - its->fr;
    return 1;
}

static double
size_of_ends(const Number *x)
{
    return fabs(x->x) + fabs(x->r);
}

static PyObject *
of_numbers(int which, const Number *numbers, int bits)
{
    const Number *x = &numbers[0], *y = &numbers[1];
    Jump its = {x->x, y->x, x->r, y->r, 0, 0};
    double by[2], weights[2] = {0, 0};
    if (!jump_between(which, bits, x->carries, y->carries, &its, by))
        return NULL;
    for (int i = 0; i < 2; i++)
        if (numbers[i].carries && !jump_of(&numbers[i], by[i], size_of_ends(&numbers[i]), bits, &weights[i]))
            return NULL;
    return number_by_weights(its.fx, its.fr, numbers, 2, weights, ADD_ALL, bits);
}

/* jumps_of_numbers(which, a, b): the function of two numbers, of which one may be a constant, or a tuple of both the
 * rounded quotient and the rest; or None. */
PyObject *
jumps_of_numbers(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Number numbers[2];
    if (count != 3 || !PyLong_CheckExact(args[0]) || !are_numbers(args + 1, 2, 0, numbers))
        return or_none(left_to_python());
    int which = (int)PyLong_AsLong(args[0]), bits = bits_of(numbers, 2);
    PyObject *made = NULL;
    for (int i = 0; i < 2; i++)
        if (!numbers[i].carries)
            numbers[i].x = numbers[i].r = to_bits(bits, numbers[i].x);
    if (bits != 0 && which != BOTH)
        made = of_numbers(which, numbers, bits);
    else if (bits != 0) {
        PyObject *quotient = of_numbers(QUOTIENT, numbers, bits);
        PyObject *rest = quotient == NULL ? NULL : of_numbers(REST, numbers, bits);
        made = rest == NULL ? NULL : PyTuple_Pack(2, quotient, rest);
        Py_XDECREF(rest);
        Py_XDECREF(quotient);
    }
    let_numbers_go(numbers, 2);
    return or_none(made == NULL ? left_to_python() : made);
}
