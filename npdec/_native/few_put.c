/* Values that are written over parts of arrays of few elements. */
#include "few.h"

static int
put(PyObject *array, const Elements *to, Operand *given)
{
    Py_ssize_t by[3][MOST_AXES] = {{0}};
    Inner *cast = cast_for(given->at, to->kind);
    int lies = cast == NULL || !are_few(size_of(given->at)) ? -1 : overlap(to, given->at);
    if (lies < 0)
        return 0;
    if (lies == 1 && given->kind == to->kind)
        return 1; /* x[key] += y, which has written the view */
    if (lies) {
        if (!copied(given, to->kind))
            return 0;
        cast = cast_of(given->kind, to->kind);
    }
    if (!spread(given->at, to->rank, to->shape, by[1]) || tell(array) < 0)
        return 0;
    memcpy(by[0], to->strides, sizeof(to->strides));
    over(cast, to->rank, to->shape, to->memory, given->at->memory, given->at->memory, by);
    return 1;
}

int
few_written(PyObject *array, const Elements *to, PyObject *value)
{
    Operand given = {.copy = NULL};
    PyObject *made = NULL;
    if (is_watching() || !can_be_written(to) || is_seen_by_torch())
        return 0;
    int is_known;
    if (Py_IS_TYPE(value, arrays.type) || PyList_CheckExact(value) || PyTuple_CheckExact(value))
        is_known = taken_for(value, to->kind, &given, &made);
    else if ((is_known = taken_as(to->kind, value, &given.number))) { /* a number, as what it becomes */
        given.here = (Elements){.memory = (char *)&given.number, .kind = to->kind, .itemsize = to->itemsize, .rank = 0};
        given.at = &given.here;
        given.kind = to->kind;
    }
    int done = is_known && put(array, to, &given);
    forget(&given, 1);
    Py_XDECREF(made);
    return done;
}

static int
is_shaped_as(PyObject *array, PyObject *other)
{
    Elements here, beside;
    const Elements *its, *others;
    if (!elements_of(array, &here, &its) || !elements_of(other, &beside, &others) || its->rank != others->rank)
        return 0;
    int axis = 0;
    while (axis < its->rank && its->shape[axis] == others->shape[axis])
        axis++;
    return axis == its->rank;
}

/* Whether an array was written over another one of its dtype. */
static int
is_copied(PyObject *to, PyObject *from)
{
    Elements here;
    const Elements *its;
    return Py_IS_TYPE(to, arrays.type) && Py_IS_TYPE(from, arrays.type)
        && SLOT(to, arrays.of_dtype) == SLOT(from, arrays.of_dtype) && !is_traced() && can_write(to)
        && elements_of(to, &here, &its) && few_written(to, its, from);
}

int
is_filled(PyObject *to, PyObject *made)
{
    int done = made != NULL && Py_IS_TYPE(made, arrays.type) && is_shaped_as(to, made) && is_copied(to, made);
    Py_XDECREF(made);
    return done;
}

/* The same where a mask is true, of what is of the dtype of the first together with it. All of it is made first: so what
 * is read may be what is written. */
static int
is_copied_where(PyObject *to, PyObject *from, PyObject *mask)
{
    PyObject *of_where[3] = {mask, from, to};
    int is_known = Py_IS_TYPE(to, arrays.type) && Py_IS_TYPE(mask, arrays.type) && !is_traced();
    return is_known && is_filled(to, few_where(NULL, of_where, 3));
}

static PyObject *
if_done(int done)
{
    left_to_python();
    return PyErr_Occurred() ? NULL : PyBool_FromLong(done);
}

/* `np.copyto(dst, src, casting, where)`, or of the first two: True where it is done. */
PyObject *
few_copyto(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count == 2 || (count == 4 && args[3] == Py_True))
        return if_done(is_copied(args[0], args[1]));
    int is_usual = count == 4 && Py_IS_TYPE(args[3], arrays.type)
                && SLOT(args[3], arrays.of_dtype) == dtype_of_kind(BOOL) && PyUnicode_CheckExact(args[2])
                && PyUnicode_CompareWithASCIIString(args[2], "same_kind") == 0;
    return if_done(is_usual && is_copied_where(args[0], args[1], args[3]));
}

/* `np.putmask(a, mask, number)`: True where it is done. */
PyObject *
few_putmask(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    int is_known = count == 3 && Py_IS_TYPE(args[0], arrays.type) && Py_IS_TYPE(args[1], arrays.type)
                && kind_of_number(args[2]) >= 0 && is_shaped_as(args[0], args[1]);
    return if_done(is_known && is_copied_where(args[0], args[2], args[1]));
}
