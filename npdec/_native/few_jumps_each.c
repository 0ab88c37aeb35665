/* Functions with jumps of two decomposed tensors of few elements, or of a decomposed number and such a tensor: element by
 * element what few_jumps.c has of numbers. */
#include "few_jumps.h"
#include "few_pairs.h"
#include <math.h>

/* What the components of x are multiplied with at an element; 0 where Python is to say. */
static int
weight_at(const Parts *x, Py_ssize_t i, double jump, double value, double residual, int bits, double *weight)
{
    double column[HANDFUL];
    Py_ssize_t rows = x->components_at.shape[0], own = elements_in(&x->value_at);
    for (Py_ssize_t row = 0; row < rows; row++)
        column[row] = few_element_of(&x->components_at, row * own + (own == 1 ? 0 : i));
    return jump_shared(x, column, rows, jump, value - residual, fabs(value) + fabs(residual), bits, weight);
}

static PyObject *
made_of(int which, const Pair *pair)
{
    double ends[2][HANDFUL], of_x[HANDFUL], of_y[HANDFUL], sums[FEW_COMPONENTS], by[2];
    int bits = pair->like->value_at.bits;
    for (Py_ssize_t i = 0; i < pair->size; i++) {
        Jump its = {few_element_of(&pair->x.value_at, i), few_element_of(&pair->y.value_at, i),
                    few_element_of(&pair->x.residual_at, i), few_element_of(&pair->y.residual_at, i), 0, 0};
        if (!jump_between(which, bits, 1, 1, &its, by) || !weight_at(&pair->x, i, by[0], its.a, its.r, bits, &of_x[i])
            || !weight_at(&pair->y, i, by[1], its.b, its.s, bits, &of_y[i]))
            return NULL;
        ends[0][i] = its.fx;
        ends[1][i] = its.fr;
    }
    add_both(pair, of_x, of_y, sums);
    PyObject *components = components_of(pair, sums);
    if (components == NULL)
        return NULL;
    PyObject *value = few_tensor_of(ends[0], &pair->like->value_at, pair->size);
    return assembled(value, few_tensor_of(ends[1], &pair->like->value_at, pair->size), components, &pair->labelled);
}

/* jumps_of_arrays(which, a, b): the function of two decomposed tensors, of which one may have no axes, or a tuple of both
 * the rounded quotient and the rest; or None. */
PyObject *
jumps_of_arrays(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Pair pair;
    PyObject *made = NULL;
    if (count != 3 || !PyLong_CheckExact(args[0]) || is_traced() || is_observed() || !are_steps_usual()
        || !is_pair(args[1], args[2], &pair))
        return or_none(left_to_python());
    int which = (int)PyLong_AsLong(args[0]);
    int are_few = pair.size <= HANDFUL && pair.x.components_at.shape[0] <= HANDFUL
               && pair.y.components_at.shape[0] <= HANDFUL;
    if (are_few && which != BOTH)
        made = made_of(which, &pair);
    else if (are_few) {
        PyObject *quotient = made_of(QUOTIENT, &pair), *rest = quotient == NULL ? NULL : made_of(REST, &pair);
        made = rest == NULL ? NULL : PyTuple_Pack(2, quotient, rest);
        Py_XDECREF(rest);
        Py_XDECREF(quotient);
    }
    let_pair_go(&pair);
    return or_none(made == NULL ? left_to_python() : made);
}
