/* Few decomposed elements that are taken at indices or by masks, `x[i]`, `x[0, i]`, `x[mask]`, `x.index_select(0, i)`:
 * value, residual and components are read in memory, which takes less time than one call of torch. */
#include "decomposed.h"
#include "lazy.h"

/* Indices along axes of a value. Places are counted as elements are, in row-major order. */
typedef struct {
    int rank;
    Py_ssize_t shape[MOST_AXES], strides[MOST_AXES]; /* of the indices */
    const int64_t *indices;
    Py_ssize_t length, by;                           /* of the axis; how many elements lie between neighbours */
} Indices;

typedef struct {
    Py_ssize_t length, by;
} Axis;

/* What a key takes: whole axes and parts of them, and along other axes what indices say. */
typedef struct {
    Axis axes[MOST_AXES];
    Indices indices[MOST_AXES];
    int axes_count, indices_count, before;           /* axes that come before those of the indices */
    int is_apart;                                    /* an axis lies between two indices: these come first */
    Py_ssize_t first, used;
    int64_t held[FEW_COMPONENTS];                    /* indices that were lists or masks */
} Key;

static int
add_axis(Key *key, Py_ssize_t length, Py_ssize_t by)
{
    if (key->axes_count == MOST_AXES)
        return 0;
    key->axes[key->axes_count++] = (Axis){length, by};
    return 1;
}

static int
add_indices(Key *key, const Indices *indices, int is_behind_axis)
{
    if (key->indices_count == MOST_AXES)
        return 0;
    if (key->indices_count == 0)
        key->before = key->axes_count;
    else
        key->is_apart |= is_behind_axis;
    key->indices[key->indices_count++] = *indices;
    return 1;
}

/* Indices of one axis that are held. */
static Indices
as_vector(const Key *key, Py_ssize_t start, Py_ssize_t length, Py_ssize_t by)
{
    return (Indices){1, {key->used - start}, {1}, key->held + start, length, by};
}

/* The places of what is true in a mask, which lies by rows. */
static int
add_mask(Key *key, const Array *mask, const Py_ssize_t *lengths, Py_ssize_t by, int is_behind_axis)
{
    const char *is_true = mask->elements;
    Py_ssize_t start = key->used, size = elements_in(mask);
    if (!is_by_rows(mask) || size > FEW_COMPONENTS)
        return 0;
    for (int axis = 0; axis < mask->rank; axis++)
        if (mask->shape[axis] != lengths[axis])
            return 0;
    for (Py_ssize_t i = 0; i < size; i++)
        if (is_true[i]) {
            if (key->used == FEW_COMPONENTS)
                return 0;
            key->held[key->used++] = i;
        }
    Indices indices = as_vector(key, start, size, by);
    return add_indices(key, &indices, is_behind_axis);
}

static int
add_list(Key *key, PyObject *list, Py_ssize_t length, Py_ssize_t by, int is_behind_axis)
{
    Py_ssize_t start = key->used;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        int is_large;
        long long index = PyLong_CheckExact(item) ? PyLong_AsLongLongAndOverflow(item, &is_large) : (is_large = 1);
        if (is_large || key->used == FEW_COMPONENTS)
            return 0;
        key->held[key->used++] = index;
    }
    Indices indices = as_vector(key, start, length, by);
    return add_indices(key, &indices, is_behind_axis);
}

/* How many axes an item takes of those that are left, or -1. */
static int
taken_by(PyObject *item, Array *at)
{
    if (item == Py_None || item == Py_Ellipsis)
        return 0;
    if (!Py_IS_TYPE(item, arrays.tensor))
        return PyLong_CheckExact(item) || PySlice_Check(item) || PyList_CheckExact(item) ? 1 : -1;
    if (!look_at_any(item, at) || !is_on_host(at) || at->rank == 0)
        return -1;
    return at->code == OF_BOOL ? at->rank : at->code == OF_INTEGER && at->bits == 64 ? 1 : -1;
}

/* Add what an item takes: an axis of a length, whose neighbours lie `by` apart, or of a mask several ones. */
static int
add_item(Key *key, PyObject *item, const Array *at, const Py_ssize_t *lengths, const Py_ssize_t *by, int taken,
         int *is_behind_axis)
{
    Py_ssize_t length = lengths[0], start = 0, step = 1;
    if (PySlice_Check(item)) {
        *is_behind_axis = 1;
        if ((length = sliced(item, length, &start, &step)) <= 0 || step < 0)
            return 0;
        key->first += start * by[0];
        return add_axis(key, length, step * by[0]);
    }
    if (PyLong_CheckExact(item)) {
        if (!as_index(item, &start) || start < -length || start >= length)
            return 0;
        key->first += (start < 0 ? start + length : start) * by[0];
        return 1;
    }
    int is_behind = *is_behind_axis;
    *is_behind_axis = 0;
    if (PyList_CheckExact(item))
        return add_list(key, item, length, by[0], is_behind);
    if (at->code == OF_BOOL)
        return add_mask(key, at, lengths, by[taken - 1], is_behind);
    Indices indices = {at->rank, {0}, {0}, at->elements, length, by[0]};
    for (int axis = 0; axis < at->rank; axis++) {
        indices.shape[axis] = at->shape[axis];
        indices.strides[axis] = at->strides[axis];
    }
    return add_indices(key, &indices, is_behind);
}

