/* New arrays of few elements: what `npdec._impl.creation_impl` says in Python of arrays on the host. Each gives None
 * where that is to be asked. */
#include "few.h"
#include <math.h>

static PyObject *devices, *used, *spellings;

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
    if (dtype == Py_None)
        return FLOAT64;
    int kind = PyType_Check(dtype) ? kind_of_type((PyTypeObject *)dtype) : kind_of_dtype(dtype);
    PyObject *found = kind >= 0 || spellings == NULL ? NULL : PyDict_GetItemWithError(spellings, dtype);
    if (kind < 0 && found == NULL)
        return PyErr_Clear(), -1; /* what has no hash is no dtype */
    return found == NULL ? kind : kind_of_dtype(found);
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

#define WHOLE 0x1p52 /* up to which floats hold all integers and their differences */

/* `np.arange(start, stop, step)` of integers: `npdec._impl.creation_ranges_impl`. */
static PyObject *
counted(long long start, long long stop, long long step)
{
    Elements made = {.kind = INT64, .rank = 1};
    long long way = step > 0 ? stop - start : start - stop, by = step > 0 ? step : -step;
    made.shape[0] = way > 0 ? (way - 1) / by + 1 : 0;
    PyObject *array = are_few(made.shape[0]) ? filled(&made, made.shape[0], -1) : NULL;
    for (Py_ssize_t i = 0; array != NULL && i < made.shape[0]; i++)
        ((long long *)made.memory)[i] = start + i * step;
    return array;
}

/* The same of floats: multiples of the distance of the first two, which are as they are. */
static PyObject *
stepped(double start, double stop, double step)
{
    Elements made = {.kind = FLOAT64, .rank = 1};
    double count = (stop - start) / step, second = start + step, distance = second - start;
    if (!(count > 0 && count <= 0x1p31) || !isfinite(distance))
        return NULL;
    made.shape[0] = (Py_ssize_t)ceil(count);
    PyObject *array = are_few(made.shape[0]) ? filled(&made, made.shape[0], -1) : NULL;
    double *to = array == NULL ? NULL : (double *)made.memory;
    for (Py_ssize_t i = 0; array != NULL && i < made.shape[0]; i++)
        to[i] = i * distance + start;
    if (array != NULL && made.shape[0] > 1)
        to[1] = second;
    return array;
}

/* Integers of a range in another dtype, which holds them and their distance. */
static PyObject *
counted_in(int kind, const double *ends)
{
    double most = kind == FLOAT32 ? 0x1p24 : WHOLE;
    if ((!IS_WHOLE(kind) && !IS_REAL(kind)) || kind == FLOAT16 || fabs(ends[0]) > most || fabs(ends[1]) > most
        || fabs(ends[2]) > most)
        return NULL;
    if (kind == FLOAT64)
        return stepped(ends[0], ends[1], ends[2]);
    PyObject *array = counted((long long)ends[0], (long long)ends[1], (long long)ends[2]), *found = NULL;
    if (array != NULL && (!IS_WHOLE(kind) || are_within((const Elements *)SLOT(array, arrays.of_elements), kind)))
        found = copied_as(array, kind, BY_ROWS);
    Py_XDECREF(array);
    return found;
}

PyObject *
few_arange(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    double ends[3] = {0, 0, 1};
    int is_whole = 1, kind = count == 4 && args[3] != Py_None ? kind_meant(args[3]) : INT64;
    for (Py_ssize_t i = 0; i < 3; i++) {
        if (args[i] == Py_None && i == 1) {
            ends[1] = ends[0];
            ends[0] = 0;
            is_whole = is_whole && PyLong_CheckExact(args[0]);
            continue;
        }
        if (PyLong_CheckExact(args[i]) ? !as_double(args[i], &ends[i]) || fabs(ends[i]) > WHOLE
                                       : !PyFloat_CheckExact(args[i]))
            return Py_NewRef(Py_None);
        if (PyFloat_CheckExact(args[i])) {
            ends[i] = PyFloat_AS_DOUBLE(args[i]);
            is_whole = 0;
        }
    }
    if (ends[2] == 0 || count != 4 || kind < 0 || (!is_whole && args[3] != Py_None && kind != FLOAT64))
        return Py_NewRef(Py_None);
    PyObject *array = !is_whole ? stepped(ends[0], ends[1], ends[2]) : kind != INT64 ? counted_in(kind, ends)
                    : counted((long long)ends[0], (long long)ends[1], (long long)ends[2]);
    return or_none(array == NULL ? left_to_python() : array);
}

/* The kind that a number has on its own, of Python's and of scalars on the host; -1 of anything else. */
int
kind_of_number(PyObject *item)
{
    if (PyFloat_CheckExact(item))
        return FLOAT64;
    if (PyLong_CheckExact(item))
        return in_range(INT64, item) ? INT64 : -1;
    if (PyBool_Check(item))
        return BOOL;
    if (PyComplex_CheckExact(item))
        return COMPLEX128;
    int kind = kind_of_type(Py_TYPE(item));
    return kind >= 0 && number_of(item, kind) != NULL ? kind : -1;
}

PyObject *
few_full(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Elements made;
    Element element;
    int own = count == 3 ? kind_of_number(args[1]) : -1;
    Py_ssize_t size = own < 0 ? 0 : shaped(args[0], &made);
    made.kind = size == 0 ? -1 : args[2] == Py_None ? own : kind_meant(args[2]);
    if (made.kind < 0 || made.rank == 0 || is_watching() || !taken_as(made.kind, args[1], &element))
        return or_none(left_to_python());
    PyObject *array = filled(&made, size, -1);
    for (Py_ssize_t i = 0; array != NULL && i < size; i++)
        memcpy(made.memory + i * made.itemsize, &element, (size_t)made.itemsize);
    return or_none(array);
}

PyObject *
attach_creation(PyObject *module, PyObject *args)
{
    PyObject *namespace, *dtypes;
    if (!PyArg_ParseTuple(args, "OO!:attach_creation", &namespace, &PyDict_Type, &dtypes))
        return NULL;
    Py_XSETREF(devices, Py_NewRef(namespace));
    Py_XSETREF(spellings, Py_NewRef(dtypes));
    Py_XSETREF(used, PyUnicode_InternFromString("used"));
    Py_RETURN_NONE;
}
