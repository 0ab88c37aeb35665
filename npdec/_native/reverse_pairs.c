/* Sums, products and quotients in reverse mode, of two tensors or of one and a constant: what is done is said in
 * npdec/_law/reverse_pairs.py. Those that are linear are computed here, the others in reverse_products.c. */
#include "reverse.h"
#include <math.h>

#define MODERATE 16             /* how many times larger a constant may be than what it is added to */
#define FEW (1 << 14)           /* elements, of which products are sooner computed for the graph than a node made in Python */
#define FEW_BROADCAST (1 << 12) /* the product of two numbers of elements, of which that is so where one is broadcast */
#define LARGEST (1 << 18)       /* multiplications of matrices, of which that is so */

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
PyObject *
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
        int are_few = are_alike(a, b) ? elements_in(a) <= FEW : elements_in(a) * elements_in(b) <= FEW_BROADCAST;
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
