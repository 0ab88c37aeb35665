/* Shapes of plain arrays, their transposes and their numbers, and the parts of scalars: what properties and methods say
 * in Python. */
#include "few.h"

/* The shape of the plain array that is the only argument; NULL where that is Python's. */
static const int64 *
only_shape(PyObject *const *args, size_t nargsf, PyObject *names, int64 *lazy, int *rank)
{
    if (PyVectorcall_NARGS(nargsf) != 1 || names != NULL || !Py_IS_TYPE(args[0], arrays.type) || is_traced())
        return NULL;
    const Elements *elements = (const Elements *)SLOT(args[0], arrays.of_elements);
    if (elements != NULL) {
        *rank = elements->rank;
        for (int axis = 0; axis < elements->rank; axis++)
            lazy[axis] = elements->shape[axis];
        return lazy;
    }
    PyObject *tensor = SLOT(args[0], arrays.of_tensor);
    if (tensor == NULL || !Py_IS_TYPE(tensor, arrays.tensor) || is_transformed())
        return NULL; /* one of a transform's stands for others */
    const int64 *shape = shape_in_torch(tensor, rank);
    return shape != NULL ? shape : (left_to_python(), NULL);
}

static PyObject *
rank(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *names)
{
    int64 lazy[MOST_AXES];
    int rank;
    const int64 *shape = only_shape(args, nargsf, names, lazy, &rank);
    return shape == NULL ? go_on(function, args, nargsf, names) : PyLong_FromLong(rank);
}

static int64
count_of(const int64 *shape, int rank)
{
    int64 count = 1;
    for (int axis = 0; axis < rank; axis++)
        count *= shape[axis];
    return count;
}

static PyObject *
size(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *names)
{
    int64 lazy[MOST_AXES];
    int rank;
    const int64 *shape = only_shape(args, nargsf, names, lazy, &rank);
    return shape == NULL ? go_on(function, args, nargsf, names) : PyLong_FromLongLong(count_of(shape, rank));
}

static PyObject *
bytes(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *names)
{
    int64 lazy[MOST_AXES];
    int rank, kind;
    const int64 *shape = only_shape(args, nargsf, names, lazy, &rank);
    if (shape == NULL || (kind = kind_of_dtype(SLOT(args[0], arrays.of_dtype))) < 0)
        return go_on(function, args, nargsf, names);
    return PyLong_FromLongLong(count_of(shape, rank) * SIZES[kind]);
}

static PyObject *
length(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *names)
{
    int64 lazy[MOST_AXES];
    int rank;
    const int64 *shape = only_shape(args, nargsf, names, lazy, &rank);
    return shape == NULL || rank == 0 ? go_on(function, args, nargsf, names) : PyLong_FromLongLong(shape[0]);
}

static PyObject *
shape(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *names)
{
    int64 lazy[MOST_AXES];
    int rank;
    const int64 *sizes = only_shape(args, nargsf, names, lazy, &rank);
    if (sizes == NULL)
        return go_on(function, args, nargsf, names);
    PyObject *found = PyTuple_New(rank);
    for (int axis = 0; found != NULL && axis < rank; axis++) {
        PyObject *one = PyLong_FromLongLong(sizes[axis]);
        if (one == NULL)
            Py_CLEAR(found);
        else
            PyTuple_SET_ITEM(found, axis, one);
    }
    return found;
}

static PyObject *
transposed(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *names)
{
    int is_array = PyVectorcall_NARGS(nargsf) == 1 && names == NULL && Py_IS_TYPE(args[0], arrays.type);
    if (is_array && !is_traced() && !is_seen_by_torch() && hold(args[0])) {
        const Elements *all = (const Elements *)SLOT(args[0], arrays.of_elements);
        if (all->rank == 0) /* of which results are scalars, as its family says */
            return go_on(function, args, nargsf, names);
        Elements part;
        memcpy((void *)&part, (const void *)all, offsetof(Elements, of));
        for (int axis = 0; axis < all->rank; axis++) {
            part.shape[axis] = all->shape[all->rank - 1 - axis];
            part.strides[axis] = all->strides[all->rank - 1 - axis];
        }
        part.is_whole = 0;
        return lazy_view(args[0], &part);
    }
    PyObject *tensor = is_array && !PyErr_Occurred() ? tensor_of(args[0]) : NULL;
    if (tensor != NULL && !is_traced()) {
        Py_INCREF(tensor);
        PyObject *seen = PyObject_CallMethodNoArgs(tensor, words.t); /* of two axes at most, else it raises */
        Py_DECREF(tensor);
        PyObject *view = seen == NULL ? left_to_python() : view_of(args[0], seen);
        if (view != NULL || PyErr_Occurred())
            return view;
    }
    return go_on(function, args, nargsf, names);
}

