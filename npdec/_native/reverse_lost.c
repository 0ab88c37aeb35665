/* Losses of few elements in reverse mode, of an input and a constant target: the slope of each element, of which the sum
 * or the mean is taken. What is done is said in npdec/_rules/losses_reverse.py, where other losses are. */
#include "reverse.h"
#include "tensors.h"
#include <math.h>

#define FEW (1 << 13) /* elements, of which one pass is soon done */
#define SOME (1 << 9) /* elements of which logarithms are computed one by one */
enum { MEAN = 1, SUM }; /* torch's numbers of reductions */

static PyObject *flat, *dot; /* names of methods */

/* What a form is told: the kind of its slopes, the places of a parameter (or -1), of the reduction, and how many arguments
 * there are; a function of torch whose slopes are looked for, and its traits. */
typedef struct {
    PyObject *kind, *function, *traits;
    long parameter, reduction, most;
} Told;

static int
told_by(const Form *form, Told *to)
{
    PyObject *const *its = ((PyTupleObject *)form->rest)->ob_item;
    if (flat == NULL) {
        flat = PyUnicode_InternFromString("reshape");
        dot = PyUnicode_InternFromString("dot");
    }
    *to = (Told){its[0], its[4], its[5], PyLong_AsLong(its[1]), PyLong_AsLong(its[2]), PyLong_AsLong(its[3])};
    return flat != NULL && dot != NULL && !PyErr_Occurred();
}

/* The mean slope of the logarithm between two positive numbers. */
static double
of_logarithm(double end, double start)
{
    double step = end - start, part = step / start;
    if (step == 0)
        return 1 / end;
    return (fabs(part) < 0.5 ? log1p(part) : log(end) - log(start)) / step;
}

/* The mean slope of binary cross entropy of probabilities, by logarithms in double precision; 0 where one is none. */
static int
of_probabilities(const Array *x, const Array *r, const Array *t, double factor, float *to)
{
    const float *high = x->elements, *low = r->elements, *target = t->elements;
    Py_ssize_t size = elements_in(x), period = elements_in(r);
    for (Py_ssize_t i = 0; i < size; i++) {
        double end = high[i], start = low[i % period];
        if (!(end > 1e-37 && end < 1 && start > 1e-37 && start < 1)) /* less is bounded by torch */
            return 0;
        to[i] = (float)(factor * ((1 - target[i]) * of_logarithm(1 - end, 1 - start)
                                  - target[i] * of_logarithm(end, start)));
        if (!isfinite(to[i]))
            return 0;
    }
    return 1;
}

static PyObject *
slopes_of_probabilities(const Reversed *x, PyObject *row, PyObject *target, double factor)
{
    Array low, t, at;
    PyObject *made = PyObject_CallOneArg(given.empty_like, x->value);
    if (made == NULL || x->value_at.bits != 32 || elements_in(&x->value_at) > SOME || !look_at_any(row, &low)
        || !look_at_any(target, &t) || !look_at_any(made, &at) || !is_by_rows(&low) || !is_by_rows(&at)
        || !of_probabilities(&x->value_at, &low, &t, factor, at.elements))
        Py_CLEAR(made);
    return made;
}

/* The slopes of a function of torch between x and r; NULL, maybe with an error, where these are Python's. */
static PyObject *
slopes_between(const Told *told, PyObject *x, PyObject *r)
{
    PyObject *ends[5] = {told->function, told->function, told->traits, x, r};
    PyObject *found = slope_at_once(NULL, ends, 5);
    if (found == Py_None)
        Py_CLEAR(found);
    return found;
}

