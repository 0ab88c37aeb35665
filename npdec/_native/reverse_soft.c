/* softmax and log_softmax along the last axis in reverse mode: a node of Python takes gradients back, by soft_back.c.
 * What is done is said in npdec/_rules/softmax_reverse.py. */
#include "reverse.h"

#define FEW (1 << 18) /* elements, of which one thread is enough */

/* The one axis that the arguments behind the first one name, and no dtype. */
static int
is_along_last(PyObject *const *args, Py_ssize_t count, int rank)
{
    if (count < 2 || count > 4 || !PyLong_CheckExact(args[1]))
        return 0;
    for (Py_ssize_t i = 2; i < count; i++) /* how deep a warning is in the stack, which none is given */
        if (args[i] != Py_None && !PyLong_CheckExact(args[i]))
            return 0;
    long axis = PyLong_AsLong(args[1]);
    return axis == -1 || axis == rank - 1;
}

/* By the range up to which steps have enough nodes, and what takes gradients back, as Python knows them for so many bits. */
static PyObject *
by_rows(const Reversed *x, const Form *form, PyObject *axis)
{
    PyObject *plan = NULL, *low = NULL, *made = NULL, *carrier = NULL, *held = NULL;
    PyObject *row = row_of(x, x->value_at.rank - 1), *longest = NULL;
    if (row != NULL && value_in(x) != NULL) {
        PyObject *ends[2] = {x->value, row};
        longest = soft_length(NULL, ends, 2);
    }
    if (longest != NULL && longest != Py_None)
        plan = PyObject_CallFunction(PyTuple_GET_ITEM(form->rest, 0), "i", x->value_at.bits);
    if (plan != NULL && PyFloat_AS_DOUBLE(longest) <= PyFloat_AsDouble(PyTuple_GET_ITEM(plan, 0)))
        made = call(PyTuple_GET_ITEM(form->rest, 1), x->value, &axis, 1);
    if (made != NULL && (low = call(PyTuple_GET_ITEM(form->rest, 1), row, &axis, 1)) != NULL
        && (held = PyTuple_Pack(2, x->value, row)) != NULL)
        carrier = on_graph_by(made, x->on_graph, PyTuple_GET_ITEM(plan, 1), held);
    Py_XDECREF(held);
    Py_XDECREF(made);
    Py_XDECREF(plan);
    Py_XDECREF(longest);
    Py_XDECREF(row);
    return made_of_rows(carrier, low, x);
}

PyObject *
softened(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Reversed x;
    PyObject *made = NULL;
    if (count < 2 || !is_in_reverse(args[0]) || !are_settings_usual() || !reversed_of(args[0], &x))
        return left_to_python();
    Py_ssize_t size = elements_in(&x.value_at);
    if (is_along_last(args, count, x.value_at.rank) && (size <= FEW || are_few(size)) && is_on_host(&x.value_at)
        && is_by_rows(&x.value_at))
        made = by_rows(&x, form, args[1]);
    let_reversed_go(&x);
    return made == NULL ? left_to_python() : made;
}
