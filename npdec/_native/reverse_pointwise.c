/* Pointwise functions of tensors in reverse mode: what is on the graph times the slope of each element. What is done is said
 * in npdec/_law/ordinary_reverse.py; slopes are found in reverse_slopes.c. */
#include "reverse.h"
#include "tensors.h"

#define FEW (1 << 18)  /* elements, of which one thread is enough */
#define NODE (1 << 15) /* elements, up to which a product is sooner computed than a node made in Python */

/* What is on the graph, times the slope: for the graph alone, or of a node that has the value, which is replaced then. */
static PyObject *
sloped(const Reversed *x, PyObject *slope, PyObject **fx)
{
    if (elements_in(&x->value_at) <= NODE) {
        PyObject *made = PyNumber_Multiply(x->on_graph, slope);
        if (made != NULL && put_data(made, *fx) < 0)
            Py_CLEAR(made);
        return made;
    }
    PyObject *times = PyObject_GetAttrString(slope, "mul"), *value = NULL;
    PyObject *made = times == NULL ? NULL : on_graph_by(*fx, x->on_graph, times, NULL);
    if (made != NULL && (value = PyObject_CallMethodNoArgs(made, names.detach)) != NULL)
        Py_SETREF(*fx, value);
    else
        Py_CLEAR(made);
    Py_XDECREF(times);
    return made;
}

/* pointwise(slope, traits, places, function of torch, arguments, options), of one decomposed tensor and numbers. */
static PyObject *
by_secants(PyObject *closed, long traits, PyObject *func, PyObject *const *args, Py_ssize_t count, PyObject *options)
{
    Reversed x;
    PyObject *made = NULL, *low = NULL, *slope = NULL, *carrier = NULL;
    if (!reversed_of(args[0], &x))
        return NULL;
    Called its = {func, args, options, count};
    Py_ssize_t size = elements_in(&x.value_at);
    int can_be = (size <= FEW || are_few(size)) && is_on_host(&x.value_at) && is_on_host(&x.residual_at);
    PyObject *row = can_be ? row_of(&x, x.value_at.rank) : NULL;
    PyObject *fx = row == NULL || value_in(&x) == NULL ? NULL : called_at(&its, x.value);
    if (fx != NULL)
        low = called_at(&its, row);
    if (low != NULL)
        slope = slope_of(&its, closed, traits, x.value, row, fx, low);
    if (slope == Py_None) /* which Python has looked at */
        made = Py_NewRef(given.not_implemented);
    else if (slope != NULL)
        carrier = sloped(&x, slope, &fx);
    if (carrier != NULL)
        made = made_of_rows(carrier, Py_NewRef(low), &x);
    Py_XDECREF(slope);
    Py_XDECREF(low);
    Py_XDECREF(fx);
    Py_XDECREF(row);
    let_reversed_go(&x);
    return made == NULL ? left_to_python() : made;
}

static int
is_option(PyObject *item)
{
    return PyFloat_CheckExact(item) || PyLong_CheckExact(item) || PyBool_Check(item) || PyUnicode_CheckExact(item)
        || item == Py_None;
}

PyObject *
reversed_pointwise(const Form *form, char closed, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    PyObject *slope = closed_called(closed);
    int can_be = slope != NULL && count <= MOST_GIVEN && are_settings_usual();
    for (Py_ssize_t i = 1; can_be && i < count; i++)
        can_be = is_option(args[i]) && args[i] != Py_True; /* which may say that it is written over */
    return can_be ? by_secants(slope, form->all_traits, func, args, count, NULL) : left_to_python();
}

/* pointwise(slope, traits, places, function of torch, arguments, options) of npdec/_law/ordinary.py, before which it
 * stands. */
PyObject *
call_pointwise(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *keywords)
{
    Py_ssize_t many = PyVectorcall_NARGS(nargsf);
    PyObject *options = many == 6 && args[5] != Py_None ? args[5] : NULL;
    if ((many == 5 || many == 6) && keywords == NULL && PyTuple_CheckExact(args[4])
        && (options == NULL || PyDict_CheckExact(options)) && PyLong_CheckExact(args[1]) && !is_traced()
        && !is_followed_by_torch() && are_settings_usual()) {
        PyObject *const *its = ((PyTupleObject *)args[4])->ob_item;
        Py_ssize_t count = PyTuple_GET_SIZE(args[4]);
        long traits = PyLong_AsLong(args[1]);
        int can_be = count >= 1 && count <= MOST_GIVEN;
        for (Py_ssize_t i = 1; can_be && i < count; i++)
            can_be = is_option(its[i]);
        PyObject *name, *item;
        for (Py_ssize_t at = 0; can_be && options != NULL && PyDict_Next(options, &at, &name, &item);)
            can_be = is_option(item) && (item != Py_True || PyUnicode_CompareWithASCIIString(name, "inplace") != 0);
        PyObject *made = can_be ? by_secants(args[0], traits, args[3], its, count, options) : NULL;
        if (made == NULL)
            left_to_python();
        if (made != NULL || PyErr_Occurred())
            return made;
    }
    return go_on(function, args, nargsf, keywords);
}
