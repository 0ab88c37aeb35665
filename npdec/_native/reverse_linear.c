/* Linear functions of tensors in reverse mode: layers, sums, views, copies and tensors that are joined. Each is called
 * with what is on the graph, and with the residual. */
#include "reverse.h"
#include <string.h>

enum { STRIDED = 1 << 21, RESHAPE = 1 << 16 }; /* as the registry has them */

/* A constant as a layer takes it, without a graph; NULL, without an error, of another. */
static PyObject *
constant(PyObject *tensor, const Reversed *x, int rank)
{
    Array at;
    if (!(Py_IS_TYPE(tensor, arrays.tensor) || Py_IS_TYPE(tensor, given.parameter)) || !look_at_any(tensor, &at)
        || at.code != OF_FLOAT || at.bits != x->value_at.bits || at.rank != rank
        || is_true_by(tensor, words.is_inference))
        return NULL;
    return is_true_of(tensor, names.requires_grad) ? PyObject_CallMethodNoArgs(tensor, names.detach)
                                                   : Py_NewRef(tensor);
}

PyObject *
reversed_layer(PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Reversed x;
    PyObject *made = NULL;
    if (count < 2 || count > 3 || !reversed_of(args[0], &x))
        return NULL;
    int has_bias = count == 3 && args[2] != Py_None, rank = x.value_at.rank;
    PyObject *given_to_it[2] = {NULL, Py_None};
    int is_matrix = rank == 2 && x.value_at.strides[1] == 1 && x.value_at.strides[0] >= x.value_at.shape[1];
    if (rank >= 2 && (is_by_rows(&x.value_at) || is_matrix) && (given_to_it[0] = constant(args[1], &x, 2)) != NULL
        && (!has_bias || (given_to_it[1] = constant(args[2], &x, 1)) != NULL)) {
        PyObject *carrier = call(func, x.on_graph, given_to_it, 2);
        PyObject *row = carrier == NULL ? NULL : row_of(&x, rank - 1);
        made = made_of_rows(carrier, row == NULL ? NULL : call(func, row, given_to_it, 2), &x);
        Py_XDECREF(row);
    }
    Py_XDECREF(given_to_it[0]);
    if (has_bias)
        Py_XDECREF(given_to_it[1]);
    let_reversed_go(&x);
    return made == NULL ? left_to_python() : made;
}

/* How many bytes lie from the first element to behind the last one. */
static Py_ssize_t
extent_of(const Array *at)
{
    Py_ssize_t last = 0;
    for (int axis = 0; axis < at->rank; axis++)
        last += (at->shape[axis] - 1) * at->strides[axis];
    return (last + 1) * (at->bits / 8);
}

/* Whether elements lie in other memory than those of another tensor. */
static int
lies_elsewhere(const Array *at, const Array *of)
{
    const char *start = of->elements, *here = at->elements;
    return start != NULL && here != NULL && (here + extent_of(at) <= start || here >= start + extent_of(of));
}

/* One of the tensors that a linear function gives, of what is on the graph and of the residual, which are stolen and may
 * be NULL for errors. A view lies in the memory of x, as what is on the graph does. */
static PyObject *
linked(PyObject *carrier, PyObject *residual, const Reversed *x)
{
    Array at;
    int is_apart = carrier != NULL && look_at_any(carrier, &at) && lies_elsewhere(&at, &x->value_at);
    PyObject *made = made_of_rows(carrier, residual, x);
    if (made != NULL && !is_apart) {
        PyObject *done = PyObject_CallFunctionObjArgs(given.link_lazily, made, x->of, NULL);
        if (done == NULL)
            Py_CLEAR(made);
        Py_XDECREF(done);
    }
    return made;
}

/* The same of several, in tuples. */
static PyObject *
linked_each(PyObject *carrier, PyObject *residual, const Reversed *x)
{
    PyObject *made = NULL;
    Py_ssize_t count = residual != NULL && PyTuple_CheckExact(residual) ? PyTuple_GET_SIZE(residual) : -1;
    if (count >= 0 && PyTuple_GET_SIZE(carrier) == count)
        made = PyTuple_New(count);
    for (Py_ssize_t i = 0; made != NULL && i < count; i++) {
        PyObject *one = linked(Py_NewRef(PyTuple_GET_ITEM(carrier, i)), Py_NewRef(PyTuple_GET_ITEM(residual, i)), x);
        if (one == NULL)
            Py_CLEAR(made);
        else
            PyTuple_SET_ITEM(made, i, one);
    }
    Py_XDECREF(residual);
    Py_DECREF(carrier);
    return made == NULL ? left_to_python() : made;
}

