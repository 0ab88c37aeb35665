/* Tensors in reverse mode, whose one component stands for all inputs and is on a graph: their parts. What is done is
 * said in npdec/_law/ordinary_reverse.py; what is left out is the time between the calls of torch. Linear functions are
 * in reverse_linear.c and reverse_affine.c, sums and products in reverse_pairs.c, others in reverse_pointwise.c. */
#include "reverse.h"
#include "tensors.h"
#include <string.h>

static struct {
    PyObject *attributes; /* those that all such tensors have */
    PyObject *on_graph_of, *with_vjp, *derived_twice, *settings, *usual; /* functions, variables of contexts */
    PyObject *on_graph, *row, *data, *base; /* names */
} told;

void
let_reversed_go(Reversed *x)
{
    Py_CLEAR(x->its);
    Py_CLEAR(x->value);
    Py_CLEAR(x->residual);
    Py_CLEAR(x->row);
    Py_CLEAR(x->on_graph);
    Py_CLEAR(x->labels);
}

static int
is_no_more_than_usual(PyObject *its, PyObject *name)
{
    PyObject *found = PyDict_GetItemWithError(its, name);
    return found == NULL || found == Py_None;
}

static int
has_numbers(PyObject *tensor, Array *at)
{
    return Py_IS_TYPE(tensor, arrays.tensor) && look_at_any(tensor, at) && at->code == OF_FLOAT
        && (at->bits == 64 || at->bits == 32);
}

/* The value, or what has its memory and dtype, on the graph: whether it is a plain tensor, and where its elements lie. */
static int
looks_at_value(Reversed *x)
{
    x->value = Py_XNewRef(PyDict_GetItemWithError(x->its, names.value));
    if (x->value != NULL)
        return has_numbers(x->value, &x->value_at) && !is_true_of(x->value, names.requires_grad);
    PyObject *on_graph = PyDict_GetItemWithError(x->its, told.on_graph);
    return on_graph != NULL && has_numbers(on_graph, &x->value_at);
}

/* Where the elements of a row lie as those of a tensor of the shape of a value; 0 where they do not. */
static int
is_widened(const Array *row, const Array *value, int64_t *strides)
{
    int missing = value->rank - row->rank;
    for (int axis = value->rank - 1; axis >= 0; axis--) {
        int its = axis - missing;
        int64_t length = its < 0 ? 1 : row->shape[its];
        if (length != value->shape[axis] && length != 1)
            return 0;
        strides[axis] = length != value->shape[axis] ? 0 : its >= 0 ? row->strides[its] : 1;
    }
    return missing >= 0;
}

/* The same of the residual, which may be one of equal rows yet. */
static int
looks_at_residual(Reversed *x)
{
    Array low;
    x->residual = Py_XNewRef(PyDict_GetItemWithError(x->its, names.residual));
    if (x->residual != NULL)
        return has_numbers(x->residual, &x->residual_at) && !is_true_of(x->residual, names.requires_grad)
            && are_alike(&x->value_at, &x->residual_at);
    x->row = Py_XNewRef(PyDict_GetItemWithError(x->its, told.row));
    if (x->row == NULL || !has_numbers(x->row, &low) || is_true_of(x->row, names.requires_grad)
        || !is_widened(&low, &x->value_at, x->strides))
        return 0;
    x->residual_at = low;
    x->residual_at.rank = x->value_at.rank;
    x->residual_at.shape = x->value_at.shape;
    x->residual_at.strides = x->strides;
    return 1;
}

PyObject *
value_in(const Reversed *x)
{
    Reversed *to = (Reversed *)x; /* which is the same after it */
    if (x->value == NULL && (to->value = PyObject_CallMethodNoArgs(x->on_graph, names.detach)) != NULL
        && PyDict_SetItem(x->its, names.value, x->value) < 0)
        Py_CLEAR(to->value);
    return x->value;
}

PyObject *
residual_in(const Reversed *x)
{
    Reversed *to = (Reversed *)x;
    if (x->residual == NULL && (to->residual = widened(Py_NewRef(x->row), &x->value_at)) != NULL) {
        PyObject *known = PyTuple_Pack(2, x->residual, x->row);
        if (known == NULL || PyDict_SetItem(x->its, names.residual, x->residual) < 0
            || PyDict_SetItem(x->its, told.row, known) < 0)
            Py_CLEAR(to->residual);
        Py_XDECREF(known);
    }
    return x->residual;
}

