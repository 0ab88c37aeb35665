/* Few elements that are chosen one by one: by arrays of indices, by masks, by conditions. */
#include "few.h"

#include <math.h>

/* The least and the greatest of indices. */
BY_PROCESSOR static void
bounds(const char *index, Py_ssize_t by, Py_ssize_t count, long long *least, long long *greatest)
{
    long long low = 0, high = 0;
    if (by == sizeof(long long))
        for (Py_ssize_t i = 0; i < count; i++) {
            const long long one = ((const long long *)index)[i];
            low = one < low ? one : low;
            high = one > high ? one : high;
        }
    else
        for (Py_ssize_t i = 0; i < count; i++) {
            const long long one = *(const long long *)(index + i * by);
            low = one < low ? one : low;
            high = one > high ? one : high;
        }
    *least = low;
    *greatest = high;
}

/* The number of elements of a vector of indices, each of which is in range, -1 where it is no such vector. */
Py_ssize_t
indices_of(PyObject *key, Py_ssize_t size, Elements *here, const Elements **found)
{
    if (!elements_of(key, here, found) || (*found)->rank < 1 || (*found)->kind != INT64)
        return -1;
    const Elements *indices = *found;
    Py_ssize_t count = 1;
    for (int axis = indices->rank; axis-- > 0;) { /* several axes that go on in each other are one */
        if (indices->shape[axis] > 1 && indices->strides[axis] != count * indices->itemsize && indices->rank > 1)
            return -1;
        count *= indices->shape[axis];
        if (count == 0 || !are_few(count))
            return -1;
    }
    Py_ssize_t by = indices->rank > 1 ? indices->itemsize : indices->strides[0];
    long long least, greatest;
    bounds(indices->memory, by, count, &least, &greatest);
    return least < -size || greatest >= size ? -1 : count; /* IndexError, in NumPy's words */
}

/* How many elements lie one after the other in what an index along the first axis chooses; 0 where they do not. */
static Py_ssize_t
row_of(const Elements *of)
{
    Py_ssize_t size = 1;
    for (int axis = of->rank; axis-- > 1; size *= of->shape[axis])
        if (of->shape[axis] > 1 && of->strides[axis] != size * of->itemsize)
            return 0;
    return size;
}

/* How many elements of a vector of booleans are true. */
static Py_ssize_t
true_in(const Elements *mask)
{
    Py_ssize_t count = 0;
    for (Py_ssize_t i = 0; i < mask->shape[0]; i++)
        count += mask->memory[i * mask->strides[0]] != 0;
    return count;
}

static PyObject *
by_indices(const Elements *of, PyObject *key)
{
    Elements here, made;
    const Elements *indices;
    Py_ssize_t count = indices_of(key, of->shape[0], &here, &indices), row = row_of(of);
    if (count < 0 || row == 0 || !are_few(product(count, row)) || indices->rank + of->rank - 1 > MOST_AXES)
        return NULL;
    made.kind = of->kind;
    made.itemsize = of->itemsize;
    made.rank = 0;
    for (int axis = 0; axis < indices->rank; axis++)
        made.shape[made.rank++] = indices->shape[axis];
    for (int axis = 1; axis < of->rank; axis++)
        made.shape[made.rank++] = of->shape[axis];
    PyObject *result = new_lazy(&made);
    if (result == NULL)
        return NULL;
    size_t length = (size_t)(row * of->itemsize);
    Py_ssize_t by = indices->rank > 1 ? indices->itemsize : indices->strides[0];
    const char *index = indices->memory;
    char *to = made.memory;
    for (Py_ssize_t i = 0; i < count; i++, index += by, to += length) {
        long long place = *(const long long *)index;
        const char *from = of->memory + (place < 0 ? place + of->shape[0] : place) * of->strides[0];
        if (length == 8)
            memcpy(to, from, 8);
        else
            memcpy(to, from, length);
    }
    return result;
}

