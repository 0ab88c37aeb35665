/* Sums, products and quotients of a decomposed number and a constant array of few elements, beside each of which the number
 * stands: `npdec._law.ordinary_arithmetic` has the same of more. */
#include "decomposed.h"
#include <math.h>

/* A number as the dtype has it. */
static double
in_dtype(const Array *at, double number)
{
    return at->bits == 64 ? number : (float)number;
}

/* What the components are multiplied with, or divided by, at an element of the constant; 0 where something has to be said
 * of it. */
static int
weight_of(int which, int is_turned, const Array *at, double x, double r, double constant, double *weight)
{
    *weight = which == FEW_PRODUCT || which == FEW_QUOTIENT ? constant : which == FEW_DIFFERENCE && is_turned ? -1 : 1;
    if (which != FEW_QUOTIENT || !is_turned)
        return which != FEW_QUOTIENT || fabs(constant) >= 1 / given.steep;
    double steep = in_dtype(at, in_dtype(at, 1 / x) * in_dtype(at, 1 / r));
    *weight = -in_dtype(at, steep * constant);
    return fabs(steep) < 0.999 * given.steep;
}

PyObject *
few_spread(int which, const Parts *x, PyObject *tensor, const Array *at, int is_turned)
{
    double made[FEW_COMPONENTS], squares = 0;
    Py_ssize_t size = elements_in(at), rows = x->components_at.shape[0];
    if (x->value_at.rank != 0 || at->rank == 0 || size < 1 || size > HANDFUL || rows > HANDFUL || !is_on_host(at)
        || !is_readable(tensor) || !few_is_open(x) || at->bits != x->value_at.bits
        || (which == FEW_QUOTIENT && is_turned && !is_usual_rule()))
        return NULL;
    double value = few_element_of(&x->value_at, 0), residual = few_element_of(&x->residual_at, 0);
    for (Py_ssize_t i = 0; i < size; i++) {
        double constant = few_element_of(at, i), weight;
        if (!weight_of(which, is_turned, at, value, residual, constant, &weight))
            return NULL;
        squares += constant * constant;
        for (Py_ssize_t row = 0; row < rows; row++) {
            double its = few_element_of(&x->components_at, row);
            its = in_dtype(at, which == FEW_QUOTIENT && !is_turned ? its / weight : its * weight);
            if (which == FEW_QUOTIENT && is_turned && !isfinite(its))
                return NULL;
            made[row * size + i] = its;
        }
    }
    if (which >= FEW_PRODUCT && !(sqrt(squares) < (which == FEW_PRODUCT || is_turned ? 0.999 * given.steep : INFINITY)))
        return NULL;
    int64_t shape[MOST_AXES + 1] = {rows};
    if (at->rank > MOST_AXES - 1)
        return NULL;
    for (int axis = 0; axis < at->rank; axis++)
        shape[axis + 1] = at->shape[axis];
    const Array like = {.rank = at->rank + 1, .shape = shape, .bits = at->bits};
    const Array *ends[2] = {&x->value_at, &x->residual_at};
    PyObject *parts[2] = {NULL, NULL}, *components = few_tensor_of(made, &like, rows * size);
    for (int i = 0; i < 2 && components != NULL; i++)
        parts[i] = few_operation(which, at, is_turned ? at : ends[i], is_turned ? ends[i] : at);
    return assembled(parts[0], parts[1], components, x);
}
