/* Linear functions of tensors in reverse mode: layers, sums, views, copies and tensors that are joined. Each is called
 * with what is on the graph, and with the residual. */
#include "reverse.h"

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
    Array at;
    PyObject *made = NULL;
    if (count < 2 || count > 3 || !reversed_of(args[0], &x))
        return NULL;
    int has_bias = count == 3 && args[2] != Py_None, rank = x.value_at.rank;
    PyObject *given_to_it[2] = {NULL, Py_None};
    if (rank >= 2 && is_by_rows(&x.value_at) && (given_to_it[0] = constant(args[1], &x, 2)) != NULL
        && (!has_bias || (given_to_it[1] = constant(args[2], &x, 1)) != NULL)) {
        PyObject *carrier = call(func, x.on_graph, given_to_it, 2), *low = NULL, *residual = NULL;
        PyObject *value = carrier == NULL ? NULL : PyObject_CallMethodNoArgs(carrier, names.detach);
        PyObject *row = value == NULL ? NULL : row_of(&x, rank - 1);
        if (row != NULL)
            low = call(func, row, given_to_it, 2);
        if (low != NULL && look_at_any(value, &at))
            residual = widened(Py_NewRef(low), &at);
        Py_XDECREF(row);
        made = made_in_reverse(value, residual, low, carrier, &x);
    }
    Py_XDECREF(given_to_it[0]);
    if (has_bias)
        Py_XDECREF(given_to_it[1]);
    let_reversed_go(&x);
    return made == NULL ? left_to_python() : made;
}

/* Whether elements that follow each other are of other memory than those of another tensor. */
static int
lies_elsewhere(const Array *at, const Array *of)
{
    const char *start = of->elements, *here = at->elements;
    return start != NULL && here != NULL && is_by_rows(of) && is_by_rows(at)
        && (here + elements_in(at) * (at->bits / 8) <= start || here >= start + elements_in(of) * (of->bits / 8));
}