/* An array that lies in row-major order as a vector; 0 where it does not. */
static int
as_vector(const Elements *of, Elements *vector)
{
    Py_ssize_t size = 1;
    for (int axis = of->rank; axis-- > 0; size *= of->shape[axis])
        if (of->shape[axis] > 1 && of->strides[axis] != size * of->itemsize)
            return 0;
    *vector = (Elements){.memory = of->memory, .kind = of->kind, .itemsize = of->itemsize, .rank = 1};
    vector->shape[0] = size;
    vector->strides[0] = of->itemsize;
    return are_few(size);
}

/* A mask of several axes, and what it belongs to, as vectors; 0 where they do not lie so. */
static int
are_vectors(const Elements **of, const Elements **mask, Elements *vectors)
{
    for (int axis = 0; axis < (*mask)->rank; axis++)
        if ((*mask)->rank != (*of)->rank || (*mask)->shape[axis] != (*of)->shape[axis])
            return 0;
    if ((*mask)->rank < 2)
        return (*mask)->rank == 1 && (*mask)->shape[0] == (*of)->shape[0];
    if (!as_vector(*of, &vectors[0]) || !as_vector(*mask, &vectors[1]))
        return 0;
    *of = &vectors[0];
    *mask = &vectors[1];
    return 1;
}

static PyObject *
by_mask(const Elements *of, PyObject *key)
{
    Elements here, made, vectors[2];
    const Elements *mask;
    if (!elements_of(key, &here, &mask))
        return NULL;
    if (mask->rank == 1 ? mask->shape[0] != of->shape[0] : !are_vectors(&of, &mask, vectors))
        return NULL;
    Py_ssize_t count = true_in(mask), row = row_of(of);
    if (row == 0 || !are_few(product(count, row)))
        return NULL;
    made.kind = of->kind;
    made.itemsize = of->itemsize;
    made.rank = of->rank;
    memcpy(made.shape, of->shape, sizeof(made.shape));
    made.shape[0] = count;
    if (count == 0) {
        Py_ssize_t by = made.itemsize;
        for (int axis = made.rank; axis-- > 0; by *= made.shape[axis] > 0 ? made.shape[axis] : 1)
            made.strides[axis] = by;
        return empty_array(&made);
    }
    PyObject *result = new_lazy(&made);
    size_t length = (size_t)(row * of->itemsize);
    char *to = made.memory;
    for (Py_ssize_t i = 0; result != NULL && i < mask->shape[0]; i++)
        if (mask->memory[i * mask->strides[0]]) {
            memcpy(to, of->memory + i * of->strides[0], length);
            to += length;
        }
    return result;
}

PyObject *
few_chosen(PyObject *array, PyObject *key)
{
    Elements here;
    const Elements *of;
    PyObject *dtype = SLOT(key, arrays.of_dtype);
    int is_mask = dtype == dtype_of_kind(BOOL);
    if ((!is_mask && dtype != dtype_of_kind(INT64)) || !elements_of(array, &here, &of) || of->rank == 0
        || is_seen_by_torch())
        return left_to_python();
    PyObject *found = is_mask ? by_mask(of, key) : by_indices(of, key);
    Elements beside;
    const Elements *indices;
    if (found == NULL && !is_mask && !PyErr_Occurred() && elements_of(key, &beside, &indices) && is_in_order(indices)) {
        PyObject *rows = laid_as(key, -1, BY_ROWS); /* indices with gaps between them */
        if (rows != NULL && rows != key)
            found = by_indices(of, rows);
        Py_XDECREF(rows);
    }
    return found != NULL ? found : left_to_python();
}

int
is_column(PyObject *array, PyObject *key)
{
    Elements here;
    const Elements *of;
    return PyTuple_CheckExact(key) && PyTuple_GET_SIZE(key) == 2 && PyTuple_GET_ITEM(key, 1) == Py_None
        && Py_IS_TYPE(PyTuple_GET_ITEM(key, 0), arrays.type) && elements_of(array, &here, &of) && of->rank == 1;
}

