/* The maximum of the lines of a row, from r to x: how much of the path each of them leads, by walking their upper envelope
 * as npdec/_law/ordinary_vectors.py does (npdec/_impl/envelope_impl.py says what that means). */
#include "soft.h"

/* One row, times the sign; 0 where something is not finite. */
#define ROW(number, bits)                                                                                              \
    static int leading_##bits(const void *ends, const void *starts, void *made, Py_ssize_t n, const double *sign,      \
                              double *space)                                                                           \
    {                                                                                                                  \
        const number *x = ends, *r = starts;                                                                           \
        number *to = made;                                                                                             \
        double *start = space, *end = space + n;                                                                       \
        double height = -INFINITY, goal = -INFINITY, nothing = 0, now = 0, left = 1;                                   \
        for (Py_ssize_t j = 0; j < n; j++) {                                                                           \
            start[j] = *sign * r[j];                                                                                   \
            end[j] = *sign * x[j];                                                                                     \
            nothing += (start[j] - start[j]) + (end[j] - end[j]);                                                      \
            to[j] = 0;                                                                                                 \
            if (start[j] > height || (start[j] == height && end[j] > goal)) {                                          \
                height = start[j];                                                                                     \
                goal = end[j];                                                                                         \
            }                                                                                                          \
        }                                                                                                              \
        if (!(nothing == 0))                                                                                           \
            return 0;                                                                                                  \
        for (Py_ssize_t turn = 0; turn < n; turn++) {                                                                  \
            double until = 1, rest = 0, next = height, after = goal;                                                   \
            Py_ssize_t same = 0;                                                                                       \
            for (Py_ssize_t j = 0; j < n; j++) {                                                                       \
                double gain = end[j] - goal, gap = height - start[j];                                                  \
                same += start[j] == height && end[j] == goal;                                                          \
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
            double share = (now < 0.5 ? until - now : left - rest) / same;                                             \
            for (Py_ssize_t j = 0; j < n; j++)                                                                         \
                if (start[j] == height && end[j] == goal)                                                              \
                    to[j] = (number)share;                                                                             \
            if (!(rest > 0))                                                                                           \
                break;                                                                                                 \
            height = next;                                                                                             \
            goal = after;                                                                                              \
            now = until;                                                                                               \
            left = rest;                                                                                               \
        }                                                                                                              \
        return 1;                                                                                                      \
    }
ROW(float, 32)
ROW(double, 64)

/* leading_shares(x, r, sign, to), of rows: puts the parts of the path that elements lead; whether it is done. */
PyObject *
leading_shares(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    double sign = count == 4 ? PyFloat_AsDouble(args[2]) : 0;
    if (PyErr_Occurred())
        return NULL;
    return count == 4 ? put_by_rows(args, args[3], leading_32, leading_64, &sign) : PyBool_FromLong(0);
}
