/* Few elements that are picked, or written, by indices along several axes: `x[i, j]`, `x[:, i]`, and along an axis. */
#include "few.h"

/* What a key of arrays of indices, ints and slices picks: for each of `count` places, whose offsets are in order of the
 * axes of the indices, all that the slices leave. */
typedef struct {
    Elements rest;                        /* what lies at the first place, without the axes of indices */
    int several;                          /* how many axes have indices */
    int before;                           /* how many axes of the rest come before those of the indices */
    int rank;                             /* of the indices, broadcast together */
    Py_ssize_t shape[MOST_AXES], count;
    Py_ssize_t *offsets;
} Picked;

/* Whether a key is a tuple with an array in it. */
int
has_arrays(PyObject *key)
{
    if (PyTuple_CheckExact(key))
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); i++)
            if (Py_IS_TYPE(PyTuple_GET_ITEM(key, i), arrays.type))
                return 1;
    return 0;
}

/* The offsets of indices along an axis are added; `along` says its length and stride, and whether one is beyond. */
typedef struct {
    Py_ssize_t length, stride;
    int *is_beyond;
} Along;

static void
add_offsets(char *to, const char *index, const char *along, Py_ssize_t count, const Py_ssize_t *by)
{
    const Along *axis = (const Along *)along;
    for (; count > 0; count--, to += by[0], index += by[1]) {
        const int64 at = *(const int64 *)index;
        if (at < -axis->length || at >= axis->length)
            *axis->is_beyond = 1;
        else
            *(Py_ssize_t *)to += (at < 0 ? at + axis->length : at) * axis->stride;
    }
}

/* The strides of elements that follow each other, and how many these are. */
static Py_ssize_t
in_order(int rank, const Py_ssize_t *shape, Py_ssize_t itemsize, Py_ssize_t *strides)
{
    Py_ssize_t count = 1;
    for (int axis = rank; axis-- > 0; count *= shape[axis])
        strides[axis] = count * itemsize;
    return count;
}

static int
offsets_of(Picked *picked, const Elements *const *indices, const Along *along, int count, const Elements *to)
{
    Py_ssize_t by[3][MOST_AXES] = {{0}};
    picked->rank = 0;
    for (int i = 0; i < count; i++)
        picked->rank = indices[i]->rank > picked->rank ? indices[i]->rank : picked->rank;
    for (int axis = 0; axis < picked->rank; axis++) {
        picked->shape[axis] = 1;
        for (int i = 0; i < count; i++) {
            int own = axis - picked->rank + indices[i]->rank;
            if (own >= 0 && indices[i]->shape[own] != 1)
                picked->shape[axis] = indices[i]->shape[own];
        }
    }
    Py_ssize_t size = 1;
    for (int axis = 0; axis < picked->rank; axis++)
        size = product(size, picked->shape[axis]);
    if (size == 0 || !are_few(size))
        return 0;
    picked->count = in_order(picked->rank, picked->shape, sizeof(Py_ssize_t), by[0]);
    picked->offsets = PyMem_Calloc((size_t)size, sizeof(Py_ssize_t));
    for (int i = 0; picked->offsets != NULL && i < count; i++) {
        if (!spread(indices[i], picked->rank, picked->shape, by[1]) || (to != NULL && overlap(indices[i], to) != 0))
            return 0;
        over(add_offsets, picked->rank, picked->shape, (char *)picked->offsets, indices[i]->memory,
             (const char *)&along[i], by);
    }
    return picked->offsets != NULL && !*along[0].is_beyond; /* IndexError, in NumPy's words */
}