/* A function of each element that is linear, or a copy: of new memory where it is `fresh`. */
PyObject *
reversed_each(PyObject *func, PyObject *const *args, int fresh)
{
    Reversed x;
    Array at;
    PyObject *row = NULL, *low = NULL;
    if (has_components(args[0]) || !reversed_of(args[0], &x))
        return NULL;
    PyObject *carrier = fresh ? PyObject_CallOneArg(func, x.on_graph) : NULL;
    if (carrier != NULL && Py_IS_TYPE(carrier, arrays.tensor) && look_at_any(carrier, &at)
        && lies_elsewhere(&at, &x.value_at) && are_alike(&at, &x.value_at)
        && (row = row_of(&x, x.value_at.rank)) != NULL)
        low = PyObject_CallOneArg(func, row);
    Py_XDECREF(row);
    PyObject *made = made_of_rows(carrier, low, &x);
    let_reversed_go(&x);
    return made;
}

/* A tensor that is joined to others: in reverse mode, or a constant of the dtype of one. Where all residuals before are
 * of equal rows along the first `lead` axes, so is this one, whose row is found, or there are fewer such axes then. */
static int
joined_item(PyObject *tensor, const Reversed *like, PyObject **on_graph, PyObject **residual, PyObject **row, int lead)
{
    Reversed x;
    if (!Py_IS_TYPE(tensor, given.type)) {
        *on_graph = constant(tensor, like, like->value_at.rank);
        *residual = *on_graph == NULL ? NULL : equal_row(*on_graph);
        if (*residual != NULL && *residual != *on_graph) { /* once in memory, again and again */
            Array at;
            PyObject *first = *residual;
            *row = lead == 1 ? Py_NewRef(first) : NULL;
            *residual = look_at_any(*on_graph, &at) ? widened(first, &at) : first;
        }
        return *on_graph != NULL && *residual != NULL;
    }
    if (!reversed_of(tensor, &x))
        return 0;
    int fits = x.labels == like->labels && x.value_at.rank == like->value_at.rank
            && x.value_at.bits == like->value_at.bits;
    *on_graph = fits ? Py_NewRef(x.on_graph) : NULL;
    *residual = fits ? Py_XNewRef(residual_in(&x)) : NULL;
    int kept = 0;
    while (fits && kept < lead && (x.residual_at.strides[kept] == 0 || x.residual_at.shape[kept] == 1))
        kept++;
    *row = fits && kept == lead && lead > 0 ? row_of(&x, lead) : NULL;
    let_reversed_go(&x);
    return fits && !PyErr_Occurred();
}

/* The tensors of a tuple, which is stolen: on axes before one, on which all are of equal rows, one of these. */
static PyObject *
rows_before(PyObject *tensors, PyObject *axis)
{
    Array at;
    long lead = PyLong_AsLong(axis), kept = 0;
    Py_ssize_t many = PyTuple_GET_SIZE(tensors);
    for (Py_ssize_t i = 0; i < many; i++) {
        if (!look_at_any(PyTuple_GET_ITEM(tensors, i), &at))
            return tensors;
        lead = i == 0 && lead < 0 ? lead + at.rank : lead;
        for (kept = 0; kept < lead && kept < at.rank && (at.strides[kept] == 0 || at.shape[kept] == 1);)
            kept++;
        lead = kept;
    }
    PyObject *number = lead > 0 ? PyLong_FromLong(lead) : NULL, *rows = number == NULL ? NULL : PyTuple_New(many);
    for (Py_ssize_t i = 0; rows != NULL && i < many; i++) {
        PyObject *row = PyObject_CallFunctionObjArgs(given.narrowed, PyTuple_GET_ITEM(tensors, i), number, NULL);
        if (row == NULL)
            Py_CLEAR(rows);
        else
            PyTuple_SET_ITEM(rows, i, row);
    }
    Py_XDECREF(number);
    if (rows == NULL && !PyErr_Occurred())
        return tensors;
    Py_DECREF(tensors);
    return rows;
}

/* Several tensors under the same labels, and constants, joined along an axis. */
PyObject *
reversed_joined(PyObject *func, PyObject *const *tensors, Py_ssize_t many, PyObject *axis)
{
    Reversed like;
    PyObject *lists[3] = {NULL}, *made = NULL;
    Py_ssize_t first = 0, held = 0, rows = 0;
    while (first < many && !Py_IS_TYPE(tensors[first], given.type))
        first++;
    if (many < 1 || first == many || !reversed_of(tensors[first], &like))
        return NULL;
    long lead = PyLong_CheckExact(axis) ? PyLong_AsLong(axis) : 0;
    lead = lead < 0 ? lead + like.value_at.rank : lead;
    lead = lead > 0 && lead < like.value_at.rank ? lead : 0;
    if ((lists[0] = PyTuple_New(many)) != NULL && (lists[1] = PyTuple_New(many)) != NULL
        && (lists[2] = PyTuple_New(many)) != NULL)
        for (; held < many; held++) {
            PyObject *on_graph = NULL, *residual = NULL, *row = NULL;
            if (!joined_item(tensors[held], &like, &on_graph, &residual, &row, (int)lead)) {
                Py_XDECREF(row);
                break;
            }
            rows += row != NULL;
            PyTuple_SET_ITEM(lists[2], held, row == NULL ? Py_NewRef(Py_None) : row);
            PyTuple_SET_ITEM(lists[0], held, on_graph);
            PyTuple_SET_ITEM(lists[1], held, residual);
        }
    if (held == many) {
        PyObject *carrier = call(func, lists[0], &axis, 1), *low = NULL;
        if (carrier != NULL && rows < many)
            lists[1] = rows_before(lists[1], axis);
        if (carrier != NULL && lists[1] != NULL)
            low = call(func, lists[rows < many ? 1 : 2], &axis, 1);
        made = made_of_rows(carrier, low, &like);
    }
    Py_XDECREF(lists[0]);
    Py_XDECREF(lists[1]);
    Py_XDECREF(lists[2]);
    let_reversed_go(&like);
    return made == NULL ? left_to_python() : made;
}