int
is_in_reverse(PyObject *tensor)
{
    PyObject *its = Py_IS_TYPE(tensor, given.type) ? PyObject_GenericGetDict(tensor, NULL) : NULL;
    int is = its != NULL && PyDict_GetItemWithError(its, names.reverse) == Py_True;
    Py_XDECREF(its);
    return is;
}

int
has_components(PyObject *tensor)
{
    PyObject *its = Py_IS_TYPE(tensor, given.type) ? PyObject_GenericGetDict(tensor, NULL) : NULL;
    int has = its != NULL && PyDict_GetItemWithError(its, names.components) != NULL;
    Py_XDECREF(its);
    return has;
}

int
put_data(PyObject *carrier, PyObject *value)
{
    return PyObject_SetAttr(carrier, told.data, value);
}

int
reversed_of(PyObject *tensor, Reversed *x)
{
    PyObject *its = Py_IS_TYPE(tensor, given.type) ? PyObject_GenericGetDict(tensor, NULL) : NULL;
    *x = (Reversed){.of = tensor, .its = its};
    if (its != NULL && PyDict_GetItemWithError(its, names.reverse) == Py_True && is_no_more_than_usual(its, names.kept)
        && looks_at_value(x) && looks_at_residual(x) && x->value_at.bits == x->residual_at.bits
        && elements_in(&x->value_at) > 0 && is_on(asked.is_grad)
        && !differs(told.derived_twice, Py_False)) {
        x->labels = Py_XNewRef(PyDict_GetItemWithError(its, names.labels));
        if (PyDict_GetItemWithError(its, names.components) == NULL)
            x->on_graph = Py_XNewRef(PyDict_GetItemWithError(its, told.on_graph));
        else /* whatever its dtype, which is looked at there */
            x->on_graph = PyObject_CallOneArg(told.on_graph_of, tensor);
        if (x->labels != NULL && x->on_graph != NULL && Py_IS_TYPE(x->on_graph, arrays.tensor))
            return 1;
    }
    let_reversed_go(x);
    return left_to_python(), 0;
}

int
are_settings_usual(void)
{
    return told.settings != NULL && !differs(told.settings, told.usual);
}

PyObject *
on_graph_by(PyObject *value, PyObject *carrier, PyObject *back, PyObject *held)
{
    return PyObject_CallFunctionObjArgs(told.with_vjp, value, carrier, back, held, NULL);
}

PyObject *
shape_of(const Array *at)
{
    PyObject *shape = PyTuple_New(at->rank);
    for (int axis = 0; shape != NULL && axis < at->rank; axis++) {
        PyObject *length = PyLong_FromSsize_t(at->shape[axis]);
        if (length == NULL)
            Py_CLEAR(shape);
        else
            PyTuple_SET_ITEM(shape, axis, length);
    }
    return shape;
}

/* Of what equal rows were expanded from, where it lies as one of each: so functions of rows leave their residuals. */
static PyObject *
expanded_from(PyObject *residual, const Array *low, int axes)
{
    Array at;
    PyObject *base = PyObject_GetAttr(residual, told.base);
    int is = base != NULL && Py_IS_TYPE(base, arrays.tensor) && look_at_any(base, &at) && at.rank == low->rank
          && at.elements == low->elements && at.bits == low->bits && at.code == low->code;
    for (int axis = 0; is && axis < low->rank; axis++) {
        int is_one = axis < axes && low->strides[axis] == 0;
        is = at.shape[axis] == (is_one ? 1 : low->shape[axis])
          && (at.shape[axis] == 1 || at.strides[axis] == low->strides[axis]);
    }
    if (is && is_true_of(base, names.requires_grad))
        is = 0;
    if (!is)
        Py_CLEAR(base);
    return base;
}

/* equal_rows(residual, axes, is by rows): one of the rows that are equal along each of the first axes, as `narrowed` in
 * Python has it; where it `is by rows`, as `again_and_again` has it. None where that is Python's. */
