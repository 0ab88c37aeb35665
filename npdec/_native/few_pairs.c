/* Sums, products and quotients of two decomposed tensors of few elements, and of a constant over one: each of the two
 * has a weight at each element, which its components are multiplied with. `npdec._law.ordinary_arithmetic` has the same
 * of more. */
#include "few_pairs.h"
#include <math.h>

static int
are_same(PyObject *labels, PyObject *others)
{
    Py_ssize_t count = PyTuple_GET_SIZE(labels);
    if (labels == others)
        return 1;
    if (count != PyTuple_GET_SIZE(others))
        return 0;
    for (Py_ssize_t i = 0; i < count; i++)
        if (PyTuple_GET_ITEM(labels, i) != PyTuple_GET_ITEM(others, i))
            return 0;
    return 1;
}

int
few_places(PyObject **labels, PyObject *others, Py_ssize_t most, Py_ssize_t *places)
{
    Py_ssize_t count = PyTuple_GET_SIZE(others), i = 0;
    if (count > most)
        return 0;
    if (*labels == NULL || are_same(*labels, others)) {
        for (; i < count; i++)
            places[i] = i;
        if (*labels == NULL)
            *labels = Py_NewRef(others);
        return 1;
    }
    PyObject *found = PyObject_CallFunctionObjArgs(given.merged, *labels, others, NULL), *its = NULL;
    if (found != NULL && PyTuple_CheckExact(found) && PyTuple_GET_SIZE(found) == 2
        && PyTuple_CheckExact(PyTuple_GET_ITEM(found, 0)))
        its = PySequence_Fast(PyTuple_GET_ITEM(found, 1), "places of labels are a sequence");
    Py_ssize_t all = its == NULL ? 0 : PyTuple_GET_SIZE(PyTuple_GET_ITEM(found, 0));
    int is_found = its != NULL && PySequence_Fast_GET_SIZE(its) == count && all <= most && all < given.many;
    for (; i < count && is_found; i++) {
        places[i] = PyLong_AsSsize_t(PySequence_Fast_GET_ITEM(its, i));
        is_found = places[i] >= 0 && places[i] < all;
    }
    if (is_found)
        Py_SETREF(*labels, Py_NewRef(PyTuple_GET_ITEM(found, 0)));
    Py_XDECREF(its);
    Py_XDECREF(found);
    return is_found;
}

void
let_pair_go(Pair *pair)
{
    Py_XDECREF(pair->labelled.labels);
    let_parts_go(&pair->y);
    let_parts_go(&pair->x);
}

int
is_pair(PyObject *a, PyObject *b, Pair *pair)
{
    if (!parts_of(a, &pair->x))
        return 0;
    if (!parts_of(b, &pair->y)) {
        let_parts_go(&pair->x);
        return 0;
    }
    pair->labelled.labels = NULL;
    pair->like = pair->x.value_at.rank == 0 ? &pair->y : &pair->x;
    pair->size = elements_in(&pair->like->value_at);
    int is_open = pair->x.value_at.bits == pair->y.value_at.bits && few_is_open(&pair->x) && few_is_open(&pair->y)
               && (pair->x.value_at.rank == 0 || pair->y.value_at.rank == 0
                   || are_alike(&pair->x.value_at, &pair->y.value_at))
               && few_places(&pair->labelled.labels, pair->x.labels, FEW_COMPONENTS, pair->places)
               && few_places(&pair->labelled.labels, pair->y.labels, FEW_COMPONENTS, pair->places);
    if (is_open) {
        pair->count = PyTuple_GET_SIZE(pair->labelled.labels);
        is_open = pair->count < given.many && pair->count * pair->size <= FEW_COMPONENTS;
    }
    if (!is_open)
        let_pair_go(pair);
    return is_open;
}

/* Whether numbers are finite in a dtype. */
static int
are_all_finite(const double *numbers, Py_ssize_t count, const Array *like)
{
    Py_ssize_t i = 0;
    while (i < count && isfinite(like->bits == 64 ? numbers[i] : (float)numbers[i]))
        i++;
    return i == count;
}

Ends
ends_of(const Pair *pair, Py_ssize_t i)
{
    return (Ends){few_element_of(&pair->x.value_at, i), few_element_of(&pair->y.value_at, i),
                  few_element_of(&pair->x.residual_at, i), few_element_of(&pair->y.residual_at, i)};
}

/* The number as the dtype has it: what torch would compute with arrays of it is rounded at each step, and Python's
 * numbers are not. */
