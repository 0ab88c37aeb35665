/* Parts of lazy arrays: where the elements lie that a key of integers, slices, None and dots chooses. */
#include "lazy.h"

/* How many axes of an array the items of a key stand for; -1 where there are items of other kinds. */
static int
axes_of(PyObject *const *items, Py_ssize_t count)
{
    int axes = 0, dots = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *item = items[i];
        if (item == Py_Ellipsis)
            dots++;
        else if (PyLong_CheckExact(item) || PySlice_Check(item) || IS_WHOLE(kind_of_type(Py_TYPE(item))))
            axes++;
        else if (item != Py_None)
            return -1;
    }
    return dots > 1 ? -1 : axes;
}

/* One bound of a slice, which is None, an int or a scalar. */
static int
bound_of(PyObject *bound, Py_ssize_t *found)
{
    if (bound == Py_None)
        return 1;
    return as_index(bound, found); /* of others `__index__` would be asked here, and in Python again */
}

int
sliced(PyObject *item, Py_ssize_t size, Py_ssize_t *start, Py_ssize_t *step)
{
    PySliceObject *slice = (PySliceObject *)item;
    Py_ssize_t stop;
    *step = 1;
    if (!bound_of(slice->step, step) || *step == 0 || *step < -PY_SSIZE_T_MAX)
        return -1;
    *start = *step < 0 ? size - 1 : 0;
    stop = *step < 0 ? -size - 1 : size; /* below zero they are counted from the end */
    if (!bound_of(slice->start, start) || !bound_of(slice->stop, &stop))
        return -1;
    Py_ssize_t count = PySlice_AdjustIndices(size, start, &stop, *step);
    return (int)(count > INT_MAX ? -1 : count);
}

int
part_by(const Elements *whole, PyObject *key, Elements *part)
{
    int many = PyTuple_CheckExact(key), out = 0, axis = 0, is_element = 1;
    PyObject *const *items = many ? ((PyTupleObject *)key)->ob_item : &key;
    Py_ssize_t count = many ? PyTuple_GET_SIZE(key) : 1;
    int axes = axes_of(items, count), rest = whole->rank - axes;
    if (axes < 0 || rest < 0 || count == 0)
        return 0;
    part->memory = whole->memory;
    part->kind = whole->kind;
    part->itemsize = whole->itemsize;
    part->is_whole = 0;
    for (Py_ssize_t i = 0; i <= count; i++) {
        PyObject *item = i < count ? items[i] : Py_Ellipsis;
        if (item == Py_Ellipsis) {
            is_element &= i == count && rest == 0;
            for (; rest > 0 && out < MOST_AXES; rest--, axis++, out++) {
                part->shape[out] = whole->shape[axis];
                part->strides[out] = whole->strides[axis];
            }
            if (rest > 0)
                return 0;
        }
        else if (item == Py_None || PySlice_Check(item)) {
            if (out == MOST_AXES)
                return 0;
            is_element = 0;
            Py_ssize_t start = 0, step = 1;
            if (item == Py_None) {
                part->shape[out] = 1; /* with the stride that torch tells of it */
                part->strides[out] = axis < whole->rank ? whole->shape[axis] * whole->strides[axis] : whole->itemsize;
                part->strides[out] = part->strides[out] < 0 ? -part->strides[out] : part->strides[out];
            }
            else {
                int length = sliced(item, whole->shape[axis], &start, &step);
                if (length <= 0)
                    return 0; /* an empty part has no memory */
                part->shape[out] = length;
                Py_ssize_t by = step < 0 ? -step : step, stride = whole->strides[axis];
                if (step < 0 && stride == 0)
                    return 0; /* of equal rows, where torch puts them */
                if (by > 1 && (stride < 0 ? -stride : stride) > PY_SSIZE_T_MAX / by)
                    return 0; /* of one element, as far as its stride goes */
                part->strides[out] = stride * step;
                part->memory += start * whole->strides[axis];
                axis++;
            }
            out++;
        }
        else {
            Py_ssize_t index, size = whole->shape[axis];
            if (!as_index(item, &index))
                return 0;
            index += index < 0 ? size : 0;
            if (index < 0 || index >= size)
                return 0; /* IndexError, in NumPy's words */
            part->memory += index * whole->strides[axis];
            axis++;
        }
    }
    part->rank = out;
    return is_element ? 2 : 1; /* without axes it is a view where the key has dots */
}

/* How the axes of a part run: those that run backwards, by a bit each, and the part that has them forwards. */
int
forwards(const Elements *part, Elements *found)
{
    int turned = 0;
    memcpy((void *)found, (const void *)part, offsetof(Elements, of));
    for (int axis = 0; axis < part->rank; axis++)
        if (part->strides[axis] < 0) {
            turned |= part->shape[axis] > 1 ? 1 << axis : 0;
            found->memory += (part->shape[axis] - 1) * part->strides[axis];
            found->strides[axis] = -part->strides[axis];
        }
    return turned;
}