/* The residual in the shape of a value; of examples that are equal one. */
static PyObject *
reshaped(const Reversed *x, const Array *value)
{
    int64_t lengths[MOST_AXES];
    int is_kept = x->residual_at.rank > 1 && value->rank > 1 && x->residual_at.strides[0] == 0
               && x->residual_at.shape[0] == value->shape[0];
    for (int axis = 0; axis < value->rank; axis++)
        lengths[axis] = axis == 0 && is_kept ? 1 : value->shape[axis];
    const Array its = {.rank = value->rank, .shape = lengths};
    PyObject *row = is_kept ? row_of(x, 1) : Py_XNewRef(residual_in(x)), *shape = row == NULL ? NULL : shape_of(&its);
    PyObject *made = shape == NULL ? NULL : PyObject_CallMethodOneArg(row, names.reshape, shape);
    Py_XDECREF(shape);
    Py_XDECREF(row);
    return made;
}

/* The first of the axes along which a sum or mean is, which are a number or a tuple of these; 0 of others. */
static int
first_reduced(PyObject *const *rest, Py_ssize_t count, int rank)
{
    PyObject *held, *const *items = rest;
    Py_ssize_t many = count > 0 ? unpacked(&items, 1, &held) : 0;
    int first = many > 0 ? rank : 0;
    for (Py_ssize_t i = 0; i < many; i++) {
        long axis = PyLong_CheckExact(items[i]) ? PyLong_AsLong(items[i]) : -rank;
        axis = axis < 0 ? axis + rank : axis;
        first = axis < first ? (int)axis : first;
    }
    if (count > 0)
        Py_XDECREF(held);
    return first < 0 || PyErr_Occurred() ? 0 : first;
}

/* Whether the value lies where what is on the graph does, of which views are made: they are of the value, too. */
static int
lies_on_graph(const Reversed *x)
{
    Array at;
    return look_at_any(x->on_graph, &at) && at.elements == x->value_at.elements && are_alike(&at, &x->value_at)
        && !memcmp(at.strides, x->value_at.strides, at.rank * sizeof(int64_t));
}

/* What a linear function of one gives: several at once where torch gives several. */
PyObject *
reversed_of_one(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Reversed x;
    Array at;
    if (form->kind == BY_RULE || has_components(args[0]) || !reversed_of(args[0], &x))
        return NULL;
    PyObject *const *rest = args + 1;
    PyObject *residual = NULL, *made = NULL;
    int is_equal = has_equal(&x.residual_at), is_strided = (form->all_traits & STRIDED) != 0;
    int can_be = (!is_equal || is_strided || (form->all_traits & RESHAPE)) && !is_true_by(x.on_graph, words.is_inference)
              && (form->kind == REDUCED || lies_on_graph(&x));
    PyObject *carrier = can_be ? call(func, x.on_graph, rest, count - 1) : NULL;
    int is_single = carrier != NULL && Py_IS_TYPE(carrier, arrays.tensor) && look_at_any(carrier, &at);
    int is_new = is_single && form->kind == REDUCED, are_several = carrier != NULL && PyTuple_CheckExact(carrier);
    if (is_single && !is_new && is_equal && (!is_strided || (form->all_traits & RESHAPE)))
        residual = reshaped(&x, &at);
    else if (is_single || (are_several && is_strided)) {
        int lead = is_equal && is_new ? first_reduced(rest, count - 1, x.value_at.rank) : 0;
        PyObject *row = lead > 0 ? row_of(&x, lead) : Py_XNewRef(residual_in(&x));
        residual = row == NULL ? NULL : call(func, row, rest, count - 1);
        Py_XDECREF(row);
    }
    if (carrier == x.on_graph) /* as it is */
        Py_CLEAR(residual);
    if (are_several)
        made = linked_each(carrier, residual, &x);
    else
        made = is_new ? made_of_rows(carrier, residual, &x) : linked(carrier, residual, &x);
    let_reversed_go(&x);
    return made == NULL ? left_to_python() : made;
}
