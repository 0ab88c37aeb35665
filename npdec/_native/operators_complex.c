/* Operators of complex scalars on the host. NULL leaves it to Python, and nothing is raised. */
#include "operators.h"

static int
as_complex(int kind, PyObject *number, Py_complex *found)
{
    if (PyComplex_Check(number))
        *found = ((PyComplexObject *)number)->cval;
    else {
        found->imag = 0;
        if (!as_double(number, &found->real))
            return 0;
    }
    return kind == COMPLEX128 || (rounded(FLOAT32, &found->real) && rounded(FLOAT32, &found->imag));
}

static int
is_real(PyObject *number)
{
    return PyFloat_CheckExact(number) || PyLong_CheckExact(number);
}

int
rounded_by_torch(int is_quotient, int kind, Py_complex a, Py_complex b, Py_complex *found)
{
    Element x, y, to;
    if (kind == COMPLEX64) {
        x = (Element){.complex64 = {(float)a.real, (float)a.imag}};
        y = (Element){.complex64 = {(float)b.real, (float)b.imag}};
    }
    else {
        x = (Element){.complex128 = {a.real, a.imag}};
        y = (Element){.complex128 = {b.real, b.imag}};
    }
    if (!complex_of_two(kind, is_quotient, (char *)&to, (char *)&x, (char *)&y))
        return PyErr_Clear(), 0;
    *found = kind == COMPLEX64 ? (Py_complex){to.complex64[0], to.complex64[1]}
                               : (Py_complex){to.complex128[0], to.complex128[1]};
    return 1;
}

/* By the real parts, and where these are equal by the imaginary ones; NULL where one is NaN. */
static PyObject *
ordered(enum stem stem, Py_complex a, Py_complex b)
{
    if (a.real != a.real || a.imag != a.imag || b.real != b.real || b.imag != b.imag)
        return NULL;
    return a.real == b.real ? comparison(stem, a.imag, b.imag) : comparison(stem, a.real, b.real);
}

PyObject *
of_complex(enum stem stem, int kind, PyObject *x, PyObject *y)
{
    Py_complex a, b;
    if (!as_complex(kind, x, &a) || !as_complex(kind, y, &b))
        return NULL;
    if (stem == EQ || stem == NE)
        return Py_NewRef(bools[(a.real == b.real && a.imag == b.imag) == (stem == EQ)]);
    if (stem >= LT && stem <= GE)
        return ordered(stem, a, b);
    if ((stem > TRUEDIV && stem != POW) || is_watching())
        return NULL;
    if (stem == POW)
        return complex_power(kind, a, b);
    if (stem == TRUEDIV)
        return (b.real != 0 || b.imag != 0) && rounded_by_torch(1, kind, a, b, &a)
             ? scalar_of(kind, PyComplex_FromCComplex(a)) : NULL;
    if (stem == MUL) {
        if (!is_real(x) && !is_real(y))
            return rounded_by_torch(0, kind, a, b, &a) ? scalar_of(kind, PyComplex_FromCComplex(a)) : NULL;
        Py_complex product = {a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real};
        if (kind == COMPLEX64 && !(rounded(FLOAT32, &product.real) && rounded(FLOAT32, &product.imag)))
            return NULL;
        return scalar_of(kind, PyComplex_FromCComplex(product));
    }
    a.real = stem == ADD ? a.real + b.real : a.real - b.real;
    a.imag = stem == ADD ? a.imag + b.imag : a.imag - b.imag;
    if (kind == COMPLEX64 && !(rounded(FLOAT32, &a.real) && rounded(FLOAT32, &a.imag)))
        return NULL;
    return scalar_of(kind, PyComplex_FromCComplex(a));
}

