/* Slopes of functions of elements between the value and the residual, as npdec/_law/ordinary_slopes.py finds them. */
#include "reverse.h"
#include "slopes.h"
#include "tensors.h"
#include <math.h>

static struct {
    PyObject *finished, *least_in_doubles, *doubles, *where_still, *close_of;
    PyObject *new_empty; /* a name */
    PyObject *tanh, *sigmoid; /* closed forms of slopes */
} told;

enum { IN_PIECES = 1 << 23, COARSE_FUNCTION = 1 << 24, POWER = 1 << 25 };
#define SOME 64 /* marks that Python goes through one by one, as secant_at_once.py has it */
#define LONG 1099511627776. /* steps, over which a slope may leave the exponent range: as secant_at_once.py has it */

PyObject *
called_at(const Called *its, PyObject *tensor)
{
    PyObject *given_to_it[MOST_GIVEN + 1] = {NULL, tensor};
    for (Py_ssize_t i = 1; i < its->count; i++)
        given_to_it[i + 1] = its->args[i];
    size_t count = (size_t)its->count | PY_VECTORCALL_ARGUMENTS_OFFSET;
    return PyObject_VectorcallDict(its->func, given_to_it + 1, count, its->options);
}

static PyObject *
once_more(PyObject *tensor, const void *of)
{
    return called_at(of, tensor);
}

/* How small a difference may be in double precision to give a slope between close numbers; NaN where none may. */
static double
least_in_doubles(PyObject *func)
{
    PyObject *said = PyObject_CallOneArg(told.least_in_doubles, func);
    double least = said != NULL && PyFloat_CheckExact(said) ? PyFloat_AS_DOUBLE(said) : NAN;
    Py_XDECREF(said);
    return least;
}

#define BETWEEN(number, bits) \
    BY_PROCESSOR static int are_between_##bits(const number *restrict its, Py_ssize_t count, number least) \
    { \
        int beyond = 0; \
        for (Py_ssize_t i = 0; i < count; i++) \
            beyond |= !(its[i] > least) | !(its[i] < (number)INFINITY); \
        return !beyond; \
    }
BETWEEN(float, 32)
BETWEEN(double, 64)

/* The slope by a closed form of the step and the values; NULL, without an error, where it leaves the range. */
static PyObject *
closed_slope(PyObject *closed, PyObject *value, PyObject *row, PyObject *fx, PyObject *low, double least)
{
    Array at;
    PyObject *step = NULL, *slope = NULL;
    if (closed == told.tanh || closed == told.sigmoid)
        slope = PyObject_CallOneArg(given.empty_like, fx);
    if (slope != NULL && !are_gate_slopes(closed == told.sigmoid, value, row, fx, low, slope))
        Py_CLEAR(slope);
    if (slope == NULL && left_to_python() == NULL && !PyErr_Occurred() && (step = PyNumber_Subtract(value, row)) != NULL)
        slope = PyObject_CallFunctionObjArgs(closed, step, fx, low, NULL);
    int is_inside = slope != NULL && look_at_any(slope, &at) && is_on_host(&at) && is_by_rows(&at);
    if (is_inside) /* NaN: no step */
        is_inside = at.bits == 32 ? are_between_32(at.elements, elements_in(&at), (float)least)
                                  : are_between_64(at.elements, elements_in(&at), least);
    if (slope != NULL && !is_inside)
        Py_CLEAR(slope);
    Py_XDECREF(step);
    return slope;
}

/* The slope of a power, of a small whole one a polynomial; NULL, without an error, where it is to be looked at. */
static PyObject *
slope_of_power(PyObject *exponent, PyObject *x, PyObject *r, PyObject *fx, PyObject *low)
{
    Array at, all[5];
    double number = PyFloat_CheckExact(exponent) || PyLong_CheckExact(exponent) ? PyFloat_AsDouble(exponent) : 0;
    PyObject *slope = number == 2 || number == 3 ? PyNumber_Add(x, r) : NULL;
    if (slope != NULL && number == 3) { /* x (x + r) + r² */
        PyObject *first = PyNumber_Multiply(x, slope), *second = PyNumber_Multiply(r, r);
        Py_DECREF(slope);
        slope = first == NULL || second == NULL ? NULL : PyNumber_Add(first, second);
        Py_XDECREF(first);
        Py_XDECREF(second);
    }
    if (number == 2 || number == 3) {
        if (slope != NULL && !(look_at_any(slope, &at) && is_finite(&at)))
            Py_CLEAR(slope);
        return slope;
    }
    slope = number == 0 ? NULL : PyObject_CallOneArg(given.empty_like, fx);
    PyObject *const parts[5] = {x, r, fx, low, slope};
    int is_known = slope != NULL;
    for (int i = 0; is_known && i < 5; i++)
        is_known = plain_array(parts[i], &all[i]);
    if (slope != NULL && !(is_known && are_power_slopes(number, &all[0], &all[1], &all[2], &all[3], &all[4])))
        Py_CLEAR(slope);
    return slope;
}

