/* The forms of linear functions: of value, residual and components by the function itself, each once. They are those of
 * `npdec._law.ordinary_linear`, `ordinary_arithmetic` and `ordinary`; NULL, without an error, leaves a call to these. */
#include "decomposed.h"
#include <math.h>

static PyObject *
call(PyObject *func, PyObject *first, PyObject *const *rest, Py_ssize_t count)
{
    PyObject *args[MOST_GIVEN + 1] = {NULL, first};
    for (Py_ssize_t i = 0; i < count; i++)
        args[i + 2] = rest[i];
    return PyObject_Vectorcall(func, args + 1, (size_t)(count + 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

/* The residual, one of the rows that are equal. */
static PyObject *
rows_of(const Parts *x)
{
    return x->has_equal_rows ? PyObject_CallOneArg(given.rows_of, x->of) : Py_NewRef(x->residual);
}

/* The function of all parts beside the same arguments, which stand behind them. */
static PyObject *
of_parts(PyObject *func, const Parts *x, PyObject *const *rest, Py_ssize_t count, int link)
{
    PyObject *row = rows_of(x), *residual = NULL, *components = NULL;
    PyObject *value = row == NULL ? NULL : call(func, x->value, rest, count);
    if (value != NULL)
        residual = call(func, row, rest, count);
    if (residual != NULL)
        components = call(func, x->components, rest, count);
    Py_XDECREF(row);
    return built(value, residual, components, x, link);
}

PyObject *
each(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Parts x;
    if (count != 1 || !parts_of(args[0], &x))
        return NULL;
    PyObject *made = PySet_Contains(given.negatives, func) > 0 ? few_negative(&x) : NULL;
    if (made == NULL && !PyErr_Occurred())
        made = of_parts(func, &x, NULL, 0, !(form->traits & FRESH));
    let_parts_go(&x);
    return made;
}

/* --- functions that take one more leading axis -------------------------------------------------------------------- */

/* A number of an axis, counted from the end, so that one more leading axis does not move it. */
static PyObject *
from_the_end(PyObject *axis, int rank)
{
    long number = PyLong_CheckExact(axis) ? PyLong_AsLong(axis) : LONG_MAX;
    if (number == LONG_MAX || (number == -1 && PyErr_Occurred()))
        return NULL;
    return number < 0 ? Py_NewRef(axis) : PyLong_FromLong(number - rank);
}

static int
are_whole(PyObject *const *items, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++)
        if (!PyLong_CheckExact(items[i]))
            return 0;
    return 1;
}

/* The items of a list or tuple that is the only argument, or else the arguments. */
static Py_ssize_t
unpacked(PyObject *const **items, Py_ssize_t count)
{
    if (count != 1 || !(PyTuple_Check((*items)[0]) || PyList_CheckExact((*items)[0])))
        return count;
    PyObject *sequence = (*items)[0];
    *items = PySequence_Fast_ITEMS(sequence);
    return PySequence_Fast_GET_SIZE(sequence);
}

static PyObject *
of_axes(const Form *form, PyObject *func, const Parts *x, PyObject *const *rest, Py_ssize_t count)
{
    int rank = x->value_at.rank, last = form->last;
    PyObject *changed[MOST_GIVEN] = {NULL}, *made = NULL;
    Py_ssize_t missing = last - count, known = PyTuple_GET_SIZE(form->rest);
    if (rank == 0 || (missing > 0 && (count < form->first || missing > known)) || last > MOST_GIVEN)
        return NULL;
    Py_ssize_t all = missing > 0 ? last : count;
    for (Py_ssize_t i = 0; i < all; i++)
        changed[i] = i < count ? rest[i] : PyTuple_GET_ITEM(form->rest, i - form->first);
    int at = form->first;
    for (; at < last; at++)
        if ((changed[at] = from_the_end(changed[at], rank)) == NULL)
            break;
    if (at == last)
        made = call(func, x->components, changed, all);
    while (at > form->first)
        Py_DECREF(changed[--at]);
    return made;
}

static PyObject *
of_key(PyObject *func, const Parts *x, PyObject *key)
{
    int many = PyTuple_CheckExact(key);
    PyObject *const *items = many ? PySequence_Fast_ITEMS(key) : &key;
    Py_ssize_t count = many ? PyTuple_GET_SIZE(key) : 1;
    PyObject *whole = PyTuple_New(count + 1), *made;
    if (whole == NULL)
        return NULL;
    PyTuple_SET_ITEM(whole, 0, PySlice_New(NULL, NULL, NULL));
    for (Py_ssize_t i = 0; i < count; i++)
        PyTuple_SET_ITEM(whole, i + 1, Py_NewRef(items[i]));
    made = PyErr_Occurred() ? NULL : call(func, x->components, &whole, 1);
    Py_DECREF(whole);
    return made;
}

static int
is_basic(PyObject *key)
{
    int many = PyTuple_CheckExact(key);
    PyObject *const *items = many ? PySequence_Fast_ITEMS(key) : &key;
    for (Py_ssize_t i = 0; i < (many ? PyTuple_GET_SIZE(key) : 1); i++)
        if (!PyLong_CheckExact(items[i]) && !PySlice_Check(items[i]) && items[i] != Py_None && items[i] != Py_Ellipsis)
            return 0;
    return 1;
}

/* (number of components, *shape of the value) */
static PyObject *
shape_of_components(const Parts *x, const Array *value)
{
    PyObject *shape = PyTuple_New(value->rank + 1);
    if (shape == NULL)
        return NULL;
    PyTuple_SET_ITEM(shape, 0, PyLong_FromSsize_t(x->components_at.shape[0]));
    for (int axis = 0; axis < value->rank; axis++)
        PyTuple_SET_ITEM(shape, axis + 1, PyLong_FromSsize_t(value->shape[axis]));
    if (PyErr_Occurred())
        Py_CLEAR(shape);
    return shape;
}

static PyObject *
reshaped(const Parts *x, PyObject *value, PyObject *const *rest, Py_ssize_t count)
{
    Array at;
    count = unpacked(&rest, count);
    PyObject *shape = are_whole(rest, count) && look_at_any(value, &at) ? shape_of_components(x, &at) : NULL;
    PyObject *made = shape == NULL ? NULL : PyObject_CallMethodOneArg(x->components, names.reshape, shape);
    Py_XDECREF(shape);
    return made;
}

static PyObject *
permuted(const Parts *x, PyObject *const *rest, Py_ssize_t count)
{
    int rank = x->value_at.rank;
    count = unpacked(&rest, count);
    PyObject *order = are_whole(rest, count) ? PyTuple_New(count + 1) : NULL, *made = NULL;
    if (order == NULL)
        return NULL;
    PyTuple_SET_ITEM(order, 0, PyLong_FromLong(0));
    for (Py_ssize_t i = 0; i < count; i++) {
        long axis = PyLong_AsLong(rest[i]);
        PyTuple_SET_ITEM(order, i + 1, PyLong_FromLong((axis < 0 ? axis + rank : axis) + 1));
    }
    if (!PyErr_Occurred())
        made = PyObject_CallMethodOneArg(x->components, names.permute, order);
    Py_DECREF(order);
    return made;
}

static PyObject *
unsqueezed(PyObject *func, const Parts *x, PyObject *const *rest, Py_ssize_t count)
{
    PyObject *axis = count == 1 ? from_the_end(rest[0], x->value_at.rank + 1) : NULL;
    PyObject *made = axis == NULL ? NULL : call(func, x->components, &axis, 1);
    Py_XDECREF(axis);
    return made;
}

/* A sum or mean over all axes, or over some, which are an integer or integers. */
static PyObject *
reduced(PyObject *func, const Parts *x, PyObject *const *rest, Py_ssize_t count)
{
    int rank = x->value_at.rank, is_all = count == 0;
    PyObject *changed[MOST_GIVEN] = {NULL}, *made;
    if (rank == 0)
        return is_all ? PyObject_CallMethodNoArgs(x->components, names.clone) : NULL;
    PyObject *const *items = rest;
    Py_ssize_t many = is_all ? rank : unpacked(&items, 1);
    if (!is_all && (many == 0 || !are_whole(items, many)))
        return NULL;
    PyObject *axes = PyTuple_New(many);
    for (Py_ssize_t i = 0; axes != NULL && i < many; i++) {
        PyObject *axis = is_all ? PyLong_FromSsize_t(i - rank) : from_the_end(items[i], rank);
        if (axis == NULL)
            Py_CLEAR(axes);
        else
            PyTuple_SET_ITEM(axes, i, axis);
    }
    if (axes == NULL)
        return NULL;
    changed[0] = many == 1 ? PyTuple_GET_ITEM(axes, 0) : axes; /* torch reads one number sooner */
    for (Py_ssize_t i = 1; i < count; i++)
        changed[i] = rest[i];
    made = call(func, x->components, changed, is_all ? 1 : count);
    Py_DECREF(axes);
    return made;
}

/* By the rule in Python, which makes the function of the components. */
static PyObject *
by_rule(const Form *form, PyObject *func, const Parts *x, PyObject *value, PyObject *const *rest, Py_ssize_t count)
{
    PyObject *made = NULL, *more = PyTuple_New(count), *none = PyDict_New();
    PyObject *rank = PyLong_FromLong(x->value_at.rank), *front = NULL;
    for (Py_ssize_t i = 0; more != NULL && i < count; i++)
        PyTuple_SET_ITEM(more, i, Py_NewRef(rest[i]));
    if (more != NULL && none != NULL && rank != NULL)
        front = PyObject_CallFunctionObjArgs(form->batch, func, rank, more, none, value, NULL);
    if (front != NULL && front != Py_None)
        made = PyObject_CallOneArg(front, x->components);
    Py_XDECREF(front);
    Py_XDECREF(rank);
    Py_XDECREF(none);
    Py_XDECREF(more);
    return made;
}

static PyObject *
of_components(const Form *form, PyObject *func, const Parts *x, PyObject *value, PyObject *const *rest, Py_ssize_t count)
{
    switch (form->kind) {
    case OF_AXES: return of_axes(form, func, x, rest, count);
    case OF_KEY: return of_key(func, x, rest[0]);
    case RESHAPED: return reshaped(x, value, rest, count);
    case UNSQUEEZED: return unsqueezed(func, x, rest, count);
    case PERMUTED: return permuted(x, rest, count);
    case REDUCED: return reduced(func, x, rest, count);
    default: return by_rule(form, func, x, value, rest, count);
    }
}

/* The function of the residual, of which elements may be one in memory. */
static PyObject *
of_residual(const Form *form, PyObject *func, const Parts *x, PyObject *value, PyObject *const *rest, Py_ssize_t count)
{
    if (!x->has_equal_rows)
        return call(func, x->residual, rest, count);
    PyObject *more = PyTuple_New(count), *traits = PyLong_FromLong(form->all_traits), *made = NULL;
    for (Py_ssize_t i = 0; more != NULL && i < count; i++)
        PyTuple_SET_ITEM(more, i, Py_NewRef(rest[i]));
    if (more != NULL && traits != NULL)
        made = PyObject_CallFunctionObjArgs(given.residual_of, func, x->of, more, value, traits, NULL);
    Py_XDECREF(traits);
    Py_XDECREF(more);
    if (made == Py_None)
        Py_CLEAR(made);
    return made;
}

PyObject *
of_one(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Parts x;
    for (Py_ssize_t i = 1; i < count; i++)
        if (Py_IS_TYPE(args[i], given.type))
            return NULL;
    if (count == 0 || count > MOST_GIVEN || ((form->traits & INDEXES) && (count != 2 || !is_basic(args[1])))
        || !parts_of(args[0], &x))
        return NULL;
    PyObject *const *rest = args + 1;
    PyObject *residual = NULL, *components = NULL, *value = call(func, x.value, rest, --count);
    if (value != NULL && Py_IS_TYPE(value, arrays.tensor))
        residual = of_residual(form, func, &x, value, rest, count);
    if (residual != NULL)
        components = of_components(form, func, &x, value, rest, count);
    PyObject *made = built(value, residual, components, &x, !(form->traits & FRESH));
    let_parts_go(&x);
    return made;
}

/* --- sums, products, quotients ------------------------------------------------------------------------------------ */

/* The components of a sum or difference of x and a constant: its own. */
static PyObject *
own(const Form *form, const Parts *x)
{
    return PyObject_CallMethodNoArgs(x->components, form->traits & SUBTRACTS_FROM ? names.neg : names.clone);
}

/* A number that is not so large that something has to be said. */
static int
as_moderate(PyObject *given_to_it, double *number)
{
    if (PyFloat_CheckExact(given_to_it))
        *number = PyFloat_AS_DOUBLE(given_to_it);
    else if (PyLong_CheckExact(given_to_it)) {
        *number = PyLong_AsDouble(given_to_it);
        if (*number == -1 && PyErr_Occurred())
            return PyErr_Clear(), 0;
    }
    else
        return 0;
    return fabs(*number) <= given.steep;
}

static PyObject *
beside_constant(const Form *form, PyObject *func, const Parts *x, PyObject *constant, const Array *at)
{
    PyObject *few = few_beside(x, constant, at, form->traits);
    if (few != NULL || PyErr_Occurred())
        return few;
    PyObject *row = rows_of(x), *residual = NULL, *components = NULL;
    PyObject *value = row == NULL ? NULL : call(func, x->value, &constant, 1);
    if (value != NULL)
        residual = call(func, row, &constant, 1);
    if (residual != NULL)
        components = own(form, x);
    Py_XDECREF(row);
    return built(value, residual, components, x, 0);
}

static PyObject *
sum_of_two(const Form *form, PyObject *func, const Parts *x, PyObject *other)
{
    Parts y;
    PyObject *made = NULL;
    if (x->has_equal_rows || !parts_of(other, &y))
        return NULL;
    if (x->labels == y.labels && !y.has_equal_rows && are_alike(&x->value_at, &y.value_at)
        && x->value_at.bits == y.value_at.bits && (made = few_sum(x, &y, form->traits)) == NULL && !PyErr_Occurred()) {
        PyObject *value = call(func, x->value, &y.value, 1), *residual = NULL, *components = NULL;
        if (value != NULL)
            residual = call(func, x->residual, &y.residual, 1);
        if (residual != NULL)
            components = call(func, x->components, &y.components, 1);
        made = built(value, residual, components, x, 0);
    }
    let_parts_go(&y);
    return made;
}

PyObject *
added(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Parts x;
    Array at;
    PyObject *made = NULL;
    if (count != 2 || !Py_IS_TYPE(args[0], given.type) || !parts_of(args[0], &x))
        return NULL;
    double number;
    if (Py_IS_TYPE(args[1], given.type))
        made = sum_of_two(form, func, &x, args[1]);
    else if (as_moderate(args[1], &number))
        made = few_moved(&x, number, form->traits);
    else if (is_plain(args[1], &x, &at) && are_alike(&at, &x.value_at))
        made = beside_constant(form, func, &x, args[1], &at);
    let_parts_go(&x);
    return made;
}

/* x times a number, or a constant tensor of its shape. */
PyObject *
scaled(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Parts x;
    Array at;
    PyObject *made = NULL;
    if (count != 2 || Py_IS_TYPE(args[1], given.type) || !parts_of(args[0], &x))
        return NULL;
    double number;
    if (as_moderate(args[1], &number))
        made = few_scaled(&x, number, 0);
    else if (is_plain(args[1], &x, &at) && are_alike(&at, &x.value_at) && is_moderate(args[1], &at)) {
        made = few_times(&x, args[1], &at);
        if (made == NULL && !PyErr_Occurred())
            made = of_parts(func, &x, args + 1, 1, 0);
    }
    let_parts_go(&x);
    return made;
}

/* x over a number. */
PyObject *
divided(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Parts x;
    double number;
    if (count != 2 || !as_moderate(args[1], &number) || fabs(number) < 1 / given.steep || !parts_of(args[0], &x))
        return NULL;
    PyObject *made = few_scaled(&x, number, 1);
    let_parts_go(&x);
    return made;
}

/* --- forms that watch what another one is called with, where there is nothing to see ------------------------------- */

PyObject *
unless_same(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    int is_open = form->inner != NULL && count > 0 && args[0] != args[count - 1];
    return is_open ? form->inner->answer(form->inner, func, args, count) : NULL;
}

/* `parts_of` takes none of which something is known. */
PyObject *
unless_known(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    return form->inner != NULL ? form->inner->answer(form->inner, func, args, count) : NULL;
}

/* --- products of matrices ----------------------------------------------------------------------------------------- */

/* The residual, of equal rows one. */
static PyObject *
narrowed(const Parts *x)
{
    if (!x->has_equal_rows)
        return Py_NewRef(x->residual);
    PyObject *axes = PyLong_FromLong(x->value_at.rank - 1);
    PyObject *row = axes == NULL ? NULL : PyObject_CallFunctionObjArgs(given.narrowed, x->residual, axes, NULL);
    Py_XDECREF(axes);
    return row;
}

/* The other, decomposed factor behind a constant one. */
static PyObject *
behind(PyObject *func, PyObject *factor, int rank, const Parts *x)
{
    PyObject *residual = NULL, *components = NULL, *value = call(func, factor, &x->value, 1);
    if (value != NULL)
        residual = call(func, factor, &x->residual, 1);
    if (residual != NULL && x->value_at.rank > 1)
        components = call(given.matmul, factor, &x->components, 1);
    else if (residual != NULL) { /* each component is a vector */
        PyObject *turned = rank == 1 ? Py_NewRef(factor) : PyObject_GetAttr(factor, names.mT);
        if (turned != NULL)
            components = call(given.matmul, x->components, &turned, 1);
        Py_XDECREF(turned);
    }
    return built(value, residual, components, x, 0);
}

PyObject *
matmul(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Parts x;
    Array at;
    PyObject *made = NULL;
    int is_behind = count == 2 && !Py_IS_TYPE(args[0], given.type);
    if (count != 2 || !parts_of(args[is_behind], &x))
        return NULL;
    PyObject *factor = args[!is_behind];
    int rank = x.value_at.rank;
    if (rank >= 1 && rank <= 2 && is_plain(factor, &x, &at) && at.rank >= 1 && at.rank <= 2
        && (!x.has_equal_rows || (!is_behind && rank == at.rank && rank == 2)) && is_moderate(factor, &at)) {
        if (is_behind)
            made = behind(func, factor, at.rank, &x);
        else {
            PyObject *row = narrowed(&x), *residual = NULL, *components = NULL;
            PyObject *rows = row == NULL ? NULL : PyObject_CallMethodNoArgs(row, names.contiguous);
            PyObject *value = rows == NULL ? NULL : call(func, x.value, &factor, 1);
            if (value != NULL)
                residual = call(func, rows, &factor, 1);
            if (residual != NULL)
                components = call(given.matmul, x.components, &factor, 1);
            Py_XDECREF(rows);
            Py_XDECREF(row);
            made = built(value, residual, components, &x, 0);
        }
    }
    let_parts_go(&x);
    return made;
}

/* Rows times a constant weight, and a constant bias. */
PyObject *
layer(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Parts x;
    Array weight, bias;
    PyObject *made = NULL;
    if (count < 2 || count > 3 || !parts_of(args[0], &x))
        return NULL;
    int has_bias = count == 3 && args[2] != Py_None;
    if (x.value_at.rank >= 1 && x.value_at.rank <= 2 && is_plain(args[1], &x, &weight) && weight.rank == 2
        && (!has_bias || is_plain(args[2], &x, &bias)) && is_moderate(args[1], &weight)) {
        PyObject *row = narrowed(&x), *residual = NULL, *components = NULL;
        PyObject *value = row == NULL ? NULL : call(func, x.value, args + 1, count - 1);
        if (value != NULL)
            residual = call(func, row, args + 1, count - 1);
        if (residual != NULL)
            components = call(func, x.components, args + 1, 1);
        Py_XDECREF(row);
        made = built(value, residual, components, &x, 0);
    }
    let_parts_go(&x);
    return made;
}

/* --- several tensors ---------------------------------------------------------------------------------------------- */

/* Decomposed tensors under the same labels, joined along an axis. */
PyObject *
joined(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    PyObject *const *tensors = args, *lists[3] = {NULL}, *made = NULL;
    if (count < 1 || count > 2 || !(PyTuple_CheckExact(args[0]) || PyList_CheckExact(args[0])))
        return NULL;
    long dim = count == 2 && PyLong_CheckExact(args[1]) ? PyLong_AsLong(args[1]) : 0;
    if ((count == 2 && !PyLong_CheckExact(args[1])) || (dim == -1 && PyErr_Occurred()))
        return NULL;
    Py_ssize_t many = unpacked(&tensors, 1), held = 0;
    Parts parts[MOST_GIVEN];
    if (many == 0 || many > MOST_GIVEN)
        return NULL;
    for (; held < many; held++)
        if (!parts_of(tensors[held], &parts[held]))
            break;
    int are_ordinary = held == many;
    for (Py_ssize_t i = 1; are_ordinary && i < many; i++)
        are_ordinary = parts[i].labels == parts[0].labels && parts[i].value_at.rank == parts[0].value_at.rank
                    && parts[i].value_at.bits == parts[0].value_at.bits;
    for (int i = 0; are_ordinary && i < 3; i++)
        are_ordinary = (lists[i] = PyTuple_New(many)) != NULL;
    if (are_ordinary) {
        for (Py_ssize_t i = 0; i < many; i++) {
            PyTuple_SET_ITEM(lists[0], i, Py_NewRef(parts[i].value));
            PyTuple_SET_ITEM(lists[1], i, Py_NewRef(parts[i].residual));
            PyTuple_SET_ITEM(lists[2], i, Py_NewRef(parts[i].components));
        }
        PyObject *axis = PyLong_FromLong(dim), *front = PyLong_FromLong(dim >= 0 ? dim + 1 : dim);
        PyObject *value = NULL, *residual = NULL, *components = NULL;
        if (axis != NULL && front != NULL)
            value = call(func, lists[0], &axis, 1);
        if (value != NULL)
            residual = call(func, lists[1], &axis, 1);
        if (residual != NULL)
            components = call(func, lists[2], &front, 1);
        Py_XDECREF(front);
        Py_XDECREF(axis);
        made = built(value, residual, components, &parts[0], 0);
    }
    for (int i = 0; i < 3; i++)
        Py_XDECREF(lists[i]);
    while (held > 0)
        let_parts_go(&parts[--held]);
    return made;
}
