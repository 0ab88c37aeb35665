/* What functions of rows in reverse mode share: how the rows of two tensors lie beside each other, the range of the steps
 * between them, and the nodes that Python has chosen (npdec/_rules/softmax_reverse.py). */
#include "soft.h"

/* Rows of x and of r, which has as many or a part of them, again and again; the number of them, or 0 where they do not
 * lie one after the other. */
Py_ssize_t
rows_of_two(PyObject *const *args, Array *x, Array *r, Py_ssize_t *period)
{
    if (!plain_array(args[0], x) || !plain_array(args[1], r) || x->rank < 1 || r->rank < 1 || x->bits != r->bits)
        return 0;
    Py_ssize_t n = x->shape[x->rank - 1], size = size_of(x);
    *period = size_of(r);
    if (n < 1 || size == 0 || *period == 0 || period_of(x) != size || period_of(r) != *period
        || r->shape[r->rank - 1] != n || size % *period)
        return 0;
    int axis = r->rank - 1, skipped = x->rank - r->rank; /* it has the last axes of x */
    while (skipped >= 0 && axis >= 0 && r->shape[axis] == x->shape[axis + skipped])
        axis--;
    while (axis >= 0 && r->shape[axis] == 1)
        axis--;
    return skipped < 0 || axis >= 0 ? 0 : size / n;
}

PyObject *
put_by_rows(PyObject *const *ends, PyObject *to, RowFunction *single, RowFunction *twice, const double *how)
{
    Array x, r, made;
    Py_ssize_t period, rows = rows_of_two(ends, &x, &r, &period);
    if (rows == 0 || !plain_array(to, &made) || made.bits != x.bits || size_of(&made) != size_of(&x)
        || period_of(&made) != size_of(&x) || is_seen_by_torch())
        return left_to_python(), PyBool_FromLong(0);
    Py_ssize_t n = x.shape[x.rank - 1], bytes = n * (x.bits / 8);
    double *space = PyMem_RawMalloc((size_t)n * 2 * sizeof *space);
    if (space == NULL)
        return PyErr_NoMemory();
    RowFunction *put = x.bits == 32 ? single : twice;
    int is_done = 1;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; is_done && i < rows; i++)
        is_done = put((char *)x.elements + i * bytes, (char *)r.elements + i * n % period * (x.bits / 8),
                      (char *)made.elements + i * bytes, n, how, space);
    Py_END_ALLOW_THREADS
    PyMem_RawFree(space);
    return PyBool_FromLong(is_done);
}

/* The range of the steps of a row; negative where a mask leaves nothing of it, and NaN where they are not finite. */
#define LENGTH(number, bits)                                                                                           \
    BY_ANY_PROCESSOR static double length_##bits(const number *restrict end, const number *restrict start, Py_ssize_t n) \
    {                                                                                                                  \
        const number endless = (number)INFINITY;                                                                       \
        number high = -endless, low = endless, total = 0;                                                              \
        Wide_##bits most = (Wide_##bits){0} + high, least = (Wide_##bits){0} + low, totals = {0};                      \
        Py_ssize_t j = 0;                                                                                              \
        for (; j + AT_ONCE(bits) <= n; j += AT_ONCE(bits)) {                                                           \
            const Wide_##bits x = AT(bits, end + j), r = AT(bits, start + j), d = x - r, none = {0};                   \
            const Mask_##bits masked = (x == -endless) & (r == -endless);                                              \
            totals += WHERE(bits, masked, none, 0 * d);                                                                \
            most = LARGER(bits, WHERE(bits, masked, none - endless, d), most);                                         \
            least = SMALLER(bits, WHERE(bits, masked, none + endless, d), least);                                      \
        }                                                                                                              \
        for (; j < n; j++)                                                                                             \
            if (!(end[j] == -endless && start[j] == -endless)) {                                                       \
                number d = end[j] - start[j];                                                                          \
                total += 0 * d;                                                                                        \
                high = d > high ? d : high;                                                                            \
                low = d < low ? d : low;                                                                               \
            }                                                                                                          \
        for (int lane = 0; lane < AT_ONCE(bits); lane++) {                                                             \
            total += totals[lane];                                                                                     \
            high = most[lane] > high ? most[lane] : high;                                                              \
            low = least[lane] < low ? least[lane] : low;                                                               \
        }                                                                                                              \
        return total == 0 ? (double)high - low : NAN;                                                                  \
    }
LENGTH(float, 32)
LENGTH(double, 64)

/* soft_length(x, r): the largest range of the steps of a row; None where they are not finite, where a mask leaves nothing
 * of a row, or where the numbers do not lie so. */
PyObject *
soft_length(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array x, r;
    Py_ssize_t period, rows = count == 2 ? rows_of_two(args, &x, &r, &period) : 0;
    double longest = 0;
    if (rows == 0 || is_seen_by_torch())
        return or_none(left_to_python());
    Py_ssize_t n = x.shape[x.rank - 1];
    for (Py_ssize_t i = 0; i < rows; i++) {
        Py_ssize_t at = i * n, low = at % period;
        double range = x.bits == 32 ? length_32((float *)x.elements + at, (float *)r.elements + low, n)
                                    : length_64((double *)x.elements + at, (double *)r.elements + low, n);
        if (!(range >= 0))
            Py_RETURN_NONE;
        longest = range > longest ? range : longest;
    }
    return PyFloat_FromDouble(longest);
}

/* The nodes and weights of a rule, a list of pairs; their number, or 0. */
Py_ssize_t
rule_of(PyObject *list, double *times, double *weights)
{
    Py_ssize_t nodes = PySequence_Check(list) ? PySequence_Size(list) : 0;
    if (nodes < 1 || nodes > MOST_NODES)
        return 0;
    for (Py_ssize_t k = 0; k < nodes; k++) {
        PyObject *pair = PySequence_GetItem(list, k);
        int is_pair = pair != NULL && PyTuple_Check(pair) && PyTuple_GET_SIZE(pair) == 2;
        times[k] = is_pair ? PyFloat_AsDouble(PyTuple_GET_ITEM(pair, 0)) : 0;
        weights[k] = is_pair ? PyFloat_AsDouble(PyTuple_GET_ITEM(pair, 1)) : 0;
        Py_XDECREF(pair);
        if (!is_pair || PyErr_Occurred())
            return 0;
    }
    return nodes;
}