static PyObject *
slopes_of(const Told *told, const Reversed *x, PyObject *row, PyObject *target, PyObject *parameter, double factor)
{
    PyObject *number = PyFloat_FromDouble(factor), *found = NULL, *high = NULL, *low = NULL, *made = NULL;
    PyObject *ends[6] = {told->kind, x->value, row, target, parameter, number};
    if (number == NULL)
        return NULL;
    if (told->function == Py_None)
        made = loss_slopes(NULL, ends, 6);
    else if (told->traits == Py_None)
        made = slopes_of_probabilities(x, row, target, factor);
    else if (PyUnicode_CompareWithASCIIString(told->kind, "margin") == 0) {
        if ((high = PyNumber_Multiply(target, x->value)) != NULL && residual_in(x) != NULL
            && (low = PyNumber_Multiply(target, x->residual)) != NULL
            && (found = slopes_between(told, high, low)) != NULL) {
            Py_SETREF(high, PyNumber_Negative(target));
            Py_SETREF(found, high == NULL ? NULL : PyNumber_Multiply(high, found));
            if (found != NULL)
                made = factor == 1 ? Py_NewRef(found) : PyNumber_Multiply(found, number);
        }
    }
    else if ((found = slopes_between(told, x->value, row)) != NULL) {
        ends[1] = ends[2] = found;
        made = loss_slopes(NULL, ends, 6);
    }
    Py_XDECREF(low);
    Py_XDECREF(high);
    Py_XDECREF(found);
    Py_DECREF(number);
    if (made == Py_None)
        Py_CLEAR(made);
    return made;
}

/* Whether a target is a constant of the shape and dtype, whose elements follow each other. */
static int
is_target(PyObject *target, const Reversed *x)
{
    Array at;
    return Py_IS_TYPE(target, arrays.tensor) && look_at_any(target, &at) && at.code == OF_FLOAT
        && at.bits == x->value_at.bits && are_alike(&at, &x->value_at) && is_on_host(&at) && is_by_rows(&at)
        && !is_true_of(target, names.requires_grad) && !is_true_by(target, words.is_inference)
        && !is_true_by(target, words.is_neg);
}

/* The sum of what is on the graph times the slopes, which are stolen and may be NULL. */
static PyObject *
together(PyObject *on_graph, PyObject *slopes)
{
    PyObject *all = PyLong_FromLong(-1), *a = NULL, *b = NULL, *made = NULL;
    if (slopes != NULL && all != NULL && (a = PyObject_CallMethodOneArg(on_graph, flat, all)) != NULL
        && (b = PyObject_CallMethodOneArg(slopes, flat, all)) != NULL)
        made = PyObject_CallMethodOneArg(a, dot, b);
    Py_XDECREF(b);
    Py_XDECREF(a);
    Py_XDECREF(all);
    Py_XDECREF(slopes);
    return made;
}

/* loss(x, target, ...), of a sum or a mean, without weights. */
PyObject *
lost(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Reversed x;
    Told told;
    PyObject *made = NULL, *one = NULL, *row = NULL, *carrier = NULL, *value = NULL, *low = NULL;
    if (count < 3 || !is_in_reverse(args[0]) || !are_settings_usual() || !told_by(form, &told) || count > told.most
        || told.reduction >= count || !PyLong_CheckExact(args[told.reduction]))
        return left_to_python();
    for (Py_ssize_t i = 2; i < count; i++)
        if (args[i] != Py_None && i != told.reduction && !(i == told.parameter && PyFloat_CheckExact(args[i])))
            return NULL;
    long reduction = PyLong_AsLong(args[told.reduction]);
    if ((reduction != MEAN && reduction != SUM) || !reversed_of(args[0], &x))
        return left_to_python();
    Py_ssize_t size = elements_in(&x.value_at);
    if (size <= FEW && x.value_at.rank > 0 && is_on_host(&x.value_at) && is_by_rows(&x.value_at)
        && is_target(args[1], &x) && value_in(&x) != NULL && (row = row_of(&x, x.value_at.rank - 1)) != NULL
        && (one = PyFloat_FromDouble(1)) != NULL) {
        int has_parameter = told.parameter > 0 && told.parameter < count;
        carrier = together(x.on_graph, slopes_of(&told, &x, row, args[1], has_parameter ? args[told.parameter] : one,
                                                 reduction == MEAN ? 1 / (double)size : 1));
        if (carrier != NULL && value_in(&x) != NULL && (value = call(func, x.value, args + 1, count - 1)) != NULL
            && residual_in(&x) != NULL && (low = call(func, x.residual, args + 1, count - 1)) != NULL && put_data(carrier, value) == 0)
            made = made_of_rows(Py_NewRef(carrier), Py_NewRef(low), &x);
    }
    Py_XDECREF(carrier);
    Py_XDECREF(value);
    Py_XDECREF(low);
    Py_XDECREF(one);
    Py_XDECREF(row);
    let_reversed_go(&x);
    return made == NULL ? left_to_python() : made;
}
