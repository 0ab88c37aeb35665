/* Few elements that are chosen one by one: by arrays of indices, by masks, by conditions. */
#include "few.h"

/* The number of elements of a vector of indices, each of which is in range, -1 where it is no such vector. */
static Py_ssize_t
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
        if (count == 0 || count > FEW)
            return -1;
    }
    Py_ssize_t by = indices->rank > 1 ? indices->itemsize : indices->strides[0];
    for (Py_ssize_t i = 0; i < count; i++) {
        long long index = *(const long long *)(indices->memory + i * by);
        if (index < -size || index >= size)
            return -1; /* IndexError, in NumPy's words */
    }
    return count;
}

/* Rows: what an index along the first axis chooses. */
struct rows {
    Elements one;
    Py_ssize_t size, step;  /* how many elements a row has, and what lies between rows */
    int is_dense;
};

static int
rows_of(const Elements *of, struct rows *rows)
{
    Py_ssize_t size = 1;
    if (of->rank == 0)
        return 0;
    rows->is_dense = 1;
    for (int axis = of->rank; axis-- > 1;) {
        rows->is_dense &= of->shape[axis] == 1 || of->strides[axis] == size * of->itemsize;
        size *= of->shape[axis];
    }
    rows->size = size;
    rows->step = of->strides[0];
    return size > 0 && rows->is_dense;
}

static PyObject *
by_indices(const Elements *of, PyObject *key)
{
    Elements here, made;
    const Elements *indices;
    struct rows rows;
    Py_ssize_t count = indices_of(key, of->shape[0], &here, &indices);
    if (count < 0 || !rows_of(of, &rows) || count * rows.size > FEW || indices->rank + of->rank - 1 > MOST_AXES)
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
    size_t length = (size_t)(rows.size * of->itemsize);
    Py_ssize_t by = indices->rank > 1 ? indices->itemsize : indices->strides[0];
    const char *index = indices->memory;
    char *to = made.memory;
    for (Py_ssize_t i = 0; i < count; i++, index += by, to += length) {
        long long row = *(const long long *)index;
        const char *from = of->memory + (row < 0 ? row + of->shape[0] : row) * rows.step;
        if (length == 8)
            memcpy(to, from, 8);
        else
            memcpy(to, from, length);
    }
    return result;
}

static PyObject *
by_mask(const Elements *of, PyObject *key)
{
    Elements here, made;
    const Elements *mask;
    struct rows rows;
    if (!elements_of(key, &here, &mask) || mask->rank != 1 || mask->shape[0] != of->shape[0] || !rows_of(of, &rows))
        return NULL;
    Py_ssize_t count = 0;
    for (Py_ssize_t i = 0; i < mask->shape[0]; i++)
        count += mask->memory[i * mask->strides[0]] != 0;
    if (count == 0 || count * rows.size > FEW)
        return NULL;
    made.kind = of->kind;
    made.itemsize = of->itemsize;
    made.rank = of->rank;
    memcpy(made.shape, of->shape, sizeof(made.shape));
    made.shape[0] = count;
    PyObject *result = new_lazy(&made);
    size_t length = (size_t)(rows.size * of->itemsize);
    char *to = made.memory;
    for (Py_ssize_t i = 0; result != NULL && i < mask->shape[0]; i++)
        if (mask->memory[i * mask->strides[0]]) {
            memcpy(to, of->memory + i * rows.step, length);
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
    return found != NULL ? found : left_to_python();
}

/* Elements of one array where a mask is true, else of another. */
static void
where_8(char *to, const char *a, const char *mask, Py_ssize_t count, const Py_ssize_t *by)
{
    for (; count > 0; count--, to += by[0], a += by[1], mask += by[2])
        if (*mask)
            memcpy(to, a, 8);
}
static void
where_4(char *to, const char *a, const char *mask, Py_ssize_t count, const Py_ssize_t *by)
{
    for (; count > 0; count--, to += by[0], a += by[1], mask += by[2])
        if (*mask)
            memcpy(to, a, 4);
}
static void
where_1(char *to, const char *a, const char *mask, Py_ssize_t count, const Py_ssize_t *by)
{
    for (; count > 0; count--, to += by[0], a += by[1], mask += by[2])
        if (*mask)
            *to = *a;
}

PyObject *
few_where(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Operand given[3];
    Elements made;
    char memory[2 * FEW * sizeof(double)];
    Py_ssize_t by[4][MOST_AXES], size = 1;
    for (int i = 0; i < 3; i++)
        if (count != 3 || !taken(args[i], &given[i])
            || (given[i].given == NULL && (size_of(given[i].at) > FEW || !is_in_order(given[i].at))))
            return or_none(left_to_python());
    int kind = kind_of_both(given[1].kind, given[2].kind);
    if (kind < 0 || SIZES[kind] > 8 || SIZES[kind] == 2 || given[0].given != NULL || given[0].kind != BOOL
        || is_watching() || !is_brought(&given[1], kind, memory)
        || !is_brought(&given[2], kind, memory + FEW * sizeof(double)) || is_seen_by_torch())
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
        if ((size *= made.shape[axis]) > FEW || size == 0)
            return Py_NewRef(Py_None);
    }
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
    over(made.itemsize == 8 ? where_8 : made.itemsize == 4 ? where_4 : where_1, made.rank, made.shape, made.memory,
         given[1].at->memory, given[0].at->memory, of_one);
    return result;
}
