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
    static inline __attribute__((always_inline)) number most_of_##bits(const number *restrict its, Py_ssize_t n)       \
    {                                                                                                                  \
        number found = -(number)INFINITY;                                                                              \
        Wide_##bits most = (Wide_##bits){0} + found, other = most;                                                     \
        Py_ssize_t j = 0;                                                                                              \
        for (; j + 2 * AT_ONCE(bits) <= n; j += 2 * AT_ONCE(bits)) {                                                   \
            most = LARGER(bits, AT(bits, its + j), most);                                                              \
            other = LARGER(bits, AT(bits, its + j + AT_ONCE(bits)), other);                                            \
        }                                                                                                              \
        most = LARGER(bits, other, most);                                                                              \
        for (; j < n; j++)                                                                                             \
            found = its[j] > found ? its[j] : found;                                                                   \
        for (int lane = 0; lane < AT_ONCE(bits); lane++)                                                               \
            found = most[lane] > found ? most[lane] : found;                                                           \
        return found;                                                                                                  \
    }                                                                                                                  \
    BY_ANY_PROCESSOR static double range_##bits(const number *restrict step, Py_ssize_t n)                             \
    {                                                                                                                  \
        Wide_##bits most = (Wide_##bits){0} + step[0], least = most;                                                   \
        number high = step[0], low = step[0];                                                                          \
        Py_ssize_t j = 0;                                                                                              \
        for (; j + AT_ONCE(bits) <= n; j += AT_ONCE(bits)) {                                                           \
            most = LARGER(bits, AT(bits, step + j), most);                                                             \
            least = SMALLER(bits, AT(bits, step + j), least);                                                          \
        }                                                                                                              \
        for (; j < n; j++) {                                                                                           \
            high = step[j] > high ? step[j] : high;                                                                    \
            low = step[j] < low ? step[j] : low;                                                                       \
        }                                                                                                              \
        for (int lane = 0; lane < AT_ONCE(bits); lane++) {                                                             \
            high = most[lane] > high ? most[lane] : high;                                                              \
            low = least[lane] < low ? least[lane] : low;                                                               \
        }                                                                                                              \
        return (double)high - low;                                                                                     \
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
                            Py_ssize_t n, Py_ssize_t period, Py_ssize_t width, number *space, const double *rules,     \
                            const double *limits, Py_ssize_t most)                                                     \
    {                                                                                                                  \
        number *low = space, *step = low + width, *c = step + width, *p = c + width, *made = p + width;                \
        for (Py_ssize_t j = n; j < width; j++)                                                                         \
            low[j] = -INFINITY, step[j] = 0, c[j] = 0;                                                                 \
        for (Py_ssize_t i = 0; i < rows; i++) {                                                                        \
            const number *end = (number *)x->elements + i * n, *start = (number *)r->elements + i * n % period;        \
            const number *its = grad == NULL ? NULL : (number *)grad->elements + i * n;                                \
            begun_##bits(end, start, its, low, step, c, p, n);                                                         \
            const double range = range_##bits(step, n);                                                                \
            Py_ssize_t nodes = 2;                                                                                      \
            while (nodes < most && !(range <= limits[nodes]))                                                          \
                nodes++;                                                                                               \
            const double *times = rules + nodes * 2 * most;                                                            \
            soft_row_##bits(low, step, grad == NULL ? NULL : c, p, made, width, times, times + most, nodes);           \
            memcpy((number *)to->elements + i * n, made, (size_t)n * sizeof *made);                                    \
        }                                                                                                              \
    }
ROWS(float, 32)
ROWS(double, 64)

/* soft_back(x, r, gradients, (rules, limits), to): puts what the mean derivative of softmax makes of the gradients, or,
 * where these are None, the mean of p; whether it was done. Of the steps soft_length has told that they are finite, and
 * no longer than the last limit. Rules and limits are as heads_back takes them. */
PyObject *
soft_back(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array x, r, grad, to, rules, limits;
    Py_ssize_t period, rows = count == 5 ? rows_of_two(args, &x, &r, &period) : 0;
    Py_ssize_t most = 0;
    int is_mean = count == 5 && args[2] == Py_None;
    if (rows > 0 && PyTuple_CheckExact(args[3]) && PyTuple_GET_SIZE(args[3]) == 2
        && plain_array(PyTuple_GET_ITEM(args[3], 0), &rules) && plain_array(PyTuple_GET_ITEM(args[3], 1), &limits)
        && rules.bits == 64 && limits.bits == 64 && period_of(&rules) == size_of(&rules)
        && period_of(&limits) == size_of(&limits) && size_of(&rules) == size_of(&limits) * 2 * (size_of(&limits) - 1))
        most = size_of(&limits) - 1;
    if (most < 2 || !plain_array(args[4], &to) || to.bits != x.bits || is_seen_by_torch()
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
        rows_32(&x, &r, is_mean ? NULL : &grad, &to, rows, n, period, width, space,
                rules.elements, limits.elements, most);
    else
        rows_64(&x, &r, is_mean ? NULL : &grad, &to, rows, n, period, width, space,
                rules.elements, limits.elements, most);
    Py_END_ALLOW_THREADS
    PyMem_RawFree(space);
    Py_RETURN_TRUE;
}
