/* Decomposed tensors that are made of the parts which were computed, and known as views of others where they are. */
#include "decomposed.h"

#define LEAST_VIEWS 16 /* of which a list has room: `npdec._decomposed.parts.Views` */

/* Whether the elements of one lie among those of another, whose strides are not negative. */
static int
lies_within(const Array *inner, const Array *outer)
{
    const char *start = outer->elements, *at = inner->elements;
    Py_ssize_t last = 0;
    for (int axis = 0; axis < outer->rank; axis++)
        last += (outer->shape[axis] - 1) * outer->strides[axis];
    return at != NULL && at >= start && at <= start + last * (outer->bits / 8);
}

/* Whether those elements of a part, which may have components in front, are one in memory that are in the value. */
static int
lies_like(const Array *part, const Array *value)
{
    int front = part->rank - value->rank;
    for (int axis = 0; axis < front; axis++)
        if (part->shape[axis] > 1 && part->strides[axis] == 0)
            return 0;
    for (int axis = 0; axis < value->rank; axis++)
        if (value->shape[axis] > 1 && part->strides[front + axis] != value->strides[axis])
            return 0;
    return 1;
}

/* Whether a list of views takes one more; of a full one, those that are gone are dropped first. -1 with an error. */
static int
has_room(PyObject *views)
{
    PyObject *limit = SLOT(views, given.of_limit);
    Py_ssize_t most = limit != NULL && PyLong_CheckExact(limit) ? PyLong_AsSsize_t(limit) : 0, kept = 0;
    if (most <= 0 || PyList_GET_SIZE(views) < most)
        return PyErr_Occurred() ? -1 : most > 0;
    PyObject *living = PyList_New(0);
    for (Py_ssize_t i = 0; living != NULL && i < PyList_GET_SIZE(views); i++) {
        PyObject *member = PyList_GET_ITEM(views, i);
        if (!PyWeakref_CheckRefExact(member) || PyWeakref_GET_OBJECT(member) == Py_None)
            continue;
        kept++;
        if (PyList_Append(living, member) < 0)
            Py_CLEAR(living);
    }
    if (living == NULL || PyList_SetSlice(views, 0, PyList_GET_SIZE(views), living) < 0)
        kept = -1;
    Py_XDECREF(living);
    limit = kept < 0 ? NULL : PyLong_FromSsize_t(Py_MAX(LEAST_VIEWS, 2 * kept + 2));
    if (limit == NULL)
        return -1;
    Py_XSETREF(SLOT(views, given.of_limit), limit);
    return 1;
}

/* Add a view of x, whose parts are views of its parts, to the others: 1; 0 where that is Python's; -1 with an error. */
static int
joins_views(PyObject *made, const Parts *x)
{
    PyObject *views = PyObject_GetAttr(x->of, names.views);
    int is_done = views == NULL ? -1 : views != Py_None && PyList_Check(views) ? has_room(views) : 0;
    if (is_done > 0) {
        PyObject *known = PyWeakref_NewRef(made, NULL);
        is_done = known == NULL || PyObject_SetAttr(made, names.views, views) < 0 || PyList_Append(views, known) < 0
                    ? -1 : 1;
        Py_XDECREF(known);
    }
    Py_XDECREF(views);
    return is_done;
}

static int
is_none(PyObject *tensor, PyObject *name)
{
    PyObject *found = PyObject_GetAttr(tensor, name);
    Py_XDECREF(found);
    return found == Py_None;
}

/* Whether torch knows a part of the result as no view, and not as the part it was made of. */
static int
is_apart(PyObject *part, PyObject *of)
{
    return part != of && is_none(part, words.base);
}

