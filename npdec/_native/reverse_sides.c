/* The arguments of functions of several in reverse mode: each is a tensor in reverse mode, a number, or a constant. */
#include "reverse.h"
#include "tensors.h"
#include <math.h>

void
let_side_go(Side *side)
{
    if (side->is_reversed)
        let_reversed_go(&side->x);
    Py_CLEAR(side->constant);
    Py_CLEAR(side->row);
    side->is_reversed = 0;
}

int
is_number(PyObject *item)
{
    return PyFloat_CheckExact(item) || PyLong_CheckExact(item);
}

int
is_finite_number(PyObject *item)
{
    return PyLong_CheckExact(item) || (PyFloat_CheckExact(item) && isfinite(PyFloat_AS_DOUBLE(item)));
}

int
side_of(PyObject *item, Side *side)
{
    *side = (Side){0};
    if (Py_IS_TYPE(item, given.type)) {
        side->is_reversed = reversed_of(item, &side->x);
        side->at = side->x.value_at;
        return side->is_reversed;
    }
    if (is_number(item)) {
        side->constant = Py_NewRef(item);
        return 1;
    }
    if (!(Py_IS_TYPE(item, arrays.tensor) || Py_IS_TYPE(item, given.parameter)) || !look_at_any(item, &side->at)
        || is_true_by(item, words.is_inference))
        return 0;
    side->constant = is_true_of(item, names.requires_grad) ? PyObject_CallMethodNoArgs(item, names.detach)
                                                           : Py_NewRef(item);
    return side->constant != NULL;
}

PyObject *
value_of(const Side *side)
{
    return side->is_reversed ? value_in(&side->x) : side->constant;
}

PyObject *
residual_of(const Side *side)
{
    return side->is_reversed ? residual_in(&side->x) : side->constant;
}

static int
has_rows(Side *side)
{
    PyObject *value = value_of(side);
    side->row = value == NULL || is_number(value) ? NULL
              : side->is_reversed ? row_of(&side->x, side->at.rank) : Py_NewRef(value);
    if (side->row == NULL || !look_at_any(side->row, &side->low) || side->at.code != OF_FLOAT || !is_on_host(&side->at)
        || !is_by_rows(&side->at) || !is_by_rows(&side->low) || side->low.rank != side->at.rank
        || is_true_by(value, words.is_neg) || is_true_by(side->row, words.is_neg))
        return left_to_python(), 0;
    int axis = 0;
    while (axis < side->at.rank && side->low.shape[axis] == 1)
        axis++;
    for (; axis < side->at.rank; axis++)
        if (side->low.shape[axis] != side->at.shape[axis])
            return 0;
    side->period = elements_in(&side->low);
    return 1;
}

int
side_with_rows(PyObject *item, Side *side)
{
    return side_of(item, side) && has_rows(side);
}

PyObject *
of_two(PyObject *func, PyObject *a, PyObject *b)
{
    return a == NULL || b == NULL ? NULL : call(func, a, &b, 1);
}
