/* Pointwise functions of few elements: the function itself of the value and of the residual, and the slopes between
 * them in memory. What `npdec._law.of_few` says of a slope is said here, in the same arithmetic. */
#include "reverse.h"
#include "slopes.h"
#include <math.h>

/* What `attach_few_slopes` was given. */
static struct {
    PyObject *settings, *usual, *chunk; /* ContextVars, the usual settings */
    Py_ssize_t of_close;                /* where a row has the closed form between close numbers */
    double longest, kept;
    Range single, twice;
} known;

typedef double Closed(double step, double fx, double fr);

static double
of_sigmoid(double step, double fx, double fr)
{
    return (step != 0 ? tanh(step / 2) / step : 0.5) * (fx * (1 - fr) + fr * (1 - fx));
}

static double
of_tanh(double step, double fx, double fr)
{
    return (step != 0 ? tanh(step) / step : 1) * (1 - fx * fr);
}

/* How a slope is found: by a closed form, or the secants; and between close numbers by another one, of a power with its
 * exponent. */
typedef struct {
    Closed *closed;
    Close *close;
    int is_power;
    double exponent;
} Way;

static double
of_power(double exponent, double x, double r, double step)
{
    return pow(r, exponent) * expm1(exponent * log1p(step / r)) / step;
}

static Close *
close_of(PyObject *func)
{
    PyObject *row = PyDict_GetItemWithError(given.rows, func);
    return row == NULL ? NULL : close_form(SLOT(row, known.of_close));
}

/* The slope between x and r; 0 where something has to be said of it, or it is not to be found so. */
static int
few_slope_of(const Range *range, int traits, const Way *way, const double *ends, double *slope)
{
    double x = ends[0], r = ends[1], fx = ends[2], fr = ends[3], step = x - r, change = fx - fr, found;
    *slope = step != 0 ? change / step : 0;
    if (way->closed != NULL) {
        *slope = way->closed(step, fx, fr);
        return range->least < *slope && *slope < INFINITY;
    }
    if ((traits & PIECEWISE) && step != 0)
        return fabs(step) < known.longest && fabs(*slope) <= range->greatest;
    if (step != 0 && range->tiny + fx * fr <= known.kept * change * change) {
        if ((traits & COARSE) && !(x * r <= known.kept * step * step))
            return 0;
        return range->least <= fabs(*slope) && fabs(*slope) <= range->most;
    }
    if (!(fabs(change) < INFINITY))
        return 0;
    if (step != 0 && x == -r && change == 0) /* of an even function */
        return 1;
    double moved = step != 0 ? step : sqrt(range->tiny);
    if (way->is_power)
        found = of_power(way->exponent, x, r, moved);
    else if (way->close != NULL)
        found = way->close(x, r, moved);
    else
        return 0;
    return between(found, ends, range->eps, slope)
        && ((range->least <= fabs(*slope) && fabs(*slope) <= range->most) || (*slope == 0 && change == 0));
}

PyObject *
few_multiplied(const Parts *x, const double *slopes, Py_ssize_t size)
{
    const Array *at = &x->components_at;
    char *memory;
    Py_ssize_t all = elements_in(at);
    PyObject *tensor = tensor_by_rows(at->bits == 64 ? FLOAT64 : FLOAT32, at, all, &memory);
    for (Py_ssize_t i = 0; tensor != NULL && i < all; i++) {
        double slope = slopes[i % size], component = few_element_of(at, i);
        if (at->bits == 64)
            ((double *)memory)[i] = component * slope;
        else
            ((float *)memory)[i] = (float)(component * (at->rank == 1 ? slope : (float)slope));
    }
    return tensor;
}

/* Look at what a function has made of an end: numbers of the dtype and shape, on the host. */
static int
is_made(PyObject *made, const Array *like, Array *at)
{
    return made != NULL && Py_IS_TYPE(made, arrays.tensor) && look_at_any(made, at) && is_of_one_dtype(at, like)
        && are_alike(at, like) && is_on_host(at) && is_readable(made);
}

int
is_usual_rule(void)
{
    return !differs(known.settings, known.usual);
}

int
are_steps_usual(void)
{
    return is_usual_rule() && !differs(known.chunk, Py_None);
}

const Range *
few_range(int bits)
{
    return bits == 64 ? &known.twice : &known.single;
}

static int
is_open(const Parts *x)
{
    return elements_in(&x->value_at) <= FEW_COMPONENTS && few_is_open(x) && is_usual_rule();
}

/* Whether the arguments behind the first are options of torch's functions that say no more than how it is computed. */
static int
are_options(PyObject *const *args, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++)
        if (args[i] != Py_None && args[i] != Py_False && !PyFloat_CheckExact(args[i]) && !PyUnicode_CheckExact(args[i]))
            return 0;
    return 1;
}

