/* Elements in memory as Python's numbers, and the other way. */
#include "native.h"
#include <math.h>

PyObject *
number_at(const Elements *elements, const char *place)
{
    Element at;
    memcpy(&at, place, (size_t)elements->itemsize);
    switch (elements->kind) {
    case BOOL: return Py_NewRef(at.uint8 ? Py_True : Py_False);
    case INT8: return PyLong_FromLong(at.int8);
    case INT16: return PyLong_FromLong(at.int16);
    case INT32: return PyLong_FromLong(at.int32);
    case INT64: return PyLong_FromLongLong(at.int64);
    case UINT8: return PyLong_FromLong(at.uint8);
    case UINT16: return PyLong_FromLong(at.uint16);
    case UINT32: return PyLong_FromUnsignedLong(at.uint32);
    case UINT64: return PyLong_FromUnsignedLongLong(at.uint64);
    case FLOAT16: return PyFloat_FromDouble(PyFloat_Unpack2(at.float16, PY_LITTLE_ENDIAN));
    case FLOAT32: return PyFloat_FromDouble(at.float32);
    case FLOAT64: return PyFloat_FromDouble(at.float64);
    case COMPLEX64: return PyComplex_FromDoubles(at.complex64[0], at.complex64[1]);
    default: return PyComplex_FromDoubles(at.complex128[0], at.complex128[1]);
    }
}

int
as_element(int kind, PyObject *number, Element *at)
{
    if (kind == BOOL) {
        int found = PyObject_IsTrue(number);
        at->uint8 = found > 0;
        return found >= 0 || (PyErr_Clear(), 0);
    }
    if (IS_WHOLE(kind)) {
        if (!PyLong_Check(number))
            return 0;
        if (kind == UINT64) {
            at->uint64 = PyLong_AsUnsignedLongLong(number);
            return !PyErr_Occurred() || (PyErr_Clear(), 0);
        }
        int beyond;
        long long found = PyLong_AsLongLongAndOverflow(number, &beyond);
        if (beyond)
            return 0;
        switch (kind) {
        case INT8: at->int8 = (signed char)found; return found == (signed char)found;
        case INT16: at->int16 = (short)found; return found == (short)found;
        case INT32: at->int32 = (int)found; return found == (int)found;
        case UINT8: at->uint8 = (unsigned char)found; return found == (unsigned char)found;
        case UINT16: at->uint16 = (unsigned short)found; return found == (unsigned short)found;
        case UINT32: at->uint32 = (unsigned int)found; return found == (unsigned int)found;
        default: at->int64 = found; return 1;
        }
    }
    if (IS_COMPLEX(kind)) {
        Py_complex found = PyComplex_AsCComplex(number);
        if (found.real == -1.0 && PyErr_Occurred())
            return PyErr_Clear(), 0;
        if (kind == COMPLEX64) {
            at->complex64[0] = (float)found.real;
            at->complex64[1] = (float)found.imag;
        }
        else {
            at->complex128[0] = found.real;
            at->complex128[1] = found.imag;
        }
        return 1;
    }
    double found = PyFloat_AsDouble(number);
    if (found == -1.0 && PyErr_Occurred())
        return PyErr_Clear(), 0;
    if (kind == FLOAT16)
        return PyFloat_Pack2(found, at->float16, PY_LITTLE_ENDIAN) == 0 || (PyErr_Clear(), 0);
    if (kind == FLOAT32)
        at->float32 = (float)found;
    else
        at->float64 = found;
    return 1;
}

/* A number as an element of a kind, where it takes no more than to cut off its fraction or to round it once. */
static int
cast_as(int kind, PyObject *number, Element *element)
{
    if (PyComplex_Check(number) && !IS_COMPLEX(kind) && kind != BOOL)
        return 0;
    if (kind != BOOL && kind != FLOAT64 && kind != COMPLEX128 && !IS_WHOLE(kind) && PyLong_Check(number)) {
        double found = PyLong_AsDouble(number);
        if (!(fabs(found) <= 0x1p53))
            return PyErr_Clear(), 0;
    }
    if (!IS_WHOLE(kind) || PyLong_Check(number))
        return as_element(kind, number, element);
    double found = PyFloat_AsDouble(number);
    PyObject *whole = fabs(found) < 0x1p63 ? PyLong_FromDouble(found) : NULL; /* without the fraction */
    int is = whole != NULL && as_element(kind, whole, element);
    Py_XDECREF(whole);
    return is;
}

int
taken_as(int kind, PyObject *value, Element *element)
{
    int of = kind_of_type(Py_TYPE(value));
    if (kind == FLOAT64 && of == FLOAT64) {
        element->float64 = PyFloat_AS_DOUBLE(value);
        return 1;
    }
    PyObject *number = of < 0 ? value : number_of(value, of);
    if (number == NULL || !(PyFloat_CheckExact(number) || PyLong_CheckExact(number) || PyBool_Check(number)
                            || PyComplex_CheckExact(number)))
        return 0;
    if ((kind == FLOAT16 || kind == FLOAT32 || kind == COMPLEX64) && is_watching())
        return 0;
    return cast_as(kind, number, element);
}
