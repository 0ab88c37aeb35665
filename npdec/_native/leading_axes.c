/* Linear functions of the components, which have one more leading axis than the value: the rules that
 * `npdec._decomposed.batching_rules` says in Python. */
#include "decomposed.h"

PyObject *
call(PyObject *func, PyObject *first, PyObject *const *rest, Py_ssize_t count)
{
    PyObject *args[MOST_GIVEN + 1] = {NULL, first};
    if (count >= MOST_GIVEN) /* more than any function takes: torch says what is wrong */
        return NULL;
    for (Py_ssize_t i = 0; i < count; i++)
        args[i + 2] = rest[i];
    return PyObject_Vectorcall(func, args + 1, (size_t)(count + 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

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

Py_ssize_t
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

/* A method of the components, called with numbers, one by one: torch reads a tuple of them more slowly. The first one
 * is of the axis of components. */
static PyObject *
with_numbers(const Parts *x, PyObject *method, const Py_ssize_t *numbers, int count)
{
    PyObject *args[MOST_AXES + 2] = {x->components}, *made = NULL;
    int known = 0;
    for (; known < count; known++)
        if ((args[known + 1] = PyLong_FromSsize_t(numbers[known])) == NULL)
            break;
    if (known == count)
        made = PyObject_VectorcallMethod(method, args, (size_t)(count + 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    while (known > 0)
        Py_DECREF(args[known--]);
    return made;
}

PyObject *
with_axes(const Parts *x, int rank)
{
    Py_ssize_t shape[MOST_AXES + 1] = {x->components_at.shape[0]};
    int missing = rank - x->value_at.rank;
    if (missing <= 0 || rank > MOST_AXES)
        return missing <= 0 ? Py_NewRef(x->components) : NULL;
    for (int axis = 0; axis < rank; axis++)
        shape[axis + 1] = axis < missing ? 1 : x->value_at.shape[axis - missing];
    return with_numbers(x, names.reshape, shape, rank + 1);
}

/* In the shape of a value. */
static PyObject *
shaped(const Parts *x, const Array *value)
{
    Py_ssize_t shape[MOST_AXES + 1] = {x->components_at.shape[0]};
    for (int axis = 0; axis < value->rank; axis++)
        shape[axis + 1] = value->shape[axis];
    return with_numbers(x, is_by_rows(&x->components_at) ? names.view : names.reshape, shape, value->rank + 1);
}

static PyObject *
reshaped(const Parts *x, PyObject *value, PyObject *const *rest, Py_ssize_t count)
{
    Array at;
    PyObject *held;
    int is_shape = (count = unpacked(&rest, count, &held)) >= 0 && are_whole(rest, count) && look_at_any(value, &at);
    PyObject *made = is_shape ? shaped(x, &at) : NULL;
    Py_XDECREF(held);
    return made;
}

/* Without axes of one element: all of those, or the one that is named. */
static PyObject *
squeezed(PyObject *func, const Parts *x, PyObject *value, PyObject *const *rest, Py_ssize_t count)
{
    if (count == 0 && x->components_at.shape[0] != 1)
        return call(func, x->components, rest, 0);
    PyObject *axis = count == 1 && x->value_at.rank > 0 ? from_the_end(rest[0], x->value_at.rank) : NULL;
    PyObject *made = axis == NULL ? reshaped(x, value, rest, count) : call(func, x->components, &axis, 1);
    Py_XDECREF(axis);
    return made;
}

static PyObject *
permuted(const Parts *x, PyObject *const *rest, Py_ssize_t count)
{
    int rank = x->value_at.rank;
    PyObject *held, *made = NULL;
    if ((count = unpacked(&rest, count, &held)) == rank && are_whole(rest, count)) {
        Py_ssize_t order[MOST_AXES + 1] = {0};
        for (Py_ssize_t i = 0; i < count; i++) {
            Py_ssize_t axis = PyLong_AsSsize_t(rest[i]);
            order[i + 1] = (axis < 0 ? axis + rank : axis) + 1;
        }
        made = PyErr_Occurred() ? NULL : with_numbers(x, names.permute, order, rank + 1);
    }
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

PyObject *
of_components(const Form *form, PyObject *func, const Parts *x, PyObject *value, PyObject *const *rest,
              Py_ssize_t count)
{
    switch (form->kind) {
    case OF_AXES: return of_axes(form, func, x, rest, count);
    case OF_KEY: return of_key(func, x, rest[0]);
    case RESHAPED: return reshaped(x, value, rest, count);
    case SQUEEZED: return squeezed(func, x, value, rest, count);
    case UNSQUEEZED: return unsqueezed(func, x, rest, count);
    case PERMUTED: return permuted(x, rest, count);
    case SWAPPED: return x->value_at.rank > 1 && count == 0 ? PyObject_GetAttr(x->components, names.mT) : NULL;
    case REDUCED: return reduced(func, x, rest, count);
    default: return by_rule(form, func, x, value, rest, count);
    }
}