/* The slope as Python finds it between close numbers; None where it looks at it more closely. */
static PyObject *
said_by_python(const Called *its, long traits, PyObject *x, PyObject *row, PyObject *fx, PyObject *low,
               PyObject *to, const Secants *found)
{
    PyObject *rest = PyTuple_New(its->count - 1), *said = secants_said(found), *slope = NULL;
    PyObject *named = its->options == NULL ? PyDict_New() : Py_NewRef(its->options);
    PyObject *bits = PyLong_FromLong(traits);
    for (Py_ssize_t i = 1; rest != NULL && i < its->count; i++)
        PyTuple_SET_ITEM(rest, i - 1, Py_NewRef(its->args[i]));
    if (rest != NULL && named != NULL && said != NULL && bits != NULL)
        slope = PyObject_CallFunctionObjArgs(told.finished, its->func, rest, named, bits, x, row, fx, low, to,
                                             said, NULL);
    Py_XDECREF(bits);
    Py_XDECREF(said);
    Py_XDECREF(rest);
    Py_XDECREF(named);
    return slope;
}

/* Put the derivatives, as Python has them, where numbers do not move; what moves stays marked. */
static int
put_still(const Called *its, PyObject *x, PyObject *row, PyObject *to, Secants *found)
{
    PyObject *rest = PyTuple_New(its->count - 1), *points = NULL, *made = NULL;
    PyObject *named = its->options == NULL ? PyDict_New() : Py_NewRef(its->options);
    for (Py_ssize_t i = 1; rest != NULL && i < its->count; i++)
        PyTuple_SET_ITEM(rest, i - 1, Py_NewRef(its->args[i]));
    int64_t *places = PyMem_Malloc((size_t)found->marked * sizeof *places);
    int is_put = 0;
    if (places == NULL)
        PyErr_NoMemory();
    else if (rest != NULL && named != NULL
             && (points = still_points(x, row, to, told.new_empty, found->marked, places)) != NULL
             && (made = PyObject_CallFunctionObjArgs(told.where_still, its->func, rest, named, points, NULL)) != NULL)
        is_put = put_where_still(made, to, places, found);
    PyMem_Free(places);
    Py_XDECREF(made);
    Py_XDECREF(points);
    Py_XDECREF(named);
    Py_XDECREF(rest);
    return is_put;
}

/* Whether a function has a closed form of slopes between close numbers. */
static int
has_close_form(PyObject *function)
{
    PyObject *form = PyObject_CallOneArg(told.close_of, function);
    int has = form != NULL && form != Py_None;
    Py_XDECREF(form);
    return has;
}

/* The slope by secants, of elements that follow each other; `left` is whether some are between close numbers yet, so
 * that it is Python's, in the tensor that is given back; NULL, maybe with an error, where it is not found. */
static PyObject *
by_differences(const Called *its, PyObject *function, long traits, PyObject *const *ends, Secants *found, int *left)
{
    PyObject *x = ends[0], *row = ends[1], *fx = ends[2], *low = ends[3];
    PyObject *to = PyObject_CallOneArg(given.empty_like, fx);
    Array at;
    int pieces = (traits & IN_PIECES) != 0, flags = pieces ? 1 : traits & COARSE_FUNCTION ? 2 : 0;
    *left = 0;
    if (to == NULL || !look_at_any(to, &at) || !secants_of(x, row, fx, low, to, flags, found) || found->is_beyond) {
        Py_XDECREF(to);
        return NULL;
    }
    double eps = at.bits == 32 ? 1.1920928955078125e-07 : 2.220446049250313e-16;
    double tiny = at.bits == 32 ? 1.1754943508222875e-38 : 2.2250738585072014e-308;
    double most = at.bits == 32 ? 1 / sqrt(eps) : given.steep; /* STEEPEST */
    if (found->marked > 0 && !pieces && at.bits == 32) {
        double least = least_in_doubles(function);
        if (least == least)
            secants_between(x, row, to, told.doubles, least, once_more, its, found);
    }
    if (found->marked > (pieces ? 0 : SOME) && found->most < INFINITY && !(flags & 2) && !PyErr_Occurred()
        && (pieces || !has_close_form(function)))
        put_still(its, x, row, to, found);
    if (PyErr_Occurred()) {
        Py_DECREF(to);
        return NULL;
    }
    *left = found->marked > 0;
    if (!*left && !(found->most < INFINITY && (pieces ? found->longest < LONG
                                                      : tiny / eps <= found->least && found->most <= most)))
        Py_CLEAR(to);
    return to;
}

