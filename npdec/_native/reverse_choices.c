/* Comparisons with numbers, and choices by these, in reverse mode: what is done is said in npdec/_law/reverse_elements.py,
 * where other arguments are; reverse_jumps.c finds the slopes. */
#include "reverse.h"
#include <math.h>

static PyObject *squeeze, *unsqueeze, *new_empty, *lerp; /* names of methods */

static int
are_named(void)
{
    if (lerp == NULL) {
        squeeze = PyUnicode_InternFromString("squeeze");
        unsqueeze = PyUnicode_InternFromString("unsqueeze");
        new_empty = PyUnicode_InternFromString("new_empty");
        lerp = PyUnicode_InternFromString("lerp");
    }
    return squeeze != NULL && unsqueeze != NULL && new_empty != NULL && lerp != NULL;
}

static PyObject *
by_method(PyObject *name, PyObject *tensor, PyObject *argument)
{
    return tensor == NULL || argument == NULL ? NULL : PyObject_CallMethodOneArg(tensor, name, argument);
}

/* The condition of a value and a residual, whose component has a leading axis; what is given is stolen, and may be
 * NULL for errors. */
static PyObject *
condition_of(PyObject *value, PyObject *residual, PyObject *component, const Reversed *x)
{
    PyObject *made = value == NULL || residual == NULL || component == NULL ? NULL : carrying(value);
    PyObject *its = NULL;
    if (made != NULL && (set_parts(made, value, residual, component, x->labels) < 0
                         || (its = PyObject_GenericGetDict(made, NULL)) == NULL
                         || PyDict_SetItem(its, names.reverse, Py_True) < 0
                         || PyDict_SetItem(its, names.discrete, Py_True) < 0))
        Py_CLEAR(made);
    Py_XDECREF(its);
    Py_XDECREF(value);
    Py_XDECREF(residual);
    Py_XDECREF(component);
    return made;
}

/* A comparison with a number, as a step of what is compared. */
PyObject *
turned(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Reversed x;
    PyObject *made = NULL, *value = NULL, *low = NULL, *residual = NULL, *slope = NULL, *change = NULL, *zero = NULL;
    PyObject *row = NULL, *still = NULL, *carrier = NULL;
    if (count != 2 || !is_in_reverse(args[0]) || !is_finite_number(args[1]) || has_components(args[0]) || !are_named()
        || !are_settings_usual() || !reversed_of(args[0], &x))
        return left_to_python();
    Py_ssize_t size = elements_in(&x.value_at);
    if ((size <= 1 << 18 || are_few(size)) && is_on_host(&x.value_at) && is_finite(&x.value_at)
        && value_in(&x) != NULL && (row = row_of(&x, x.value_at.rank)) != NULL && (value = call(func, x.value, args + 1, 1)) != NULL
        && (low = call(func, row, args + 1, 1)) != NULL && (residual = widened(Py_NewRef(low), &x.value_at)) != NULL
        && (slope = PyObject_CallOneArg(given.empty_like, x.value)) != NULL
        && (change = PyObject_CallOneArg(given.empty_like, x.value)) != NULL && (zero = PyLong_FromLong(0)) != NULL) {
        PyObject *ends[7] = {x.value, row, Py_None, value, low, slope, change};
        still = jumps(NULL, ends, 7);
        if (still != NULL && still != Py_None && (carrier = PyNumber_Multiply(x.on_graph, slope)) != NULL
            && put_data(carrier, change) == 0)
            made = condition_of(Py_NewRef(value), Py_NewRef(residual), by_method(unsqueeze, carrier, zero), &x);
    }
    Py_XDECREF(carrier);
    Py_XDECREF(still);
    Py_XDECREF(zero);
    Py_XDECREF(change);
    Py_XDECREF(slope);
    Py_XDECREF(residual);
    Py_XDECREF(low);
    Py_XDECREF(value);
    Py_XDECREF(row);
    let_reversed_go(&x);
    return made == NULL ? left_to_python() : made;
}

/* A branch: a tensor in reverse mode, a number, or a constant of numbers. */
static int
branch_of(PyObject *item, Side *to)
{
    return side_of(item, to) && (to->is_reversed ? residual_in(&to->x) != NULL && value_in(&to->x) != NULL
                                                 : is_number(to->constant) || to->at.code == OF_FLOAT);
}

/* How many of the first axes repeat, or are of length one, beside a tensor of so many. */
static int
repeated_axes(PyObject *tensor, int rank)
{
    Array at;
    if (is_number(tensor))
        return rank;
    if (!look_at_any(tensor, &at) || at.rank > rank)
        return 0;
    int axis = 0;
    while (axis < at.rank && (at.strides[axis] == 0 || at.shape[axis] == 1))
        axis++;
    return rank - at.rank + axis;
}

/* Memory for a residual, of which the first axes that repeat in all are one. */
static PyObject *
room_for_rows(PyObject *const *parts, PyObject *value, const Array *at)
{
    Array room = *at;
    int repeated = at->rank;
    for (int i = 0; i < 3; i++) {
        int its = repeated_axes(parts[i], at->rank);
        repeated = its < repeated ? its : repeated;
    }
    int64_t shape[MOST_AXES];
    for (int axis = 0; axis < at->rank; axis++)
        shape[axis] = axis < repeated ? 1 : at->shape[axis];
    room.shape = shape;
    PyObject *lengths = shape_of(&room), *made = by_method(new_empty, value, lengths);
    Py_XDECREF(lengths);
    return made;
}