/* One of the tensors that a linear function gives, of which the parts are stolen and may be NULL for errors. */
static PyObject *
linked(PyObject *value, PyObject *residual, PyObject *carrier, const Reversed *x, int is_new)
{
    Array at;
    int is_apart = is_new || (value != NULL && look_at_any(value, &at) && lies_elsewhere(&at, &x->value_at));
    PyObject *made = made_in_reverse(value, residual, NULL, carrier, x);
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
linked_each(PyObject *value, PyObject *residual, PyObject *carrier, const Reversed *x)
{
    PyObject *parts[3] = {value, residual, carrier}, *made = NULL;
    Py_ssize_t count = value != NULL && residual != NULL && PyTuple_CheckExact(value) ? PyTuple_GET_SIZE(value) : -1;
    if (count >= 0 && PyTuple_CheckExact(residual) && PyTuple_CheckExact(carrier) && PyTuple_GET_SIZE(residual) == count
        && PyTuple_GET_SIZE(carrier) == count)
        made = PyTuple_New(count);
    for (Py_ssize_t i = 0; made != NULL && i < count; i++) {
        PyObject *one = linked(Py_NewRef(PyTuple_GET_ITEM(value, i)), Py_NewRef(PyTuple_GET_ITEM(residual, i)),
                               Py_NewRef(PyTuple_GET_ITEM(carrier, i)), x, 0);
        if (one == NULL)
            Py_CLEAR(made);
        else
            PyTuple_SET_ITEM(made, i, one);
    }
    for (int i = 0; i < 3; i++)
        Py_XDECREF(parts[i]);
    return made == NULL ? left_to_python() : made;
}

/* A function of each element that is linear, or a copy: of new memory where it is `fresh`. */
PyObject *
reversed_each(PyObject *func, PyObject *const *args, int fresh)
{
    Reversed x;
    Array at;
    PyObject *row = NULL, *low = NULL, *value = NULL, *residual = NULL;
    if (has_components(args[0]) || !reversed_of(args[0], &x))
        return NULL;
    PyObject *carrier = fresh ? PyObject_CallOneArg(func, x.on_graph) : NULL;
    if (carrier != NULL && Py_IS_TYPE(carrier, arrays.tensor) && look_at_any(carrier, &at)
        && lies_elsewhere(&at, &x.value_at) && are_alike(&at, &x.value_at))
        value = PyObject_CallMethodNoArgs(carrier, names.detach);
    if (value != NULL && (row = row_of(&x, x.value_at.rank)) != NULL && (low = PyObject_CallOneArg(func, row)) != NULL)
        residual = widened(Py_NewRef(low), &x.value_at);
    Py_XDECREF(row);
    PyObject *made = made_in_reverse(value, residual, low, carrier, &x);
    let_reversed_go(&x);
    return made;
}

/* Several tensors under the same labels, joined along an axis. */
PyObject *
reversed_joined(PyObject *func, PyObject *const *tensors, Py_ssize_t many, PyObject *axis)
{
    Reversed parts[MOST_GIVEN];
    PyObject *lists[2] = {NULL}, *made = NULL;
    Py_ssize_t held = 0;
    if (many < 1 || many > MOST_GIVEN)
        return NULL;
    for (; held < many; held++)
        if (!reversed_of(tensors[held], &parts[held]))
            break;
    int are_ordinary = held == many;
    for (Py_ssize_t i = 1; are_ordinary && i < many; i++)
        are_ordinary = parts[i].labels == parts[0].labels && parts[i].value_at.rank == parts[0].value_at.rank
                    && parts[i].value_at.bits == parts[0].value_at.bits;
    for (int i = 0; are_ordinary && i < 2; i++)
        are_ordinary = (lists[i] = PyTuple_New(many)) != NULL;
    if (are_ordinary) {
        for (Py_ssize_t i = 0; i < many; i++) {
            PyTuple_SET_ITEM(lists[0], i, Py_NewRef(parts[i].on_graph));
            PyTuple_SET_ITEM(lists[1], i, Py_NewRef(parts[i].residual));
        }
        PyObject *carrier = call(func, lists[0], &axis, 1), *residual = NULL;
        PyObject *value = carrier == NULL ? NULL : PyObject_CallMethodNoArgs(carrier, names.detach);
        if (value != NULL)
            residual = call(func, lists[1], &axis, 1);
        made = made_in_reverse(value, residual, NULL, carrier, &parts[0]);
    }
    Py_XDECREF(lists[0]);
    Py_XDECREF(lists[1]);
    while (held > 0)
        let_reversed_go(&parts[--held]);
    return made == NULL ? left_to_python() : made;
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
    PyObject *value = NULL, *residual = NULL, *made = NULL;
    int is_equal = has_equal(&x.residual_at), is_strided = (form->all_traits & STRIDED) != 0;
    int can_be = (!is_equal || is_strided || (form->all_traits & RESHAPE)) && !is_true_by(x.value, words.is_inference);
    PyObject *carrier = can_be ? call(func, x.on_graph, rest, count - 1) : NULL;
    int is_single = carrier != NULL && Py_IS_TYPE(carrier, arrays.tensor) && look_at_any(carrier, &at);
    int is_new = is_single && form->kind == REDUCED, are_several = carrier != NULL && PyTuple_CheckExact(carrier);
    if (is_single || (are_several && is_strided))
        value = is_new ? PyObject_CallMethodNoArgs(carrier, names.detach) : call(func, x.value, rest, count - 1);
    if (value != NULL && (!is_equal || is_strided))
        residual = call(func, x.residual, rest, count - 1);
    else if (value != NULL) {
        PyObject *shape = shape_of(&at);
        residual = shape == NULL ? NULL : PyObject_CallMethodOneArg(x.residual, names.reshape, shape);
        Py_XDECREF(shape);
    }
    if (value == x.value) /* as it is */
        Py_CLEAR(value);
    made = are_several ? linked_each(value, residual, carrier, &x) : linked(value, residual, carrier, &x, is_new);
    let_reversed_go(&x);
    return made;
}