PyObject *
equal_rows(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array low, at;
    PyObject *row = NULL;
    long axes = count == 3 && PyLong_CheckExact(args[1]) ? PyLong_AsLong(args[1]) : -1;
    int is = axes >= 0 && told.base != NULL && !is_seen_by_torch() && plain_array(args[0], &low) && axes <= low.rank
          && !is_true_of(args[0], names.requires_grad), is_equal = 0;
    for (int axis = 0; is && axis < axes; axis++)
        is_equal |= low.strides[axis] == 0;
    if (is)
        row = is_equal ? expanded_from(args[0], &low, (int)axes) : Py_NewRef(args[0]);
    if (row != NULL && args[2] == Py_True) {
        int axis = 0;
        is = look_at_any(row, &at) && is_by_rows(&at);
        while (axis < axes && is && at.shape[axis] == 1)
            axis++;
        for (; is && axis < at.rank; axis++)
            is = at.shape[axis] == low.shape[axis];
        if (!is)
            Py_CLEAR(row);
    }
    return or_none(row == NULL ? left_to_python() : row);
}

/* One of the equal rows that is known beside the residual, or in its place; borrowed. */
static PyObject *
known_row(const Reversed *x)
{
    PyObject *known = x->row == NULL ? PyDict_GetItemWithError(x->its, told.row) : NULL;
    if (known != NULL && PyTuple_CheckExact(known) && PyTuple_GET_SIZE(known) == 2
        && PyTuple_GET_ITEM(known, 0) == x->residual)
        return PyTuple_GET_ITEM(known, 1);
    return x->row;
}

/* One of the rows that are equal along any axes, as `narrowed` in Python has it: a view of the residual. */
static PyObject *
once_of_all(PyObject *residual, const Array *low)
{
    static PyObject *as_strided;
    int64_t lengths[MOST_AXES];
    for (int axis = 0; axis < low->rank; axis++)
        lengths[axis] = low->strides[axis] == 0 ? 1 : low->shape[axis];
    const Array its = {.rank = low->rank, .shape = lengths}, by = {.rank = low->rank, .shape = low->strides};
    if (as_strided == NULL && (as_strided = PyUnicode_InternFromString("as_strided")) == NULL)
        return NULL;
    PyObject *shape = shape_of(&its), *strides = shape == NULL ? NULL : shape_of(&by), *row = NULL;
    if (strides != NULL)
        row = PyObject_CallMethodObjArgs(residual, as_strided, shape, strides, NULL);
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    return row;
}

/* Let it be known that a row, which is stolen and may be NULL, is one of the equal rows of the residual. */
static PyObject *
kept_row(const Reversed *x, PyObject *row)
{
    PyObject *known = row == NULL ? NULL : PyTuple_Pack(2, x->residual, row);
    if (known == NULL || PyDict_SetItem(x->its, told.row, known) < 0)
        Py_CLEAR(row);
    Py_XDECREF(known);
    return row;
}

PyObject *
row_of(const Reversed *x, int axes)
{
    int is_equal = 0, is_inside = 1;
    int64_t lengths[MOST_AXES];
    Array once = x->residual_at;
    once.shape = lengths;
    for (int axis = 0; axis < once.rank; axis++) {
        int is_one = once.strides[axis] == 0;
        lengths[axis] = is_one && axis < axes ? 1 : x->residual_at.shape[axis];
        is_equal |= is_one && axis < axes;
        is_inside &= !is_one || lengths[axis] == 1;
    }
    PyObject *row = is_equal ? Py_XNewRef(known_row(x)) : NULL; /* which may repeat along other axes yet */
    if (PyErr_Occurred() || (row == NULL && residual_in(x) == NULL))
        return NULL;
    if (!is_equal)
        return Py_NewRef(x->residual);
    if (row == NULL && (row = expanded_from(x->residual, &x->residual_at, once.rank)) == NULL && !PyErr_Occurred())
        row = kept_row(x, once_of_all(x->residual, &x->residual_at));
    return is_inside ? row : widened(row, &once);
}

PyObject *
equal_row(PyObject *constant)
{
    Array at;
    if (!Py_IS_TYPE(constant, arrays.tensor) || !look_at_any(constant, &at) || at.rank < 2 || at.shape[0] < 2
        || !is_on_host(&at) || !is_by_rows(&at) || at.lanes != 1 || is_true_by(constant, words.is_neg))
        return Py_NewRef(constant);
    Py_ssize_t rows = at.shape[0], bytes = elements_in(&at) / rows * (at.bits / 8);
    const char *first = at.elements;
    for (Py_ssize_t i = 1; i < rows; i++)
        if (memcmp(first, first + i * bytes, bytes) != 0)
            return Py_NewRef(constant);
    return PyObject_CallMethod(constant, "narrow", "iii", 0, 0, 1);
}

