/* layer_norm and rms_norm in reverse mode: what is kept of each row is found by normal.c, and a node of Python takes gradients back by
 * it. What is done is said in npdec/_rules/normalisation_at_once.py. */
#include "reverse.h"
#include "tensors.h"

#define ALONE (1 << 20) /* elements of rows, up to which one thread is enough, as reverse_rows.py has it */
#define NUMBERS 11      /* of a row, as normal.c has them */

/* How many of the last axes are those of a shape, all of whose lengths are theirs; 0 where they are not. */
static int
axes_in(PyObject *shape, const Array *at, Py_ssize_t *length)
{
    Py_ssize_t many = PyTuple_Check(shape) ? PyTuple_GET_SIZE(shape) : 0;
    *length = 1;
    for (Py_ssize_t i = 0; i < many && many <= at->rank; i++) {
        PyObject *item = PyTuple_GET_ITEM(shape, i);
        if (!PyLong_CheckExact(item) || PyLong_AsLongLong(item) != at->shape[at->rank - many + i])
            return PyErr_Occurred() ? (PyErr_Clear(), 0) : 0;
        *length *= at->shape[at->rank - many + i];
    }
    return many <= at->rank ? (int)many : 0;
}

/* A weight or bias without its graph, or None; NULL, maybe with an error, of others than a tensor of one row. */
static PyObject *
constant(PyObject *given_one, const Array *value, Py_ssize_t length)
{
    Array at;
    if (given_one == Py_None)
        return Py_NewRef(given_one);
    if (!(Py_IS_TYPE(given_one, arrays.tensor) || Py_IS_TYPE(given_one, given.parameter)) || !look_at_any(given_one, &at)
        || at.code != OF_FLOAT || at.bits != value->bits || elements_in(&at) != length || !is_on_host(&at)
        || is_true_by(given_one, words.is_inference))
        return NULL;
    return PyObject_CallMethodNoArgs(given_one, names.detach);
}

/* The numbers that are kept of rows, where these have all that is needed; else NULL, maybe with an error. */
static PyObject *
numbers_of(const Reversed *x, PyObject *row, Py_ssize_t length, double eps, PyObject *deepest, PyObject *centred)
{
    char *memory;
    int64_t shape[2] = {elements_in(&x->value_at) / length, NUMBERS};
    const Array like = {.rank = 2, .shape = shape};
    PyObject *numbers = tensor_by_rows(FLOAT64, &like, shape[0] * NUMBERS, &memory), *is_all = NULL;
    PyObject *items[8] = {x->value, row, numbers, NULL, NULL, centred, deepest, NULL};
    items[3] = PyLong_FromSsize_t(length);
    items[4] = PyFloat_FromDouble((double)length * eps);
    items[7] = PyFloat_FromDouble(0);
    if (numbers != NULL && items[3] != NULL && items[4] != NULL && items[7] != NULL)
        is_all = normal_rows(NULL, items, 8);
    Py_XDECREF(items[3]);
    Py_XDECREF(items[4]);
    Py_XDECREF(items[7]);
    if (is_all != Py_True)
        Py_CLEAR(numbers);
    Py_XDECREF(is_all);
    return numbers;
}

static PyObject *
by_rows(const Form *form, const Reversed *x, PyObject *const *args, Py_ssize_t count, int axes, Py_ssize_t length)
{
    /* what takes gradients back, torch's, deepest of single and double precision, whether rows are without their means */
    PyObject *const *told = ((PyTupleObject *)form->rest)->ob_item;
    int is_centred = told[4] == Py_True, place = is_centred ? 4 : 3;
    double usual = is_centred ? 1e-5 : x->value_at.bits == 32 ? 1.1920928955078125e-07 : 2.220446049250313e-16;
    PyObject *parts[4] = {args[1], Py_None, Py_None, NULL}, *numbers = NULL, *held = NULL, *back = NULL;
    PyObject *low = NULL, *carrier = NULL, *made = NULL, *scale = NULL;
    PyObject *weight = constant(count > 2 ? args[2] : Py_None, &x->value_at, length);
    PyObject *bias = weight == NULL ? NULL : constant(is_centred && count > 3 ? args[3] : Py_None, &x->value_at, length);
    PyObject *row = bias == NULL ? NULL : row_of(x, x->value_at.rank - axes);
    PyObject *eps = count > place && args[place] != Py_None ? Py_NewRef(args[place]) : PyFloat_FromDouble(usual);
    if (row != NULL && eps != NULL && value_in(x) != NULL)
        numbers = numbers_of(x, row, length, PyFloat_AsDouble(eps), told[x->value_at.bits == 32 ? 2 : 3], told[4]);
    if (numbers != NULL) /* a weight may be written to before gradients go back */
        scale = weight == Py_None ? Py_NewRef(weight) : PyObject_CallMethodNoArgs(weight, names.clone);
    parts[1] = weight;
    parts[2] = is_centred ? bias : eps;
    parts[3] = eps;
    if (scale != NULL && (made = call(told[1], x->value, parts, place)) != NULL
        && (low = call(told[1], row, parts, place)) != NULL && (held = PyTuple_Pack(2, x->value, row)) != NULL
        && (back = PyObject_CallFunction(told[0], "OOn", numbers, scale, length)) != NULL)
        carrier = on_graph_by(made, x->on_graph, back, held);
    Py_XDECREF(back);
    Py_XDECREF(held);
    Py_XDECREF(made);
    Py_XDECREF(scale);
    Py_XDECREF(numbers);
    Py_XDECREF(eps);
    Py_XDECREF(row);
    Py_XDECREF(bias);
    Py_XDECREF(weight);
    return made_of_rows(carrier, low, x);
}

/* layer_norm(x, shape, weight, bias, eps), or rms_norm(x, shape, weight, eps), of which eps may be None */
PyObject *
normalised(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Reversed x;
    PyObject *made = NULL;
    Py_ssize_t length, most = PyTuple_GET_ITEM(form->rest, 4) == Py_True ? 5 : 4;
    if (count < 2 || count > most || !is_in_reverse(args[0]) || !are_settings_usual()
        || (count == most && !PyFloat_CheckExact(args[most - 1]) && !(most == 4 && args[3] == Py_None)) || !reversed_of(args[0], &x))
        return left_to_python();
    Py_ssize_t size = elements_in(&x.value_at);
    int axes = axes_in(args[1], &x.value_at, &length);
    if (axes > 0 && (size <= ALONE || are_few(size)) && is_on_host(&x.value_at) && is_on_host(&x.residual_at)
        && is_by_rows(&x.value_at))
        made = by_rows(form, &x, args, count, axes, length);
    let_reversed_go(&x);
    return made == NULL ? left_to_python() : made;
}
