/* What the files about tensors in reverse mode share (reverse.c, reverse_pairs.c). */
#ifndef NPDEC_REVERSE_H
#define NPDEC_REVERSE_H

#include "decomposed.h"
#include "lazy.h"

/* An ordinary tensor in reverse mode: its attributes and parts, which are held; the value on the graph. */
typedef struct {
    PyObject *of, *its, *value, *residual, *on_graph, *labels;
    Array value_at, residual_at;
} Reversed;

int is_in_reverse(PyObject *tensor);               /* told soon, and not yet whether it is an ordinary one */
int has_components(PyObject *tensor);              /* whether it has some already, of which views are to be */
int reversed_of(PyObject *tensor, Reversed *x);    /* 0, without an error, where it is no ordinary one */
void let_reversed_go(Reversed *x);
PyObject *row_of(const Reversed *x, int axes);     /* the residual, of equal rows along the first axes one */
PyObject *shape_of(const Array *at);
PyObject *widened(PyObject *row, const Array *value); /* a row, which is stolen, in the shape of a value */
/* The decomposed tensor of parts, which are stolen and may be NULL for errors; of the residual there may be a row. */
PyObject *made_in_reverse(PyObject *value, PyObject *residual, PyObject *row, PyObject *on_graph, const Reversed *x);
int put_data(PyObject *carrier, PyObject *value);  /* let what is on a graph have a value: 0, or -1 with an error */

#endif
