/* Divisions of two decomposed numbers, of which one may be a constant, where the divisor is zero at an end of the path:
 * by the same steps as `npdec._law.numbers_without_end`, where they are explained. */
#include "few_jumps.h"
#include <float.h>
#include <math.h>

#define MOST (2 * HANDFUL)
#define NOISE 32 /* roundings between a step and the sum of its components: `npdec._law.jumps` */

/* Two numbers, their components under the labels of both, and the precision. */
typedef struct {
    Number of[2];
    double columns[2][MOST];
    Py_ssize_t count;
    PyObject *labels;
    int bits;
} Division;

static int
is_finite_number(const Number *x)
{
    double gross = fabs(x->x) + fabs(x->r);
    for (Py_ssize_t i = 0; x->carries && i < x->parts.components_at.shape[0]; i++)
        gross += fabs(few_element_of(&x->parts.components_at, i));
    return gross < INFINITY;
}

/* Whether there are two finite numbers of one dtype, the second of which is zero at an end; then they are held. */
static int
is_over_zero(PyObject *const *args, Division *its)
{
    Py_ssize_t places[HANDFUL];
    its->labels = NULL;
    its->count = 0;
    if (!are_numbers(args, 2, 0, its->of))
        return 0;
    its->bits = bits_of(its->of, 2);
    int is_taken = its->bits != 0 && (its->of[1].x == 0 || its->of[1].r == 0);
    for (int i = 0; i < 2 && is_taken; i++) {
        Number *x = &its->of[i];
        is_taken = is_finite_number(x);
        memset(its->columns[i], 0, sizeof(its->columns[i]));
        if (!x->carries)
            x->x = x->r = to_bits(its->bits, x->x);
        else if ((is_taken = is_taken && few_places(&its->labels, x->parts.labels, MOST, places)))
            for (Py_ssize_t row = 0; row < x->parts.components_at.shape[0]; row++)
                its->columns[i][places[row]] = few_element_of(&x->parts.components_at, row);
    }
    if (is_taken) {
        its->count = PyTuple_GET_SIZE(its->labels);
        return 1;
    }
    Py_CLEAR(its->labels);
    let_numbers_go(its->of, 2);
    left_to_python();
    return 0;
}

static void
let_division_go(Division *its)
{
    Py_XDECREF(its->labels);
    let_numbers_go(its->of, 2);
}

/* over_zero(a, b): (a / b, the reciprocals at both ends, if contributions are infinite, or None), or None. */
PyObject *
over_zero(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Division its;
    double sums[MOST];
    if (count != 2 || !is_over_zero(args, &its))
        return or_none(left_to_python());
    const Number *x = &its.of[0], *y = &its.of[1];
    double middle = (x->x + x->r) / 2, after = 1 / y->x, before = 1 / y->r, inverse = (after + before) / 2;
    double slope = (after - before) / (y->x - y->r);
    int are_finite = 1, is_known = y->carries && fabs(middle) <= given.steep;
    for (Py_ssize_t i = 0; i < its.count && is_known; i++) {
        double c = its.columns[1][i], inverted = c == 0 ? 0 : c * slope;
        is_known = c == 0 || y->x != 0 || y->r != 0;
        are_finite &= isfinite(inverted) != 0;
        sums[i] = inverted == 0 ? 0 : inverted * middle;
        if (its.columns[0][i] != 0)
            sums[i] += its.columns[0][i] * inverse;
    }
    PyObject *made = NULL, *found = NULL;
    if (is_known)
        made = number_made(to_bits(its.bits, x->x / y->x), to_bits(its.bits, x->r / y->r), 0, sums, its.count, its.bits,
                           Py_NewRef(its.labels));
    if (made != NULL)
        found = are_finite ? Py_BuildValue("(NO)", made, Py_None) : Py_BuildValue("(N(dd))", made, after, before);
    let_division_go(&its);
    return or_none(found == NULL ? left_to_python() : found);
}

/* A rounded quotient or a rest in the dtype; 0 where torch is to say it. */
static int
end_over_zero(int which, int bits, double a, double b, double *found)
{
    if (b != 0)
        return jump_at(which, bits, a, b, found);
    *found = which == QUOTIENT ? a / b : fmod(a, b); /* NaN with the sign that the processor gives it */
    return 1;
}

