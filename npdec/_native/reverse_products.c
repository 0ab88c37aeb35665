/* Products and quotients in reverse mode, of two tensors or of a constant by one: what is done is said in
 * npdec/_law/reverse_pairs.py, reverse_quotients.py and reverse_beside.py. Of few elements torch's functions compute what
 * is on the graph, so that gradients go back without Python: for a product a b by a times the midpoint of b, and the other
 * way round. */
#include "reverse.h"
#include "tensors.h"
#include <math.h>

/* The same by torch, of what does not lie by rows. */
static PyObject *
middle_by_torch(PyObject *value, PyObject *row)
{
    Array at;
    PyObject *half = PyFloat_FromDouble(0.5), *made = NULL;
    PyObject *first = half == NULL ? NULL : PyNumber_Multiply(value, half);
    PyObject *second = first == NULL ? NULL : PyNumber_Multiply(row, half);
    if (second != NULL)
        made = PyNumber_Add(first, second);
    if (made != NULL && !(look_at_any(made, &at) && is_finite(&at)))
        Py_CLEAR(made);
    Py_XDECREF(half);
    Py_XDECREF(first);
    Py_XDECREF(second);
    return made;
}

/* How many elements of a residual there are for the first of the value, and again and again for the others; 0 where the
 * two do not lie on the host by rows. */
static Py_ssize_t
period_of_row(const Reversed *x, PyObject *row, Array *low)
{
    if (!look_at_any(row, low) || !is_on_host(&x->value_at) || !is_on_host(low) || !is_by_rows(&x->value_at)
        || !is_by_rows(low) || is_true_by(x->value, words.is_neg) || is_true_by(row, words.is_neg))
        return 0;
    /* a row that stands for the first axes has the others */
    int axis = low->rank - 1, last = x->value_at.rank - 1;
    while (axis >= 0 && last >= 0 && low->shape[axis] == x->value_at.shape[last])
        axis--, last--;
    for (; axis >= 0; axis--)
        if (low->shape[axis] != 1)
            return 0;
    return elements_in(low);
}

/* The middle of the path of a tensor, as new memory; NULL, without an error, where it does not lie on the host by rows,
 * or is not finite. */
static PyObject *
middle_of(const Reversed *x)
{
    PyObject *row = row_of(x, x->value_at.rank), *value = row == NULL ? NULL : value_in(x);
    PyObject *made = value == NULL ? NULL : PyObject_CallOneArg(given.empty_like, value);
    Array low, at;
    Py_ssize_t lows = made != NULL && look_at_any(made, &at) && is_by_rows(&at) ? period_of_row(x, row, &low) : 0;
    Py_ssize_t size = lows > 0 ? elements_in(&at) : 0;
    if (lows > 0 && at.bits == 32)
        for (Py_ssize_t i = 0; i < size; i += lows)
            for (Py_ssize_t j = 0; j < lows; j++)
                ((float *)at.elements)[i + j] = ((float *)x->value_at.elements)[i + j] / 2
                                              + ((float *)low.elements)[j] / 2;
    else if (lows > 0)
        for (Py_ssize_t i = 0; i < size; i += lows)
            for (Py_ssize_t j = 0; j < lows; j++)
                ((double *)at.elements)[i + j] = ((double *)x->value_at.elements)[i + j] / 2
                                               + ((double *)low.elements)[j] / 2;
    if (made != NULL && lows == 0)
        Py_SETREF(made, middle_by_torch(x->value, row));
    else if (made != NULL && !is_finite(&at))
        Py_CLEAR(made);
    Py_XDECREF(row);
    return made;
}

/* a b, each on the graph times the other's midpoint; `is_each`: element by element. */
PyObject *
by_middles(PyObject *func, Pair *pair, int axes, int is_each)
{
    const Reversed *a = &pair->a.x, *b = &pair->b.x;
    int is_square = a->of == b->of && is_each; /* which is the middle twice, times one of the two */
    PyObject *at_a = middle_of(a), *at_b = NULL, *first = NULL, *second = NULL, *carrier = NULL, *value = NULL;
    if (at_a != NULL)
        at_b = is_square ? PyNumber_Add(at_a, at_a) : middle_of(b);
    if (at_b != NULL)
        first = of_two(func, a->on_graph, at_b);
    if (first != NULL && !is_square)
        second = of_two(func, at_a, b->on_graph);
    if (first != NULL && is_square)
        carrier = Py_NewRef(first);
    else if (second != NULL)
        carrier = PyNumber_Add(first, second);
    if (carrier != NULL)
        value = of_two(func, value_in(a), value_in(b));
    if (value == NULL || put_data(carrier, value) < 0)
        Py_CLEAR(carrier);
    Py_XDECREF(value);
    Py_XDECREF(first);
    Py_XDECREF(second);
    Py_XDECREF(at_a);
    Py_XDECREF(at_b);
    return finished(func, carrier, pair, axes);
}

/* Of a divisor from r to x, the mean of 1/x and 1/r, and −1/(x r), which is the slope of the reciprocal; 0 where a slope
 * leaves what is moderate, or the ends are further apart than `limit` times. */
#define INVERSES(number, bits)                                                                                         \
    static int inverses_##bits(const number *x, const number *r, Py_ssize_t size, Py_ssize_t lows, double limit,       \
                               double least, double most, number *mean, number *slope)                                 \
    {                                                                                                                  \
        int is_beyond = 0;                                                                                             \
        for (Py_ssize_t i = 0; i < size; i += lows)                                                                    \
            for (Py_ssize_t j = 0; j < lows; j++) {                                                                    \
                number end = 1 / x[i + j], start = 1 / r[j], both = end * start;                                       \
                number size_of_it = both < 0 ? -both : both, ratio = x[i + j] * start;                                 \
                ratio = ratio < 0 ? -ratio : ratio;                                                                    \
                is_beyond |= !(size_of_it <= (number)most) | !(size_of_it >= (number)least)                            \
                           | !(ratio <= (number)limit) | !(ratio * (number)limit >= 1);                                \
                mean[i + j] = end / 2 + start / 2;                                                                     \
                slope[i + j] = -both;                                                                                  \
            }                                                                                                          \
        return !is_beyond;                                                                                             \
    }
