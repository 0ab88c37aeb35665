/* The forms of linear functions: of value, residual and components by the function itself, each once. They are those of
 * `npdec._law.ordinary_linear` and `npdec._law.ordinary`; NULL, without an error, leaves a call to these. */
#include "reverse.h"

static PyObject *
call(PyObject *func, PyObject *first, PyObject *const *rest, Py_ssize_t count)
{
    PyObject *args[MOST_GIVEN + 1] = {NULL, first};
    for (Py_ssize_t i = 0; i < count; i++)
        args[i + 2] = rest[i];
    return PyObject_Vectorcall(func, args + 1, (size_t)(count + 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

PyObject *
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
    if (count != 1)
        return NULL;
    if (!parts_of(args[0], &x))
        return reversed_each(func, args, (form->traits & FRESH) || PySet_Contains(given.negatives, func) > 0);
    PyObject *made = PySet_Contains(given.negatives, func) > 0 ? few_negative(&x) : NULL;
    if (made == NULL && !PyErr_Occurred())
        made = of_parts(func, &x, NULL, 0, !(form->traits & FRESH));
    let_parts_go(&x);
    return made;
}

PyObject *
cloned(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Parts x;
    if (count != 1)
        return NULL;
    if (!parts_of(args[0], &x))
        return reversed_each(func, args, 1);
    PyObject *made = few_copy_of(&x);
    if (made == NULL && !PyErr_Occurred())
        made = of_parts(func, &x, NULL, 0, 0);
    let_parts_go(&x);
    return made;
}

/* What lies in memory by rows is the tensor itself. */
PyObject *
contiguous(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Parts x;
    if (count != 1 || !parts_of(args[0], &x))
        return NULL;
    int is_so = is_by_rows(&x.value_at) && is_by_rows(&x.residual_at) && is_by_rows(&x.components_at);
    let_parts_go(&x);
    return is_so ? Py_NewRef(args[0]) : NULL;
}

PyObject *
detached(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Parts x;
    PyObject *made = NULL;
    if (count != 1 || !parts_of(args[0], &x))
        return NULL;
    if (!is_true_of(x.components, names.requires_grad)) {
        PyObject *value = PyObject_CallMethodNoArgs(x.value, names.detach);
        PyObject *residual = value == NULL ? NULL : PyObject_CallMethodNoArgs(x.residual, names.detach);
        made = built(value, residual, Py_NewRef(x.components), &x, 1);
    }
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

/* The items of a list or tuple that is the only argument, or else the arguments; -1 with an error. They are those of
 * `held` then, or NULL: a list may be another one while something is made. */
static Py_ssize_t
unpacked(PyObject *const **items, Py_ssize_t count, PyObject **held)
{
    *held = NULL;
    if (count != 1 || !(PyTuple_Check((*items)[0]) || PyList_CheckExact((*items)[0])))
        return count;
    if ((*held = PySequence_Tuple((*items)[0])) == NULL)
        return -1;
    *items = PySequence_Fast_ITEMS(*held);
    return PyTuple_GET_SIZE(*held);
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

/* Whether a key is of integers and slices, so that it gives a view, or one plain tensor. */
static int
is_simple(PyObject *key)
{
    int many = PyTuple_CheckExact(key);
    PyObject *const *items = many ? PySequence_Fast_ITEMS(key) : &key;
    if (!many && Py_IS_TYPE(key, arrays.tensor))
        return 1;
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
    PyObject *held;
    int is_shape = (count = unpacked(&rest, count, &held)) >= 0 && are_whole(rest, count) && look_at_any(value, &at);
    PyObject *shape = is_shape ? shape_of_components(x, &at) : NULL;
    PyObject *made = shape == NULL ? NULL : PyObject_CallMethodOneArg(x->components, names.reshape, shape);
    Py_XDECREF(shape);
    Py_XDECREF(held);
    return made;
}

static PyObject *
permuted(const Parts *x, PyObject *const *rest, Py_ssize_t count)
{
    int rank = x->value_at.rank;
    PyObject *held, *made = NULL;
    int is_order = (count = unpacked(&rest, count, &held)) >= 0 && are_whole(rest, count);
    PyObject *order = is_order ? PyTuple_New(count + 1) : NULL;
    if (order != NULL)
        PyTuple_SET_ITEM(order, 0, PyLong_FromLong(0));
    for (Py_ssize_t i = 0; order != NULL && i < count; i++) {
        long axis = PyLong_AsLong(rest[i]);
        PyTuple_SET_ITEM(order, i + 1, PyLong_FromLong((axis < 0 ? axis + rank : axis) + 1));
    }
    if (order != NULL && !PyErr_Occurred())
        made = PyObject_CallMethodOneArg(x->components, names.permute, order);
    Py_XDECREF(order);
    Py_XDECREF(held);
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
    PyObject *changed[MOST_GIVEN] = {NULL}, *made = NULL, *held = NULL;
    if (rank == 0)
        return is_all ? PyObject_CallMethodNoArgs(x->components, names.clone) : NULL;
    PyObject *const *items = rest;
    Py_ssize_t many = is_all ? rank : unpacked(&items, 1, &held);
    PyObject *axes = many > 0 && (is_all || are_whole(items, many)) ? PyTuple_New(many) : NULL;
    for (Py_ssize_t i = 0; axes != NULL && i < many; i++) {
        PyObject *axis = is_all ? PyLong_FromSsize_t(i - rank) : from_the_end(items[i], rank);
        if (axis == NULL)
            Py_CLEAR(axes);
        else
            PyTuple_SET_ITEM(axes, i, axis);
    }
    if (axes != NULL) {
        changed[0] = many == 1 ? PyTuple_GET_ITEM(axes, 0) : axes; /* torch reads one number sooner */
        for (Py_ssize_t i = 1; i < count; i++)
            changed[i] = rest[i];
        made = call(func, x->components, changed, is_all ? 1 : count);
        Py_DECREF(axes);
    }
    Py_XDECREF(held);
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
of_components(const Form *form, PyObject *func, const Parts *x, PyObject *value, PyObject *const *rest,
              Py_ssize_t count)
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

/* The tensors of the items of three tuples, which are stolen. */
static PyObject *
built_of_each(PyObject *values, PyObject *residuals, PyObject *components, const Parts *x, int link)
{
    PyObject *made = NULL;
    if (residuals != NULL && components != NULL && PyTuple_Check(residuals) && PyTuple_Check(components)
        && PyTuple_GET_SIZE(residuals) == PyTuple_GET_SIZE(values)
        && PyTuple_GET_SIZE(components) == PyTuple_GET_SIZE(values))
        made = PyTuple_New(PyTuple_GET_SIZE(values));
    for (Py_ssize_t i = 0; made != NULL && i < PyTuple_GET_SIZE(values); i++) {
        PyObject *one = built(Py_NewRef(PyTuple_GET_ITEM(values, i)), Py_NewRef(PyTuple_GET_ITEM(residuals, i)),
                              Py_NewRef(PyTuple_GET_ITEM(components, i)), x, link);
        if (one == NULL)
            Py_CLEAR(made);
        else
            PyTuple_SET_ITEM(made, i, one);
    }
    Py_DECREF(values);
    Py_XDECREF(residuals);
    Py_XDECREF(components);
    return made;
}

PyObject *
of_one(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Parts x;
    for (Py_ssize_t i = 1; i < count; i++)
        if (Py_IS_TYPE(args[i], given.type))
            return NULL;
    if (count == 0 || count > MOST_GIVEN || ((form->traits & INDEXES) && (count != 2 || !is_simple(args[1]))))
        return NULL;
    if (!parts_of(args[0], &x))
        return (form->traits & INDEXES) && Py_IS_TYPE(args[1], arrays.tensor) ? NULL
                                                                              : reversed_of_one(form, func, args, count);
    PyObject *const *rest = args + 1;
    PyObject *residual = NULL, *components = NULL, *value = call(func, x.value, rest, --count);
    if (value != NULL)
        residual = of_residual(form, func, &x, value, rest, count);
    if (residual != NULL)
        components = of_components(form, func, &x, value, rest, count);
    int link = !(form->traits & FRESH), are_several = value != NULL && PyTuple_Check(value);
    PyObject *made = are_several ? built_of_each(value, residual, components, &x, link)
                                 : built(value, residual, components, &x, link);
    let_parts_go(&x);
    return made;
}

/* --- several tensors ---------------------------------------------------------------------------------------------- */

/* Decomposed tensors under the same labels, joined along an axis. */
PyObject *
joined(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    PyObject *const *tensors = args, *lists[3] = {NULL}, *made = NULL, *items;
    if (count < 1 || count > 2 || !(PyTuple_CheckExact(args[0]) || PyList_CheckExact(args[0])))
        return NULL;
    long dim = count == 2 && PyLong_CheckExact(args[1]) ? PyLong_AsLong(args[1]) : 0;
    if ((count == 2 && !PyLong_CheckExact(args[1])) || (dim == -1 && PyErr_Occurred()))
        return NULL;
    Py_ssize_t many = unpacked(&tensors, 1, &items), held = 0;
    Parts parts[MOST_GIVEN];
    for (; many <= MOST_GIVEN && held < many; held++)
        if (!parts_of(tensors[held], &parts[held]))
            break;
    int are_ordinary = held == many && many > 0;
    if (held == 0 && many > 0 && is_in_reverse(tensors[0])) {
        PyObject *axis = PyLong_FromLong(dim);
        made = axis == NULL ? NULL : reversed_joined(func, tensors, many, axis);
        Py_XDECREF(axis);
    }
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
    Py_XDECREF(items);
    return made;
}

/* --- forms that watch what another one is called with, where there is nothing to see ------------------------------ */

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
