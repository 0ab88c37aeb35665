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

/* `np.copyto(dst, src)` of arrays of one dtype: True where it is done. */
PyObject *
few_copyto(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Elements here;
    const Elements *to;
    int done = count == 2 && Py_IS_TYPE(args[0], arrays.type) && Py_IS_TYPE(args[1], arrays.type)
            && SLOT(args[0], arrays.of_dtype) == SLOT(args[1], arrays.of_dtype) && !is_traced() && can_write(args[0])
            && elements_of(args[0], &here, &to) && few_written(args[0], to, args[1]);
    left_to_python();
    return PyErr_Occurred() ? NULL : PyBool_FromLong(done);
}