/* Read a key; 0 where it is of another kind, or Python's. The offsets are to be freed in any case. */
static int
pick(const Elements *of, PyObject *key, Picked *picked, const Elements *to)
{
    Elements here[MOST_AXES], number[MOST_AXES];
    const Elements *indices[MOST_AXES];
    int64 numbers[MOST_AXES];
    Along along[MOST_AXES];
    int is_beyond = 0, count = 0, arrays_ = 0, last = -1;
    Py_ssize_t items = PyTuple_GET_SIZE(key);
    picked->offsets = NULL;
    picked->before = 0;
    picked->rest = (Elements){.memory = of->memory, .kind = of->kind, .itemsize = of->itemsize, .rank = 0};
    if (items > of->rank)
        return 0;
    for (int axis = 0; axis < of->rank; axis++) {
        PyObject *item = axis < items ? PyTuple_GET_ITEM(key, axis) : NULL;
        int is_array = item != NULL && Py_IS_TYPE(item, arrays.type);
        if (item == NULL || PySlice_Check(item)) {
            Py_ssize_t start = 0, step = 1, length = of->shape[axis];
            if (item != NULL && ((length = sliced(item, of->shape[axis], &start, &step)) <= 0 || step < 0))
                return 0;
            picked->rest.memory += start * of->strides[axis];
            picked->rest.shape[picked->rest.rank] = length;
            picked->rest.strides[picked->rest.rank++] = of->strides[axis] * step;
            picked->before += count == 0;
            continue;
        }
        if (count > 0 && last != axis - 1)
            return 0; /* apart from the others: then their axes come first */
        last = axis;
        if (is_array) {
            if (SLOT(item, arrays.of_dtype) != dtype_of_kind(INT64) || !elements_of(item, &here[count], &indices[count])
                || indices[count]->rank == 0 || (to == NULL && !is_in_order(indices[count])))
                return 0; /* what is read lies in memory as its indices do */
            arrays_++;
        }
        else {
            Py_ssize_t index;
            if (!as_index(item, &index))
                return 0;
            numbers[count] = index;
            number[count] = (Elements){.memory = (char *)&numbers[count], .kind = INT64, .itemsize = 8, .rank = 0};
            indices[count] = &number[count];
        }
        along[count] = (Along){of->shape[axis], of->strides[axis], &is_beyond};
        count++;
    }
    picked->several = count;
    if (arrays_ == 0 || picked->rest.rank + 1 > MOST_AXES)
        return 0;
    return offsets_of(picked, indices, along, count, to) && picked->rest.rank + picked->rank <= MOST_AXES;
}

/* The shape of what is picked, and its strides where the places lie `outer` apart and the rest as `inner` says. */
static void
arrange(const Picked *picked, const Py_ssize_t *outer, const Py_ssize_t *inner, Elements *made)
{
    made->rank = 0;
    for (int i = 0; i <= picked->rest.rank; i++) {
        for (int axis = 0; i == picked->before && axis < picked->rank; axis++, made->rank++) {
            made->shape[made->rank] = picked->shape[axis];
            made->strides[made->rank] = outer[axis];
        }
        if (i < picked->rest.rank) {
            made->shape[made->rank] = picked->rest.shape[i];
            made->strides[made->rank++] = inner[i];
        }
    }
}

static PyObject *
taken_from(const Picked *picked)
{
    const Elements *rest = &picked->rest;
    Elements made = {.kind = rest->kind, .itemsize = rest->itemsize};
    Py_ssize_t by[3][MOST_AXES] = {{0}}, outer[MOST_AXES];
    Py_ssize_t row = in_order(rest->rank, rest->shape, rest->itemsize, by[0]), size = row * rest->itemsize;
    in_order(picked->rank, picked->shape, size, outer); /* in memory the indices come first */
    arrange(picked, outer, by[0], &made);
    if (!are_few(product(picked->count, row)) || (picked->before > 0 && picked->rank > 1 && picked->several > 1))
        return NULL; /* of tables of indices on several later axes, Python says the order in memory */
    PyObject *result = new_lazy_laid(&made, picked->count * size);
    if (result == NULL)
        return NULL;
    memcpy(by[1], rest->strides, sizeof(by[1]));
    int is_row = 1;
    for (int axis = 0; axis < rest->rank; axis++)
        is_row &= rest->shape[axis] == 1 || rest->strides[axis] == by[0][axis];
    char *to = made.memory;
    Inner *copy = cast_of(rest->kind, rest->kind);
    for (Py_ssize_t i = 0; i < picked->count; i++, to += size) {
        const char *from = rest->memory + picked->offsets[i];
        if (is_row && size == 8)
            memcpy(to, from, 8);
        else if (is_row)
            memcpy(to, from, (size_t)size);
        else
            over(copy, rest->rank, rest->shape, to, from, from, by);
    }
    return result;
}

