/* Choices between decomposed numbers: the larger of two, comparisons, numbers between bounds, and selections by a
 * condition, as `npdec._law.ordinary_choices` and `npdec._law.ordinary_pieces` have them. */
#include "few_numbers.h"
#include <math.h>

int
leading_shares_of(int sign, double x, double y, double r, double s, double *shares)
{
    double gap = sign * (x - y), before = sign * (r - s);
    double first = (gap > 0 ? gap : 0) + (before > 0 ? before : 0);
    double second = (gap < 0 ? gap : 0) + (before < 0 ? before : 0), path = first - second;
    if (!(fabs(gap) < INFINITY && fabs(before) < INFINITY && path < INFINITY))
        return 0;
    shares[0] = path != 0 ? first / path : 0.5; /* equal lines share evenly */
    shares[1] = path != 0 ? -second / path : 0.5;
    return 1;
}

static double
leader(int sign, double x, double y)
{
    return (x > y) == (sign > 0) ? x : y;
}

/* larger_number(sign, a, b): the maximum (sign 1) or minimum (-1) of two numbers, of which one may be a constant
 * tensor; or None. Which of two zeros is the larger, torch knows. */
PyObject *
larger_number(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Number numbers[2];
    double shares[2], weights[2];
    if (count != 3 || !PyLong_CheckExact(args[0]) || !are_numbers(args + 1, 2, 0, numbers))
        return or_none(left_to_python());
    int sign = PyLong_AsLong(args[0]) > 0 ? 1 : -1, bits = bits_of(numbers, 2);
    int is_turned = !numbers[0].carries; /* the one that carries something comes first: zeros have a sign */
    const Number *x = &numbers[is_turned], *y = &numbers[!is_turned];
    PyObject *made = NULL;
    if (bits != 0 && x->parts.value_at.bits == bits && y->parts.value_at.bits == bits && (x->x != 0 || y->x != 0)
        && (x->r != 0 || y->r != 0) && leading_shares_of(sign, x->x, y->x, x->r, y->r, shares)) {
        weights[is_turned] = shares[0];
        weights[!is_turned] = shares[1];
        made = number_by_weights(leader(sign, x->x, y->x), leader(sign, x->r, y->r), numbers, 2, weights, ADD_ALL,
                                 bits);
    }
    let_numbers_go(numbers, 2);
    return or_none(made == NULL ? left_to_python() : made);
}

static int
compare(int which, double x, double y)
{
    switch (which) {
    case 0: return x == y;
    case 1: return x != y;
    case 2: return x < y;
    case 3: return x <= y;
    case 4: return x > y;
    default: return x >= y;
    }
}

/* compared_numbers(which, a, b): a comparison (of ==, !=, <, <=, >, >= that one) of two numbers, of which one may be a
 * constant; or None. It is a step of the difference. */
PyObject *
compared_numbers(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Number numbers[2];
    double sums[MOST_NUMBERS * HANDFUL], weights[2] = {1, -1}, weight = 0;
    PyObject *labels, *made = NULL;
    if (count != 3 || !PyLong_CheckExact(args[0]) || !are_numbers(args + 1, 2, 0, numbers))
        return or_none(left_to_python());
    Number *x = &numbers[0], *y = &numbers[1];
    int which = (int)PyLong_AsLong(args[0]), bits = bits_of(numbers, 2);
    double step = x->carries && y->carries ? (x->x - y->x) - (x->r - y->r)
                : x->carries ? (x->x - y->x) - (x->r - y->x) : (y->x - x->x) - (y->r - x->x);
    weights[1] = x->carries ? -1 : 1;
    Py_ssize_t all = bits == 0 ? -1 : total_of(numbers, 2, weights, ADD_ALL, sums, &labels);
    if (all >= 0) {
        for (int i = 0; i < 2; i++)
            if (!numbers[i].carries)
                numbers[i].x = numbers[i].r = to_bits(bits, numbers[i].x);
        int value = compare(which, x->x, y->x), residual = compare(which, x->r, y->r), jump = value - residual;
        if (jump == 0 || jump_shared(NULL, sums, all, jump, step, -1, bits, &weight)) {
            for (Py_ssize_t i = 0; i < all; i++)
                sums[i] = jump == 0 ? 0 : sums[i] * weight;
            made = number_made(value, residual, 1, sums, all, bits, labels);
        }
        else
            Py_DECREF(labels);
    }
    let_numbers_go(numbers, 2);
    return or_none(made == NULL ? left_to_python() : made);
}

