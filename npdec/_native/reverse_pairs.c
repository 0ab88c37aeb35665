/* Sums, products and quotients in reverse mode, of two tensors or of one and a constant: what is done is said in
 * npdec/_law/reverse_pairs.py. What is on the graph is computed by torch's functions, so that gradients go back without
 * Python: for a product a b by a times the midpoint of b, and the other way round. */
#include "reverse.h"
#include "tensors.h"
#include <math.h>

#define MODERATE 16       /* how many times larger a constant may be than what it is added to */
#define FEW (1 << 12)     /* elements, of which products are sooner computed for the graph than a node made in Python */
#define LARGEST (1 << 18) /* multiplications of matrices, of which that is so */

/* What stands beside: a tensor in reverse mode, a number, or a constant tensor without a graph, which is held. */
typedef struct {
    int is_reversed;
    Reversed x;
    PyObject *constant;
    Array at;
} Side;

static void
let_side_go(Side *side)
{
    if (side->is_reversed)
        let_reversed_go(&side->x);
    Py_CLEAR(side->constant);
}

static int
is_number(PyObject *item)
{
    return PyFloat_CheckExact(item) || PyLong_CheckExact(item);
}

static int
side_of(PyObject *item, Side *side)
{
    *side = (Side){0};
    if (Py_IS_TYPE(item, given.type))
        return side->is_reversed = reversed_of(item, &side->x);
    if (is_number(item)) {
        side->constant = Py_NewRef(item);
        return 1;
    }
    if (!(Py_IS_TYPE(item, arrays.tensor) || Py_IS_TYPE(item, given.parameter)) || !look_at_any(item, &side->at)
        || is_true_by(item, words.is_inference))
        return 0;
    side->constant = is_true_of(item, names.requires_grad) ? PyObject_CallMethodNoArgs(item, names.detach)
                                                           : Py_NewRef(item);
    return side->constant != NULL;
}

typedef struct {
    Side a, b;
    const Reversed *like; /* one that is in reverse mode */
    Array at;             /* where the value lies */
} Pair;

static void
let_pair_go(Pair *pair)
{
    let_side_go(&pair->a);
    let_side_go(&pair->b);
}

/* A constant of whole numbers or conditions as numbers of the dtype that a product with it has. */
static int
made_real(Side *side, const Reversed *like)
{
    static PyObject *to;
    int is_whole = side->constant != NULL && !is_number(side->constant)
                && (side->at.code == OF_BOOL || side->at.code == OF_INTEGER || side->at.code == OF_UNSIGNED);
    if (to == NULL && (to = PyUnicode_InternFromString("to")) == NULL)
        return 0;
    if (is_whole) {
        Py_SETREF(side->constant, PyObject_CallMethodOneArg(side->constant, to, like->on_graph));
        is_whole = side->constant != NULL && look_at_any(side->constant, &side->at);
    }
    return is_whole;
}

/* Two arguments, of which one at least is in reverse mode; 0, without an error, of others: nothing is held. A constant may
 * be of whole numbers or conditions where that is said. */
static int
pair_of(PyObject *const *args, Py_ssize_t count, Pair *pair, int or_whole)
{
    *pair = (Pair){0};
    if (count != 2 || !(is_in_reverse(args[0]) || is_in_reverse(args[1])))
        return 0;
    if (side_of(args[0], &pair->a) && side_of(args[1], &pair->b)) {
        Side *a = &pair->a, *b = &pair->b;
        pair->like = a->is_reversed ? &a->x : &b->x;
        Side *other = a->is_reversed ? b : a;
        int bits = pair->like->value_at.bits;
        if (or_whole && !other->is_reversed)
            made_real(other, pair->like);
        int are_tensors = a->is_reversed && b->is_reversed;
        int is_tensor = !other->is_reversed && other->constant != NULL && !is_number(other->constant);
        if (PyErr_Occurred())
            are_tensors = 0, is_tensor = 1, bits = 0;
        if (are_tensors ? a->x.labels == b->x.labels && b->x.value_at.bits == bits
                        : !is_tensor || (other->at.code == OF_FLOAT && other->at.bits == bits))
            return 1;
    }
    let_pair_go(pair);
    return left_to_python(), 0;
}

