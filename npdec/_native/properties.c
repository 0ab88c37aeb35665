/* Shapes of plain arrays, and their transposes: properties of arrays, which say in Python what they are. */
#include "native.h"

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

int
attach_properties(PyObject *const *getters)
{
    static const vectorcallfunc ordinary[] = {transposed, shape, rank, size, length, bytes};
    for (size_t i = 0; i < sizeof(ordinary) / sizeof(*ordinary); i++)
        if (stand_before(getters[i], ordinary[i]) < 0)
            return -1;
    return 0;
}
