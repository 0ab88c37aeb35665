/* Softmax in reverse mode, of rows of any length: with p(t) = softmax(r + t (x − r)), the mean of p along the path, or what
 * its mean derivative diag(p) − p pᵀ, a symmetric matrix, makes of gradients; node by node, of a row at a time. */
#include "exponentials.h"
#include "soft.h"
#include <string.h>

/* One row: `low` and `step` start and move below zero, `c` are the gradients, NULL for the mean of p. All have `width`
 * numbers, a multiple of WIDE, of which those behind the row are −inf, 0 and 0. */
#define ROW(number, bits)                                                                                              \
    BY_ANY_PROCESSOR void soft_row_##bits(const number *restrict low, const number *restrict step,                       \
                                        const number *restrict c, number *restrict p, number *restrict made,           \
                                        Py_ssize_t width, const double *times, const double *weights,                  \
                                        Py_ssize_t nodes)                                                              \
    {                                                                                                                  \
        for (Py_ssize_t j = 0; j < width; j++)                                                                         \
            made[j] = 0;                                                                                               \
        for (Py_ssize_t k = 0; k < nodes; k++) {                                                                       \
            number time = (number)times[k], sum = 0, dot = 0;                                                          \
            Wide_##bits sums = {0}, dots = {0}, others = {0}, more = {0};                                              \
            for (Py_ssize_t j = 0; j < width; j++)                                                                     \
                p[j] = exponential_##bits(low[j] + time * step[j]);                                                    \
            for (Py_ssize_t j = 0; j < width; j += 2 * AT_ONCE(bits)) {                                                \
                sums += AT(bits, p + j);                                                                               \
                others += AT(bits, p + j + AT_ONCE(bits));                                                             \
                if (c != NULL) {                                                                                       \
                    dots += AT(bits, p + j) * AT(bits, c + j);                                                         \
                    more += AT(bits, p + j + AT_ONCE(bits)) * AT(bits, c + j + AT_ONCE(bits));                         \
                }                                                                                                      \
            }                                                                                                          \
            sums += others;                                                                                            \
            dots += more;                                                                                              \
            ADD_LANES(sum, sums, bits);                                                                                \
            ADD_LANES(dot, dots, bits);                                                                                \
            number factor = (number)weights[k] / sum;                                                                  \
            if (c == NULL) {                                                                                           \
                for (Py_ssize_t j = 0; j < width; j++)                                                                 \
                    made[j] += factor * p[j];                                                                          \
                continue;                                                                                              \
            }                                                                                                          \
            dot /= sum;                                                                                                \
            for (Py_ssize_t j = 0; j < width; j++)                                                                     \
                made[j] += factor * p[j] * (c[j] - dot);                                                               \
        }                                                                                                              \
    }                                                                                                                  \
    /* The largest of some numbers, of which the last may be looked at twice. */                                       \
    static inline __attribute__((always_inline)) number most_of_##bits(const number *restrict its, Py_ssize_t n)       \
    {                                                                                                                  \
        number most[WIDE], found = -INFINITY;                                                                          \
        for (int lane = 0; lane < WIDE; lane++)                                                                        \
            most[lane] = -INFINITY;                                                                                    \
        for (Py_ssize_t j = 0; j + WIDE <= n; j += WIDE)                                                               \
            for (int lane = 0; lane < WIDE; lane++)                                                                    \
                most[lane] = its[j + lane] > most[lane] ? its[j + lane] : most[lane];                                  \
        for (Py_ssize_t j = n - n % WIDE; j < n; j++)                                                                  \
            found = its[j] > found ? its[j] : found;                                                                   \
        for (int lane = 0; lane < WIDE; lane++)                                                                        \
            found = most[lane] > found ? most[lane] : found;                                                           \
        return found;                                                                                                  \
    }                                                                                                                  \
    /* What a row starts at and moves by, less what all have in common; and the gradients, less that of the largest. */\
    BY_ANY_PROCESSOR static void begun_##bits(const number *restrict end, const number *restrict start,                \
                                              const number *restrict its, number *restrict low, number *restrict step, \
                                              number *restrict c, number *restrict middle, Py_ssize_t n)               \
    {                                                                                                                  \
        const number top = most_of_##bits(end, n), first = most_of_##bits(start, n);                                   \
        for (Py_ssize_t j = 0; j < n; j++) {                                                                           \
            low[j] = start[j] - first;                                                                                 \
            step[j] = start[j] == -(number)INFINITY ? 0 : (end[j] - top) - low[j];                                     \
            middle[j] = low[j] + step[j] / 2;                                                                          \
        }                                                                                                              \
        if (its == NULL)                                                                                               \
            return;                                                                                                    \
        const number most = most_of_##bits(middle, n);                                                                 \
        Py_ssize_t place = 0;                                                                                          \
        while (place < n - 1 && !(middle[place] == most))                                                              \
            place++;                                                                                                   \
        for (Py_ssize_t j = 0; j < n; j++) /* what is the same for a whole row vanishes exactly */                     \
            c[j] = its[j] - its[place];                                                                                \
    }
