/* Few elements in arrays of their own: copies, in another dtype too, and several arrays joined. */
#include "few.h"

/* --- copies ------------------------------------------------------------------------------------------------------- */

/* Write elements to where a part of a result lies. */
static void
write_to(char *to, const Py_ssize_t *strides, const Elements *of, Inner *cast)
{
    Py_ssize_t by[3][MOST_AXES] = {{0}};
    memcpy(by[0], strides, sizeof(by[0]));
    memcpy(by[1], of->strides, sizeof(by[1]));
    over(cast, of->rank, of->shape, to, of->memory, of->memory, by);
}

#define MOST_COPIED ((Py_ssize_t)1 << 16) /* more torch copies as soon */

/* Few elements of an array that has axes, and no axis of equal rows: where torch puts those, it says. */
static int
looked_at(PyObject *array, Elements *here, const Elements **of)
{
    if (!Py_IS_TYPE(array, arrays.type) || !elements_of(array, here, of) || (*of)->rank == 0)
        return 0;
    for (int axis = 0; axis < (*of)->rank; axis++)
        if ((*of)->strides[axis] == 0 && (*of)->shape[axis] > 1)
            return 0;
    Py_ssize_t size = size_of(*of);
    return size > 0 && size <= MOST_COPIED && are_few(size);
}

static void
by_columns(const Elements *of, Py_ssize_t itemsize, Py_ssize_t *strides)
{
    for (int axis = 0; axis < of->rank; itemsize *= of->shape[axis++])
        strides[axis] = itemsize;
}

/* Whether an array that has a tensor does not stand for a view that runs backwards. */
static int
is_its_own(PyObject *array)
{
    PyObject *family = SLOT(array, arrays.of_family);
    return family == Py_None
        || (family != NULL && Py_IS_TYPE(family, families.type) && SLOT(family, families.of_origin) == Py_None);
}

/* An array of few elements that lies by rows, or by columns: itself where it does; NULL where that is Python's. */
PyObject *
laid_as(PyObject *array, int kind, int layout)
{
    Elements here, rows;
    const Elements *of;
    if (is_traced() || !looked_at(array, &here, &of) || is_seen_by_torch())
        return NULL;
    if (layout == BY_COLUMNS)
        by_columns(of, of->itemsize, rows.strides);
    Py_ssize_t size = of->itemsize;
    int is_so = (kind < 0 || kind == of->kind) && (SLOT(array, arrays.of_elements) != NULL || is_its_own(array));
    for (int axis = of->rank; axis-- > 0; size *= of->shape[axis])
        is_so &= of->shape[axis] == 1 || of->strides[axis] == (layout == BY_COLUMNS ? rows.strides[axis] : size);
    return is_so ? Py_NewRef(array) : copied_as(array, kind, layout);
}

/* An array of these elements by rows, in the kind of what is made and in a shape of as many. */
PyObject *
copied_by_rows(const Elements *of, Elements *made)
{
    Inner *cast = cast_for(of, made->kind);
    PyObject *copy = cast == NULL ? NULL : new_lazy(made);
    Py_ssize_t strides[MOST_AXES] = {0}, size = made->itemsize;
    for (int axis = of->rank; axis-- > 0; size *= of->shape[axis])
        strides[axis] = size;
    if (copy != NULL)
        write_to(made->memory, strides, of, cast);
    return copy;
}

/* A copy of few elements in a kind, -1 for theirs. */
PyObject *
copied_as(PyObject *array, int kind, int layout)
{
    Elements here, made;
    const Elements *of;
    if (is_traced() || !looked_at(array, &here, &of) || is_seen_by_torch())
        return NULL;
    made.kind = kind < 0 ? of->kind : kind;
    made.itemsize = SIZES[made.kind];
    int is_laid = layout == BY_COLUMNS || (layout == AS_THEY_LIE && !is_in_order(of));
    if (layout == BY_COLUMNS)
        by_columns(of, made.itemsize, made.strides);
    else if (is_laid && !lie_dense(of, made.itemsize, made.strides))
        return NULL;
    made.rank = layout == IN_ONE_AXIS ? 1 : of->rank;
    memcpy(made.shape, of->shape, sizeof(made.shape));
    if (layout == IN_ONE_AXIS)
        made.shape[0] = size_of(of);
    if (!is_laid)
        return copied_by_rows(of, &made);
    Inner *cast = cast_for(of, made.kind);
    PyObject *copy = cast == NULL ? NULL : new_lazy_laid(&made, size_of(of) * made.itemsize);
    if (copy != NULL)
        write_to(made.memory, made.strides, of, cast);
    return copy;
}

