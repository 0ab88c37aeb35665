/* Keys whose indices are lists, ranges, masks or arrays of short integers, as keys of arrays of int64; and values that
 * are sequences of numbers, as arrays. */
#include "few.h"

/* The array that a sequence of numbers is, or NULL. */
static PyObject *
array_of_numbers(PyObject *sequence)
{
    PyObject *of_array[2] = {sequence, Py_None}, *found = few_array(NULL, of_array, 2);
    if (found == Py_None)
        Py_CLEAR(found);
    return found;
}

static PyObject *
array_of_range(PyObject *range)
{
    PyObject *list = PySequence_List(range), *found = list == NULL ? NULL : array_of_numbers(list);
    Py_XDECREF(list);
    return found;
}

/* The places of what is true in a mask along an axis of a length, or NULL. */
static PyObject *
places_in(PyObject *mask, Py_ssize_t length)
{
    Elements here;
    const Elements *of;
    if (!elements_of(mask, &here, &of) || of->rank != 1 || of->shape[0] != length)
        return NULL; /* IndexError, in NumPy's words */
    PyObject *found = few_nonzero(NULL, mask), *places = NULL;
    if (found != NULL && PyTuple_CheckExact(found))
        places = Py_NewRef(PyTuple_GET_ITEM(found, 0));
    Py_XDECREF(found);
    return places;
}

/* Indices of an axis as an array of int64: a reference, NULL where that is Python's. What is ready is given back. */
static PyObject *
indices_by(PyObject *item, Py_ssize_t length)
{
    int is_nested = PyList_CheckExact(item) || PyTuple_CheckExact(item);
    PyObject *made = is_nested ? array_of_numbers(item) : PyRange_Check(item) ? array_of_range(item) : Py_NewRef(item);
    if (made == NULL || !Py_IS_TYPE(made, arrays.type))
        return made;
    int kind = kind_of_dtype(SLOT(made, arrays.of_dtype));
    if (kind == INT64)
        return made;
    PyObject *found = NULL;
    if (kind == BOOL)
        found = places_in(made, length);
    else if (IS_WHOLE(kind) && kind != UINT64) {
        PyObject *of_astype[3] = {made, dtype_of_kind(INT64), Py_True};
        found = few_astype(NULL, of_astype, 3);
        if (found == Py_None)
            Py_CLEAR(found);
    }
    Py_DECREF(made);
    return found;
}

/* Whether an index is no array of int64, and not ready as it is. */
static int
is_open(PyObject *item)
{
    return PyList_CheckExact(item) || PyRange_Check(item)
        || (Py_IS_TYPE(item, arrays.type) && SLOT(item, arrays.of_dtype) != dtype_of_kind(INT64));
}

PyObject *
ready_key(PyObject *array, PyObject *key)
{
    Elements here;
    const Elements *of;
    int is_many = PyTuple_CheckExact(key), open = is_many ? 0 : is_open(key);
    Py_ssize_t count = is_many ? PyTuple_GET_SIZE(key) : 1;
    for (Py_ssize_t i = 0; is_many && i < count; i++)
        open |= is_open(PyTuple_GET_ITEM(key, i)) || PyTuple_CheckExact(PyTuple_GET_ITEM(key, i));
    if (!open || is_seen_by_torch() || !elements_of(array, &here, &of) || count > of->rank)
        return left_to_python();
    if (!is_many && Py_IS_TYPE(key, arrays.type) && SLOT(key, arrays.of_dtype) == dtype_of_kind(BOOL) && of->rank == 1)
        return NULL; /* a mask is taken as it is */
    if (!is_many) {
        PyObject *found = indices_by(key, of->shape[0]);
        return found == NULL ? left_to_python() : found;
    }
    PyObject *made = PyTuple_New(count);
    for (Py_ssize_t i = 0; made != NULL && i < count; i++) {
        PyObject *item = PyTuple_GET_ITEM(key, i), *found = NULL;
        if (item != Py_None && item != Py_Ellipsis) /* so that each item stands for an axis */
            found = is_open(item) || PyTuple_CheckExact(item) ? indices_by(item, of->shape[i]) : Py_NewRef(item);
        if (found == NULL)
            Py_CLEAR(made);
        else
            PyTuple_SET_ITEM(made, i, found);
    }
    return made == NULL ? left_to_python() : made;
}

int
taken_for(PyObject *value, int kind, Operand *operand, PyObject **made)
{
    *made = NULL;
    if (kind == BOOL && (PyBool_Check(value) || value == bools[0] || value == bools[1])) {
        operand->given = NULL;
        operand->number.uint8 = value == Py_True || value == bools[1];
        operand->here = (Elements){.memory = (char *)&operand->number, .kind = BOOL, .itemsize = 1, .rank = 0};
        operand->at = &operand->here;
        operand->kind = BOOL;
        return 1;
    }
    if (!PyList_CheckExact(value) && !PyTuple_CheckExact(value))
        return taken(value, operand);
    *made = array_of_numbers(value);
    if (*made == NULL || !taken(*made, operand))
        return 0;
    if (operand->kind == kind)
        return 1;
    if (operand->kind == INT64) /* of integers that a dtype cannot hold, Python says what becomes */
        return kind == FLOAT64 || kind == COMPLEX128 || (IS_WHOLE(kind) && are_within(operand->at, kind));
    return operand->kind == FLOAT64 && (kind == COMPLEX128 || kind == FLOAT32 || IS_WHOLE(kind));
}