static double
in_dtype(const Pair *pair, double number)
{
    return pair->like->value_at.bits == 64 || pair->like->value_at.rank == 0 ? number : (float)number;
}

/* The middle of a path. */
static double
midpoint(const Pair *pair, double to, double from)
{
    if (pair->like->value_at.rank == 0)
        return (to + from) / 2;
    return in_dtype(pair, to - in_dtype(pair, to - from) / 2);
}

/* Put the components of one of the two, times its weights, into rows of sums, or add them to what is there, in the first
 * `known` rows. */
static void
add_weighted(const Pair *pair, const Parts *x, const Py_ssize_t *places, const double *weights, Py_ssize_t known,
             int is_put, double *sums)
{
    const Array *at = &x->components_at;
    Py_ssize_t own = elements_in(&x->value_at);
    for (Py_ssize_t row = 0; row < at->shape[0]; row++) {
        Py_ssize_t place = places == NULL ? row : places[row];
        double *to = sums + place * pair->size;
        for (Py_ssize_t i = 0; i < pair->size; i++) {
            double its = in_dtype(pair, few_element_of(at, row * own + (own == 1 ? 0 : i)) * weights[i]);
            to[i] = is_put ? its : in_dtype(pair, (place < known ? to[i] : 0.0) + its);
        }
    }
}

void
add_both(const Pair *pair, const double *of_x, const double *of_y, double *sums)
{
    Py_ssize_t own = pair->x.components_at.shape[0];
    add_weighted(pair, &pair->x, NULL, of_x, 0, 1, sums);
    add_weighted(pair, &pair->y, pair->places, of_y, own, own + pair->y.components_at.shape[0] == pair->count, sums);
}

PyObject *
components_of(const Pair *pair, const double *sums)
{
    const Array *value = &pair->like->value_at;
    int64_t shape[MOST_AXES + 1] = {pair->count};
    for (int axis = 0; axis < value->rank; axis++)
        shape[axis + 1] = value->shape[axis];
    const Array like = {.rank = value->rank + 1, .shape = shape, .bits = value->bits};
    return few_tensor_of(sums, &like, pair->count * pair->size);
}

/* The result, of the operation's value and residual; `which` is the operation, of both or in exchanged order. */
static PyObject *
of_pair(const Pair *pair, int which, int is_turned, const double *of_x, const double *of_y, int are_finite)
{
    const Parts *first = is_turned ? &pair->y : &pair->x, *second = is_turned ? &pair->x : &pair->y;
    double sums[FEW_COMPONENTS];
    PyObject *components = NULL, *value = NULL, *residual = NULL;
    add_both(pair, of_x, of_y, sums);
    if (!are_finite || are_all_finite(sums, pair->count * pair->size, &pair->like->value_at))
        components = components_of(pair, sums);
    if (components == NULL)
        return NULL;
    value = few_operation(which, &pair->like->value_at, &first->value_at, &second->value_at);
    if (value != NULL)
        residual = few_operation(which, &pair->like->value_at, &first->residual_at, &second->residual_at);
    return assembled(value, residual, components, &pair->labelled);
}

PyObject *
few_sum_of_two(PyObject *const *args, int traits)
{
    Pair pair;
    double of_x[FEW_COMPONENTS], of_y[FEW_COMPONENTS];
    if (!is_pair(args[0], args[1], &pair))
        return NULL;
    for (Py_ssize_t i = 0; i < pair.size; i++) {
        of_x[i] = traits & SUBTRACTS_FROM ? -1 : 1;
        of_y[i] = traits & SUBTRACTS ? -1 : 1;
    }
    int which = traits & (SUBTRACTS | SUBTRACTS_FROM) ? FEW_DIFFERENCE : FEW_SUM;
    PyObject *made = of_pair(&pair, which, (traits & SUBTRACTS_FROM) != 0, of_x, of_y, 0);
    let_pair_go(&pair);
    return made;
}

/* Each times the other's midpoint, unless that makes a contribution a million times as large. */
PyObject *
few_product_of_two(PyObject *const *args)
{
    Pair pair;
    double of_x[FEW_COMPONENTS], of_y[FEW_COMPONENTS], a = 0, b = 0;
    if (!is_pair(args[0], args[1], &pair))
        return NULL;
    for (Py_ssize_t i = 0; i < pair.size; i++) {
        Ends ends = ends_of(&pair, i);
        of_x[i] = midpoint(&pair, ends.b, ends.t);
        of_y[i] = midpoint(&pair, ends.a, ends.r);
        b += of_x[i] * of_x[i];
        a += of_y[i] * of_y[i];
    }
    int is_moderate = sqrt(a) < 0.999 * given.steep && sqrt(b) < 0.999 * given.steep;
    PyObject *made = is_moderate ? of_pair(&pair, FEW_PRODUCT, 0, of_x, of_y, 0) : NULL;
    let_pair_go(&pair);
    return made;
}