PyObject *
few_picked(PyObject *array, PyObject *key)
{
    Elements here;
    const Elements *of;
    Picked picked = {.offsets = NULL};
    if (!elements_of(array, &here, &of) || of->rank == 0 || of->kind == FLOAT16 || !is_in_order(of)
        || is_seen_by_torch())
        return left_to_python();
    for (int axis = 0; axis < of->rank; axis++)
        if (of->strides[axis] == 0 && of->shape[axis] > 1)
            return NULL; /* where torch puts an axis of equal rows, it says */
    PyObject *found = pick(of, key, &picked, NULL) ? taken_from(&picked) : NULL;
    PyMem_Free(picked.offsets);
    return found != NULL ? found : left_to_python();
}

/* A value in a kind, of a shape, apart from what is written; 0 where it is Python's. */
static int
value_for(Operand *value, const Elements *to, int rank, const Py_ssize_t *shape, Py_ssize_t *strides)
{
    if (value->given != NULL) {
        if (value->kind == BOOL || to->kind == BOOL || !in_kind(value, to->kind))
            return 0;
    }
    else if (!are_few(size_of(value->at))
             || ((value->kind != to->kind || overlap(value->at, to) != 0)
                 && (cast_of(value->kind, to->kind) == NULL || !copied(value, to->kind))))
        return 0;
    return spread(value->at, rank, shape, strides);
}

/* The places, one after the other, become what a function makes of them and of the value; without one, the value. */
static void
write_picked(const Picked *picked, const Operand *value, const Py_ssize_t *strides, Inner *function)
{
    const Elements *rest = &picked->rest;
    Py_ssize_t by[3][MOST_AXES] = {{0}}, at[MOST_AXES] = {0};
    memcpy(by[0], rest->strides, sizeof(by[0]));
    for (int i = 0; i < rest->rank; i++)
        by[2][i] = strides[i < picked->before ? i : i + picked->rank];
    memcpy(by[1], function == NULL ? by[2] : by[0], sizeof(by[1]));
    const char *from = value->at->memory;
    Inner *inner = function == NULL ? cast_of(rest->kind, rest->kind) : function;
    for (Py_ssize_t i = 0; i < picked->count; i++) {
        char *place = rest->memory + picked->offsets[i];
        over(inner, rest->rank, rest->shape, place, function == NULL ? from : place, from, by);
        for (int axis = picked->rank; axis-- > 0;) {
            from += strides[picked->before + axis];
            if (++at[axis] < picked->shape[axis])
                break;
            from -= picked->shape[axis] * strides[picked->before + axis];
            at[axis] = 0;
        }
    }
}

static int
put_picked(PyObject *array, PyObject *key, PyObject *value, Picked *picked, Operand *given, PyObject **made)
{
    Elements here, shape;
    const Elements *to;
    Py_ssize_t strides[MOST_AXES], none[MOST_AXES] = {0};
    if (is_watching() || !can_write(array) || !elements_of(array, &here, &to) || !can_be_written(to)
        || is_seen_by_torch() || !pick(to, key, picked, to) || !taken_for(value, to->kind, given, made))
        return 0;
    arrange(picked, none, none, &shape);
    if (!value_for(given, to, shape.rank, shape.shape, strides) || tell(array) < 0)
        return 0;
    write_picked(picked, given, strides, NULL);
    return 1;
}

/* `put_picked` of what a function makes of each place. */
static int
put_made(const Loops *loops, PyObject *array, PyObject *key, PyObject *value, Picked *picked, Operand *given)
{
    Elements here, shape;
    const Elements *to;
    Py_ssize_t strides[MOST_AXES], none[MOST_AXES] = {0};
    if (is_watching() || !can_write(array) || !elements_of(array, &here, &to) || to->rank == 0 || !can_be_written(to)
        || loops->of[to->kind] == NULL || (loops->unless[0] != NULL && IS_REAL(to->kind)) || is_seen_by_torch()
        || !pick(to, key, picked, to) || !taken(value, given) || kind_of_both(to->kind, given->kind) != to->kind)
        return 0;
    arrange(picked, none, none, &shape);
    if (!value_for(given, to, shape.rank, shape.shape, strides) || tell(array) < 0)
        return 0;
    write_picked(picked, given, strides, loops->of[to->kind]);
    return 1;
}

