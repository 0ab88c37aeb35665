/* Calls with tensors in reverse mode, whose one component stands for all inputs and is on a graph: layers, linear
 * functions of one, sums of two and pointwise functions. What is done is said in npdec/_law/ordinary_reverse.py; what
 * is left out is the time between the calls of torch. */
#include "decomposed.h"
#include "lazy.h"
#include "slopes.h"
#include <math.h>

static struct {
    PyObject *on_graph_of, *link, *finished, *derived_twice, *settings, *usual; /* functions, variables of contexts */
    PyObject *on_graph, *row, *data;                                            /* names */
} told;

enum { STRIDED = 1 << 21, RESHAPE = 1 << 16, IN_PIECES = 1 << 23, COARSE_FUNCTION = 1 << 24, POWER = 1 << 25 };
#define FEW (1 << 18)       /* elements, up to which a product is sooner computed than a node made in Python */
#define LONG 1099511627776. /* steps, over which a slope may leave the exponent range: as secant_at_once.py has it */

typedef struct {
    PyObject *of, *its, *value, *residual, *on_graph, *labels;
    Array value_at, residual_at;
} Reversed;

static void
let_reversed_go(Reversed *x)
{
    Py_CLEAR(x->its);
    Py_CLEAR(x->value);
    Py_CLEAR(x->residual);
    Py_CLEAR(x->on_graph);
    Py_CLEAR(x->labels);
}

static int
is_no_more_than_usual(PyObject *its, PyObject *name)
{
    PyObject *found = PyDict_GetItemWithError(its, name);
    return found == NULL || found == Py_None;
}

/* Whether an attribute is a plain tensor that nobody differentiates, and where its elements lie. */
static int
part(PyObject *its, PyObject *name, PyObject **to, Array *at)
{
    *to = Py_XNewRef(PyDict_GetItemWithError(its, name));
    return *to != NULL && Py_IS_TYPE(*to, arrays.tensor) && look_at_any(*to, at) && at->code == OF_FLOAT
        && (at->bits == 64 || at->bits == 32) && !is_true_of(*to, names.requires_grad);
}

