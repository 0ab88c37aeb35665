/* Two decomposed tensors of few elements (few_pairs.c), for what is computed of both. */
#ifndef NPDEC_FEW_PAIRS_H
#define NPDEC_FEW_PAIRS_H

#include "decomposed.h"

/* Two tensors of one shape, or one of them a number, and the labels of both. */
typedef struct {
    Parts x, y;
    const Parts *like;        /* the one that has the shape of the result */
    Parts labelled;           /* what says of a result which labels it has: they alone are looked at */
    Py_ssize_t count, size;   /* of labels, and of elements */
    Py_ssize_t places[FEW_COMPONENTS]; /* of the second one's labels among all */
} Pair;

int is_pair(PyObject *a, PyObject *b, Pair *pair);   /* whether two tensors are one; then it is held */
void let_pair_go(Pair *pair);

/* The numbers of a pair at an element: of values a and b, and of residuals r and t. */
typedef struct {
    double a, b, r, t;
} Ends;

Ends ends_of(const Pair *pair, Py_ssize_t i);
/* The components of both, each times its weight at the element, added up: rows of as many numbers as there are elements,
 * and the tensor of these. */
void add_both(const Pair *pair, const double *of_x, const double *of_y, double *sums);
PyObject *components_of(const Pair *pair, const double *sums);

#endif
