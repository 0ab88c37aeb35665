/* What is computed of few elements: the operands, and how one goes over them (operands.c). */
#ifndef NPDEC_FEW_H
#define NPDEC_FEW_H

#include "native.h"

typedef struct {
    const Elements *at;
    Elements here;
    Element number;      /* what `here` looks at, of a number */
    int kind;            /* INTEGER or FLOAT for Python's numbers, which take the dtype of the other operand */
    PyObject *given;     /* of a number: Python's */
} Operand;
enum { INTEGER = KINDS, FLOAT };

int taken(PyObject *x, Operand *operand);              /* 0 where it is Python's */
int in_kind(Operand *operand, int kind);
int kind_of_both(int a, int b);
Py_ssize_t size_of(const Elements *elements);         /* more than FEW for all that are */
int spread(const Elements *operand, int rank, const Py_ssize_t *shape, Py_ssize_t *strides);
void over(Inner *inner, int rank, const Py_ssize_t *shape, char *to, const char *a, const char *b,
          Py_ssize_t (*by)[MOST_AXES]);
Inner *cast_of(int from, int to);
int copied(Operand *operand, int kind, char *memory);
int is_brought(Operand *operand, int kind, char *memory);

#endif