/* clamped_number(x, low, high): the larger of two, and then the smaller, of numbers of which some are constants; or
 * None. */
PyObject *
clamped_number(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Number numbers[3];
    double first[2], second[2];
    if (count != 3 || !are_numbers(args, 3, 0, numbers))
        return or_none(left_to_python());
    const Number *x = &numbers[0], *low = &numbers[1], *high = &numbers[2];
    int bits = bits_of(numbers, 3);
    double y = low->x > x->x ? low->x : x->x, s = low->r > x->r ? low->r : x->r;
    PyObject *made = NULL;
    if (bits != 0 && (x->x != 0 || low->x != 0) && (x->r != 0 || low->r != 0) && (y != 0 || high->x != 0)
        && (s != 0 || high->r != 0) && leading_shares_of(1, x->x, low->x, x->r, low->r, first)
        && leading_shares_of(-1, y, high->x, s, high->r, second)) {
        const double weights[3] = {first[0] * second[0], first[1] * second[0], second[1]};
        made = number_by_weights(high->x < y ? high->x : y, high->r < s ? high->r : s, numbers, 3, weights,
                                 LEAVE_OUT, bits);
    }
    let_numbers_go(numbers, 3);
    return or_none(made == NULL ? left_to_python() : made);
}

/* chosen_number(condition, a, b): a where the condition is true and b elsewhere, of numbers of which some are constants;
 * or None. */
PyObject *
chosen_number(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Number numbers[3];
    if (count != 3 || !are_numbers(args, 3, 1, numbers))
        return or_none(left_to_python());
    const Number *condition = &numbers[0], *a = &numbers[1], *b = &numbers[2];
    int at = condition->x != 0, before = condition->r != 0, bits = bits_of(numbers, 3);
    double high = (a->x + a->r) / 2, low = (b->x + b->r) / 2, share = (at + before) / 2.0;
    const double weights[3] = {(at || before ? high : 0) - (at && before ? 0 : low), share, 1 - share};
    int is_moderate = !condition->carries || (fabs(high) <= given.steep && fabs(low) <= given.steep);
    PyObject *made = NULL;
    if (bits != 0 && is_moderate)
        made = number_by_weights(at ? a->x : b->x, before ? a->r : b->r, numbers, 3, weights, LEAVE_OUT, bits);
    let_numbers_go(numbers, 3);
    return or_none(made == NULL ? left_to_python() : made);
}

/* weighted_numbers(value, residual, a, b, weight of a, weight of b): the number of two ends, of the dtype of a and b,
 * that has of the components of each its weight; or None. */
PyObject *
weighted_numbers(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Number numbers[2], ends[2];
    PyObject *made = NULL;
    if (count != 6 || !PyFloat_CheckExact(args[4]) || !PyFloat_CheckExact(args[5])
        || !is_constant_number(args[0], 0, &ends[0]) || !is_constant_number(args[1], 0, &ends[1])
        || !are_numbers(args + 2, 2, 0, numbers))
        return or_none(left_to_python());
    const double weights[2] = {PyFloat_AS_DOUBLE(args[4]), PyFloat_AS_DOUBLE(args[5])};
    int bits = bits_of(numbers, 2), of_value = bits_of(ends, 1), of_residual = bits_of(ends + 1, 1);
    if (bits != 0 && numbers[0].carries && numbers[1].carries && (of_value == bits || of_value == 0)
        && (of_residual == bits || of_residual == 0))
        made = number_by_weights(ends[0].x, ends[1].x, numbers, 2, weights, ADD_ALL, bits);
    let_numbers_go(numbers, 2);
    return or_none(made == NULL ? left_to_python() : made);
}