ROW(float, 32)
ROW(double, 64)

/* All rows; `space` is memory for five of them. */
#define ROWS(number, bits)                                                                                             \
    static void rows_##bits(const Array *x, const Array *r, const Array *grad, const Array *to, Py_ssize_t rows,       \
                            Py_ssize_t n, Py_ssize_t period, Py_ssize_t width, number *space, const double *times,     \
                            const double *weights, Py_ssize_t nodes)                                                   \
    {                                                                                                                  \
        number *low = space, *step = low + width, *c = step + width, *p = c + width, *made = p + width;                \
        for (Py_ssize_t j = n; j < width; j++)                                                                         \
            low[j] = -INFINITY, step[j] = 0, c[j] = 0;                                                                 \
        for (Py_ssize_t i = 0; i < rows; i++) {                                                                        \
            const number *end = (number *)x->elements + i * n, *start = (number *)r->elements + i * n % period;        \
            const number *its = grad == NULL ? NULL : (number *)grad->elements + i * n;                                \
            begun_##bits(end, start, its, low, step, c, p, n);                                                         \
            soft_row_##bits(low, step, grad == NULL ? NULL : c, p, made, width, times, weights, nodes);                     \
            memcpy((number *)to->elements + i * n, made, (size_t)n * sizeof *made);                                    \
        }                                                                                                              \
    }
ROWS(float, 32)
ROWS(double, 64)

/* soft_back(x, r, gradients, rule, to): puts what the mean derivative of softmax makes of the gradients, or, where these
 * are None, the mean of p; whether it was done. Of the steps soft_length has told that they are finite. */
PyObject *
soft_back(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array x, r, grad, to;
    double times[MOST_NODES], weights[MOST_NODES];
    Py_ssize_t period, rows = count == 5 ? rows_of_two(args, &x, &r, &period) : 0;
    Py_ssize_t nodes = rows > 0 ? rule_of(args[3], times, weights) : 0;
    int is_mean = count == 5 && args[2] == Py_None;
    if (nodes == 0 || !plain_array(args[4], &to) || to.bits != x.bits || is_seen_by_torch()
        || (!is_mean && (!plain_array(args[2], &grad) || grad.bits != x.bits)))
        return left_to_python(), PyBool_FromLong(0);
    Py_ssize_t size = size_of(&x), n = x.shape[x.rank - 1], width = (n + WIDE - 1) / WIDE * WIDE;
    if (size_of(&to) != size || period_of(&to) != size || (!is_mean && (size_of(&grad) != size || period_of(&grad) != size)))
        return left_to_python(), PyBool_FromLong(0);
    void *space = PyMem_RawMalloc((size_t)width * 5 * (size_t)(x.bits / 8));
    if (space == NULL)
        return PyErr_NoMemory();
    Py_BEGIN_ALLOW_THREADS
    if (x.bits == 32)
        rows_32(&x, &r, is_mean ? NULL : &grad, &to, rows, n, period, width, space, times, weights, nodes);
    else
        rows_64(&x, &r, is_mean ? NULL : &grad, &to, rows, n, period, width, space, times, weights, nodes);
    Py_END_ALLOW_THREADS
    PyMem_RawFree(space);
    Py_RETURN_TRUE;
}
