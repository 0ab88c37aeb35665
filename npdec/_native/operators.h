/* Operators of scalars on the host (operators.c), of complex ones (operators_complex.c) and powers (operators_power.c). */
#ifndef NPDEC_OPERATORS_H
#define NPDEC_OPERATORS_H

#include "products.h"

enum stem { ADD, SUB, MUL, TRUEDIV, FLOORDIV, MOD, AND, OR, XOR, LSHIFT, RSHIFT, LT, LE, GT, GE, EQ, NE, POW, DIVMOD,
            NEG, POS, ABS, STEMS };

/* All give NULL, without an error, where it is Python's. `weak`: the second number is Python's. */
PyObject *checked(int kind, double number);           /* the scalar of a number that may be a floating-point error */
PyObject *around(int kind, PyObject *number);         /* of an integer, which goes around; takes the reference */
/* A product or quotient of complex numbers as torch rounds it here; 0 where it says so itself. */
int rounded_by_torch(int is_quotient, int kind, Py_complex a, Py_complex b, Py_complex *found);
PyObject *comparison(enum stem stem, double a, double b);
PyObject *of_complex(enum stem stem, int kind, PyObject *x, PyObject *y);
PyObject *whole_power(int kind, PyObject *base, PyObject *exponent);
PyObject *real_power(int kind, double base, double exponent, int weak);
PyObject *complex_power(int kind, Py_complex base, Py_complex exponent);

#endif