/* Say that a tensor may look at the memory of x; 0, or -1 with an error. */
static int
linked(PyObject *made, PyObject *const *parts, const Array *const *at, const Parts *x)
{
    const Array *value = at[0], *residual = at[1], *components = at[2];
    if (lies_within(value, &x->value_at) && lies_within(residual, &x->residual_at)
        && lies_within(components, &x->components_at) && lies_like(&x->residual_at, &x->value_at)
        && lies_like(&x->components_at, &x->value_at)) {
        int is_done = joins_views(made, x);
        if (is_done != 0)
            return is_done < 0 ? -1 : 0;
    }
    else if (made != parts[0] && is_apart(parts[0], x->value) && is_apart(parts[1], x->residual)
             && is_apart(parts[2], x->components) && !is_true_by(parts[0], words.is_inference))
        return 0; /* of what was made in inference mode, torch knows no views, wherever they are made */
    PyObject *done = PyObject_CallFunctionObjArgs(given.link, made, x->of, NULL);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

static PyObject *
in_class(PyObject *tensor)
{
    return PyObject_SetAttr(tensor, names.class, (PyObject *)given.type) < 0 ? NULL : Py_NewRef(tensor);
}

/* A key of dots alone gives a tensor that torch knows as a view where the value is one; `detach` is sooner. */
PyObject *
carrying(PyObject *value)
{
    int is_view = is_true_by(value, names.is_view) || is_true_of(value, names.requires_grad);
    if (PyErr_Occurred())
        return NULL;
    PyObject *made = is_view ? PyObject_GetItem(value, Py_Ellipsis) : PyObject_CallMethodNoArgs(value, names.detach);
    PyObject *found = made == NULL ? NULL : in_class(made);
    Py_XDECREF(made);
    return found;
}

/* Give a tensor of the class that is new its attributes: those of ordinary tensors, and its parts. One that is given as
 * its own value has none until that is asked for. */
int
set_parts(PyObject *made, PyObject *value, PyObject *residual, PyObject *components, PyObject *labels)
{
    PyObject *its = PyDict_Copy(usual_attributes);
    int is_set = its != NULL && (made == value || PyDict_SetItem(its, names.value, value) == 0)
              && PyDict_SetItem(its, names.residual, residual) == 0
              && PyDict_SetItem(its, names.components, components) == 0
              && PyDict_SetItem(its, names.labels, labels) == 0 && PyObject_GenericSetDict(made, its, NULL) == 0;
    Py_XDECREF(its);
    return is_set ? 0 : -1;
}

/* What was made of three parts, which are let go; it is Python's where nothing was. */
static PyObject *
made_of(PyObject *made, PyObject *value, PyObject *residual, PyObject *components)
{
    Py_XDECREF(value);
    Py_XDECREF(residual);
    Py_XDECREF(components);
    return made == NULL ? left_to_python() : made;
}

PyObject *
assembled(PyObject *value, PyObject *residual, PyObject *components, const Parts *x)
{
    PyObject *made = NULL;
    if (value != NULL && residual != NULL && components != NULL)
        made = PyObject_CallMethodNoArgs(value, names.detach);
    if (made != NULL && (PyObject_SetAttr(made, names.class, (PyObject *)given.type) < 0
                         || set_parts(made, value, residual, components, x->labels) < 0))
        Py_CLEAR(made);
    return made_of(made, value, residual, components);
}

PyObject *
built(PyObject *value, PyObject *residual, PyObject *components, const Parts *x, int link)
{
    PyObject *made = NULL;
    Array value_at, residual_at, components_at;
    const Array *const at[3] = {&value_at, &residual_at, &components_at};
    if (value != NULL && residual != NULL && components != NULL && Py_IS_TYPE(value, arrays.tensor)
        && look_at_any(value, &value_at) && look_at_any(residual, &residual_at)
        && look_at_any(components, &components_at) && is_of_one_dtype(&value_at, &x->value_at)
        && is_of_one_dtype(&value_at, &components_at)) {
        if (!are_alike(&value_at, &residual_at)) {
            PyObject *shape = PyObject_GetAttr(value, names.shape);
            Py_SETREF(residual, shape == NULL ? NULL : PyObject_CallMethodOneArg(residual, names.expand, shape));
            Py_XDECREF(shape);
        }
        int is_own = link && Py_REFCNT(value) == 1 && is_true_by(value, names.is_view) && !PyErr_Occurred();
        if (residual != NULL)
            made = is_own ? in_class(value) : carrying(value);
        PyObject *const parts[3] = {value, residual, components};
        if (made != NULL && (set_parts(made, value, residual, components, x->labels) < 0
                             || (link && linked(made, parts, at, x) < 0)))
            Py_CLEAR(made);
    }
    return made_of(made, value, residual, components);
}
