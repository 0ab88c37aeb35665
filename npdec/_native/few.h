/* What is computed of few elements: the operands, and how one goes over them (operands.c). */
#ifndef NPDEC_FEW_H
#define NPDEC_FEW_H

#include "native.h"

typedef struct {
    const Elements *at;
    Elements here;
    Element number;      /* what `here` looks at, of a number */
    int kind;            /* INTEGER, FLOAT or COMPLEX for Python's numbers, which take the dtype of the other operand */
    PyObject *given;     /* of a number: Python's */
    void *copy;          /* memory that `forget` frees, or NULL */
} Operand;
enum { INTEGER = KINDS, FLOAT, COMPLEX };

int taken(PyObject *x, Operand *operand);             /* 0 where it is Python's */
int in_kind(Operand *operand, int kind);
int kind_of_both(int a, int b);
int scalar_kind_of_both(int a, int b);
Py_ssize_t size_of(const Elements *elements);         /* no more than is computed here */
int spread(const Elements *operand, int rank, const Py_ssize_t *shape, Py_ssize_t *strides);
void over(Inner *inner, int rank, const Py_ssize_t *shape, char *to, const char *a, const char *b,
          Py_ssize_t (*by)[MOST_AXES]);
int copied(Operand *operand, int kind);               /* in another kind, or apart from what is written */
int overlap(const Elements *a, const Elements *b);     /* 0: apart, 1: the same elements, 2: otherwise */
int is_filled(PyObject *to, PyObject *made);           /* few_put.c: whether that, stolen, is such an array, now written */
int can_be_written(const Elements *to);
int is_brought(Operand *operand, int kind);           /* a number is taken in the kind, an array copied */
void forget(Operand *operands, int count);            /* at the end; before, `copy` of all is NULL */
/* casts.c */
Inner *cast_of(int from, int to);                     /* NULL where that may lose something, or is Python's */
PyObject *copied_by_rows(const Elements *of, Elements *made); /* in the kind and the shape of what is made */
Inner *cast_for(const Elements *of, int kind);        /* writes these elements as torch does; NULL where not sure */
int are_within(const Elements *of, int kind);         /* whether integers of int64, in a row, are in another dtype */

/* choice.c */
Py_ssize_t indices_of(PyObject *key, Py_ssize_t size, Elements *here, const Elements **found);
/* A value as elements of a kind: an array of `count` ones, or one for all; 0 where it is neither. */
int is_for(Operand *value, int kind, Py_ssize_t count, const Elements *beside);

/* keys.c */
/* What is written into elements of a kind; 0 where that is Python's. `made` is an array that it needs, or NULL. */
int taken_for(PyObject *value, int kind, Operand *operand, PyObject **made);

#endif