/* Read a key; 0 where it is torch's. Without indices it gives a view. */
static int
read_key(Key *key, const Array *x, PyObject *const *items, Py_ssize_t count)
{
    Array at[MOST_AXES];
    int takes[MOST_AXES], all = 0, dots = 0, axis = 0, is_behind_axis = 0;
    Py_ssize_t lengths[MOST_AXES], by[MOST_AXES], size = 1;
    if (count > MOST_AXES)
        return 0;
    for (int i = x->rank; i-- > 0; size *= x->shape[i]) {
        lengths[i] = x->shape[i];
        by[i] = size;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        if ((takes[i] = taken_by(items[i], &at[i])) < 0)
            return 0;
        all += takes[i];
        dots += items[i] == Py_Ellipsis;
    }
    if (all > x->rank || dots > 1)
        return 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (items[i] == Py_None) {
            is_behind_axis = 1;
            if (!add_axis(key, 1, 0))
                return 0;
        }
        else if (items[i] == Py_Ellipsis)
            for (int rest = x->rank - all; rest > 0; rest--, axis++, is_behind_axis = 1) {
                if (!add_axis(key, lengths[axis], by[axis]))
                    return 0;
            }
        else if (!add_item(key, items[i], &at[i], lengths + axis, by + axis, takes[i], &is_behind_axis))
            return 0;
        axis += takes[i];
    }
    for (; axis < x->rank; axis++)
        if (!add_axis(key, lengths[axis], by[axis]))
            return 0;
    return key->indices_count > 0;
}

/* What is taken: the shape, and the places of the elements. */
typedef struct {
    int rank;
    int64_t shape[MOST_AXES];
    Py_ssize_t count, places[FEW_COMPONENTS];
} Taken;

/* The shape of all indices together; 0 where they do not broadcast, which torch says. */
static int
broadcast(const Key *key, Py_ssize_t *shape)
{
    int rank = 0;
    for (int i = 0; i < key->indices_count; i++)
        rank = Py_MAX(rank, key->indices[i].rank);
    for (int axis = 0; axis < rank; axis++)
        shape[axis] = 1;
    for (int i = 0; i < key->indices_count; i++)
        for (int own = 0; own < key->indices[i].rank; own++) {
            Py_ssize_t length = key->indices[i].shape[own], *its = &shape[rank - key->indices[i].rank + own];
            if (length != 1 && *its != 1 && length != *its)
                return 0;
            *its = length == 1 ? *its : length;
        }
    return rank;
}

/* The place that indices say, at a position among them all; -1 where it is beyond. */
static Py_ssize_t
place_of(const Key *key, int rank, const Py_ssize_t *shape, Py_ssize_t position)
{
    Py_ssize_t place = 0, at[MOST_AXES];
    for (int axis = rank; axis-- > 0; position /= shape[axis])
        at[axis] = position % shape[axis];
    for (int i = 0; i < key->indices_count; i++) {
        const Indices *its = &key->indices[i];
        const int64_t *index = its->indices;
        for (int own = 0; own < its->rank; own++)
            index += its->shape[own] == 1 ? 0 : at[rank - its->rank + own] * its->strides[own];
        if (*index < -its->length || *index >= its->length)
            return -1;
        place += (*index < 0 ? *index + its->length : *index) * its->by;
    }
    return place;
}

/* Put the places of all axes from `axis` on behind the others. */
static void
put_places(const Key *key, const Axis *axes, int axis, int last, Py_ssize_t place, Py_ssize_t *places, Py_ssize_t *at)
{
    if (axis == last) {
        places[(*at)++] = place;
        return;
    }
    for (Py_ssize_t i = 0; i < axes[axis].length; i++)
        put_places(key, axes, axis + 1, last, place + i * axes[axis].by, places, at);
}

