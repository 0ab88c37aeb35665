/* Where the numbers of tensors lie, for what is computed of many (slopes.c, pools.c). */
#ifndef NPDEC_TENSORS_H
#define NPDEC_TENSORS_H

#include "lazy.h"

static inline Py_ssize_t
size_of(const Array *array)
{
    Py_ssize_t size = 1;
    for (int axis = 0; axis < array->rank; axis++)
        size *= array->shape[axis];
    return size;
}

/* How many elements lie in memory one after the other, and again and again for the whole array; -1 of other arrays. */
static inline Py_ssize_t
period_of(const Array *array)
{
    Py_ssize_t period = 1;
    int is_again = 0;
    for (int axis = array->rank - 1; axis >= 0; axis--) {
        if (array->shape[axis] == 1)
            continue;
        if (array->strides[axis] == 0)
            is_again = 1;
        else if (is_again || array->strides[axis] != period)
            return -1;
        else
            period *= array->shape[axis];
    }
    return period;
}

/* Look at a plain tensor on the host; 0 of another, and for an error, too. */
static inline int
host_array(PyObject *tensor, Array *array)
{
    return exchange != NULL && Py_IS_TYPE(tensor, arrays.tensor) && exchange->look_at(tensor, array) == 0
        && array->device == ON_HOST && array->elements != NULL && array->offset == 0 && array->lanes == 1;
}

/* The same of real numbers in single or double precision. */
static inline int
plain_array(PyObject *tensor, Array *array)
{
    return host_array(tensor, array) && array->code == OF_FLOAT && (array->bits == 32 || array->bits == 64)
        && (uintptr_t)array->elements % (array->bits / 8) == 0 && !is_true_by(tensor, words.is_neg);
}

/* reverse_beside.c: of divisors from r to x, of which the latter broadcasts, the largest and the smallest magnitude of
 * 1 / (x r), and the largest of x / r and r / x; 0, maybe with an error, where one of them is no number, and of others. */
int range_of_divisors(PyObject *x, PyObject *r, double *range);
int is_row_of(const Array *r, const Array *x); /* slopes.c: whether r has the last axes of x, and no others */
/* slopes.c: two rows of `row` elements that are read again and again for `size` ones are written out to at least half a
 * block, to have no shorter loops. `*held` is to be freed; 0 with an error. */
int written_out(const char **low, const char **low_of, Py_ssize_t *row, Py_ssize_t size, Py_ssize_t itemsize,
                Py_ssize_t block, char **held);
/* powers.c: whether the slopes of u^p were put, of which those at the residual may be one row, and are finite. */
int are_power_slopes(double p, const Array *x, const Array *r, const Array *fx, const Array *fr, const Array *to);

#endif