PyObject *
few_column(PyObject *array, PyObject *key)
{
    PyObject *found = few_chosen(array, PyTuple_GET_ITEM(key, 0)), *view = NULL;
    const Elements *of = found == NULL ? NULL : lazily_held(found);
    int kind = kind_of_dtype(SLOT(array, arrays.of_dtype)); /* what has no elements is not held */
    Elements column = {.kind = kind, .itemsize = SIZES[kind], .rank = 2};
    column.shape[1] = 1;
    column.strides[0] = column.strides[1] = column.itemsize;
    if (of != NULL && of->rank == 1) {
        column.memory = of->memory;
        column.shape[0] = of->shape[0];
        column.strides[0] = of->strides[0];
        view = lazy_view(found, &column);
    }
    else if (found != NULL && of == NULL && !PyErr_Occurred() && PyObject_Size(found) == 0)
        view = empty_array(&column);
    Py_XDECREF(found);
    if (view == NULL)
        return left_to_python();
    return view;
}

/* Elements of one array where a mask is true, else what is there. */
#define WHERE(name, type) \
    BY_PROCESSOR static void name(char *to, const char *a, const char *mask, Py_ssize_t count, const Py_ssize_t *by) \
    { \
        if (by[0] == sizeof(type) && by[2] == 1 && (by[1] == sizeof(type) || by[1] == 0)) { \
            type *put = (type *)to; \
            const type *of_a = (const type *)a, one = *of_a; \
            if (by[1]) \
                for (Py_ssize_t i = 0; i < count; i++) { \
                    const type x = of_a[i], y = put[i]; \
                    put[i] = mask[i] ? x : y; \
                } \
            else \
                for (Py_ssize_t i = 0; i < count; i++) { \
                    const type y = put[i]; \
                    put[i] = mask[i] ? one : y; \
                } \
            return; \
        } \
        for (; count > 0; count--, to += by[0], a += by[1], mask += by[2]) \
            if (*mask) \
                *(type *)to = *(const type *)a; \
    }
WHERE(where_1, uint8)
WHERE(where_4, uint32)
WHERE(where_8, uint64)
WHERE(where_16, complex128)

static PyObject *
where(PyObject *const *args, Py_ssize_t count, Operand *given)
{
    Elements made;
    Py_ssize_t by[4][MOST_AXES], size = 1;
    for (int i = 0; i < 3; i++)
        if (count != 3 || !taken(args[i], &given[i])
            || (given[i].given == NULL && (!are_few(size_of(given[i].at)) || !is_in_order(given[i].at))))
            return or_none(left_to_python());
    int kind = kind_of_both(given[1].kind, given[2].kind);
    if (kind < 0 || SIZES[kind] == 2 || given[0].given != NULL
        || is_watching() || (given[0].kind != BOOL && !copied(&given[0], BOOL)) || !is_brought(&given[1], kind)
        || !is_brought(&given[2], kind) || is_seen_by_torch())
        return or_none(left_to_python());
    made.rank = 0;
    for (int i = 0; i < 3; i++)
        made.rank = given[i].at->rank > made.rank ? given[i].at->rank : made.rank;
    for (int axis = 0; axis < made.rank; axis++) {
        made.shape[axis] = 1;
        for (int i = 0; i < 3; i++) {
            int own = axis - made.rank + given[i].at->rank;
            if (own >= 0 && given[i].at->shape[own] != 1)
                made.shape[axis] = given[i].at->shape[own];
        }
        size = product(size, made.shape[axis]);
    }
    if (size == 0 || !are_few(size))
        return Py_NewRef(Py_None);
    for (int i = 0; i < 3; i++)
        if (made.rank == 0 || !spread(given[i].at, made.rank, made.shape, by[1 + i]))
            return Py_NewRef(Py_None);
    made.kind = kind;
    made.itemsize = SIZES[kind];
    PyObject *result = new_lazy(&made);
    if (result == NULL)
        return NULL;
    Py_ssize_t of_other[3][MOST_AXES], of_one[3][MOST_AXES];
    memcpy(of_other[0], made.strides, sizeof(made.strides));
    memcpy(of_one[0], made.strides, sizeof(made.strides));
    memcpy(of_one[1], by[2], sizeof(by[2]));
    memcpy(of_one[2], by[1], sizeof(by[1]));
    memcpy(of_other[1], by[3], sizeof(by[3]));
    memset(of_other[2], 0, sizeof(of_other[2]));
    over(cast_of(kind, kind), made.rank, made.shape, made.memory, given[2].at->memory, given[2].at->memory, of_other);
    Inner *const inner = made.itemsize == 16 ? where_16 : made.itemsize == 8 ? where_8 : made.itemsize == 4 ? where_4
                       : where_1;
    over(inner, made.rank, made.shape, made.memory, given[1].at->memory, given[0].at->memory, of_one);
    return result;
}