/* 0 where it is torch's: nothing, more than a few, or beyond the ends. */
static int
find_places(const Key *key, Py_ssize_t most, Taken *taken)
{
    Py_ssize_t shape[MOST_AXES], size = 1, indices = 1, outer[FEW_COMPONENTS], outer_count = 0;
    int rank = broadcast(key, shape), before = key->is_apart ? 0 : key->before;
    if (rank == 0 || (taken->rank = rank + key->axes_count) >= MOST_AXES)
        return 0;
    for (int axis = 0; axis < taken->rank; axis++) {
        int own = axis - before;
        Py_ssize_t length = own >= 0 && own < rank ? shape[own] : key->axes[own < 0 ? axis : axis - rank].length;
        taken->shape[axis] = length;
        if (length == 0 || (size *= length) > most)
            return 0;
    }
    for (int axis = 0; axis < rank; axis++)
        indices *= shape[axis];
    put_places(key, key->axes, 0, before, key->first, outer, &outer_count);
    taken->count = 0;
    for (Py_ssize_t i = 0; i < outer_count; i++)
        for (Py_ssize_t position = 0; position < indices; position++) {
            Py_ssize_t place = place_of(key, rank, shape, position);
            if (place < 0)
                return 0;
            put_places(key, key->axes, before, key->axes_count, outer[i] + place, taken->places, &taken->count);
        }
    return 1;
}

/* The elements of a part at the places, of each of its components. */
static PyObject *
part_at(const Array *part, Py_ssize_t size, const Taken *taken, Py_ssize_t components)
{
    int64_t shape[MOST_AXES] = {components};
    int front = components > 0;
    for (int axis = 0; axis < taken->rank; axis++)
        shape[axis + front] = taken->shape[axis];
    const Array like = {.rank = taken->rank + front, .bits = part->bits, .shape = shape};
    char *memory;
    Py_ssize_t rows = Py_MAX(components, 1), count = taken->count, is_in_order = is_by_rows(part);
    PyObject *tensor = tensor_by_rows(part->bits == 64 ? FLOAT64 : FLOAT32, &like, rows * count, &memory);
    for (Py_ssize_t row = 0; tensor != NULL && row < rows; row++)
        for (Py_ssize_t i = 0; i < count; i++) {
            Py_ssize_t from = row * size + taken->places[i], to = row * count + i;
            if (is_in_order && part->bits == 64)
                ((double *)memory)[to] = ((const double *)part->elements)[from];
            else if (is_in_order)
                ((float *)memory)[to] = ((const float *)part->elements)[from];
            else if (part->bits == 64)
                ((double *)memory)[to] = few_element_of(part, from);
            else
                ((float *)memory)[to] = (float)few_element_of(part, from);
        }
    return tensor;
}

/* What a key of indices takes; NULL, without an error, where that is torch's. */
PyObject *
few_taken(const Parts *x, PyObject *key)
{
    int many = PyTuple_CheckExact(key);
    Key read = {.axes_count = 0};
    Taken taken;
    Py_ssize_t size = elements_in(&x->value_at), components = x->components_at.shape[0];
    if (!few_is_open(x)
        || !read_key(&read, &x->value_at, many ? PySequence_Fast_ITEMS(key) : &key, many ? PyTuple_GET_SIZE(key) : 1)
        || !find_places(&read, FEW_COMPONENTS / components, &taken))
        return NULL;
    PyObject *value = part_at(&x->value_at, size, &taken, 0), *residual = part_at(&x->residual_at, size, &taken, 0);
    return assembled(value, residual, part_at(&x->components_at, size, &taken, components), x);
}

/* `x.index_select(axis, indices)` */
PyObject *
few_selected(const Parts *x, PyObject *axis, PyObject *indices)
{
    Py_ssize_t at;
    PyObject *key;
    if (!PyLong_CheckExact(axis) || !as_index(axis, &at) || !Py_IS_TYPE(indices, arrays.tensor))
        return NULL;
    at += at < 0 ? x->value_at.rank : 0;
    if (at < 0 || at >= x->value_at.rank || (key = PyTuple_New(at + 1)) == NULL)
        return NULL;
    for (Py_ssize_t i = 0; i < at; i++)
        PyTuple_SET_ITEM(key, i, PySlice_New(NULL, NULL, NULL));
    PyTuple_SET_ITEM(key, at, Py_NewRef(indices));
    PyObject *made = PyErr_Occurred() ? NULL : few_taken(x, key);
    Py_DECREF(key);
    return made;
}

/* `x.masked_select(mask)`, of a mask of the shape of x. */
PyObject *
mask_selected(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Parts x;
    Array mask;
    if (count != 2 || !parts_of(args[0], &x))
        return NULL;
    int is_whole = Py_IS_TYPE(args[1], arrays.tensor) && look_at_any(args[1], &mask) && mask.code == OF_BOOL
                && mask.rank == x.value_at.rank;
    PyObject *made = is_whole ? few_taken(&x, args[1]) : NULL;
    let_parts_go(&x);
    return made;
}