/* The slope of x², x³ or x⁴; 0 where it leaves the range. */
static int
polynomial(const Range *range, double exponent, const double *ends, double *slope)
{
    double x = ends[0], r = ends[1];
    *slope = exponent == 2 ? x + r : exponent == 3 ? x * (x + r) + r * r : (x + r) * (x * x + r * r);
    return fabs(*slope) <= range->greatest;
}

static PyObject *
by_slopes(const Form *form, const Way *way, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Parts x;
    PyObject *fx = NULL, *fr = NULL, *components = NULL;
    double slopes[FEW_COMPONENTS];
    if (!parts_of(args[0], &x))
        return NULL;
    int is_whole = way->exponent == 2 || way->exponent == 3 || way->exponent == 4;
    const Range *range = few_range(x.value_at.bits);
    Py_ssize_t size = elements_in(&x.value_at), i = 0;
    if (is_open(&x) && (fx = call(func, x.value, args + 1, count - 1)) != NULL)
        fr = call(func, x.residual, args + 1, count - 1);
    Array fx_at, fr_at;
    if (is_made(fx, &x.value_at, &fx_at) && is_made(fr, &x.value_at, &fr_at)) {
        for (; i < size; i++) {
            const double ends[4] = {few_element_of(&x.value_at, i), few_element_of(&x.residual_at, i),
                                    few_element_of(&fx_at, i), few_element_of(&fr_at, i)};
            if (!(is_whole && polynomial(range, way->exponent, ends, &slopes[i]))
                && !few_slope_of(range, form->traits, way, ends, &slopes[i]))
                break;
        }
        if (i == size && !PyErr_Occurred())
            components = few_multiplied(&x, slopes, size);
    }
    if (components == NULL) {
        Py_XDECREF(fx);
        Py_XDECREF(fr);
        left_to_python();
    }
    PyObject *made = components == NULL ? NULL : assembled(fx, fr, components, &x);
    let_parts_go(&x);
    return made;
}

static PyObject *
of_first(const Form *form, Closed *closed, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    if (count > 0 && is_in_reverse(args[0]))
        return reversed_pointwise(form, closed == of_sigmoid ? 's' : closed == of_tanh ? 't' : 0, func, args, count);
    const Way way = {closed, close_of(func), 0, 0};
    return count > 0 && are_options(args + 1, count - 1) ? by_slopes(form, &way, func, args, count) : NULL;
}

PyObject *
pointwise(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    return of_first(form, NULL, func, args, count);
}

PyObject *
sigmoid(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    return of_first(form, of_sigmoid, func, args, count);
}

PyObject *
hyperbolic(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    return of_first(form, of_tanh, func, args, count);
}

int
are_by_place(const Form *form)
{
    return form->answer == pointwise || form->answer == sigmoid || form->answer == hyperbolic
        || form->answer == unless_training || form->answer == softened || form->answer == normalised || form->answer == affine;
}

/* Raised to a number, which is no tensor. */
PyObject *
power(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2 || !(PyFloat_CheckExact(args[1]) || PyLong_CheckExact(args[1])))
        return NULL;
    const Way way = {NULL, NULL, 1, PyFloat_AsDouble(args[1])};
    if (PyErr_Occurred()) /* a number beyond those in double precision */
        return NULL;
    PyObject *made = NULL;
    if (!is_in_reverse(args[0]))
        made = by_slopes(form, &way, func, args, count);
    else if (way.exponent == 2 || way.exponent == 3)
        made = reversed_pointwise(form, 0, func, args, count);
    return made == Py_NotImplemented ? made : made != NULL && way.exponent == 2 ? as_square(made, args[0]) : made;
}

/* attach_few_slopes(settings, usual, part of the components, slot `close` of rows, longest step, kept, and of
 * single and of double precision what `npdec._law.of_few` has of the dtype: tiny, least, most, greatest, eps) */
PyObject *
attach_few_slopes(PyObject *module, PyObject *args)
{
    PyObject *settings, *usual, *chunk, *member;
    Range *a = &known.single, *b = &known.twice;
    if (!PyArg_ParseTuple(args, "OOOOdd(ddddd)(ddddd):attach_few_slopes", &settings, &usual, &chunk, &member,
                          &known.longest, &known.kept, &a->tiny, &a->least, &a->most, &a->greatest, &a->eps,
                          &b->tiny, &b->least, &b->most, &b->greatest, &b->eps)
        || (known.of_close = offset_of(member)) < 0)
        return NULL;
    Py_XSETREF(known.settings, Py_NewRef(settings));
    Py_XSETREF(known.usual, Py_NewRef(usual));
    Py_XSETREF(known.chunk, Py_NewRef(chunk));
    Py_RETURN_NONE;
}