int
few_at_picked(const Loops *loops, PyObject *array, PyObject *key, PyObject *value)
{
    Picked picked = {.offsets = NULL};
    Operand given;
    given.copy = NULL;
    PyObject *ready = PyTuple_CheckExact(key) ? Py_NewRef(key) : PyTuple_Pack(1, key);
    int done = ready != NULL && put_made(loops, array, ready, value, &picked, &given);
    PyMem_Free(picked.offsets);
    forget(&given, 1);
    Py_XDECREF(ready);
    return done;
}

int
few_put_picked(PyObject *array, PyObject *key, PyObject *value)
{
    Picked picked = {.offsets = NULL};
    Operand given;
    PyObject *made = NULL;
    given.copy = NULL;
    int done = put_picked(array, key, value, &picked, &given, &made);
    PyMem_Free(picked.offsets);
    forget(&given, 1);
    Py_XDECREF(made);
    return done;
}

/* --- along an axis ------------------------------------------------------------------------------------------------ */

/* Where indices along an axis of an array lead, each beside its own place on the other axes; 0 where that is
 * Python's. */
static int
pick_along(const Elements *of, PyObject *key, PyObject *axis, Picked *picked, const Elements *to)
{
    Elements here;
    const Elements *indices;
    int is_beyond = 0;
    long which = PyLong_CheckExact(axis) ? PyLong_AsLong(axis) : MOST_AXES;
    which += which < 0 ? of->rank : 0;
    picked->offsets = NULL;
    if (which < 0 || which >= of->rank || !Py_IS_TYPE(key, arrays.type)
        || SLOT(key, arrays.of_dtype) != dtype_of_kind(INT64) || !elements_of(key, &here, &indices)
        || indices->rank != of->rank)
        return 0;
    for (int i = 0; i < of->rank; i++)
        if (i != which && of->shape[i] != indices->shape[i])
            return 0;
    const Along along = {of->shape[which], of->strides[which], &is_beyond};
    picked->before = 0;
    picked->rest = (Elements){.memory = of->memory, .kind = of->kind, .itemsize = of->itemsize, .rank = 0};
    if (!offsets_of(picked, &indices, &along, 1, to))
        return 0;
    Py_ssize_t at[MOST_AXES] = {0}, own = 0;
    for (Py_ssize_t i = 0; i < picked->count; i++) {
        picked->offsets[i] += own;
        for (int j = picked->rank; j-- > 0;) {
            Py_ssize_t by = j == which ? 0 : of->strides[j];
            own += by;
            if (++at[j] < picked->shape[j])
                break;
            own -= picked->shape[j] * by;
            at[j] = 0;
        }
    }
    return 1;
}

/* `np.take_along_axis(a, indices, axis)`, or None. */
PyObject *
few_take_along_axis(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Elements here;
    const Elements *of;
    Picked picked = {.offsets = NULL};
    PyObject *found = NULL;
    if (count == 3 && Py_IS_TYPE(args[0], arrays.type) && !is_traced() && elements_of(args[0], &here, &of)
        && of->rank > 0 && !is_seen_by_torch() && pick_along(of, args[1], args[2], &picked, NULL))
        found = taken_from(&picked);
    PyMem_Free(picked.offsets);
    return or_none(found == NULL ? left_to_python() : found);
}

/* `np.put_along_axis(a, indices, values, axis)`: True where it is done. */
PyObject *
few_put_along_axis(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Elements here;
    const Elements *to;
    Picked picked = {.offsets = NULL};
    Operand given;
    Py_ssize_t strides[MOST_AXES];
    int done = 0;
    given.copy = NULL;
    if (count == 4 && !is_traced() && !is_watching() && can_write(args[0]) && elements_of(args[0], &here, &to)
        && to->rank > 0 && can_be_written(to) && !is_seen_by_torch()
        && pick_along(to, args[1], args[3], &picked, to) && taken(args[2], &given)
        && value_for(&given, to, picked.rank, picked.shape, strides) && tell(args[0]) == 0) {
        write_picked(&picked, &given, strides, NULL);
        done = 1;
    }
    PyMem_Free(picked.offsets);
    forget(&given, 1);
    left_to_python();
    return PyErr_Occurred() ? NULL : PyBool_FromLong(done);
}
