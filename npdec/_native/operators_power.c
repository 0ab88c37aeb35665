/* Powers of scalars on the host, in the digits of torch: it multiplies and takes roots where the exponent is one of a few
 * numbers of Python's, and asks the C library for all others. */
#include "operators.h"
#include <complex.h>
#include <float.h>
#include <math.h>

PyObject *
whole_power(int kind, PyObject *base, PyObject *exponent)
{
    long by = in_range(kind, exponent) ? PyLong_AsLong(exponent) : -1;
    if (by < 0 || is_watching())
        return PyErr_Clear(), NULL;
    unsigned long long by_squares = PyLong_AsUnsignedLongLongMask(base), found = 1;
    for (; by; by >>= 1, by_squares *= by_squares)
        if (by & 1)
            found *= by_squares;
    return around(kind, PyLong_FromUnsignedLongLong(found));
}

/* Where torch has a form of its own for an exponent. */
#define OWN_FORM(number, name, root) \
    static int name(number x, double exponent, number *found) \
    { \
        if (exponent == 0.5) \
            *found = root(x); \
        else if (exponent == 2) \
            *found = x * x; \
        else if (exponent == 3) \
            *found = x * x * x; \
        else if (exponent == -0.5) \
            *found = 1 / root(x); \
        else if (exponent == -1) \
            *found = 1 / x; \
        else if (exponent == -2) \
            *found = 1 / (x * x); \
        else \
            return 0; \
        return 1; \
    }
OWN_FORM(double, own_double, sqrt)
OWN_FORM(float, own_single, sqrtf)

PyObject *
real_power(int kind, double base, double exponent, int weak)
{
    double found;
    float narrow;
    if (kind == FLOAT64) {
        if (!weak || !own_double(base, exponent, &found))
            found = pow(base, exponent);
        return checked(kind, found);
    }
    if (!weak)
        narrow = powf((float)base, (float)exponent);
    else if (exponent == 0.5)
        return NULL;
    else if (!own_single((float)base, exponent, &narrow))
        narrow = (float)pow(base, exponent);
    found = narrow;
    return rounded(kind, &found) ? checked(kind, found) : NULL;
}

/* A power that is a product, by squares; of 0 factors 1. */
static int
repeated(int kind, Py_complex base, int count, Py_complex *found)
{
    int begun = 0;
    *found = (Py_complex){1, 0};
    for (; count; count >>= 1) {
        if (count & 1) {
            if (begun && !rounded_by_torch(0, kind, *found, base, found))
                return 0;
            if (!begun)
                *found = base;
            begun = 1;
        }
        if (count > 1 && !rounded_by_torch(0, kind, base, base, &base))
            return 0;
    }
    return 1;
}

PyObject *
complex_power(int kind, Py_complex base, Py_complex exponent)
{
    Py_complex found;
    if (exponent.imag == 0 && fabs(exponent.real) < 100 && exponent.real == floor(exponent.real)) {
        if (exponent.real < 0 || !repeated(kind, base, (int)exponent.real, &found))
            return NULL;
    }
    else if (base.real == 0 && base.imag == 0)
        return NULL;
    else if (kind == COMPLEX64) {
        float complex power = cpowf(CMPLXF((float)base.real, (float)base.imag),
                                    CMPLXF((float)exponent.real, (float)exponent.imag));
        found = (Py_complex){crealf(power), cimagf(power)};
    }
    else {
        double complex power = cpow(CMPLX(base.real, base.imag), CMPLX(exponent.real, exponent.imag));
        found = (Py_complex){creal(power), cimag(power)};
    }
    return scalar_of(kind, PyComplex_FromCComplex(found));
}
