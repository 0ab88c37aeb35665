/* Arrays of nested lists of numbers: what `np.array` says in Python of numbers on the host. */
#include "native.h"

typedef struct {
    int kind, is_given;       /* the kind of the result; -1 before the first number */
    int rank;
    Py_ssize_t shape[MOST_AXES];
} Nest;

static Py_ssize_t
length_of(PyObject *item)
{
    return PyList_CheckExact(item) ? PyList_GET_SIZE(item) : -1;
}

/* The kind of a number: of Python's own, and of the scalars of these; -1 of anything else. */
static int
kind_of_number(PyObject *item)
{
    if (PyFloat_CheckExact(item))
        return FLOAT64;
    if (PyLong_CheckExact(item))
        return in_range(INT64, item) ? INT64 : -1;
    if (PyBool_Check(item))
        return BOOL;
    int kind = kind_of_type(Py_TYPE(item));
    return kind == FLOAT64 || kind == INT64 ? kind : -1;
}

/* The shape, and the kind that holds all numbers; 0 where they are others, or no rectangle. */
static int
measured(PyObject *list, int depth, Nest *nest)
{
    Py_ssize_t length = length_of(list);
    if (length <= 0 || depth == MOST_AXES || (depth < nest->rank && nest->shape[depth] != length))
        return 0;
    if (depth >= nest->rank) {
        if (nest->kind >= 0)
            return 0; /* deeper than the first numbers */
        nest->shape[depth] = length;
        nest->rank = depth + 1;
    }
    for (Py_ssize_t i = 0; i < length; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        if (PyList_CheckExact(item)) {
            if (!measured(item, depth + 1, nest))
                return 0;
            continue;
        }
        int kind = kind_of_number(item);
        if (kind < 0 || depth + 1 != nest->rank || (nest->kind >= 0 && (nest->kind == BOOL) != (kind == BOOL)))
            return 0;
        if (nest->kind < 0 || kind == FLOAT64)
            nest->kind = kind;
    }
    return 1;
}

static int
written_out(PyObject *list, int depth, const Nest *nest, int kind, char **to)
{
    for (Py_ssize_t i = 0; i < nest->shape[depth]; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        if (depth + 1 < nest->rank) {
            if (!written_out(item, depth + 1, nest, kind, to))
                return 0;
            continue;
        }
        Element element;
        int own = kind_of_number(item);
        if (own != BOOL && !PyFloat_CheckExact(item) && !PyLong_CheckExact(item)
            && (item = number_of(item, own)) == NULL)
            return 0;
        if ((own == FLOAT64 && IS_WHOLE(kind)) || !as_element(kind, item, &element))
            return 0;
        memcpy(*to, &element, (size_t)SIZES[kind]);
        *to += SIZES[kind];
    }
    return 1;
}

/* `np.array(list, dtype)`, or None. */
PyObject *
few_array(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Nest nest = {.kind = -1, .rank = 0};
    Elements made;
    if (count == 2 && args[1] == Py_None && length_of(args[0]) > 0
        && Py_IS_TYPE(PyList_GET_ITEM(args[0], 0), arrays.type)) {
        PyObject *found = is_watching() ? NULL : stacked(args[0]);
        return or_none(found == NULL ? left_to_python() : found);
    }
    int wanted = count != 2 || !PyList_CheckExact(args[0]) || is_traced() ? -1
               : args[1] == Py_None ? BOOL : kind_meant(args[1]);
    if (wanted < 0 || is_watching() || is_elsewhere() || !measured(args[0], 0, &nest) || is_seen_by_torch())
        return or_none(left_to_python());
    made.kind = args[1] == Py_None ? nest.kind : wanted;
    if ((nest.kind == BOOL) != (made.kind == BOOL) || made.kind == FLOAT16 || IS_COMPLEX(made.kind))
        return Py_NewRef(Py_None);
    made.rank = nest.rank;
    made.itemsize = SIZES[made.kind];
    Py_ssize_t size = 1;
    for (int axis = 0; axis < nest.rank; axis++)
        size = product(size, made.shape[axis] = nest.shape[axis]);
    PyObject *array = are_few(size) ? new_lazy(&made) : NULL;
    if (array == NULL)
        return or_none(left_to_python());
    char *to = made.memory;
    if (written_out(args[0], 0, &nest, made.kind, &to))
        return array;
    Py_DECREF(array);
    return or_none(left_to_python());
}
