/* Products of many factors in reverse mode, and running products, of a row at a time: the mean along the path
 * u = r + t (x − r) of the product of the other factors, or of what that makes of gradients. Along the path it is a
 * polynomial, of which several nodes are found side by side; none divides, so that factors of zero disturb nothing. */
#include "soft.h"
#include <string.h>

#define SIDE_BY_SIDE 8
#define FEW_FACTORS 8    /* of which four nodes are exact */
#define FAR 1e290        /* up to which, and down to its reciprocal, products keep their digits */
#define AGREEMENT 16     /* rounding errors, within which twice as many nodes find the same */
#define MOST_RULES 4

typedef struct {
    Py_ssize_t count, nodes[MOST_RULES];
    double times[MOST_RULES][MOST_NODES], weights[MOST_RULES][MOST_NODES];
} Rules;

typedef int64_t __attribute__((may_alias)) Bits;

/* Whether all numbers are zero, or keep their digits. (Bits of numbers without a sign are ordered as they are.) */
BY_ANY_PROCESSOR static int
are_inside(const double *numbers, Py_ssize_t count)
{
    const double far = FAR, near = 1 / FAR;
    int64_t most, least, beyond = 0;
    const Bits *its = (const Bits *)numbers;
    memcpy(&most, &far, sizeof most);
    memcpy(&least, &near, sizeof least);
    for (Py_ssize_t i = 0; i < count; i++) {
        int64_t size = its[i] & INT64_MAX;
        beyond |= (int64_t)(size > most) | ((int64_t)(size < least) & (int64_t)(size != 0));
    }
    return !beyond;
}

/* Add what some nodes find of n factors r + t d to `to`; gradients c of running products, or NULL of the product of all.
 * `space` has room for as many numbers as there are factors, for each node; 0 where products leave the range. */
#define NODES(lanes)                                                                                                   \
    BY_ANY_PROCESSOR static int nodes_##lanes(const double *restrict r, const double *restrict d,                      \
                                              const double *restrict c, double *restrict to, Py_ssize_t n,             \
                                              const double *restrict times, const double *restrict weights,            \
                                              double *restrict space)                                                  \
    {                                                                                                                  \
        double before[lanes], after[lanes], u[lanes], t[lanes];                                                        \
        for (int k = 0; k < lanes; k++) {                                                                              \
            t[k] = times[k];                                                                                           \
            before[k] = 1;                                                                                             \
            after[k] = 0;                                                                                              \
        }                                                                                                              \
        for (Py_ssize_t j = 0; j < n; j++)                                                                             \
            for (int k = 0; k < lanes; k++) {                                                                          \
                space[j * lanes + k] = before[k];                                                                      \
                before[k] *= r[j] + t[k] * d[j];                                                                       \
            }                                                                                                          \
        if (!are_inside(space, n * lanes) || !are_inside(before, lanes))                                               \
            return 0;                                                                                                  \
        for (Py_ssize_t j = n - 1; j >= 0; j--) {                                                                      \
            double sum = 0, own = c == NULL ? j == n - 1 : c[j];                                                       \
            for (int k = 0; k < lanes; k++) {                                                                          \
                after[k] += own;                                                                                       \
                u[k] = after[k] * space[j * lanes + k] * weights[k];                                                   \
                space[j * lanes + k] = after[k];                                                                       \
                after[k] *= r[j] + t[k] * d[j];                                                                        \
            }                                                                                                          \
            for (int k = 0; k < lanes; k++)                                                                            \
                sum += u[k];                                                                                           \
            to[j] += sum;                                                                                              \
        }                                                                                                              \
        return c != NULL || are_inside(space, n * lanes);                                                              \
    }
NODES(4)
NODES(8)

/* What one rule finds; 0 where products leave the range. */
static int
by_rule(const Rules *rules, int rule, const double *r, const double *d, const double *c, double *to, Py_ssize_t n,
        double *space)
{
    Py_ssize_t lanes = n <= FEW_FACTORS ? 4 : SIDE_BY_SIDE, nodes = rules->nodes[rule];
    memset(to, 0, n * sizeof(double));
    for (Py_ssize_t k = 0; k < nodes; k += lanes) { /* what is beyond the nodes has no weight */
        const double *times = rules->times[rule] + k, *weights = rules->weights[rule] + k;
        if (!(lanes == 4 ? nodes_4 : nodes_8)(r, d, c, to, n, times, weights, space))
            return 0;
    }
    return 1;
}

/* Whether one of the factors is zero at an end, so that products may be zero. */
static int
has_zero(const double *r, const double *d, Py_ssize_t n)
{
    for (Py_ssize_t j = 0; j < n; j++)
        if (r[j] == 0 && d[j] == 0)
            return 1;
    return 0;
}

/* One row; `space` has room for what `by_rule` takes, and four rows more. */
static int
of_row(const Rules *rules, const double *r, const double *d, const double *c, double *to, Py_ssize_t n, double eps,
       double *other, double *space)
{
    if (has_zero(r, d, n) && rules->count > 1) /* of long rows of which products are zero, others say more */
        return 0;
    if (!by_rule(rules, 0, r, d, c, to, n, space))
        return 0;
    for (int rule = 1; rule < rules->count; rule++) {
        double most = 0, apart = 0;
        if (!by_rule(rules, rule, r, d, c, other, n, space))
            return 0;
        for (Py_ssize_t j = 0; j < n; j++) {
            most = fmax(most, fabs(other[j]));
            apart = fmax(apart, fabs(other[j] - to[j]));
        }
        memcpy(to, other, n * sizeof(double));
        if (apart <= AGREEMENT * eps * most)
            return 1;
    }
    return rules->count == 1;
}

