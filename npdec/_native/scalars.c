/* Scalars on the host, and the Python numbers that they hold. */
#include "native.h"
#include <math.h>

static struct {
    PyTypeObject *type;
    Py_ssize_t number, tensor; /* the offsets of the Python number, and of the tensor that holds it */
} scalars[KINDS];

static const char LETTERS[KINDS + 1] = "?bhiqBHIQefdFD";
static PyObject *state, *watching;
PyObject *bools[2];

/* The least and the greatest number of the integers. */
static const long long LEAST[KINDS] = {
    [INT8] = -128, [INT16] = -32768, [INT32] = -2147483647 - 1, [INT64] = LLONG_MIN};
static const unsigned long long MOST[KINDS] = {
    [INT8] = 127, [INT16] = 32767, [INT32] = 2147483647, [INT64] = LLONG_MAX, [UINT8] = 255, [UINT16] = 65535,
    [UINT32] = 4294967295u, [UINT64] = ULLONG_MAX};

int
kind_of_type(PyTypeObject *type)
{
    if (type == scalars[FLOAT64].type)
        return FLOAT64;
    if (type == scalars[INT64].type)
        return INT64;
    for (int kind = 0; kind < KINDS; kind++)
        if (type == scalars[kind].type)
            return kind;
    return -1;
}

int
kind_of_letter(const char *letter)
{
    const char *found = letter[0] == 0 ? NULL : strchr(LETTERS, letter[0]);
    if (found == NULL) {
        PyErr_Format(PyExc_ValueError, "'%s' is the letter of no dtype that a Python number holds", letter);
        return -1;
    }
    return (int)(found - LETTERS);
}

PyTypeObject *
type_of_kind(int kind)
{
    return scalars[kind].type;
}

PyObject *
number_of(PyObject *scalar, int kind)
{
    PyObject **number = &SLOT(scalar, scalars[kind].number);
    if (*number == NULL && kind == FLOAT64)
        *number = PyFloat_FromDouble(PyFloat_AS_DOUBLE(scalar));
    return *number;
}

PyObject *
float64_of(double number)
{
    PyTypeObject *type = scalars[FLOAT64].type;
    PyObject *scalar = type->tp_alloc(type, 0);
    if (scalar != NULL)
        ((PyFloatObject *)scalar)->ob_fval = number;
    return scalar;
}

PyObject *
scalar_at(const Elements *elements, const char *place)
{
    double number;
    if (elements->kind != FLOAT64)
        return scalar_of(elements->kind, number_at(elements, place));
    memcpy(&number, place, sizeof number);
    return float64_of(number);
}

/* `_n` of a float64 that is itself a float: the Python number is made when it is asked for. */
static PyObject *
get_number(PyObject *scalar, void *unused)
{
    PyObject *number = SLOT(scalar, scalars[FLOAT64].number);
    if (number == NULL && Py_IS_TYPE(scalar, scalars[FLOAT64].type))
        number = number_of(scalar, FLOAT64);
    if (number == NULL && !PyErr_Occurred())
        PyErr_SetString(PyExc_AttributeError, "_n");
    return Py_XNewRef(number);
}

static int
set_number(PyObject *scalar, PyObject *number, void *unused)
{
    Py_XSETREF(SLOT(scalar, scalars[FLOAT64].number), Py_XNewRef(number));
    return 0;
}

static PyGetSetDef asked_for = {"_n", get_number, set_number, "The Python number.", NULL};

int
is_watching(void)
{
    return PyDict_GetItemWithError(state, watching) != Py_False;
}

PyObject *
scalar_of(int kind, PyObject *number)
{
    if (number == NULL)
        return NULL;
    if (kind == BOOL) {
        PyObject *found = bools[number == Py_True];
        Py_DECREF(number);
        return Py_NewRef(found);
    }
    PyTypeObject *type = scalars[kind].type;
    PyObject *scalar = type->tp_alloc(type, 0);
    if (scalar == NULL) {
        Py_DECREF(number);
        return NULL;
    }
    if (kind == FLOAT64)
        ((PyFloatObject *)scalar)->ob_fval = PyFloat_AS_DOUBLE(number);
    else if (kind == COMPLEX128)
        ((PyComplexObject *)scalar)->cval = ((PyComplexObject *)number)->cval;
    SLOT(scalar, scalars[kind].number) = number;
    return scalar;
}