/* `np.copy(a)`, or None. */
PyObject *
few_copy(PyObject *module, PyObject *array)
{
    PyObject *copy = copied_as(array, -1, AS_THEY_LIE);
    return or_none(copy == NULL ? left_to_python() : copy);
}

/* `a.copy()`, or None. */
PyObject *
few_copy_by_rows(PyObject *module, PyObject *array)
{
    PyObject *copy = copied_as(array, -1, BY_ROWS);
    return or_none(copy == NULL ? left_to_python() : copy);
}

PyObject *
few_flatten(PyObject *module, PyObject *array)
{
    PyObject *copy = copied_as(array, -1, IN_ONE_AXIS);
    return or_none(copy == NULL ? left_to_python() : copy);
}

/* `a.astype(dtype, copy)`: not to be called where floating-point errors are looked for. */
PyObject *
few_astype(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    int kind = count != 3 || !PyBool_Check(args[2]) || is_watching() ? -1 : kind_meant(args[1]);
    if (kind >= 0 && args[1] != Py_None && args[2] == Py_False && Py_IS_TYPE(args[0], arrays.type)
        && dtype_of_kind(kind) == SLOT(args[0], arrays.of_dtype))
        return Py_NewRef(args[0]);
    PyObject *copy = kind < 0 || args[1] == Py_None ? NULL : copied_as(args[0], kind, AS_THEY_LIE);
    return or_none(copy == NULL ? left_to_python() : copy);
}

/* --- filled ------------------------------------------------------------------------------------------------------- */

/* `a.fill(number)`: True where it is done. */
PyObject *
few_fill(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    int is_number = count == 2 && kind_of_number(args[1]) >= 0;
    if (!is_number || is_traced() || is_seen_by_torch() || !can_write(args[0]) || !hold(args[0])) {
        left_to_python();
        return PyErr_Occurred() ? NULL : Py_NewRef(Py_False);
    }
    int done = few_written(args[0], (const Elements *)SLOT(args[0], arrays.of_elements), args[1]);
    left_to_python();
    return PyErr_Occurred() ? NULL : PyBool_FromLong(done);
}

/* --- joined ------------------------------------------------------------------------------------------------------- */

#define MOST_JOINED 32

/* Arrays of one dtype, joined along an axis that they have or, `is_stacked`, along a new one; vectors may stand for
 * rows of tables. */
enum { AS_THEY_ARE, AS_ROWS, AS_COLUMNS };
static PyObject *
joined_arrays(PyObject *items, long axis, int is_stacked, int stands)
{
    Elements here[MOST_JOINED], made;
    const Elements *of[MOST_JOINED];
    int many = PyTuple_CheckExact(items);
    Py_ssize_t count = many ? PyTuple_GET_SIZE(items) : PyList_CheckExact(items) ? PyList_GET_SIZE(items) : 0;
    Py_ssize_t long_ = 0;
    if (count == 0 || count > MOST_JOINED || is_traced() || is_seen_by_torch())
        return NULL;
    PyObject *first = many ? PyTuple_GET_ITEM(items, 0) : PyList_GET_ITEM(items, 0);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = many ? PyTuple_GET_ITEM(items, i) : PyList_GET_ITEM(items, i);
        if (!Py_IS_TYPE(item, arrays.type) || SLOT(item, arrays.of_dtype) != SLOT(first, arrays.of_dtype))
            return NULL;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = many ? PyTuple_GET_ITEM(items, i) : PyList_GET_ITEM(items, i);
        if (!looked_at(item, &here[i], &of[i]) || !is_in_order(of[i]))
            return NULL;
        if (stands && of[i]->rank == 1) {
            const Elements *row = of[i];
            Elements table = {.memory = row->memory, .kind = row->kind, .itemsize = row->itemsize, .rank = 2};
            int is_row = stands == AS_ROWS;
            table.shape[0] = is_row ? 1 : row->shape[0];
            table.shape[1] = is_row ? row->shape[0] : 1;
            table.strides[is_row] = row->strides[0];
            table.strides[!is_row] = 0;
            here[i] = table;
            of[i] = &here[i];
        }
        if (of[i]->kind != of[0]->kind || of[i]->rank != of[0]->rank)
            return NULL;
    }
    int rank = of[0]->rank + is_stacked;
    axis += axis < 0 ? rank : 0;
    if (axis < 0 || axis >= rank || rank > MOST_AXES)
        return NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        for (int other = 0; other < of[0]->rank; other++)
            if ((is_stacked || other != axis) && of[i]->shape[other] != of[0]->shape[other])
                return NULL;
        long_ += is_stacked ? 1 : of[i]->shape[axis];
    }
    made.kind = of[0]->kind;
    made.itemsize = of[0]->itemsize;
    made.rank = rank;
    Py_ssize_t size = 1;
    for (int to = 0; to < rank; to++) {
        made.shape[to] = to == axis ? long_ : of[0]->shape[to - (is_stacked && to > axis)];
        size = product(size, made.shape[to]);
    }
    PyObject *result = are_few(size) ? new_lazy(&made) : NULL;
    if (result == NULL)
        return NULL;
    Py_ssize_t strides[MOST_AXES] = {0};
    for (int to = 0, from = 0; to < rank; to++)
        if (!is_stacked || to != axis)
            strides[from++] = made.strides[to];
    char *place = made.memory;
    for (Py_ssize_t i = 0; i < count; i++) {
        write_to(place, strides, of[i], cast_of(made.kind, made.kind));
        place += made.strides[axis] * (is_stacked ? 1 : of[i]->shape[axis]);
    }
    return result;
}