/* Rows of two to four factors, of which one node or two are exact; 0 where something is not finite. */
#define SHORT_ROWS(number)                                                                                             \
    BY_ANY_PROCESSOR static int short_rows_##number(const number *x, const number *r, number *to, Py_ssize_t size,     \
                                                    Py_ssize_t period, Py_ssize_t n, const Rules *rules)               \
    {                                                                                                                  \
        double excess = 0, u[4] = {1, 1, 1, 1}, others[4];                                                             \
        int nodes = (int)rules->nodes[0];                                                                              \
        for (Py_ssize_t i = 0, at = 0; i < size; i += n, at = at + n == period ? 0 : at + n) {                         \
            double made[4] = {0, 0, 0, 0};                                                                             \
            for (int k = 0; k < nodes; k++) {                                                                          \
                double weight = rules->weights[0][k], time = rules->times[0][k];                                       \
                for (int j = 0; j < n; j++)                                                                            \
                    u[j] = r[at + j] + time * ((double)x[i + j] - r[at + j]);                                          \
                double first = weight * u[0] * u[1], second = weight * u[2] * u[3];                                    \
                others[0] = u[1] * second;                                                                             \
                others[1] = u[0] * second;                                                                             \
                others[2] = u[3] * first;                                                                              \
                others[3] = u[2] * first;                                                                              \
                for (int j = 0; j < 4; j++)                                                                            \
                    made[j] += others[j];                                                                              \
            }                                                                                                          \
            for (int j = 0; j < n; j++) {                                                                              \
                to[i + j] = (number)made[j];                                                                           \
                excess += to[i + j] * (number)0;                                                                       \
            }                                                                                                          \
        }                                                                                                              \
        return excess == 0;                                                                                            \
    }
SHORT_ROWS(float)
SHORT_ROWS(double)

/* products_back(x, r, rules, gradients or None, to), of tensors of rows: the mean gradients of the product of each row, or
 * what gradients of running products come to; whether it is done. Of the rules, nodes and weights, the first is exact, or
 * the next is to find the same. */
PyObject *
products_back(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array x, r, c, to;
    Rules rules = {0};
    Py_ssize_t period, rows = count == 5 ? rows_of_two(args, &x, &r, &period) : 0;
    int is_known = rows > 0 && plain_array(args[4], &to) && to.bits == x.bits && size_of(&to) == size_of(&x)
        && period_of(&to) == size_of(&x) && !is_seen_by_torch();
    int has_gradients = is_known && args[3] != Py_None;
    if (has_gradients)
        is_known = plain_array(args[3], &c) && c.bits == x.bits && size_of(&c) == size_of(&x)
            && period_of(&c) == size_of(&x);
    rules.count = is_known && PyTuple_Check(args[2]) ? PyTuple_GET_SIZE(args[2]) : 0;
    if (rules.count < 1 || rules.count > MOST_RULES)
        return left_to_python(), PyBool_FromLong(0);
    for (Py_ssize_t i = 0; i < rules.count; i++) {
        for (int k = 0; k < MOST_NODES; k++)
            rules.times[i][k] = 0.5;
        rules.nodes[i] = rule_of(PyTuple_GET_ITEM(args[2], i), rules.times[i], rules.weights[i]);
        if (rules.nodes[i] == 0)
            return left_to_python(), PyBool_FromLong(0);
    }
    Py_ssize_t n = x.shape[x.rank - 1];
    if (n >= 2 && n <= 4 && !has_gradients && rules.nodes[0] == (n + 1) / 2)
        return PyBool_FromLong(x.bits == 32 ? short_rows_float(x.elements, r.elements, to.elements, rows * n, period, n, &rules)
                                            : short_rows_double(x.elements, r.elements, to.elements, rows * n, period, n, &rules));
    double *space = PyMem_RawMalloc((size_t)n * (5 + SIDE_BY_SIDE) * sizeof *space);
    if (space == NULL)
        return PyErr_NoMemory();
    double *low = space, *step = space + n, *own = step + n, *made = own + n, *other = made + n, *rest = other + n;
    double eps = x.bits == 32 ? 1.1920928955078125e-07 : 2.220446049250313e-16;
    int is_done = 1;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0, at = 0; is_done && i < rows; i++, at = at + n == period ? 0 : at + n) {
        for (Py_ssize_t j = 0; j < n; j++) {
            low[j] = number_in(&r, at + j);
            step[j] = number_in(&x, i * n + j) - low[j];
            own[j] = has_gradients ? number_in(&c, i * n + j) : 0;
        }
        is_done = of_row(&rules, low, step, has_gradients ? own : NULL, made, n, eps, other, rest);
        for (Py_ssize_t j = 0; is_done && j < n; j++)
            if (to.bits == 32)
                ((float *)to.elements)[i * n + j] = (float)made[j];
            else
                ((double *)to.elements)[i * n + j] = made[j];
    }
    Py_END_ALLOW_THREADS
    PyMem_RawFree(space);
    return PyBool_FromLong(is_done);
}