/* --- numbers ------------------------------------------------------------------------------------------------------ */

/* A part of a scalar on the host; of a real one the imaginary part is zero. */
static PyObject *
part_of_scalar(PyObject *scalar, int is_imaginary)
{
    int kind = kind_of_type(Py_TYPE(scalar));
    PyObject *number = kind < 0 ? NULL : number_of(scalar, kind);
    if (number == NULL)
        return NULL;
    if (!IS_COMPLEX(kind) && !is_imaginary)
        return Py_NewRef(scalar);
    if (kind == BOOL)
        return Py_NewRef(bools[0]);
    if (IS_WHOLE(kind))
        return scalar_of(kind, PyLong_FromLong(0));
    if (IS_REAL(kind))
        return scalar_of(kind, PyFloat_FromDouble(0));
    Py_complex both = PyComplex_AsCComplex(number);
    return scalar_of(kind == COMPLEX64 ? FLOAT32 : FLOAT64, PyFloat_FromDouble(is_imaginary ? both.imag : both.real));
}

#define PART(name, is_imaginary) \
    static PyObject *name(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *names) \
    { \
        int is_one = PyVectorcall_NARGS(nargsf) == 1 && names == NULL && !is_traced(); \
        PyObject *found = is_one ? part_of_scalar(args[0], is_imaginary) : NULL; \
        return found != NULL || PyErr_Occurred() ? found : go_on(function, args, nargsf, names); \
    }
PART(real, 0)
PART(imag, 1)

/* The number at a row-major index, which counts from the end below zero; NULL, without an error, where there is none. */
static PyObject *
number_in_order(const Elements *of, Py_ssize_t at, int is_only)
{
    Py_ssize_t size = size_of(of);
    at += at < 0 ? size : 0;
    if (at < 0 || at >= size || (is_only && size != 1))
        return NULL;
    const char *place = of->memory;
    for (int axis = of->rank; axis-- > 0; at /= of->shape[axis])
        place += at % of->shape[axis] * of->strides[axis];
    return number_at(of, place);
}

/* `a.item()`, `a.item(index)` and `a.item(i, j)`, of arrays and scalars on the host, or None. */
PyObject *
few_item(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Elements here;
    const Elements *of;
    Py_ssize_t at[MOST_AXES] = {0};
    PyObject *found = NULL;
    int is = --count <= MOST_AXES && !is_traced();
    for (Py_ssize_t i = 0; is && i < count; i++)
        is = PyLong_CheckExact(args[i + 1]) && as_index(args[i + 1], &at[i]);
    int kind = is && count == 0 ? kind_of_type(Py_TYPE(args[0])) : -1;
    if (kind >= 0)
        found = Py_XNewRef(number_of(args[0], kind));
    else if (is && Py_IS_TYPE(args[0], arrays.type) && elements_of(args[0], &here, &of) && !is_in_mode()) {
        if (count < 2)
            found = number_in_order(of, at[0], count == 0);
        else if (of->rank == count) {
            const char *place = of->memory;
            for (int axis = 0; place != NULL && axis < of->rank; axis++) {
                at[axis] += at[axis] < 0 ? of->shape[axis] : 0;
                place = at[axis] < 0 || at[axis] >= of->shape[axis] ? NULL : place + at[axis] * of->strides[axis];
            }
            found = place == NULL ? NULL : number_at(of, place);
        }
    }
    return or_none(found == NULL ? left_to_python() : found);
}

/* `few_element_at(a, place)`: the scalar at a place that counts elements row by row, or None. */
PyObject *
few_element_at(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Elements here;
    const Elements *of;
    Py_ssize_t at;
    PyObject *number = NULL;
    if (count == 2 && PyLong_CheckExact(args[1]) && as_index(args[1], &at) && !is_traced()
        && Py_IS_TYPE(args[0], arrays.type) && elements_of(args[0], &here, &of) && !is_in_mode())
        number = number_in_order(of, at, 0);
    return number == NULL ? or_none(left_to_python()) : scalar_of(of->kind, number);
}

