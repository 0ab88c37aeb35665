/* The slopes of pointwise functions between close numbers x and r, and where a number does not move: the closed forms of
 * `npdec._impl.slopes_impl`. Each takes the step x − r too, or a tiny one where there is none; what is not finite is
 * none. */
#include "slopes.h"
#include "tensors.h"
#include <math.h>
#include <string.h>

static const double LOG_2 = 0.69314718055994530942, LOG_10 = 2.30258509299404568402;

static double
of_exp(double x, double r, double step)
{
    double length = fabs(step); /* from the end that is higher, where nothing overflows */
    return exp(fmax(x, r)) * -expm1(-length) / length;
}

static double
of_exp2(double x, double r, double step)
{
    double length = fabs(step);
    return exp2(fmax(x, r)) * -expm1(length * -LOG_2) / length;
}

static double
of_log(double x, double r, double step)
{
    return log1p(step / r) / step;
}

static double
of_log1p(double x, double r, double step)
{
    return log1p(step / (1 + r)) / step;
}

static double
of_log2(double x, double r, double step)
{
    return of_log(x, r, step) / LOG_2;
}

static double
of_log10(double x, double r, double step)
{
    return of_log(x, r, step) / LOG_10;
}

static double
of_sqrt(double x, double r, double step)
{
    return 1 / (sqrt(x) + sqrt(r));
}

static double
of_cbrt(double x, double r, double step)
{
    double a = cbrt(x), b = cbrt(r);
    return 1 / (a * a + a * b + b * b);
}

static double
of_rsqrt(double x, double r, double step)
{
    double a = sqrt(x), b = sqrt(r);
    return -1 / (a * b * (a + b));
}

static double
of_reciprocal(double x, double r, double step)
{
    return -1 / (x * r);
}

static double
of_square(double x, double r, double step)
{
    return x + r;
}

static double
of_sin(double x, double r, double step)
{
    return cos(r + step / 2) * (sin(step / 2) / (step / 2));
}

static double
of_cos(double x, double r, double step)
{
    return -sin(r + step / 2) * (sin(step / 2) / (step / 2));
}

static double
of_sinh(double x, double r, double step)
{
    return cosh(r + step / 2) * (sinh(step / 2) / (step / 2));
}

static double
of_cosh(double x, double r, double step)
{
    return sinh(r + step / 2) * (sinh(step / 2) / (step / 2));
}

static double
of_tan(double x, double r, double step)
{
    return tan(step) / step * (1 + tan(x) * tan(r));
}

static double
of_atan(double x, double r, double step)
{
    return atan(step / (1 + x * r)) / step;
}

static double
of_atanh(double x, double r, double step)
{
    return atanh(step / (1 - x * r)) / step;
}

/* log((x + a) / (r + b)) of positive numbers, of which a² − b² is x² − r². */
static double
logarithm(double x, double r, double step, double a, double b)
{
    return log1p(step * (1 + (x + r) / (a + b)) / (r + b));
}

static double
of_asinh(double x, double r, double step)
{
    double turned = r < 0 ? -step : step;
    return logarithm(r < 0 ? -x : x, fabs(r), turned, hypot(1, x), hypot(1, r)) / turned;
}

static double
of_acosh(double x, double r, double step)
{
    return logarithm(x, r, step, sqrt((x - 1) * (x + 1)), sqrt((r - 1) * (r + 1))) / step;
}

/* The angle between the points of the circle at the heights x and r. */
static double
of_asin(double x, double r, double step)
{
    double a = sqrt((1 - x) * (1 + x)), b = sqrt((1 - r) * (1 + r));
    return atan2(step * (b + r * (x + r) / (a + b)), a * b + x * r) / step;
}

static double
of_acos(double x, double r, double step)
{
    return -of_asin(x, r, step);
}

static const struct {
    const char *name;
    Close *close;
} FORMS[] = {{"exp", of_exp}, {"exp2", of_exp2}, {"log", of_log}, {"log1p", of_log1p}, {"log2", of_log2},
             {"log10", of_log10}, {"sqrt", of_sqrt}, {"cbrt", of_cbrt}, {"rsqrt", of_rsqrt},
             {"reciprocal", of_reciprocal}, {"square", of_square}, {"sin", of_sin}, {"cos", of_cos}, {"sinh", of_sinh},
             {"cosh", of_cosh}, {"tan", of_tan}, {"atan", of_atan}, {"atanh", of_atanh}, {"asinh", of_asinh},
             {"acosh", of_acosh}, {"asin", of_asin}, {"acos", of_acos}};