INVERSES(float, 32)
INVERSES(double, 64)

/* a / b: a on the graph times the mean of 1/b, and b on the graph times −1/(b residual) times the midpoint of a. */
PyObject *
by_inverses(PyObject *func, Pair *pair)
{
    const Reversed *b = &pair->b.x;
    PyObject *row = row_of(b, b->value_at.rank), *mean = NULL, *slope = NULL, *carrier = NULL, *value = NULL;
    Array low, at, its;
    if (row != NULL && value_in(b) != NULL && (mean = PyObject_CallOneArg(given.empty_like, b->value)) != NULL)
        slope = PyObject_CallOneArg(given.empty_like, b->value);
    Py_ssize_t lows = slope != NULL && look_at_any(mean, &at) && look_at_any(slope, &its) && is_by_rows(&at)
                    && is_by_rows(&its) ? period_of_row(b, row, &low) : 0;
    int is_single = b->value_at.bits == 32, is_done = 0;
    double eps = is_single ? 1.1920928955078125e-07 : 2.220446049250313e-16;
    double tiny = is_single ? 1.1754943508222875e-38 : 2.2250738585072014e-308;
    double limit = pair->a.is_reversed ? 1 / sqrt(eps) - 1 : INFINITY, most = is_single ? 1 / sqrt(eps) : given.steep;
    if (lows > 0)
        is_done = is_single ? inverses_32(b->value_at.elements, low.elements, elements_in(&at), lows, limit,
                                          tiny / eps, most, at.elements, its.elements)
                            : inverses_64(b->value_at.elements, low.elements, elements_in(&at), lows, limit,
                                          tiny / eps, most, at.elements, its.elements);
    PyObject *middle = !is_done ? NULL : pair->a.is_reversed ? middle_of(&pair->a.x) : Py_NewRef(pair->a.constant);
    PyObject *rate = middle == NULL ? NULL : PyNumber_Multiply(slope, middle);
    if (rate != NULL)
        carrier = PyNumber_Multiply(b->on_graph, rate);
    if (carrier != NULL && pair->a.is_reversed) {
        PyObject *first = PyNumber_Multiply(pair->a.x.on_graph, mean);
        Py_XSETREF(carrier, first == NULL ? NULL : PyNumber_Add(first, carrier));
        Py_XDECREF(first);
    }
    if (carrier != NULL)
        value = of_two(func, pair->a.is_reversed ? value_in(&pair->a.x) : pair->a.constant, b->value);
    if (value == NULL || !look_at_any(value, &pair->at) || !is_finite(&pair->at) || put_data(carrier, value) < 0)
        Py_CLEAR(carrier);
    Py_XDECREF(value);
    Py_XDECREF(rate);
    Py_XDECREF(middle);
    Py_XDECREF(slope);
    Py_XDECREF(mean);
    Py_XDECREF(row);
    return finished(func, carrier, pair, pair->at.rank);
}

static PyObject *beside; /* makes a node of two, of a product or a quotient: npdec/_law/reverse_beside.py */

/* set_beside(function): what makes a node of two. */
PyObject *
set_beside(PyObject *module, PyObject *function)
{
    Py_XSETREF(beside, Py_NewRef(function));
    Py_RETURN_NONE;
}

/* Whether the slopes of the reciprocal are numbers, and the ends no further apart than digits are kept, if a moves. */
static int
has_known_divisor(const Pair *pair)
{
    const Reversed *b = &pair->b.x;
    double range[3], eps = b->value_at.bits == 32 ? 1.1920928955078125e-07 : 2.220446049250313e-16;
    double tiny = b->value_at.bits == 32 ? 1.1754943508222875e-38 : 2.2250738585072014e-308;
    PyObject *row = row_of(b, b->value_at.rank);
    int is_known = row != NULL && value_in(b) != NULL && range_of_divisors(b->value, row, range);
    Py_XDECREF(row);
    return is_known && range[1] >= tiny / eps
        && (!pair->a.is_reversed || range[2] <= 1 / sqrt(eps) - 1);
}

/* a b or a / b, of many elements, which are one node that finds gradients on their way back; a may be a constant tensor. */
PyObject *
by_node(PyObject *func, Pair *pair, int is_divided)
{
    const Side *a = &pair->a, *b = &pair->b;
    PyObject *at = a->is_reversed ? value_in(&a->x) : a->constant;
    PyObject *low = a->is_reversed ? residual_in(&a->x) : a->constant;
    PyObject *carrier = NULL, *on_graph = a->is_reversed ? a->x.on_graph : Py_None;
    if (beside == NULL || (is_divided && !has_known_divisor(pair)))
        return NULL;
    if (at == NULL || low == NULL || value_in(&b->x) == NULL || residual_in(&b->x) == NULL)
        return NULL;
    PyObject *made = of_two(func, at, b->x.value);
    if (made != NULL && look_at_any(made, &pair->at) && pair->at.code == OF_FLOAT
        && pair->at.bits == pair->like->value_at.bits && (!is_divided || is_finite(&pair->at)))
        carrier = PyObject_CallFunctionObjArgs(beside, is_divided ? Py_True : Py_False, made, at, low, b->x.value,
                                               b->x.residual, on_graph, b->x.on_graph, NULL);
    Py_XDECREF(made);
    return finished(func, carrier, pair, pair->at.rank);
}
