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
    if (count != 4 || !Py_IS_TYPE(args[0], arrays.type) || !elements_of(args[0], &here, &of) || of->rank == 0
        || kind_of_number(args[1]) < 0 || kind_of_number(args[2]) < 0 || is_traced()
        || (args[3] != Py_None && !Py_IS_TYPE(args[3], arrays.type)))
        return or_none(left_to_python());
    PyObject *above = few_of_two(larger, args[0], args[1], 0);
    PyObject *made = above == NULL ? NULL : few_of_two(smaller, above, args[2], 0);
    Py_XDECREF(above);
    if (args[3] != Py_None)
        made = is_filled(args[3], made) ? Py_NewRef(args[3]) : NULL;
    return or_none(made == NULL ? left_to_python() : made);
}