/* `few_view_at(a, place)`: the view of the element there, or None. */
PyObject *
few_view_at(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Py_ssize_t at;
    const Elements *of = count == 2 && as_index(args[1], &at) && at >= 0 ? lazily_held(args[0]) : NULL;
    if (of == NULL)
        return or_none(left_to_python());
    Elements part = {.memory = of->memory, .kind = of->kind, .itemsize = of->itemsize, .rank = 0};
    for (int axis = of->rank; axis-- > 0; at /= of->shape[axis])
        part.memory += at % of->shape[axis] * of->strides[axis];
    return at > 0 ? Py_NewRef(Py_None) : lazy_view(args[0], &part);
}

/* `few_strides(a)`: the strides in elements, below zero where it runs backwards, or None. */
PyObject *
few_strides(PyObject *module, PyObject *array)
{
    const Elements *of = lazily_held(array);
    PyObject *found = of == NULL ? or_none(left_to_python()) : PyTuple_New(of->rank);
    for (int axis = 0; of != NULL && found != NULL && axis < of->rank; axis++) {
        PyObject *stride = PyLong_FromSsize_t(of->strides[axis] / of->itemsize);
        if (stride == NULL)
            Py_CLEAR(found);
        else
            PyTuple_SET_ITEM(found, axis, stride);
    }
    return found;
}

/* `few_along(a, axes, lengths)`: the view with these axes of its own, None where it is repeated, of the lengths; the
 * first element along its other axes. None where that is Python's. */
PyObject *
few_along(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != 3 || !PyList_CheckExact(args[1]) || !PyList_CheckExact(args[2])
        || PyList_GET_SIZE(args[1]) != PyList_GET_SIZE(args[2]) || PyList_GET_SIZE(args[1]) > MOST_AXES)
        return Py_NewRef(Py_None);
    const Elements *of = lazily_held(args[0]);
    if (of == NULL)
        return or_none(left_to_python());
    Elements part = {.memory = of->memory, .kind = of->kind, .itemsize = of->itemsize};
    for (part.rank = 0; part.rank < PyList_GET_SIZE(args[1]); part.rank++) {
        PyObject *own = PyList_GET_ITEM(args[1], part.rank);
        Py_ssize_t axis = 0, length;
        if ((own != Py_None && !as_index(own, &axis)) || !as_index(PyList_GET_ITEM(args[2], part.rank), &length)
            || axis < 0 || (own != Py_None && axis >= of->rank) || length <= 0)
            return or_none(left_to_python());
        int is_own = own != Py_None && of->shape[axis] == length;
        if (own != Py_None && !is_own && of->shape[axis] != 1)
            return Py_NewRef(Py_None);
        part.shape[part.rank] = length;
        part.strides[part.rank] = is_own ? of->strides[axis] : 0;
    }
    return lazy_view(args[0], &part);
}

/* The number that an array without axes holds, if it is real. */
static PyObject *
only_real(PyObject *const *args, size_t nargsf, PyObject *names)
{
    Elements here;
    const Elements *of;
    if (PyVectorcall_NARGS(nargsf) != 1 || names != NULL || is_traced() || !Py_IS_TYPE(args[0], arrays.type)
        || !elements_of(args[0], &here, &of) || of->rank != 0 || IS_COMPLEX(of->kind) || is_in_mode())
        return left_to_python();
    return number_at(of, of->memory);
}

static PyObject *
as_float(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *names)
{
    PyObject *number = only_real(args, nargsf, names), *found = number == NULL ? NULL : PyNumber_Float(number);
    Py_XDECREF(number);
    return found != NULL || PyErr_Occurred() ? found : go_on(function, args, nargsf, names);
}

int
attach_properties(PyObject *functions)
{
    static const vectorcallfunc ordinary[] = {transposed, shape, rank, size, length, bytes, real, imag, as_float};
    const Py_ssize_t count = sizeof(ordinary) / sizeof(*ordinary);
    if (PyTuple_GET_SIZE(functions) != count)
        return PyErr_Format(PyExc_TypeError, "%zd functions are expected", count), -1;
    for (Py_ssize_t i = 0; i < count; i++)
        if (stand_before(PyTuple_GET_ITEM(functions, i), ordinary[i]) < 0)
            return -1;
    return 0;
}
