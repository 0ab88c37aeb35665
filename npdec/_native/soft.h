/* What the files about softmax in reverse mode share (soft.c, soft_back.c). */
#ifndef NPDEC_SOFT_H
#define NPDEC_SOFT_H

#include "tensors.h"
#include <math.h>

#define MOST_NODES 64

Py_ssize_t rows_of_two(PyObject *const *args, Array *x, Array *r, Py_ssize_t *period);
Py_ssize_t rule_of(PyObject *list, double *times, double *weights);

static inline double
number_in(const Array *at, Py_ssize_t i)
{
    return at->bits == 32 ? ((float *)at->elements)[i] : ((double *)at->elements)[i];
}

#endif
