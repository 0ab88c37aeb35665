/* The maximum of the lines of a row, from r to x: how much of the path each of them leads, by walking their upper envelope
 * as npdec/_law/ordinary_vectors.py does (npdec/_impl/envelope_impl.py says what that means). Mostly one line leads from
 * the start to the end, which is seen in a few passes; of the others those alone are walked that end above it. Rows may
 * also lie beside each other, of which each element of an axis is one behind the other. */
#include "soft.h"
#include <string.h>

#define BESIDE 64 /* rows that are looked at together, where they lie beside each other */

#define LEADING(number, bits)                                                                                          \
    /* The line that leads first: where it starts and ends; and the highest end. 0 where something is not finite. */   \
    BY_ANY_PROCESSOR static int first_##bits(const number *restrict x, const number *restrict r, Py_ssize_t n,         \
                                             number sign, number *found)                                               \
    {                                                                                                                  \
        number height = -(number)INFINITY, goal = height, top = height, nothing = 0;                                   \
        number heights[LANES], goals[LANES], tops[LANES], nothings[LANES] = {0};                                       \
        const Py_ssize_t whole = n - n % LANES;                                                                        \
        for (int lane = 0; lane < LANES; lane++)                                                                       \
            heights[lane] = goals[lane] = tops[lane] = height;                                                         \
        for (Py_ssize_t j = 0; j < whole; j += LANES)                                                                  \
            for (int lane = 0; lane < LANES; lane++) {                                                                 \
                number start = sign * r[j + lane], end = sign * x[j + lane];                                           \
                nothings[lane] += (start - start) + (end - end);                                                       \
                heights[lane] = start > heights[lane] ? start : heights[lane];                                         \
                tops[lane] = end > tops[lane] ? end : tops[lane];                                                      \
            }                                                                                                          \
        for (Py_ssize_t j = whole; j < n; j++) {                                                                       \
            number start = sign * r[j], end = sign * x[j];                                                             \
            nothing += (start - start) + (end - end);                                                                  \
            height = start > height ? start : height;                                                                  \
            top = end > top ? end : top;                                                                               \
        }                                                                                                              \
        for (int lane = 0; lane < LANES; lane++) {                                                                     \
            nothing += nothings[lane];                                                                                 \
            height = heights[lane] > height ? heights[lane] : height;                                                  \
            top = tops[lane] > top ? tops[lane] : top;                                                                 \
        }                                                                                                              \
        for (Py_ssize_t j = 0; j < whole; j += LANES)                                                                  \
            for (int lane = 0; lane < LANES; lane++) {                                                                 \
                number end = sign * r[j + lane] == height ? sign * x[j + lane] : -(number)INFINITY;                    \
                goals[lane] = end > goals[lane] ? end : goals[lane];                                                   \
            }                                                                                                          \
        for (Py_ssize_t j = whole; j < n; j++)                                                                         \
            goal = sign * r[j] == height && sign * x[j] > goal ? sign * x[j] : goal;                                   \
        for (int lane = 0; lane < LANES; lane++)                                                                       \
            goal = goals[lane] > goal ? goals[lane] : goal;                                                            \
        found[0] = height;                                                                                             \
        found[1] = goal;                                                                                               \
        found[2] = top;                                                                                                \
        return nothing == 0;                                                                                           \
    }                                                                                                                  \
    /* Walk on from the line that leads first, of lines each `by` behind the other. */                                 \
    static void walked_##bits(const number *x, const number *r, number *to, Py_ssize_t n, Py_ssize_t by, double sign,  \
                              const number *found, double *space)                                                      \
    {                                                                                                                  \
        double *start = space, *end = space + n, height = found[0], goal = found[1], now = 0, left = 1;                \
        int64_t *places = (int64_t *)(space + 2 * n);                                                                  \
        Py_ssize_t some = 0, same = 0;                                                                                 \
        for (Py_ssize_t j = 0; j < n; j++) {                                                                           \
            double low = sign * r[j * by], high = sign * x[j * by];                                                    \
            to[j * by] = 0;                                                                                            \
            same += low == height && high == goal;                                                                     \
            if (high > goal) {                                                                                         \
                start[some] = low;                                                                                     \
                end[some] = high;                                                                                      \
                places[some++] = j * by;                                                                               \
            }                                                                                                          \
        }                                                                                                              \
        for (Py_ssize_t turn = 0; turn <= some; turn++) {                                                              \
            double until = 1, rest = 0, next = height, after = goal;                                                   \
            for (Py_ssize_t j = 0; j < some; j++) {                                                                    \
                double gain = end[j] - goal, gap = height - start[j];                                                  \
                if (!(gain > 0) || !(gap + gain > 0))                                                                  \
                    continue;                                                                                          \
                double crossing = (gap > 0 ? gap : 0) / (gap + gain), ahead = gain / (gap + gain);                     \
                ahead = ahead < 1 ? ahead : 1;                                                                         \
                int is_sooner = crossing < 0.5 ? crossing < until : ahead > rest;                                      \
                int is_equal = crossing < 0.5 ? crossing == until : ahead == rest;                                     \
                if (is_sooner || (is_equal && end[j] - start[j] > after - next)) {                                     \
                    until = crossing;                                                                                  \
                    rest = ahead;                                                                                      \
                    next = start[j];                                                                                   \
                    after = end[j];                                                                                    \
                }                                                                                                      \
            }                                                                                                          \
            until = until > now ? until : now;                                                                         \
            rest = rest < left ? rest : left;                                                                          \
            double share = now < 0.5 ? until - now : left - rest;                                                      \
            if (turn == 0)                                                                                             \
                for (Py_ssize_t j = 0; j < n; j++) {                                                                   \
                    if (sign * r[j * by] == height && sign * x[j * by] == goal)                                        \
                        to[j * by] = (number)(share / same);                                                           \
                }                                                                                                      \
            else {                                                                                                     \
                same = 0;                                                                                              \
                for (Py_ssize_t j = 0; j < some; j++)                                                                  \
                    same += start[j] == height && end[j] == goal;                                                      \
                for (Py_ssize_t j = 0; j < some; j++)                                                                  \
                    if (start[j] == height && end[j] == goal)                                                          \
                        to[places[j]] = (number)(share / same);                                                        \
            }                                                                                                          \
            if (!(rest > 0))                                                                                           \
                break;                                                                                                 \
            height = next;                                                                                             \
            goal = after;                                                                                              \
            now = until;                                                                                               \
            left = rest;                                                                                               \
        }                                                                                                              \
    }                                                                                                                  \
    /* Let the lines that lead from the start to the end share the path. */                                            \
    BY_ANY_PROCESSOR static void shared_##bits(const number *restrict x, const number *restrict r, number *restrict to, \
                                               Py_ssize_t n, number sign, const number *restrict found)                \
    {                                                                                                                  \
        Py_ssize_t same = 0;                                                                                           \
        for (Py_ssize_t j = 0; j < n; j++)                                                                             \
            same += (sign * r[j] == found[0]) & (sign * x[j] == found[1]);                                             \
        const number share = (number)(1.0 / (double)same);                                                             \
        for (Py_ssize_t j = 0; j < n; j++)                                                                             \
            to[j] = (sign * r[j] == found[0]) & (sign * x[j] == found[1]) ? share : 0;                                 \
    }                                                                                                                  \
    /* A short row, whose line that leads first is put at once; 0 where something is not finite. */                    \
    static inline int short_##bits(const number *restrict x, const number *restrict r, number *restrict to,            \
                                   Py_ssize_t n, number sign, number *found)                                           \
    {                                                                                                                  \
        number height = sign * r[0], goal = sign * x[0], top = goal, nothing = (height - height) + (goal - goal);      \
        int same = 0;                                                                                                  \
        for (Py_ssize_t j = 1; j < n; j++) {                                                                           \
            number start = sign * r[j], end = sign * x[j];                                                             \
            nothing += (start - start) + (end - end);                                                                  \
            goal = (start > height) | ((start == height) & (end > goal)) ? end : goal;                                 \
            height = start > height ? start : height;                                                                  \
            top = end > top ? end : top;                                                                               \
        }                                                                                                              \
        for (Py_ssize_t j = 0; j < n; j++)                                                                             \
            same += (sign * r[j] == height) & (sign * x[j] == goal);                                                   \
        const number share = (number)1 / (number)same;                                                                 \
        for (Py_ssize_t j = 0; j < n; j++)                                                                             \
            to[j] = (sign * r[j] == height) & (sign * x[j] == goal) ? share : 0;                                       \
        found[0] = height;                                                                                             \
        found[1] = goal;                                                                                               \
        found[2] = top;                                                                                                \
        return nothing == 0;                                                                                           \
    }                                                                                                                  \
    static int rows_##bits(const number *x, const number *r, number *to, Py_ssize_t rows, Py_ssize_t n,                \
                           Py_ssize_t period, double sign, double *space)                                              \
    {                                                                                                                  \
        number found[3];                                                                                               \
        for (Py_ssize_t i = 0; i < rows; i++) {                                                                        \
            const number *end = x + i * n, *start = r + i * n % period;                                                \
            const int is_short = n < 2 * LANES;                                                                        \
            if (!(is_short ? short_##bits(end, start, to + i * n, n, (number)sign, found)                              \
                           : first_##bits(end, start, n, (number)sign, found)))                                        \
                return 0;                                                                                              \
            if (found[1] == found[2] && !is_short)                                                                     \
                shared_##bits(end, start, to + i * n, n, (number)sign, found);                                         \
            else if (found[1] != found[2])                                                                             \
                walked_##bits(end, start, to + i * n, n, 1, sign, found, space);                                       \
        }                                                                                                              \
        return 1;                                                                                                      \
    }                                                                                                                  \
    /* The same of some rows that lie beside each other, `by` of them all in all. */                                   \
    BY_ANY_PROCESSOR static int beside_##bits(const number *restrict x, const number *restrict r, number *restrict to, \
                                              Py_ssize_t n, Py_ssize_t by, Py_ssize_t count, number sign,              \
                                              number *restrict height, number *restrict goal, number *restrict top)    \
    {                                                                                                                  \
        number same[BESIDE], nothing[BESIDE] = {0};                                                                    \
        int is_finite = 1;                                                                                             \
        for (Py_ssize_t i = 0; i < count; i++) {                                                                       \
            height[i] = goal[i] = top[i] = -(number)INFINITY;                                                          \
            same[i] = 0;                                                                                               \
        }                                                                                                              \
        for (Py_ssize_t j = 0; j < n; j++)                                                                             \
            for (Py_ssize_t i = 0; i < count; i++) {                                                                   \
                number start = sign * r[j * by + i], end = sign * x[j * by + i], most = height[i];                     \
                nothing[i] += (start - start) + (end - end);                                                           \
                goal[i] = (start > most) | ((start == most) & (end > goal[i])) ? end : goal[i];                        \
                height[i] = start > most ? start : most;                                                               \
                top[i] = end > top[i] ? end : top[i];                                                                  \
            }                                                                                                          \
        for (Py_ssize_t j = 0; j < n; j++)                                                                             \
            for (Py_ssize_t i = 0; i < count; i++)                                                                     \
                same[i] += (sign * r[j * by + i] == height[i]) & (sign * x[j * by + i] == goal[i]) ? 1 : 0;            \
        for (Py_ssize_t i = 0; i < count; i++) {                                                                       \
            is_finite &= nothing[i] == 0;                                                                              \
            same[i] = 1 / same[i];                                                                                     \
        }                                                                                                              \
        for (Py_ssize_t j = 0; j < n; j++)                                                                             \
            for (Py_ssize_t i = 0; i < count; i++)                                                                     \
                to[j * by + i] =                                                                                       \
                    (sign * r[j * by + i] == height[i]) & (sign * x[j * by + i] == goal[i]) ? same[i] : 0;             \
        return is_finite;                                                                                              \
    }                                                                                                                  \
    static int columns_##bits(const number *x, const number *r, number *to, Py_ssize_t size, Py_ssize_t n,             \
                              Py_ssize_t by, Py_ssize_t period, double sign, double *space)                            \
    {                                                                                                                  \
        number height[BESIDE], goal[BESIDE], top[BESIDE];                                                              \
        for (Py_ssize_t from = 0; from < size; from += n * by)                                                         \
            for (Py_ssize_t i = 0; i < by; i += BESIDE) {                                                              \
                const Py_ssize_t count = by - i < BESIDE ? by - i : BESIDE;                                            \
                const number *end = x + from + i, *start = r + from % period + i;                                      \
                if (!beside_##bits(end, start, to + from + i, n, by, count, (number)sign, height, goal, top))          \
                    return 0;                                                                                          \
                for (Py_ssize_t k = 0; k < count; k++)                                                                 \
                    if (goal[k] != top[k]) {                                                                           \
                        const number found[3] = {height[k], goal[k], top[k]};                                          \
                        walked_##bits(end + k, start + k, to + from + i + k, n, by, sign, found, space);               \
                    }                                                                                                  \
            }                                                                                                          \
        return 1;                                                                                                      \
    }
LEADING(float, 32)
LEADING(double, 64)

/* leading_shares(x, r, sign, to, n, by), of rows of n elements, each `by` behind the other; of those at the residual there
 * may be a part, again and again: puts the parts of the path that elements lead; whether it is done. */
PyObject *
leading_shares(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array x, r, to;
    double sign = count == 6 ? PyFloat_AsDouble(args[2]) : 0;
    Py_ssize_t n = count == 6 ? PyLong_AsSsize_t(args[4]) : 0, by = count == 6 ? PyLong_AsSsize_t(args[5]) : 0;
    if (PyErr_Occurred())
        return NULL;
    if (n < 1 || by < 1 || !plain_array(args[0], &x) || !plain_array(args[1], &r) || !plain_array(args[3], &to)
        || is_seen_by_torch())
        return left_to_python(), PyBool_FromLong(0);
    Py_ssize_t size = size_of(&x), period = size_of(&r);
    if (size == 0 || period == 0 || size % period || period % (n * by) || r.bits != x.bits || to.bits != x.bits
        || size_of(&to) != size || period_of(&x) != size || period_of(&to) != size || period_of(&r) != period)
        Py_RETURN_FALSE;
    double *space = PyMem_RawMalloc((size_t)n * 3 * sizeof *space);
    if (space == NULL)
        return PyErr_NoMemory();
    int is_done;
    Py_BEGIN_ALLOW_THREADS
    if (x.bits == 32)
        is_done = by == 1 ? rows_32(x.elements, r.elements, to.elements, size / n, n, period, sign, space)
                          : columns_32(x.elements, r.elements, to.elements, size, n, by, period, sign, space);
    else
        is_done = by == 1 ? rows_64(x.elements, r.elements, to.elements, size / n, n, period, sign, space)
                          : columns_64(x.elements, r.elements, to.elements, size, n, by, period, sign, space);
    Py_END_ALLOW_THREADS
    PyMem_RawFree(space);
    return PyBool_FromLong(is_done);
}
