/* What reverse.c asks of slopes.c. */
#ifndef NPDEC_SLOPES_H
#define NPDEC_SLOPES_H

#include "native.h"

/* What is said of secant slopes: see slopes.c. */
typedef struct {
    Py_ssize_t marked;
    double most, least, longest;
    int is_beyond;
} Secants;

/* Put the slopes of tensors; 0, without an error, where they do not lie one after the other. Of those at the residual
 * there may be one row. */
int secants_of(PyObject *x, PyObject *r, PyObject *fx, PyObject *fr, PyObject *to, int flags, Secants *found);
/* Put the slopes of tanh or of the sigmoid (gates.c); whether they are finite numbers. */
int are_gate_slopes(int is_opened, PyObject *x, PyObject *r, PyObject *fx, PyObject *fr, PyObject *to);
PyObject *secants_said(const Secants *found); /* as Python is told */

#endif
