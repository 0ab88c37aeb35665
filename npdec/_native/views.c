/* Views of arrays in other shapes. */
#include "few.h"

Py_ssize_t
read_shape(PyObject *shape, int *open, Elements *made)
{
    int many = PyTuple_CheckExact(shape);
    Py_ssize_t rank = many ? PyTuple_GET_SIZE(shape) : 1, known = 1;
    if (rank == 0 || rank > MOST_AXES)
        return 0;
    for (Py_ssize_t axis = 0; axis < rank; axis++) {
        PyObject *item = many ? PyTuple_GET_ITEM(shape, axis) : shape;
        Py_ssize_t length;
        int beyond = !as_index(item, &length);
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
        if (of->shape[axis] != 1 && of->strides[axis] != size * of->itemsize)
            return 0;
    return size;
}

/* The strides of a view in another shape of as many elements: axes that go on in each other are cut anew. 0 where the
 * elements do not lie so that there is one. */
static int
strides_for(const Elements *of, Elements *part)
{
    int axis = part->rank - 1;
    Py_ssize_t inner = of->strides[of->rank - 1], row = 1, cut = 1;
    for (int own = of->rank; own-- > 0;) {
        row *= of->shape[own];
        if (own > 0 && (of->shape[own - 1] == 1 || of->strides[own - 1] == row * inner))
            continue;
        for (; axis >= 0 && (cut < row || part->shape[axis] == 1); axis--) {
            part->strides[axis] = cut * inner;
            cut *= part->shape[axis];
        }
        if (cut != row)
            return 0;
        if (own > 0)
            inner = of->strides[own - 1];
        row = cut = 1;
    }
    return axis < 0;
}

/* An array that is lazy or can be, in another shape: a view, or a copy by rows where there is none; NULL, without an
 * error, where it is Python's. */
static PyObject *
reshaped(PyObject *array, PyObject *shape)
{
    Elements part;
    const Elements *of = lazily_held(array);
    Py_ssize_t size = of == NULL || of->rank == 0 ? 0 : size_of(of);
    if (size == 0 || !are_few(size) || !shape_for(shape, size, &part))
        return NULL;
    for (int axis = 0; axis < of->rank; axis++)
        if (of->strides[axis] < 0 || (of->strides[axis] == 0 && of->shape[axis] > 1))
            return NULL; /* torch has no such views, or says how they lie */
    part.memory = of->memory;
    part.kind = of->kind;
    part.itemsize = of->itemsize;
    part.is_whole = 0;
    if (strides_for(of, &part))
        return lazy_view(array, &part);
    return is_traced() || is_seen_by_torch() ? NULL : copied_by_rows(of, &part);
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
    const Elements *of = lazily_held(array);
    if (of != NULL && of->rank > 0 && in_a_row(of) == 0)
        return few_flatten(module, array);
    PyObject *all = of == NULL ? NULL : PyLong_FromLong(-1), *found = all == NULL ? NULL : reshaped(array, all);
    Py_XDECREF(all);
    return or_none(found == NULL ? left_to_python() : found);
}

/* `a.tobytes()` of an array that lies in a row, or None. */
PyObject *
few_tobytes(PyObject *module, PyObject *array)
{
    const Elements *of = lazily_held(array);
    Py_ssize_t size = of == NULL ? 0 : in_a_row(of);
    return size == 0 ? or_none(left_to_python()) : PyBytes_FromStringAndSize(of->memory, size * of->itemsize);
}

/* The elements from an axis on, at a place, in nested lists. */
static PyObject *
listed_from(const Elements *of, int axis, const char *place)
{
    if (axis == of->rank)
        return number_at(of, place);
    PyObject *list = PyList_New(of->shape[axis]);
    for (Py_ssize_t i = 0; list != NULL && i < of->shape[axis]; i++) {
        PyObject *item = listed_from(of, axis + 1, place + i * of->strides[axis]);
        if (item == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, item);
    }
    return list;
}

/* `a.tolist()`, or None. */
PyObject *
few_tolist(PyObject *module, PyObject *array)
{
    const Elements *of = lazily_held(array);
    return of == NULL || of->rank == 0 ? or_none(left_to_python()) : listed_from(of, 0, of->memory);
}

/* --- axes --------------------------------------------------------------------------------------------------------- */

/* Where each axis of a view comes from, by a tuple or list of ints, or None for all in reverse; 0 where that is no
 * order of all axes. */
static int
order_of(PyObject *axes, int rank, int *order)
{
    int seen = 0;
    if (axes != Py_None && ((!PyTuple_CheckExact(axes) && !PyList_CheckExact(axes)) || PySequence_Fast_GET_SIZE(axes) != rank))
        return 0;
    for (int i = 0; i < rank; i++) {
        PyObject *axis = axes == Py_None ? NULL : PySequence_Fast_GET_ITEM(axes, i);
        long from = axis == NULL ? rank - 1 - i : PyLong_CheckExact(axis) ? PyLong_AsLong(axis) : MOST_AXES;
        from += from < 0 ? rank : 0;
        if (PyErr_Occurred() || from < 0 || from >= rank || seen & 1 << from)
            return 0;
        seen |= 1 << from;
        order[i] = (int)from;
    }
    return 1;
}

/* `np.transpose(a, axes)`, or None. */
PyObject *
few_transpose(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    int order[MOST_AXES];
    const Elements *of = count == 2 ? lazily_held(args[0]) : NULL;
    if (of == NULL || of->rank < 2 || !order_of(args[1], of->rank, order))
        return or_none(left_to_python());
    Elements part = {.memory = of->memory, .kind = of->kind, .itemsize = of->itemsize, .rank = of->rank};
    for (int axis = 0; axis < of->rank; axis++) {
        part.shape[axis] = of->shape[order[axis]];
        part.strides[axis] = of->strides[order[axis]];
    }
    return lazy_view(args[0], &part);
}

/* `np.squeeze(a, axis)` of an array of which an axis is left, or None. */
PyObject *
few_squeeze(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyObject *array = args[0];
    const Elements *of = count == 2 && (args[1] == Py_None || PyLong_CheckExact(args[1])) ? lazily_held(array) : NULL;
    if (of == NULL)
        return or_none(left_to_python());
    long only = args[1] == Py_None ? -1 : PyLong_AsLong(args[1]);
    only += args[1] != Py_None && only < 0 ? of->rank : 0;
    if (args[1] != Py_None && (PyErr_Occurred() || only < 0 || only >= of->rank || of->shape[only] != 1))
        return or_none(left_to_python());
    Elements part = {.memory = of->memory, .kind = of->kind, .itemsize = of->itemsize, .rank = 0};
    for (int axis = 0; axis < of->rank; axis++)
        if (args[1] == Py_None ? of->shape[axis] != 1 : axis != only) {
            part.shape[part.rank] = of->shape[axis];
            part.strides[part.rank++] = of->strides[axis];
        }
    return part.rank == 0 ? Py_NewRef(Py_None) : part.rank == of->rank ? Py_NewRef(array) : lazy_view(array, &part);
}

/* `np.atleast_1d(a)` and so on, of so many axes and of the only array in a tuple, or None: new ones come first, but the
 * third, which is last. */
PyObject *
few_at_least(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyObject *array = count == 2 && PyTuple_GET_SIZE(args[0]) == 1 ? PyTuple_GET_ITEM(args[0], 0) : NULL;
    const Elements *of = array == NULL ? NULL : lazily_held(array);
    if (of == NULL)
        return or_none(left_to_python());
    long rank = PyLong_AsLong(args[1]);
    if (of->rank >= rank)
        return Py_NewRef(array);
    int last = rank == 3 && of->rank > 0 ? 1 : 0, first = (int)rank - of->rank - last;
    Elements part = {.memory = of->memory, .kind = of->kind, .itemsize = of->itemsize, .rank = (int)rank};
    for (int axis = (int)rank; axis-- > 0;) { /* the strides are torch's */
        int is_own = axis >= first && axis < first + of->rank;
        Py_ssize_t beyond = axis + 1 < rank ? part.shape[axis + 1] * part.strides[axis + 1] : of->itemsize;
        part.shape[axis] = is_own ? of->shape[axis - first] : 1;
        part.strides[axis] = is_own ? of->strides[axis - first] : beyond;
    }
    return lazy_view(array, &part);
}

/* `np.fill_diagonal(a, number)` of a table: True where it is done. */
PyObject *
few_fill_diagonal(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    const Elements *of = count == 2 && can_write(args[0]) ? lazily_held(args[0]) : NULL;
    int done = 0;
    if (of != NULL && of->rank == 2 && !Py_IS_TYPE(args[1], arrays.type) && !PyList_CheckExact(args[1])
        && !PyTuple_CheckExact(args[1])) {
        Elements part = {.memory = of->memory, .kind = of->kind, .itemsize = of->itemsize, .rank = 1};
        part.shape[0] = of->shape[0] < of->shape[1] ? of->shape[0] : of->shape[1];
        part.strides[0] = of->strides[0] + of->strides[1];
        done = few_written(args[0], &part, args[1]);
    }
    left_to_python();
    return PyErr_Occurred() ? NULL : PyBool_FromLong(done);
}
