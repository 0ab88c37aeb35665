/* Complex numbers in C, computed as Python does. */
#ifndef NPDEC_COMPLEX_NUMBERS_H
#define NPDEC_COMPLEX_NUMBERS_H

#include "few_complex.h"
#include <errno.h>
#include <math.h>

static inline Py_complex
real(double number)
{
    return (Py_complex){number, 0};
}

static inline Py_complex
conjugate(Py_complex z)
{
    return (Py_complex){z.real, -z.imag};
}

static inline int
is_zero(Py_complex z)
{
    return z.real == 0 && z.imag == 0;
}

static inline Py_complex
plus(Py_complex a, Py_complex b)
{
    return (Py_complex){a.real + b.real, a.imag + b.imag};
}

static inline Py_complex
minus(Py_complex a, Py_complex b)
{
    return (Py_complex){a.real - b.real, a.imag - b.imag};
}

static inline Py_complex
times(Py_complex a, Py_complex b)
{
    return (Py_complex){a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real};
}

/* Python says what is divided by zero, and magnitudes beyond the range, by errors: here by `errno`. */
static inline Py_complex
over(Py_complex a, Py_complex b)
{
    int before = errno;
    errno = 0;
    Py_complex found = _Py_c_quot(a, b);
    if (errno == 0)
        errno = before;
    return found;
}

static inline double
size(Py_complex z)
{
    int before = errno;
    double found = _Py_c_abs(z);
    if (errno == 0)
        errno = before;
    return found;
}

#endif