int
as_double(PyObject *number, double *found)
{
    if (PyFloat_Check(number)) {
        *found = PyFloat_AS_DOUBLE(number);
        return 1;
    }
    if (!PyLong_Check(number))
        return 0;
    *found = PyLong_AsDouble(number);
    if (*found == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    return 1;
}

int
rounded(int kind, double *number)
{
    if (kind == FLOAT32) {
        float narrow = (float)*number;
        if (isinf(narrow) && !isinf(*number))
            return 0;
        *number = narrow;
    }
    else if (kind == FLOAT16) {
        char bits[2];
        if (PyFloat_Pack2(*number, bits, 1) < 0) {
            PyErr_Clear();
            return 0;
        }
        *number = PyFloat_Unpack2(bits, 1);
    }
    return 1;
}

int
in_range(int kind, PyObject *number)
{
    int beyond;
    long long found = PyLong_AsLongLongAndOverflow(number, &beyond);
    if (!beyond)
        return found >= LEAST[kind] && (found < 0 || (unsigned long long)found <= MOST[kind]);
    if (beyond < 0 || kind != UINT64)
        return 0;
    if (PyLong_AsUnsignedLongLong(number) == ULLONG_MAX && PyErr_Occurred()) {
        PyErr_Clear();
        return 0;
    }
    return 1;
}

/* The number in a 0-d tensor on the host, and its kind; NULL, maybe with an error, where torch is to say it. */
static PyObject *
number_in(PyObject *tensor, int *kind)
{
    Elements here;
    PyObject *dtype = PyObject_GetAttr(tensor, words.dtype);
    *kind = dtype == NULL ? -1 : kind_of_dtype(dtype);
    int is_plain = *kind >= 0 && !IS_COMPLEX(*kind) && look_at_tensor(tensor, dtype, 0, &here) && here.rank == 0;
    Py_XDECREF(dtype);
    return is_plain ? number_at(&here, here.memory) : NULL;
}

/* The scalar of a 0-d tensor that is nothing but a number on the host, else None: `npdec._array.wrap.wrap_scalar`. */
PyObject *
scalar_from(PyObject *module, PyObject *tensor)
{
    int kind;
    if (arrays.type == NULL || !Py_IS_TYPE(tensor, arrays.tensor) || is_in_mode())
        Py_RETURN_NONE;
    PyObject *number = number_in(tensor, &kind);
    if (number == NULL) {
        left_to_python();
        if (PyErr_Occurred())
            return NULL;
        if (kind < 0 || !is_true_of(tensor, words.is_cpu) || is_true_of(tensor, words.requires_grad) || is_followed())
            Py_RETURN_NONE;
        number = PyObject_CallMethodNoArgs(tensor, words.item);
    }
    PyObject *scalar = scalar_of(kind, number);
    if (scalar != NULL && kind != BOOL)
        SLOT(scalar, scalars[kind].tensor) = Py_NewRef(tensor);
    return scalar;
}

PyObject *
attach_scalars(PyObject *module, PyObject *args)
{
    PyObject *classes, *letter, *found, *no, *yes, *namespace;
    Py_ssize_t at = 0;
    if (!PyArg_ParseTuple(args, "O!(OO)O!:attach_scalars", &PyDict_Type, &classes, &no, &yes, &PyDict_Type, &namespace))
        return NULL;
    while (PyDict_Next(classes, &at, &letter, &found)) {
        PyObject *type, *number, *tensor;
        const char *name = PyUnicode_AsUTF8(letter);
        int kind = name == NULL ? -1 : kind_of_letter(name);
        if (kind < 0 || !PyArg_ParseTuple(found, "O!OO", &PyType_Type, &type, &number, &tensor))
            return NULL;
        if ((scalars[kind].number = offset_of(number)) < 0 || (scalars[kind].tensor = offset_of(tensor)) < 0)
            return NULL;
        Py_XSETREF(scalars[kind].type, (PyTypeObject *)Py_NewRef(type));
    }
    PyTypeObject *type = scalars[FLOAT64].type;
    PyObject *slot = type == NULL ? NULL : PyDescr_NewGetSet(type, &asked_for);
    int failed = slot == NULL || PyObject_SetAttrString((PyObject *)type, "_n", slot) < 0;
    Py_XDECREF(slot);
    if (failed)
        return NULL;
    Py_XSETREF(bools[0], Py_NewRef(no));
    Py_XSETREF(bools[1], Py_NewRef(yes));
    Py_XSETREF(state, Py_NewRef(namespace));
    Py_XSETREF(watching, PyUnicode_InternFromString("watching"));
    Py_RETURN_NONE;
}