/* Look at an ordinary tensor in reverse mode; 0, without an error, where it is none: nothing is held. */
static int
reversed_of(PyObject *tensor, Reversed *x)
{
    PyObject *its = Py_IS_TYPE(tensor, given.type) ? PyObject_GenericGetDict(tensor, NULL) : NULL;
    *x = (Reversed){.of = tensor, .its = its};
    if (its != NULL && PyDict_GetItemWithError(its, names.reverse) == Py_True && is_no_more_than_usual(its, names.kept)
        && is_no_more_than_usual(its, names.origin) && part(its, names.value, &x->value, &x->value_at)
        && part(its, names.residual, &x->residual, &x->residual_at) && are_alike(&x->value_at, &x->residual_at)
        && x->value_at.bits == x->residual_at.bits && elements_in(&x->value_at) > 0 && is_on(asked.is_grad)
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

static PyObject *
call(PyObject *func, PyObject *first, PyObject *const *rest, Py_ssize_t count)
{
    PyObject *args[MOST_GIVEN + 1] = {NULL, first};
    for (Py_ssize_t i = 0; i < count; i++)
        args[i + 2] = rest[i];
    return PyObject_Vectorcall(func, args + 1, (size_t)(count + 1) | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

static PyObject *
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

/* The residual, of equal rows along the first axes one. What is known of them is kept beside it. */
static PyObject *
row_of(const Reversed *x, int axes)
{
    int is_equal = 0, is_inside = 1;
    for (int axis = 0; axis < x->residual_at.rank; axis++)
        if (x->residual_at.strides[axis] == 0) {
            is_equal |= axis < axes;
            is_inside &= axis < axes || x->residual_at.shape[axis] == 1;
        }
    if (!is_equal)
        return Py_NewRef(x->residual);
    PyObject *known = PyDict_GetItemWithError(x->its, told.row);
    if (is_inside && known != NULL && PyTuple_CheckExact(known) && PyTuple_GET_SIZE(known) == 2
        && PyTuple_GET_ITEM(known, 0) == x->residual)
        return Py_NewRef(PyTuple_GET_ITEM(known, 1));
    PyObject *number = PyLong_FromLong(axes);
    PyObject *row = number == NULL ? NULL : PyObject_CallFunctionObjArgs(given.narrowed, x->residual, number, NULL);
    Py_XDECREF(number);
    return row;
}

/* A row in the shape of a value; the row is stolen. */
static PyObject *
spread(PyObject *row, const Array *value)
{
    Array at;
    if (row == NULL || (look_at_any(row, &at) && are_alike(&at, value)))
        return row;
    PyObject *shape = PyErr_Occurred() ? NULL : shape_of(value);
    PyObject *made = shape == NULL ? NULL : PyObject_CallMethodOneArg(row, names.expand, shape);
    Py_XDECREF(shape);
    Py_DECREF(row);
    return made;
}

/* The decomposed tensor of parts, which are stolen and may be NULL for errors; of the residual there may be a row. */
static PyObject *
made_of(PyObject *value, PyObject *residual, PyObject *row, PyObject *on_graph, const Reversed *x)
{
    Array at, low;
    PyObject *made = NULL, *its = NULL;
    if (value != NULL && residual != NULL && on_graph != NULL && Py_IS_TYPE(value, arrays.tensor)
        && look_at_any(value, &at) && look_at_any(residual, &low) && at.code == OF_FLOAT && at.bits == x->value_at.bits
        && low.bits == at.bits && are_alike(&at, &low))
        made = carrying(value);
    if (made != NULL && (its = PyObject_GenericGetDict(made, NULL)) != NULL) {
        PyObject *known = row == NULL || row == residual ? NULL : PyTuple_Pack(2, residual, row);
        if (PyDict_SetItem(its, names.value, value) < 0 || PyDict_SetItem(its, names.residual, residual) < 0
            || PyDict_SetItem(its, names.labels, x->labels) < 0 || PyDict_SetItem(its, told.on_graph, on_graph) < 0
            || PyDict_SetItem(its, names.reverse, Py_True) < 0 || PyDict_SetItem(its, names.discrete, Py_False) < 0
            || PyDict_SetItem(its, names.origin, Py_None) < 0
            || (known != NULL && PyDict_SetItem(its, told.row, known) < 0))
            Py_CLEAR(made);
        Py_XDECREF(known);
        Py_DECREF(its);
    }
    Py_XDECREF(value);
    Py_XDECREF(residual);
    Py_XDECREF(row);
    Py_XDECREF(on_graph);
    return made == NULL ? left_to_python() : made;
}

/* --- linear functions --------------------------------------------------------------------------------------------- */

/* A constant as a layer takes it, without a graph; NULL, without an error, of another. */
static PyObject *
constant(PyObject *tensor, const Reversed *x, int rank)
{
    Array at;
    if (!(Py_IS_TYPE(tensor, arrays.tensor) || Py_IS_TYPE(tensor, given.parameter)) || !look_at_any(tensor, &at)
        || at.code != OF_FLOAT || at.bits != x->value_at.bits || at.rank != rank || is_true_by(tensor, words.is_inference))
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
            residual = spread(Py_NewRef(low), &at);
        Py_XDECREF(row);
        made = made_of(value, residual, low, carrier, &x);
    }
    Py_XDECREF(given_to_it[0]);
    if (has_bias)
        Py_XDECREF(given_to_it[1]);
    let_reversed_go(&x);
    return made == NULL ? left_to_python() : made;
}

/* Whether there are components already, of which there are to be views then. */
static int
has_components(PyObject *tensor)
{
    PyObject *its = Py_IS_TYPE(tensor, given.type) ? PyObject_GenericGetDict(tensor, NULL) : NULL;
    int has = its != NULL && PyDict_GetItemWithError(its, names.components) != NULL;
    Py_XDECREF(its);
    return has;
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
    int is_new = is_single && form->kind == REDUCED;
    if (is_single)
        value = is_new ? PyObject_CallMethodNoArgs(carrier, names.detach) : call(func, x.value, rest, count - 1);
    if (value != NULL && (!is_equal || is_strided))
        residual = call(func, x.residual, rest, count - 1);
    else if (value != NULL) {
        PyObject *shape = shape_of(&at);
        residual = shape == NULL ? NULL : PyObject_CallMethodOneArg(x.residual, names.reshape, shape);
        Py_XDECREF(shape);
    }
    if (residual != NULL && value != x.value)
        made = made_of(value, residual, NULL, carrier, &x);
    else {
        Py_XDECREF(carrier);
        Py_XDECREF(value);
        Py_XDECREF(residual);
    }
    if (made != NULL && !is_new) {
        PyObject *done = PyObject_CallFunctionObjArgs(told.link, made, x.of, NULL);
        if (done == NULL)
            Py_CLEAR(made);
        Py_XDECREF(done);
    }
    let_reversed_go(&x);
    return made == NULL ? left_to_python() : made;
}

/* --- pointwise functions ------------------------------------------------------------------------------------------ */

/* pointwise(slope, traits, places, function of torch, arguments), of one decomposed tensor and numbers behind it. */
static PyObject *
by_secants(long traits, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Reversed x;
    PyObject *made = NULL, *low = NULL, *to = NULL, *slope = NULL, *carrier = NULL;
    if (!reversed_of(args[0], &x))
        return NULL;
    Py_ssize_t size = elements_in(&x.value_at);
    int can_be = size <= FEW && is_on_host(&x.value_at) && is_on_host(&x.residual_at);
    PyObject *row = can_be ? row_of(&x, x.value_at.rank) : NULL;
    PyObject *fx = row == NULL ? NULL : call(func, x.value, args + 1, count - 1);
    if (fx != NULL)
        low = call(func, row, args + 1, count - 1);
    if (low != NULL)
        to = PyObject_CallOneArg(given.empty_like, fx);
    if (to != NULL) {
        Secants found;
        double eps = x.value_at.bits == 32 ? 1.1920928955078125e-07 : 2.220446049250313e-16;
        double tiny = x.value_at.bits == 32 ? 1.1754943508222875e-38 : 2.2250738585072014e-308;
        double most = x.value_at.bits == 32 ? 1 / sqrt(eps) : given.steep; /* STEEPEST */
        int pieces = (traits & IN_PIECES) != 0;
        int is_done = secants_of(x.value, row, fx, low, to, pieces ? 1 : traits & COARSE_FUNCTION ? 2 : 0, &found);
        if (is_done && found.marked == 0 && !found.is_beyond && found.most < INFINITY
            && (pieces ? found.longest < LONG : tiny / eps <= found.least && found.most <= most))
            slope = Py_NewRef(to);
        else if (is_done && found.marked > 0 && !PyErr_Occurred()) {
            PyObject *rest = PyTuple_New(count - 1), *said = secants_said(&found);
            for (Py_ssize_t i = 1; rest != NULL && i < count; i++)
                PyTuple_SET_ITEM(rest, i - 1, Py_NewRef(args[i]));
            PyObject *bits = PyLong_FromLong(traits);
            if (rest != NULL && said != NULL && bits != NULL)
                slope = PyObject_CallFunctionObjArgs(told.finished, func, rest, bits, x.value, row, fx, low, to, said,
                                                     NULL);
            Py_XDECREF(bits);
            Py_XDECREF(said);
            Py_XDECREF(rest);
        }
    }
    if (slope != NULL && slope != Py_None)
        carrier = PyNumber_Multiply(x.on_graph, slope);
    if (carrier != NULL && PyObject_SetAttr(carrier, told.data, fx) == 0) {
        PyObject *residual = spread(Py_NewRef(low), &x.value_at);
        made = made_of(Py_NewRef(fx), residual, Py_NewRef(low), Py_NewRef(carrier), &x);
    }
    Py_XDECREF(carrier);
    Py_XDECREF(slope);
    Py_XDECREF(to);
    Py_XDECREF(low);
    Py_XDECREF(fx);
    Py_XDECREF(row);
    let_reversed_go(&x);
    return made == NULL ? left_to_python() : made;
}

static int
is_number(PyObject *item)
{
    return PyFloat_CheckExact(item) || PyLong_CheckExact(item) || PyBool_Check(item) || PyUnicode_CheckExact(item)
        || item == Py_None;
}

static PyObject *
call_pointwise(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *keywords)
{
    if (PyVectorcall_NARGS(nargsf) == 5 && keywords == NULL && args[0] == Py_None && PyTuple_CheckExact(args[4])
        && PyLong_CheckExact(args[1]) && !is_traced() && !is_followed_by_torch()
        && !differs(told.settings, told.usual)) {
        PyObject *const *its = ((PyTupleObject *)args[4])->ob_item;
        Py_ssize_t count = PyTuple_GET_SIZE(args[4]);
        long traits = PyLong_AsLong(args[1]);
        int can_be = count >= 1 && count <= MOST_GIVEN && !(traits & POWER);
        for (Py_ssize_t i = 1; can_be && i < count; i++)
            can_be = is_number(its[i]);
        PyObject *made = can_be ? by_secants(traits, args[3], its, count) : NULL;
        if (made == NULL)
            left_to_python();
        if (made != NULL || PyErr_Occurred())
            return made;
    }
    return go_on(function, args, nargsf, keywords);
}

/* attach_reverse(pointwise, on_graph_of, link, finished, torch.empty_like, ContextVar of a second derivative, ContextVar
 * of settings, the usual ones) */
PyObject *
attach_reverse(PyObject *module, PyObject *args)
{
    PyObject *pointwise, *functions[4], *variables[3];
    if (!PyArg_ParseTuple(args, "OOOOOOOO:attach_reverse", &pointwise, &functions[0], &functions[1], &functions[2],
                          &functions[3], &variables[0], &variables[1], &variables[2]))
        return NULL;
    told.on_graph_of = Py_NewRef(functions[0]);
    told.link = Py_NewRef(functions[1]);
    told.finished = Py_NewRef(functions[2]);
    given.empty_like = Py_NewRef(functions[3]);
    told.derived_twice = Py_NewRef(variables[0]);
    told.settings = Py_NewRef(variables[1]);
    told.usual = Py_NewRef(variables[2]);
    told.on_graph = PyUnicode_InternFromString("on_graph");
    told.row = PyUnicode_InternFromString("row");
    told.data = PyUnicode_InternFromString("data");
    if (told.on_graph == NULL || told.row == NULL || told.data == NULL || stand_before(pointwise, call_pointwise) < 0)
        return NULL;
    Py_RETURN_NONE;
}
