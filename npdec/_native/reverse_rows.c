/* Functions of rows, along the last axis, in reverse mode: maxima, lengths and logarithms of sums of exponentials. The
 * value is on the graph as the sum of what is there times the mean gradient of each row. What is done is said in
 * npdec/_rules/extremes_reverse.py, norms_reverse.py and softmax_reverse.py, where other axes are. */
#include "reverse.h"

#define NODE (1 << 15) /* elements, up to which torch has computed a sum before Python has made a node for one */

/* A call with a tensor whose rows lie one after the other, along the last axis alone. */
typedef struct {
    Reversed x;
    PyObject *func, *const *rest, *axis;
    Py_ssize_t count;
    int keeps;
} Along;

static int
names_last(PyObject *axis, int rank)
{
    if ((PyTuple_CheckExact(axis) || PyList_CheckExact(axis)) && PySequence_Fast_GET_SIZE(axis) == 1)
        axis = PySequence_Fast_GET_ITEM(axis, 0);
    long number = PyLong_CheckExact(axis) ? PyLong_AsLong(axis) : -2;
    if (number == -1 && PyErr_Occurred())
        PyErr_Clear(), number = -2;
    return number == -1 || number == rank - 1;
}

/* The call, of which the argument of this place is the axis, and the next one whether it stays; 0 of others, without an
 * error. */
static int
along_last(PyObject *func, PyObject *const *args, Py_ssize_t count, int place, Along *to)
{
    if (count <= place || count > place + 2 || !is_in_reverse(args[0]) || !reversed_of(args[0], &to->x))
        return 0;
    PyObject *kept = count == place + 2 ? args[place + 1] : Py_False;
    int rank = to->x.value_at.rank;
    if (rank > 0 && names_last(args[place], rank) && (kept == Py_True || kept == Py_False)
        && elements_in(&to->x.value_at) <= NODE && is_on_host(&to->x.value_at) && is_by_rows(&to->x.value_at)) {
        to->func = func;
        to->rest = args + 1;
        to->axis = args[place];
        to->count = count - 1;
        to->keeps = kept == Py_True;
        return 1;
    }
    let_reversed_go(&to->x);
    return 0;
}

/* The value on the graph by its gradient, which is stolen and may be NULL. */
static PyObject *
by_gradient(const Along *its, PyObject *gradient, PyObject *row)
{
    static PyObject *sum;
    PyObject *value = NULL, *low = NULL, *carrier = NULL;
    PyObject *product = gradient == NULL ? NULL : PyNumber_Multiply(its->x.on_graph, gradient);
    if (sum == NULL)
        sum = PyUnicode_InternFromString("sum");
    if (product != NULL && sum != NULL) {
        PyObject *args[3] = {product, its->axis, its->keeps ? Py_True : Py_False};
        carrier = PyObject_VectorcallMethod(sum, args, 3, NULL);
    }
    if (carrier != NULL && (value = call(its->func, its->x.value, its->rest, its->count)) != NULL
        && put_data(carrier, value) == 0)
        low = call(its->func, row, its->rest, its->count);
    Py_XDECREF(value);
    Py_XDECREF(product);
    Py_XDECREF(gradient);
    return made_of_rows(carrier, low, &its->x);
}

/* The gradient of each row, by the row that the residual is; NULL, maybe with an error, where it is Python's. */
typedef PyObject *Gradient(const Form *form, const Reversed *x, PyObject *row);

/* The answer to a call whose axis has this place, by the gradient. */
static PyObject *
along(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count, int place, Gradient *gradient)
{
    Along its;
    if (!along_last(func, args, count, place, &its))
        return left_to_python();
    PyObject *row = row_of(&its.x, its.x.value_at.rank - 1);
    PyObject *made = row == NULL || value_in(&its.x) == NULL ? NULL : by_gradient(&its, gradient(form, &its.x, row), row);
    Py_XDECREF(row);
    let_reversed_go(&its.x);
    return made == NULL ? left_to_python() : made;
}

/* The gradient that a function puts into a tensor like the value, of these arguments; NULL where it does not. */
static PyObject *
filled_by(PyObject *(*function)(PyObject *, PyObject *const *, Py_ssize_t), PyObject **args, Py_ssize_t count, int place,
          PyObject *value)
{
    PyObject *made = PyObject_CallOneArg(given.empty_like, value), *is_done = NULL;
    args[place] = made;
    if (made != NULL)
        is_done = function(NULL, args, count);
    if (is_done != Py_True)
        Py_CLEAR(made);
    Py_XDECREF(is_done);
    return made;
}

static PyObject *
of_leaders(const Form *form, const Reversed *x, PyObject *row)
{
    PyObject *made = NULL, *one = PyLong_FromLong(1);
    PyObject *length = PyLong_FromLongLong(x->value_at.shape[x->value_at.rank - 1]);
    if (length != NULL && one != NULL) {
        PyObject *ends[6] = {x->value, row, PyTuple_GET_ITEM(form->rest, 0), NULL, length, one};
        made = filled_by(leading_shares, ends, 6, 3, x->value);
    }
    Py_XDECREF(one);
    Py_XDECREF(length);
    return made;
}

static PyObject *
of_lengths(const Form *form, const Reversed *x, PyObject *row)
{
    PyObject *made = NULL, *factor = PyFloat_FromDouble(1);
    if (factor != NULL) {
        PyObject *ends[5] = {x->value, row, Py_False, factor, NULL};
        made = filled_by(mean_directions, ends, 5, 4, x->value);
    }
    Py_XDECREF(factor);
    return made;
}

/* By the range up to which steps have enough nodes, and these, as Python knows them for so many bits. */
static PyObject *
of_sums(const Form *form, const Reversed *x, PyObject *row)
{
    PyObject *range[2] = {x->value, row}, *made = NULL, *plan = NULL, *longest = soft_length(NULL, range, 2);
    if (longest != NULL && longest != Py_None)
        plan = PyObject_CallFunction(PyTuple_GET_ITEM(form->rest, 0), "i", x->value_at.bits);
    if (plan != NULL && PyFloat_AS_DOUBLE(longest) <= PyFloat_AsDouble(PyTuple_GET_ITEM(plan, 0))) {
        PyObject *ends[5] = {x->value, row, Py_None, PyTuple_GET_ITEM(plan, 1), NULL};
        made = filled_by(soft_back, ends, 5, 4, x->value);
    }
    Py_XDECREF(plan);
    Py_XDECREF(longest);
    return made;
}

/* amax and amin, by the sign. */
PyObject *
led(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    return along(form, func, args, count, 1, of_leaders);
}

/* vector_norm of the order 2. */
PyObject *
measured(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    if (count == 5 && args[4] == Py_None) /* no dtype */
        count--;
    if (count < 3 || !(PyLong_CheckExact(args[1]) || PyFloat_CheckExact(args[1])) || PyFloat_AsDouble(args[1]) != 2)
        return left_to_python();
    return along(form, func, args, count, 2, of_lengths);
}

/* logsumexp. */
PyObject *
log_summed(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    return along(form, func, args, count, 1, of_sums);
}
