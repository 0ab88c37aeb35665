/* Arrays of numbers and nested lists of them: what `np.array` says in Python of numbers on the host. */
#include "few.h"

typedef struct {
    int kind;                 /* of the result; -1 before the first number */
    int rank;
    Py_ssize_t shape[MOST_AXES];
} Nest;

static int
is_nested(PyObject *item)
{
    return PyList_CheckExact(item) || PyTuple_CheckExact(item);
}

static PyObject *
item_of(PyObject *items, Py_ssize_t i)
{
    return PyList_CheckExact(items) ? PyList_GET_ITEM(items, i) : PyTuple_GET_ITEM(items, i);
}

/* The shape, and the kind that holds all numbers; 0 where they are others, or no rectangle. */
static int
measured(PyObject *items, int depth, Nest *nest)
{
    Py_ssize_t length = Py_SIZE(items);
    if (length <= 0 || depth == MOST_AXES || (depth < nest->rank && nest->shape[depth] != length))
        return 0;
    if (depth >= nest->rank) {
        if (nest->kind >= 0)
            return 0; /* deeper than the first numbers */
        nest->shape[depth] = length;
        nest->rank = depth + 1;
    }
    for (Py_ssize_t i = 0; i < length; i++) {
        PyObject *item = item_of(items, i);
        if (is_nested(item)) {
            if (!measured(item, depth + 1, nest))
                return 0;
            continue;
        }
        int kind = kind_of_number(item);
        if (kind < 0 || depth + 1 != nest->rank)
            return 0;
        if (kind != nest->kind)
            nest->kind = nest->kind < 0 ? kind : scalar_kind_of_both(nest->kind, kind);
        if (nest->kind < 0)
            return 0;
    }
    return 1;
}

static int
written_out(PyObject *items, int depth, const Nest *nest, int kind, char **to)
{
    for (Py_ssize_t i = 0; i < nest->shape[depth]; i++) {
        PyObject *item = item_of(items, i);
        Element element;
        if (depth + 1 < nest->rank) {
            if (!written_out(item, depth + 1, nest, kind, to))
                return 0;
            continue;
        }
        if (!taken_as(kind, item, &element))
            return 0;
        memcpy(*to, &element, (size_t)SIZES[kind]);
        *to += SIZES[kind];
    }
    return 1;
}

/* An array of nested lists, or of a number, which has no axes, in a kind, or in the one of the numbers. */
static PyObject *
of_numbers(PyObject *given, int kind)
{
    Nest nest = {.kind = -1, .rank = 0};
    Elements made;
    Element element;
    if (!is_nested(given))
        nest.kind = kind_of_number(given);
    if (is_nested(given) ? !measured(given, 0, &nest) : nest.kind < 0)
        return NULL;
    made.kind = kind < 0 ? nest.kind : kind;
    made.rank = nest.rank;
    made.itemsize = SIZES[made.kind];
    Py_ssize_t size = 1;
    for (int axis = 0; axis < nest.rank; axis++)
        size = product(size, made.shape[axis] = nest.shape[axis]);
    if (is_seen_by_torch() || (nest.rank == 0 && !taken_as(made.kind, given, &element)))
        return NULL;
    PyObject *array = are_few(size) ? new_lazy(&made) : NULL;
    if (array == NULL)
        return NULL;
    char *to = made.memory;
    if (nest.rank == 0) {
        memcpy(to, &element, (size_t)made.itemsize);
        if (family_of(array) == NULL) /* by which results are scalars */
            Py_CLEAR(array);
    }
    else if (!written_out(given, 0, &nest, made.kind, &to))
        Py_CLEAR(array);
    return array;
}

/* `np.array(given, dtype)`, or None; with a third argument `np.asarray`, which gives an array that is one of the dtype;
 * with "C" or "F" one that lies by rows or by columns. */
PyObject *
few_array(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyObject *given = args[0], *found = NULL;
    int is_any = args[1] == Py_None, kind = is_any ? -1 : kind_meant(args[1]);
    if (is_traced() || is_watching() || is_elsewhere() || (!is_any && kind < 0))
        return or_none(left_to_python());
    if (Py_IS_TYPE(given, arrays.type)) {
        int is_one = count == 3 && (is_any || kind == kind_of_dtype(SLOT(given, arrays.of_dtype)));
        if (count == 3 && PyUnicode_CheckExact(args[2]))
            found = laid_as(given, kind, PyUnicode_READ_CHAR(args[2], 0) == 'C' ? BY_ROWS : BY_COLUMNS);
        else
            found = is_one ? Py_NewRef(given) : copied_as(given, kind, AS_THEY_LIE);
    }
    else if (count == 3 && PyUnicode_CheckExact(args[2]) && PyUnicode_READ_CHAR(args[2], 0) == 'F')
        found = NULL;
    else if (is_any && is_nested(given) && Py_SIZE(given) > 0 && Py_IS_TYPE(item_of(given, 0), arrays.type))
        found = stacked(given);
    else
        found = of_numbers(given, kind);
    return or_none(found == NULL ? left_to_python() : found);
}