PyObject *
few_where(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Operand given[3];
    given[0].copy = given[1].copy = given[2].copy = NULL;
    PyObject *found = where(args, count, given);
    forget(given, 3);
    return found;
}

int
is_for(Operand *value, int kind, Py_ssize_t count, const Elements *beside)
{
    if (value->given != NULL)
        return value->kind != BOOL && kind != BOOL && in_kind(value, kind);
    if (!are_few(size_of(value->at)) || value->at->rank > 1 || (value->at->rank == 1 && value->at->shape[0] != count))
        return 0;
    if (value->kind == kind && overlap(value->at, beside) == 0)
        return 1;
    return (value->kind == kind || cast_of(value->kind, kind) != NULL) && copied(value, kind);
}

static int
put(PyObject *array, PyObject *key, PyObject *value, Operand *given, PyObject **made)
{
    Elements keys, here, vectors[2];
    const Elements *chosen, *to;
    PyObject *dtype = SLOT(key, arrays.of_dtype);
    int is_mask = dtype == dtype_of_kind(BOOL);
    if ((!is_mask && dtype != dtype_of_kind(INT64)) || is_watching() || !can_write(array)
        || !elements_of(array, &here, &to) || (to->rank != 1 && !is_mask) || !can_be_written(to) || is_seen_by_torch())
        return 0;
    Py_ssize_t count = 0, length = to->shape[0];
    if (is_mask) {
        if (!elements_of(key, &keys, &chosen) || !are_vectors(&to, &chosen, vectors))
            return 0;
        count = true_in(chosen);
        length = to->shape[0];
    }
    else
        count = indices_of(key, length, &keys, &chosen);
    if (count < 0 || chosen->rank != 1 || overlap(chosen, to) != 0 || !taken_for(value, to->kind, given, made)
        || !is_for(given, to->kind, count, to) || tell(array) < 0)
        return 0;
    const char *from = given->at->memory, *one = chosen->memory;
    Py_ssize_t by = given->at->rank ? given->at->strides[0] : 0, size = to->itemsize;
    for (Py_ssize_t i = 0; i < chosen->shape[0]; i++, one += chosen->strides[0]) {
        long long index = i;
        if (is_mask ? !*one : (index = *(const long long *)one, 0))
            continue;
        char *place = to->memory + (index < 0 ? index + length : index) * to->strides[0];
        if (size == 8)
            memcpy(place, from, 8);
        else
            memcpy(place, from, (size_t)size);
        from += by;
    }
    return 1;
}

int
few_put(PyObject *array, PyObject *key, PyObject *value)
{
    Operand given;
    PyObject *made = NULL;
    given.copy = NULL;
    int done = put(array, key, value, &given, &made);
    forget(&given, 1);
    Py_XDECREF(made);
    return done;
}
