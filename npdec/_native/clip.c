/* `np.clip`. */
#include "few.h"

/* `np.clip(a, a_min, a_max, out)` of an array beside two numbers, or None: the larger of it and the first, and the
 * smaller of that and the second. */
PyObject *
few_clip(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    static const Loops *larger, *smaller;
    Elements here;
    const Elements *of;
    if (larger == NULL) {
        larger = loops_of("maximum");
        smaller = loops_of("minimum");
    }
    if (count != 4 || !Py_IS_TYPE(args[0], arrays.type) || !elements_of(args[0], &here, &of) || of->rank == 0 || kind_of_number(args[1]) < 0
        || kind_of_number(args[2]) < 0 || is_traced() || (args[3] != Py_None && !Py_IS_TYPE(args[3], arrays.type)))
        return or_none(left_to_python());
    PyObject *above = few_of_two(larger, args[0], args[1], 0);
    PyObject *made = above == NULL ? NULL : few_of_two(smaller, above, args[2], 0);
    Py_XDECREF(above);
    if (made == NULL || args[3] == Py_None)
        return or_none(made == NULL ? left_to_python() : made);
    PyObject *of_copyto[2] = {args[3], made};
    PyObject *done = is_shaped_as(args[3], made) ? few_copyto(NULL, of_copyto, 2) : NULL;
    Py_DECREF(made);
    PyObject *found = done == Py_True ? Py_NewRef(args[3]) : NULL;
    Py_XDECREF(done);
    return or_none(found == NULL ? left_to_python() : found);
}
