/* Softmax in reverse mode, of rows of any length: with p(t) = softmax(r + t (x − r)), the mean of p along the path, or what
 * its mean derivative diag(p) − p pᵀ, a symmetric matrix, makes of gradients; node by node, of a row at a time. */
#include "exponentials.h"
#include "soft.h"
#include <string.h>

/* One row: `low` and `step` start and move below zero, `c` are the gradients, NULL for the mean of p. All have `width`
 * numbers, a multiple of LANES, of which those behind the row are −inf, 0 and 0. */
#define ROW(number, bits)                                                                                              \
    BY_ANY_PROCESSOR void soft_row_##bits(const number *restrict low, const number *restrict step,                       \
                                        const number *restrict c, number *restrict p, number *restrict made,           \
                                        Py_ssize_t width, const double *times, const double *weights,                  \
                                        Py_ssize_t nodes)                                                              \
    {                                                                                                                  \
        for (Py_ssize_t j = 0; j < width; j++)                                                                         \
            made[j] = 0;                                                                                               \
        for (Py_ssize_t k = 0; k < nodes; k++) {                                                                       \
            number sums[LANES] = {0}, dots[LANES] = {0}, time = (number)times[k], sum = 0, dot = 0;                    \
            for (Py_ssize_t j = 0; j < width; j++)                                                                     \
                p[j] = exponential_##bits(low[j] + time * step[j]);                                                    \
            for (Py_ssize_t j = 0; j < width; j += LANES)                                                              \
                for (int lane = 0; lane < LANES; lane++)                                                               \
                    sums[lane] += p[j + lane];                                                                         \
            ADD_UP(sum, sums);                                                                                         \
            number factor = (number)weights[k] / sum;                                                                  \
            if (c == NULL) {                                                                                           \
                for (Py_ssize_t j = 0; j < width; j++)                                                                 \
                    made[j] += factor * p[j];                                                                          \
                continue;                                                                                              \
            }                                                                                                          \
            for (Py_ssize_t j = 0; j < width; j += LANES)                                                              \
                for (int lane = 0; lane < LANES; lane++)                                                               \
                    dots[lane] += p[j + lane] * c[j + lane];                                                           \
            ADD_UP(dot, dots);                                                                                         \
            dot /= sum;                                                                                                \
            for (Py_ssize_t j = 0; j < width; j++)                                                                     \
                made[j] += factor * p[j] * (c[j] - dot);                                                               \
        }                                                                                                              \
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
            number top = -INFINITY, first = -INFINITY, most = -INFINITY;                                               \
            Py_ssize_t place = 0;                                                                                      \
            for (Py_ssize_t j = 0; j < n; j++) {                                                                       \
                top = end[j] > top ? end[j] : top;                                                                     \
                first = start[j] > first ? start[j] : first;                                                           \
            }                                                                                                          \
            for (Py_ssize_t j = 0; j < n; j++) {                                                                       \
                low[j] = start[j] - first;                                                                             \
                step[j] = start[j] == -INFINITY ? 0 : (end[j] - top) - low[j];                                         \
                number middle = low[j] + step[j] / 2;                                                                  \
                if (middle > most) {                                                                                   \
                    most = middle;                                                                                     \
                    place = j;                                                                                         \
                }                                                                                                      \
            }                                                                                                          \
            if (grad != NULL) { /* what is the same for a whole row vanishes exactly */                                \
                const number *its = (number *)grad->elements + i * n;                                                  \
                for (Py_ssize_t j = 0; j < n; j++)                                                                     \
                    c[j] = its[j] - its[place];                                                                        \
            }                                                                                                          \
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
    Py_ssize_t size = size_of(&x), n = x.shape[x.rank - 1], width = (n + LANES - 1) / LANES * LANES;
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