/* The same, where lists and tuples of numbers may be among them. */
static PyObject *
joined(PyObject *items, long axis, int is_stacked, int stands)
{
    PyObject *found = joined_arrays(items, axis, is_stacked, stands), *all;
    int has_arrays = 0, has_others = 0;
    if (found != NULL || PyErr_Occurred() || (!PyList_CheckExact(items) && !PyTuple_CheckExact(items)))
        return found;
    Py_ssize_t count = PySequence_Fast_GET_SIZE(items);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(items, i);
        has_arrays |= Py_IS_TYPE(item, arrays.type);
        has_others |= PyList_CheckExact(item) || PyTuple_CheckExact(item);
    }
    if (!has_arrays || !has_others || (all = PyTuple_New(count)) == NULL)
        return NULL;
    for (Py_ssize_t i = 0; all != NULL && i < count; i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(items, i), *as_array[2] = {item, Py_None};
        item = Py_IS_TYPE(item, arrays.type) ? Py_NewRef(item) : few_array(NULL, as_array, 2);
        if (item == NULL)
            Py_CLEAR(all);
        else
            PyTuple_SET_ITEM(all, i, item);
    }
    found = all == NULL ? NULL : joined_arrays(all, axis, is_stacked, stands);
    Py_XDECREF(all);
    return found;
}

PyObject *
stacked(PyObject *items)
{
    return joined(items, 0, 1, 0);
}

static PyObject *
joined_by(PyObject *const *args, Py_ssize_t count, int is_stacked)
{
    PyObject *found = NULL;
    if (count == 2 && PyLong_CheckExact(args[1])) {
        long axis = PyLong_AsLong(args[1]);
        found = PyErr_Occurred() ? NULL : joined(args[0], axis, is_stacked, 0);
    }
    return or_none(found == NULL ? left_to_python() : found);
}

PyObject *
few_concatenate(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return joined_by(args, count, 0);
}

PyObject *
few_stack(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    return joined_by(args, count, 1);
}

/* The rank of the first of several arrays, -1 where there is none. */
static int
rank_in(PyObject *items)
{
    PyObject *first = PyList_CheckExact(items) && PyList_GET_SIZE(items) ? PyList_GET_ITEM(items, 0)
                    : PyTuple_CheckExact(items) && PyTuple_GET_SIZE(items) ? PyTuple_GET_ITEM(items, 0) : NULL;
    Elements here;
    const Elements *of;
    return first != NULL && Py_IS_TYPE(first, arrays.type) && elements_of(first, &here, &of) ? of->rank : -1;
}

PyObject *
few_hstack(PyObject *module, PyObject *items)
{
    int rank = rank_in(items);
    PyObject *found = rank < 1 ? NULL : joined(items, rank > 1, 0, 0);
    return or_none(found == NULL ? left_to_python() : found);
}

PyObject *
few_vstack(PyObject *module, PyObject *items)
{
    PyObject *found = joined(items, 0, 0, 1);
    return or_none(found == NULL ? left_to_python() : found);
}

PyObject *
few_column_stack(PyObject *module, PyObject *items)
{
    PyObject *found = joined(items, 1, 0, AS_COLUMNS);
    return or_none(found == NULL ? left_to_python() : found);
}