static double
change(double after, double before)
{
    return after == before ? 0 : after - before;
}

/* What the components of one are multiplied with, or with over their sum if that is infinite. 0 where Python is to say. */
static int
of_jump(const Division *its, int which, double jump, double *weight, double *divisor)
{
    const Number *x = &its->of[which];
    const double *column = its->columns[which];
    double step = x->x - x->r, size = fabs(x->x) + fabs(x->r), total = 0, gross = 0;
    double eps = its->bits == 64 ? DBL_EPSILON : FLT_EPSILON;
    for (Py_ssize_t i = 0; i < its->count; i++) {
        total += column[i];
        gross += fabs(column[i]);
    }
    *divisor = 0;
    if (isfinite(jump))
        return few_share(jump, step, total, gross, size, its->count, its->bits, weight) && fabs(*weight) <= given.steep;
    *weight = jump;
    *divisor = total;
    if (gross == 0 && isnan(jump)) {
        *divisor = 1;
        return 1;
    }
    if (!(fabs(total) > fmax(1 / given.steep, sqrt(eps)) * gross))
        return 0;
    double most = fmax(fabs(step), fabs(total)), least = fmin(fabs(step), fabs(total));
    return its->count < 2 || !(fabs(step - total) > most / 2 && least <= fmin(NOISE * eps, sqrt(eps) / 4) * size);
}

/* One result; how many of two have an infinite share is added to `said`. */
static PyObject *
divided_once(const Division *its, int which, int *said)
{
    const Number *x = &its->of[0], *y = &its->of[1];
    double fx, fr, only_x, only_y, sums[MOST] = {0};
    if (!end_over_zero(which, its->bits, x->x, y->x, &fx) || !end_over_zero(which, its->bits, x->r, y->r, &fr)
        || !end_over_zero(which, its->bits, x->x, y->r, &only_x) || !end_over_zero(which, its->bits, x->r, y->x, &only_y))
        return NULL;
    double jumps[2] = {change(fx, fr), change(fx, fr)};
    if (x->carries && y->carries) {
        jumps[0] = (change(only_x, fr) + change(fx, only_y)) / 2;
        jumps[1] = (change(only_y, fr) + change(fx, only_x)) / 2;
        if (isfinite(jumps[0]) && isfinite(jumps[1]))
            return NULL;
    }
    for (int i = 0; i < 2; i++) {
        double weight, divisor;
        if (!its->of[i].carries)
            continue;
        if (!of_jump(its, i, jumps[i], &weight, &divisor))
            return NULL;
        *said += !isfinite(jumps[i]);
        for (Py_ssize_t row = 0; row < its->count; row++) {
            double part = divisor == 0 ? its->columns[i][row] * weight : weight * (its->columns[i][row] / divisor);
            sums[row] = i > 0 && x->carries ? sums[row] + part : part; /* zeros keep their sign */
        }
    }
    return number_made(fx, fr, 0, sums, its->count, its->bits, Py_NewRef(its->labels));
}

/* divided_by_zero(which, a, b): (a rounded quotient, a rest, or a tuple of both; how many infinite shares there are), or
 * None. */
PyObject *
divided_by_zero(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Division its;
    if (count != 3 || !PyLong_CheckExact(args[0]))
        return or_none(left_to_python());
    int which = (int)PyLong_AsLong(args[0]), said = 0;
    if (which == SIGN || which == STEP || !is_over_zero(args + 1, &its))
        return or_none(left_to_python());
    PyObject *made = divided_once(&its, which == BOTH ? QUOTIENT : which, &said);
    if (made != NULL && which == BOTH) {
        PyObject *rest = divided_once(&its, REST, &said);
        PyObject *both = rest == NULL ? NULL : PyTuple_Pack(2, made, rest);
        Py_XDECREF(rest);
        Py_SETREF(made, both);
    }
    let_division_go(&its);
    return or_none(made == NULL ? left_to_python() : Py_BuildValue("(Ni)", made, said));
}