static PyObject *forms; /* {closed form in Python: its place here} */

Close *
close_form(PyObject *function)
{
    PyObject *place = function == NULL || forms == NULL ? NULL : PyDict_GetItemWithError(forms, function);
    return place == NULL ? NULL : FORMS[PyLong_AsSsize_t(place)].close;
}

/* attach_close([closed forms]): those that are here by their names; ValueError of others */
PyObject *
attach_close(PyObject *module, PyObject *functions)
{
    PyObject *found = PyDict_New(), *items = PySequence_Fast(functions, "functions are a sequence");
    for (Py_ssize_t i = 0; found != NULL && items != NULL && i < PySequence_Fast_GET_SIZE(items); i++) {
        PyObject *function = PySequence_Fast_GET_ITEM(items, i), *name = PyObject_GetAttrString(function, "__name__");
        const char *text = name == NULL ? NULL : PyUnicode_AsUTF8(name);
        size_t at = 0, count = sizeof(FORMS) / sizeof(FORMS[0]);
        while (text != NULL && at < count && strcmp(FORMS[at].name, text) != 0)
            at++;
        PyObject *place = text == NULL ? NULL : PyLong_FromSize_t(at);
        if (text != NULL && at == count)
            PyErr_Format(PyExc_ValueError, "attach_close: no closed form of %U", name);
        else if (place != NULL && PyDict_SetItem(found, function, place) < 0)
            Py_CLEAR(place);
        Py_XDECREF(place);
        Py_XDECREF(name);
        if (PyErr_Occurred())
            Py_CLEAR(found);
    }
    Py_XDECREF(items);
    if (found == NULL || PyErr_Occurred())
        return Py_XDECREF(found), NULL;
    Py_XSETREF(forms, found);
    Py_RETURN_NONE;
}

int
between(double found, const double *ends, double eps, double *slope)
{
    double step = ends[0] - ends[1], size = fabs(ends[2]) + fabs(ends[3]);
    *slope = step != 0 ? (ends[2] - ends[3]) / step : 0;
    if (!isfinite(found))
        return 0;
    if (step == 0 || fabs(found - *slope) <= 16 * eps * size / fabs(step))
        *slope = found;
    return isfinite(*slope);
}

/* close_slopes(closed form, x, r, f(x), f(r), places, slopes): puts those between close numbers there, and gives the
 * largest and the least of their magnitudes; None where one is not to be found so. */
PyObject *
close_slopes(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array at[4], places, to; /* x, r, f(x), f(r) */
    Close *close = count == 7 ? close_form(args[0]) : NULL;
    int is_known = close != NULL && host_array(args[5], &places) && plain_array(args[6], &to) && !is_seen_by_torch();
    for (int i = 0; i < 4 && is_known; i++)
        is_known = plain_array(args[i + 1], &at[i]) && at[i].bits == to.bits;
    Py_ssize_t size = is_known ? size_of(&to) : 0, row = is_known ? period_of(&at[1]) : 0;
    if (!is_known || places.code != OF_INTEGER || places.bits != 64 || period_of(&places) != size_of(&places)
        || period_of(&to) != size || period_of(&at[0]) != size || size_of(&at[0]) != size || period_of(&at[2]) != size
        || size_of(&at[2]) != size || row <= 0 || period_of(&at[3]) != row)
        return or_none(left_to_python());
    double tiny = to.bits == 64 ? 2.2250738585072014e-308 : 1.17549435e-38, eps = to.bits == 64 ? 0x1p-52 : 0x1p-23;
    double most = 0, least = INFINITY, slope;
    const int64_t *chosen = places.elements;
    for (Py_ssize_t i = 0, many = size_of(&places); i < many; i++) {
        if (chosen[i] < 0 || chosen[i] >= size)
            Py_RETURN_NONE;
        double ends[4];
        for (int j = 0; j < 4; j++) {
            int64_t place = j % 2 ? chosen[i] % row : chosen[i];
            ends[j] = to.bits == 64 ? ((double *)at[j].elements)[place] : ((float *)at[j].elements)[place];
        }
        double step = ends[0] - ends[1];
        if (!between(close(ends[0], ends[1], step != 0 ? step : sqrt(tiny)), ends, eps, &slope))
            Py_RETURN_NONE;
        if (to.bits == 64)
            ((double *)to.elements)[chosen[i]] = slope;
        else
            ((float *)to.elements)[chosen[i]] = (float)slope;
        most = fmax(most, fabs(slope));
        least = fmin(least, fabs(slope));
    }
    return Py_BuildValue("dd", most, least);
}
