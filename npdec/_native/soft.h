/* What the files about softmax in reverse mode share (soft.c, soft_back.c). */
#ifndef NPDEC_SOFT_H
#define NPDEC_SOFT_H

#include "tensors.h"
#include <math.h>

#define MOST_NODES 64

Py_ssize_t rows_of_two(PyObject *const *args, Array *x, Array *r, Py_ssize_t *period);
/* What a function of one row, from r to x, puts for it: 0 where that cannot be. There is memory for twice its length. */
typedef int RowFunction(const void *x, const void *r, void *to, Py_ssize_t n, const double *how, double *space);
/* Whether the function, of single or of double precision, was called for all rows of two tensors. */
PyObject *put_by_rows(PyObject *const *ends, PyObject *to, RowFunction *single, RowFunction *twice, const double *how);
Py_ssize_t rule_of(PyObject *list, double *times, double *weights);

static inline double
number_in(const Array *at, Py_ssize_t i)
{
    return at->bits == 32 ? ((float *)at->elements)[i] : ((double *)at->elements)[i];
}

#endif
