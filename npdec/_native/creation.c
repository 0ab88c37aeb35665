/* New arrays of few elements: what `npdec._impl.creation_impl` says in Python of arrays on the host. Each gives None
 * where that is to be asked. */
#include "native.h"

static PyObject *devices, *used;

/* The number of elements of a shape, which is read; 0 where that is Python's. */
static Py_ssize_t
shaped(PyObject *shape, Elements *made)
{
    Py_ssize_t size = read_shape(shape, NULL, made);
    return are_few(size) ? size : 0;
}

int
is_elsewhere(void)
{
    return is_true_of(devices, used);
}

int
kind_meant(PyObject *dtype)
{
    static const char *const names[KINDS] = {"bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32",
        "uint64", "float16", "float32", "float64", "complex64", "complex128"};
    if (dtype == Py_None || dtype == (PyObject *)&PyFloat_Type)
        return FLOAT64;
    if (dtype == (PyObject *)&PyLong_Type)
        return INT64;
    if (dtype == (PyObject *)&PyBool_Type)
        return BOOL;
    if (PyType_Check(dtype))
        return kind_of_type((PyTypeObject *)dtype);
    const char *name = PyUnicode_CheckExact(dtype) ? PyUnicode_AsUTF8(dtype) : NULL;
    for (int kind = 0; name != NULL && kind < KINDS; kind++)
        if (strcmp(name, names[kind]) == 0)
            return kind;
    return name == NULL && !PyErr_Occurred() ? kind_of_dtype(dtype) : -1;
}

/* An array of a number, which is 0, 1, or -1 for whatever the memory held; NULL, without an error, for Python. */
static PyObject *
filled(Elements *made, Py_ssize_t size, int number)
{
    if (made->kind < 0 || size == 0 || is_elsewhere() || is_seen_by_torch())
        return left_to_python();
    made->itemsize = SIZES[made->kind];
    PyObject *array = new_lazy(made), *one = array == NULL || number <= 0 ? NULL : PyLong_FromLong(number);
    if (array != NULL && number == 0)
        memset(made->memory, 0, (size_t)(size * made->itemsize));
    else if (one != NULL) {
        Element element;
        as_element(made->kind, made->kind == BOOL ? Py_True : one, &element);
        for (Py_ssize_t i = 0; i < size; i++)
            memcpy(made->memory + i * made->itemsize, &element, (size_t)made->itemsize);
    }
    Py_XDECREF(one);
    return array;
}

static PyObject *
of_shape(PyObject *const *args, Py_ssize_t count, int number)
{
    Elements made;
    Py_ssize_t size = count == 2 ? shaped(args[0], &made) : 0;
    made.kind = size ? kind_meant(args[1]) : -1;
    return or_none(filled(&made, size, number));
}

static PyObject *
like(PyObject *array, int number)
{
    Elements here, made;
    const Elements *of;
    Py_ssize_t size = 1;
    if (!Py_IS_TYPE(array, arrays.type) || !elements_of(array, &here, &of) || of->rank == 0 || !is_in_order(of))
        return or_none(left_to_python());
    made.rank = of->rank;
    made.kind = of->kind;
    for (int axis = 0; axis < of->rank; axis++) {
        size = product(size, made.shape[axis] = of->shape[axis]);
        if (of->strides[axis] == 0 && of->shape[axis] > 1)
            size = 0; /* where torch puts an axis of equal rows, it says */
    }
    if (size == 0 || !are_few(size))
        return Py_NewRef(Py_None);
    return or_none(filled(&made, size, number));
}

#define MAKER(name, number) \
    PyObject *few_##name(PyObject *module, PyObject *const *args, Py_ssize_t count) \
    { \
        return of_shape(args, count, number); \
    } \
    PyObject *few_##name##_like(PyObject *module, PyObject *array) \
    { \
        return like(array, number); \
    }
MAKER(zeros, 0)
MAKER(ones, 1)
MAKER(empty, -1)

PyObject *
few_arange(PyObject *module, PyObject *stop)
{
    Elements made;
    if (!PyLong_CheckExact(stop) || shaped(stop, &made) == 0)
        return Py_NewRef(Py_None);
    made.kind = INT64;
    PyObject *array = filled(&made, made.shape[0], -1);
    for (Py_ssize_t i = 0; array != NULL && i < made.shape[0]; i++)
        ((long long *)made.memory)[i] = i;
    return or_none(array);
}

PyObject *
attach_creation(PyObject *module, PyObject *namespace)
{
    Py_XSETREF(devices, Py_NewRef(namespace));
    Py_XSETREF(used, PyUnicode_InternFromString("used"));
    Py_RETURN_NONE;
}
