/* Views of arrays in other shapes. */
#include "native.h"

Py_ssize_t
read_shape(PyObject *shape, int *open, Elements *made)
{
    int many = PyTuple_CheckExact(shape);
    Py_ssize_t rank = many ? PyTuple_GET_SIZE(shape) : 1, known = 1;
    if (rank == 0 || rank > MOST_AXES)
        return 0;
    for (Py_ssize_t axis = 0; axis < rank; axis++) {
        PyObject *item = many ? PyTuple_GET_ITEM(shape, axis) : shape;
        int beyond = 1;
        Py_ssize_t length = PyLong_CheckExact(item) ? PyLong_AsLongAndOverflow(item, &beyond) : 0;
        if (!beyond && length == -1 && open != NULL && *open < 0)
            *open = (int)axis;
        else if (beyond || length <= 0)
            return 0;
        else
            known = product(known, made->shape[axis] = length);
    }
    made->rank = (int)rank;
    return known;
}

/* Whether a shape, of which one length may be left open, is one of so many elements; if not, that is Python's. */
static int
shape_for(PyObject *shape, Py_ssize_t size, Elements *part)
{
    int open = -1;
    Py_ssize_t known = read_shape(shape, &open, part);
    if (known > 0 && open >= 0) {
        part->shape[open] = size / known;
        known *= part->shape[open];
    }
    return known == size;
}

/* How many elements there are, one after the other in memory; 0 where they lie otherwise. */
static Py_ssize_t
in_a_row(const Elements *of)
{
    Py_ssize_t size = 1;
    for (int axis = of->rank; axis-- > 0; size *= of->shape[axis])
        if (of->strides[axis] != size * of->itemsize)
            return 0;
    return size;
}

/* A view of an array that is lazy or can be, in another shape; NULL, without an error, where it is Python's. */
static PyObject *
reshaped(PyObject *array, PyObject *shape)
{
    if (!Py_IS_TYPE(array, arrays.type) || is_traced() || !may_hold(array) || is_seen_by_torch()
        || !hold(array))
        return NULL;
    Elements part;
    const Elements *of = (const Elements *)SLOT(array, arrays.of_elements);
    Py_ssize_t size = of->rank == 0 ? 0 : in_a_row(of);
    if (size == 0 || !shape_for(shape, size, &part))
        return NULL;
    part.memory = of->memory;
    part.kind = of->kind;
    part.itemsize = of->itemsize;
    part.is_whole = 0;
    Py_ssize_t by = of->itemsize;
    for (int axis = part.rank; axis-- > 0; by *= part.shape[axis])
        part.strides[axis] = by;
    return lazy_view(array, &part);
}

PyObject *
few_reshape(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyObject *found = count == 2 ? reshaped(args[0], args[1]) : NULL;
    return or_none(found == NULL ? left_to_python() : found);
}

PyObject *
few_ravel(PyObject *module, PyObject *array)
{
    PyObject *all = PyLong_FromLong(-1), *found = all == NULL ? NULL : reshaped(array, all);
    Py_XDECREF(all);
    return or_none(found == NULL ? left_to_python() : found);
}