PyObject *
slope_of(const Called *its, PyObject *closed, long traits, PyObject *x, PyObject *row, PyObject *fx, PyObject *low)
{
    Array at, made;
    Secants found;
    int left = 0;
    PyObject *slope = NULL;
    if (!look_at_any(x, &at) || !look_at_any(fx, &made))
        return NULL;
    /* The elements follow each other, as those of the result do. */
    PyObject *dense = !is_by_rows(&at) && is_by_rows(&made) ? PyObject_CallMethodNoArgs(x, names.contiguous)
                                                            : Py_NewRef(x);
    if (dense == NULL)
        return NULL;
    if (traits & POWER)
        slope = its->count == 2 ? slope_of_power(its->args[1], dense, row, fx, low) : NULL;
    else if (closed != Py_None && at.bits == 64)
        slope = closed_slope(closed, dense, row, fx, low, 2.2250738585072014e-308 / 2.220446049250313e-16);
    else if (closed == told.sigmoid && closed != NULL && at.bits == 32)
        slope = closed_slope(closed, dense, row, fx, low, 1.1754943508222875e-38 / 1.1920928955078125e-07);
    if (slope == NULL && left_to_python() == NULL && !PyErr_Occurred() && !(traits & POWER)
        && (closed == Py_None || at.bits == 32)) {
        PyObject *const ends[4] = {dense, row, fx, low};
        slope = by_differences(its, its->func, traits, ends, &found, &left);
    }
    if (left && !PyErr_Occurred())
        Py_SETREF(slope, said_by_python(its, traits, dense, row, fx, low, slope, &found));
    Py_DECREF(dense);
    return slope;
}

/* slope_at_once(f, function, traits, x, r), of plain tensors of elements that follow each other: the slope of f, which
 * calls the function, or None. */
PyObject *
slope_at_once(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Secants found;
    int left = 0;
    long traits = count == 5 ? PyLong_AsLong(args[2]) : 0;
    if (PyErr_Occurred())
        return NULL;
    if (count != 5 || is_seen_by_torch())
        return or_none(left_to_python());
    Called its = {args[0], NULL, NULL, 1};
    PyObject *fx = called_at(&its, args[3]), *low = fx == NULL ? NULL : called_at(&its, args[4]), *slope = NULL;
    if (low != NULL) {
        PyObject *const ends[4] = {args[3], args[4], fx, low};
        slope = by_differences(&its, args[1], traits, ends, &found, &left);
    }
    if (left)
        Py_CLEAR(slope);
    Py_XDECREF(low);
    Py_XDECREF(fx);
    return or_none(slope == NULL ? left_to_python() : slope);
}

PyObject *
closed_called(char letter)
{
    return letter == 't' ? told.tanh : letter == 's' ? told.sigmoid : Py_None;
}

/* set_closed(form of tanh, of the sigmoid): slopes that gates.c finds. */
PyObject *
set_closed(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2)
        return PyErr_Format(PyExc_TypeError, "two forms are expected");
    Py_XSETREF(told.tanh, Py_NewRef(args[0]));
    Py_XSETREF(told.sigmoid, Py_NewRef(args[1]));
    Py_RETURN_NONE;
}

/* attach_slopes(finished, how small a difference of a function may be in double precision, what makes a tensor of so
 * many doubles, the derivatives where numbers do not move, the closed form between close numbers) */
PyObject *
attach_slopes(PyObject *module, PyObject *args)
{
    PyObject *functions[5];
    if (!PyArg_ParseTuple(args, "OOOOO:attach_slopes", &functions[0], &functions[1], &functions[2], &functions[3],
                          &functions[4]))
        return NULL;
    told.where_still = Py_NewRef(functions[3]);
    told.close_of = Py_NewRef(functions[4]);
    if (told.new_empty == NULL && (told.new_empty = PyUnicode_InternFromString("new_empty")) == NULL)
        return NULL;
    told.finished = Py_NewRef(functions[0]);
    told.least_in_doubles = Py_NewRef(functions[1]);
    told.doubles = Py_NewRef(functions[2]);
    Py_RETURN_NONE;
}