/* Linear in the first; in the second the product of the first with the reciprocal, whose slope is −1 / (b t). Half of
 * the digits of its numbers are left, or Python says of them what is to be said. */
PyObject *
few_quotient_of_two(PyObject *const *args)
{
    Pair pair;
    double of_x[FEW_COMPONENTS], of_y[FEW_COMPONENTS], a = 0, b = 0;
    int is_moderate = 1;
    if (!is_usual_rule() || !is_pair(args[0], args[1], &pair))
        return NULL;
    for (Py_ssize_t i = 0; i < pair.size && is_moderate; i++) {
        Ends ends = ends_of(&pair, i);
        double middle = (ends.a + ends.r) / 2, over = (1 / ends.b + 1 / ends.t) / 2, steep = 1 / ends.b / ends.t;
        double even = pair.x.value_at.bits == 64 ? given.even[1] : given.even[0];
        is_moderate = ends.b != 0 && ends.t != 0 && fabs(steep) <= given.steep && 4 * over * over <= even * fabs(steep);
        of_x[i] = over;
        of_y[i] = -middle * steep;
        b += over * over;
        a += middle * middle;
    }
    is_moderate = is_moderate && sqrt(a) < 0.999 * given.steep && sqrt(b) < 0.999 * given.steep;
    PyObject *made = is_moderate ? of_pair(&pair, FEW_QUOTIENT, 0, of_x, of_y, 1) : NULL;
    let_pair_go(&pair);
    return made;
}

int
few_constant(PyObject *constant, const Parts *x, double *to, Py_ssize_t size)
{
    Array at = {.rank = 0};
    int is_number = PyFloat_CheckExact(constant) || PyLong_CheckExact(constant);
    double number = is_number ? PyFloat_AsDouble(constant) : 0;
    if (!is_number && !(is_plain(constant, x, &at) && is_on_host(&at) && is_readable(constant)
                        && (at.rank == 0 || are_alike(&at, &x->value_at))))
        return 0;
    for (Py_ssize_t i = 0; i < size; i++)
        to[i] = is_number ? number : few_element_of(&at, i);
    return !PyErr_Occurred();
}

/* Whether the components are finite, each times its weight. */
static int
are_finite_times(const Parts *x, const double *weights, Py_ssize_t size)
{
    const Array *at = &x->components_at;
    Py_ssize_t all = elements_in(at), i = 0;
    for (; i < all; i++) {
        double number = few_element_of(at, i) * weights[i % size];
        if (!are_all_finite(&number, 1, at))
            break;
    }
    return i == all;
}

PyObject *
few_over(PyObject *func, PyObject *constant, PyObject *tensor)
{
    Parts x;
    double weights[HANDFUL], a = 0, b = 0;
    PyObject *value = NULL, *residual = NULL, *components = NULL;
    if (!parts_of(tensor, &x))
        return NULL;
    Py_ssize_t size = elements_in(&x.value_at);
    int is_moderate = size <= HANDFUL && few_is_open(&x) && is_usual_rule() && few_constant(constant, &x, weights, size);
    for (Py_ssize_t i = 0; i < size && is_moderate; i++) {
        double steep = 1 / few_element_of(&x.value_at, i) / few_element_of(&x.residual_at, i);
        is_moderate = isfinite(steep);
        a += weights[i] * weights[i];
        b += steep * steep;
        weights[i] *= -steep;
    }
    is_moderate = is_moderate && sqrt(a) < 0.999 * given.steep && sqrt(b) < 0.999 * given.steep;
    if (is_moderate && are_finite_times(&x, weights, size))
        components = few_multiplied(&x, weights, size);
    if (components != NULL && (value = PyObject_CallFunctionObjArgs(func, constant, x.value, NULL)) != NULL)
        residual = PyObject_CallFunctionObjArgs(func, constant, x.residual, NULL);
    Array at;
    int is_made = residual != NULL && look_at_any(value, &at) && is_of_one_dtype(&at, &x.value_at)
               && are_alike(&at, &x.value_at);
    if (!is_made)
        Py_CLEAR(components);
    PyObject *made = assembled(value, residual, components, &x);
    let_parts_go(&x);
    return made;
}