/* What the branches pass on, each by its share. */
static PyObject *
of_branches(const Side *a, const Side *b, PyObject *share)
{
    if (a->is_reversed && b->is_reversed) {
        PyObject *args[3] = {b->x.on_graph, a->x.on_graph, share};
        return PyObject_VectorcallMethod(lerp, args, 3, NULL);
    }
    if (a->is_reversed)
        return PyNumber_Multiply(a->x.on_graph, share);
    PyObject *one = PyLong_FromLong(1), *rest = one == NULL ? NULL : PyNumber_Subtract(one, share);
    PyObject *made = rest == NULL ? NULL : PyNumber_Multiply(b->x.on_graph, rest);
    Py_XDECREF(one);
    Py_XDECREF(rest);
    return made;
}

/* The condition's value, residual and component; 0 where it is none in reverse mode that is as the branches are. */
static int
condition_parts(PyObject *condition, const Reversed *like, PyObject **parts)
{
    Array at;
    PyObject *its = PyObject_GenericGetDict(condition, NULL);
    if (its != NULL) {
        PyObject *kept = PyDict_GetItemWithError(its, names.kept);
        parts[0] = Py_XNewRef(PyDict_GetItemWithError(its, names.value));
        parts[1] = Py_XNewRef(PyDict_GetItemWithError(its, names.residual));
        parts[2] = Py_XNewRef(PyDict_GetItemWithError(its, names.components));
        int is = parts[0] != NULL && parts[1] != NULL && parts[2] != NULL && (kept == NULL || kept == Py_None)
              && PyDict_GetItemWithError(its, names.labels) == like->labels && look_at_any(parts[0], &at)
              && at.code == OF_BOOL && are_alike(&at, &like->value_at) && look_at_any(parts[2], &at)
              && at.code == OF_FLOAT && at.bits == like->value_at.bits;
        Py_DECREF(its);
        if (is)
            return 1;
    }
    return left_to_python(), 0;
}

static PyObject *
by_condition(PyObject *const *parts, const Side *a, const Side *b)
{
    const Reversed *like = a->is_reversed ? &a->x : &b->x;
    PyObject *room[4] = {NULL}, *made = NULL, *zero = PyLong_FromLong(0), *is_done = NULL;
    PyObject *component = NULL, *moved = NULL, *one = NULL, *carrier = NULL;
    PyObject *const low[3] = {parts[1], residual_of(a), residual_of(b)};
    int can_be = zero != NULL;
    for (int i = 0; can_be && i < 4; i++)
        can_be = (room[i] = i == 1 ? room_for_rows(low, like->value, &like->value_at)
                                   : PyObject_CallOneArg(given.empty_like, like->value)) != NULL;
    if (can_be) {
        PyObject *ends[10] = {parts[0], parts[1], value_of(a), residual_of(a), value_of(b), residual_of(b), room[0], room[1],
                              room[2], room[3]};
        is_done = choices(NULL, ends, 10);
    }
    if (is_done == Py_True && (component = by_method(squeeze, parts[2], zero)) != NULL
        && (moved = PyNumber_Multiply(component, room[2])) != NULL && (one = of_branches(a, b, room[3])) != NULL
        && (carrier = PyNumber_Add(moved, one)) != NULL && put_data(carrier, room[0]) == 0)
        made = made_of_rows(Py_NewRef(carrier), Py_NewRef(room[1]), like);
    Py_XDECREF(carrier);
    Py_XDECREF(one);
    Py_XDECREF(moved);
    Py_XDECREF(component);
    Py_XDECREF(is_done);
    Py_XDECREF(zero);
    for (int i = 0; i < 4; i++)
        Py_XDECREF(room[i]);
    return made;
}

/* where(condition, a, b), by a condition that carries contributions, of their shape. */
PyObject *
chosen(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Side a = {0}, b = {0};
    PyObject *parts[3] = {NULL}, *made = NULL;
    if (count != 3 || !is_in_reverse(args[0]) || !(is_in_reverse(args[1]) || is_in_reverse(args[2])) || !are_named()
        || !are_settings_usual())
        return left_to_python();
    if (branch_of(args[1], &a) && branch_of(args[2], &b) && (a.is_reversed || b.is_reversed)) {
        const Reversed *like = a.is_reversed ? &a.x : &b.x;
        Py_ssize_t size = elements_in(&like->value_at);
        int fits = !(a.is_reversed && b.is_reversed)
                || (a.x.labels == b.x.labels && are_alike(&a.x.value_at, &b.x.value_at)
                    && a.x.value_at.bits == b.x.value_at.bits);
        if (fits && (size <= 1 << 18 || are_few(size)) && is_on_host(&like->value_at) && is_by_rows(&like->value_at)
            && condition_parts(args[0], like, parts))
            made = by_condition(parts, &a, &b);
    }
    for (int i = 0; i < 3; i++)
        Py_XDECREF(parts[i]);
    let_side_go(&a);
    let_side_go(&b);
    return made == NULL ? left_to_python() : made;
}