static PyObject *
of_two(PyObject *func, PyObject *a, PyObject *b)
{
    PyObject *args[3] = {NULL, a, b};
    if (a == NULL || b == NULL)
        return NULL;
    return PyObject_Vectorcall(func, args + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

/* The function at the residuals, of rows that are equal along the first axes of both once. */
static PyObject *
at_residuals(PyObject *func, const Pair *pair, int axes)
{
    const Array *low = &pair->like->residual_at;
    int is_equal = axes > 0 && low->rank > 1 && low->strides[0] == 0; /* so that equal rows of a constant matter */
    PyObject *a = pair->a.is_reversed ? row_of(&pair->a.x, axes)
                : is_equal ? equal_row(pair->a.constant) : Py_NewRef(pair->a.constant);
    PyObject *b = pair->b.is_reversed ? row_of(&pair->b.x, axes)
                : is_equal ? equal_row(pair->b.constant) : Py_NewRef(pair->b.constant);
    PyObject *made = a == NULL || b == NULL ? NULL : of_two(func, a, b);
    Py_XDECREF(a);
    Py_XDECREF(b);
    return made;
}

/* The decomposed tensor of what is on the graph, which is stolen. */
static PyObject *
finished(PyObject *func, PyObject *carrier, const Pair *pair, int axes)
{
    return made_of_rows(carrier, carrier == NULL ? NULL : at_residuals(func, pair, axes), pair->like);
}

/* By the function of what is on the graph, of which the result is linear. */
static PyObject *
linearly(PyObject *func, Pair *pair, int looks)
{
    PyObject *carrier = of_two(func, pair->a.is_reversed ? pair->a.x.on_graph : pair->a.constant,
                               pair->b.is_reversed ? pair->b.x.on_graph : pair->b.constant);
    if (carrier == NULL || !look_at_any(carrier, &pair->at) || (looks && !is_finite(&pair->at))) {
        Py_XDECREF(carrier);
        return left_to_python();
    }
    return finished(func, carrier, pair, pair->at.rank);
}

/* Whether a sum has no larger rounding errors than what is decomposed, whose contributions may be made of the sum then:
 * where they are known, or are small beside a constant, they are Python's, which adds up those of the terms. */
static int
keeps_contributions(PyObject *const *args, const Pair *pair)
{
    if (has_components(args[0]) || has_components(args[1]))
        return 0;
    if (pair->a.is_reversed && pair->b.is_reversed)
        return 1;
    const Side *other = pair->a.is_reversed ? &pair->b : &pair->a;
    double most = is_number(other->constant) ? fabs(PyFloat_AsDouble(other->constant)) : largest_of(&other->at);
    return most <= MODERATE * largest_of(&pair->like->value_at) && !PyErr_Occurred();
}

PyObject *
reversed_added(PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Pair pair;
    if (!pair_of(args, count, &pair, 0))
        return NULL;
    PyObject *made = keeps_contributions(args, &pair) ? linearly(func, &pair, 0) : NULL;
    let_pair_go(&pair);
    return made == NULL ? left_to_python() : made;
}

/* --- products ----------------------------------------------------------------------------------------------------- */

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
static PyObject *
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
static PyObject *
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
static PyObject *
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

static int
is_finite_number(PyObject *number)
{
    return PyLong_CheckExact(number) || isfinite(PyFloat_AsDouble(number));
}

/* A product, or a quotient by what is constant and not zero. */
PyObject *
reversed_scaled(PyObject *func, PyObject *const *args, Py_ssize_t count, int is_divided)
{
    Pair pair;
    PyObject *made = NULL;
    if (!pair_of(args, count, &pair, 1))
        return NULL;
    if (pair.a.is_reversed && pair.b.is_reversed) {
        const Array *a = &pair.a.x.value_at, *b = &pair.b.x.value_at;
        int are_few = elements_in(a) <= FEW && elements_in(b) <= FEW
                   && (are_alike(a, b) || elements_in(a) * elements_in(b) <= FEW); /* which broadcast to no more */
        if (!are_few)
            made = by_node(func, &pair, is_divided);
        else if (!is_divided)
            made = by_middles(func, &pair, a->rank > b->rank ? a->rank : b->rank, 1);
        else
            made = by_inverses(func, &pair);
    }
    else if (is_divided && pair.b.is_reversed)
        made = elements_in(&pair.b.x.value_at) <= FEW || is_number(pair.a.constant) ? by_inverses(func, &pair)
                                                                                    : by_node(func, &pair, 1);
    else {
        PyObject *constant = pair.a.is_reversed ? pair.b.constant : pair.a.constant;
        int is_known = has_components(args[0]) || has_components(args[1]); /* and is to stay what it is */
        int can_be = !is_known;
        if (can_be && is_number(constant))
            can_be = is_finite_number(constant) && (!is_divided || PyObject_IsTrue(constant) > 0);
        const Array *its = pair.a.is_reversed ? &pair.b.at : &pair.a.at;
        if (can_be && !is_divided && !is_number(constant)) /* of which there may be less than of the product */
            can_be = is_finite(its);
        if (can_be && (!is_divided || pair.a.is_reversed))
            made = linearly(func, &pair, is_divided && !is_number(constant));
    }
    let_pair_go(&pair);
    return made == NULL ? left_to_python() : made;
}

/* A product with a constant matrix or vector, which looks at rows alone, or at each matrix of a batch. */
static PyObject *
by_constant_matrix(PyObject *func, Pair *pair)
{
    int is_first = pair->a.is_reversed, axes = pair->like->value_at.rank - (is_first ? 1 : 2);
    const Side *other = is_first ? &pair->b : &pair->a;
    if (axes < 1 || is_number(other->constant) || other->at.rank < 1 || other->at.rank > 2)
        return NULL;
    PyObject *carrier = of_two(func, is_first ? pair->a.x.on_graph : pair->a.constant,
                               is_first ? pair->b.constant : pair->b.x.on_graph);
    PyObject *row = NULL, *equal = carrier == NULL ? NULL : row_of(pair->like, axes);
    if (equal != NULL)
        row = of_two(func, is_first ? equal : pair->a.constant, is_first ? pair->b.constant : equal);
    Py_XDECREF(equal);
    return made_of_rows(carrier, row, pair->like);
}

/* A product of two matrices, or of batches of these, that are small; or of one and a constant. */
PyObject *
reversed_matmul(PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Pair pair;
    PyObject *made = NULL;
    if (!pair_of(args, count, &pair, 0))
        return NULL;
    if (pair.a.is_reversed && pair.b.is_reversed) {
        const Array *a = &pair.a.x.value_at, *b = &pair.b.x.value_at;
        int can_be = a->rank == b->rank && a->rank > 1 && a->shape[a->rank - 1] == b->shape[b->rank - 2];
        for (int axis = 0; can_be && axis < a->rank - 2; axis++)
            can_be = a->shape[axis] == b->shape[axis];
        if (can_be && elements_in(a) * b->shape[b->rank - 1] <= LARGEST)
            made = by_middles(func, &pair, a->rank - 2, 0);
    }
    else
        made = by_constant_matrix(func, &pair);
    let_pair_go(&pair);
    return made == NULL ? left_to_python() : made;
}