PyObject *
widened(PyObject *row, const Array *value)
{
    Array at;
    if (row == NULL || (look_at_any(row, &at) && are_alike(&at, value)))
        return row;
    PyObject *items[MOST_AXES + 1] = {row}, *made = NULL; /* lengths by themselves, which torch reads sooner */
    int given_ones = 0;
    while (given_ones < value->rank && (items[given_ones + 1] = PyLong_FromLongLong(value->shape[given_ones])) != NULL)
        given_ones++;
    if (given_ones == value->rank && !PyErr_Occurred())
        made = PyObject_VectorcallMethod(names.expand, items, (size_t)given_ones + 1, NULL);
    for (int axis = 0; axis < given_ones; axis++)
        Py_DECREF(items[axis + 1]);
    Py_DECREF(row);
    return made;
}

/* Give a tensor that is new its attributes; 0, or -1 with an error. */
static int
set_reversed(PyObject *made, PyObject *on_graph, PyObject *const *named, PyObject *labels)
{
    PyObject *its = PyDict_Copy(told.attributes);
    int is_set = its != NULL && PyDict_SetItem(its, told.on_graph, on_graph) == 0
              && PyDict_SetItem(its, names.labels, labels) == 0;
    for (; is_set && *named != NULL; named += 2)
        is_set = PyDict_SetItem(its, named[0], named[1]) == 0;
    is_set = is_set && PyObject_GenericSetDict(made, its, NULL) == 0;
    Py_XDECREF(its);
    return is_set ? 0 : -1;
}

PyObject *
made_of_rows(PyObject *carrier, PyObject *row, const Reversed *x)
{
    Array at, low;
    int64_t strides[MOST_AXES];
    PyObject *made = NULL;
    if (carrier != NULL && row != NULL && Py_IS_TYPE(carrier, arrays.tensor) && look_at_any(carrier, &at)
        && look_at_any(row, &low) && at.code == OF_FLOAT && at.bits == x->value_at.bits && low.bits == at.bits
        && is_widened(&low, &at, strides) && (made = PyObject_CallMethodNoArgs(carrier, names.detach)) != NULL) {
        PyObject *const named[] = {are_alike(&at, &low) ? names.residual : told.row, row, NULL};
        if (PyObject_SetAttr(made, names.class, (PyObject *)given.type) < 0
            || set_reversed(made, carrier, named, x->labels) < 0)
            Py_CLEAR(made);
    }
    Py_XDECREF(carrier);
    Py_XDECREF(row);
    return made == NULL ? left_to_python() : made;
}

/* attach_reverse(pointwise, on_graph_of, link, torch.empty_like, with_vjp, ContextVar of a second derivative, ContextVar of
 * settings, the usual ones) */
PyObject *
attach_reverse(PyObject *module, PyObject *args)
{
    PyObject *pointwise, *functions[4], *variables[3];
    if (!PyArg_ParseTuple(args, "OOOOOOOO:attach_reverse", &pointwise, &functions[0], &functions[1], &functions[2],
                          &functions[3], &variables[0], &variables[1], &variables[2]))
        return NULL;
    told.on_graph_of = Py_NewRef(functions[0]);
    given.link_lazily = Py_NewRef(functions[1]);
    given.empty_like = Py_NewRef(functions[2]);
    told.with_vjp = Py_NewRef(functions[3]);
    told.derived_twice = Py_NewRef(variables[0]);
    told.settings = Py_NewRef(variables[1]);
    told.usual = Py_NewRef(variables[2]);
    Py_XSETREF(told.attributes, Py_BuildValue("{OOOOOOsOOO}", names.reverse, Py_True, names.discrete, Py_False,
                                              names.origin, Py_None, "on_graph", Py_None, names.labels, Py_None));
    told.on_graph = PyUnicode_InternFromString("on_graph");
    told.row = PyUnicode_InternFromString("row");
    told.data = PyUnicode_InternFromString("data");
    told.base = PyUnicode_InternFromString("_base");
    if (told.on_graph == NULL || told.row == NULL || told.data == NULL || told.base == NULL
        || told.attributes == NULL || stand_before(pointwise, call_pointwise) < 0)
        return NULL;
    Py_RETURN_NONE;
}
