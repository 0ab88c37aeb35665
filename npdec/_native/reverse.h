/* What the files about tensors in reverse mode share (reverse*.c). */
#ifndef NPDEC_REVERSE_H
#define NPDEC_REVERSE_H

#include "decomposed.h"
#include "lazy.h"

/* An ordinary tensor in reverse mode: its attributes and parts, which are held; the value on the graph. The value and the
 * residual are made when they are asked for (`value_in`, `residual_in`); of the latter there may be one of equal rows. */
typedef struct {
    PyObject *of, *its, *value, *residual, *row, *on_graph, *labels;
    Array value_at, residual_at;
    int64_t strides[MOST_AXES];                    /* those of a residual that is yet to be made */
} Reversed;

PyObject *value_in(const Reversed *x);             /* borrowed; NULL with an error */
PyObject *residual_in(const Reversed *x);

int is_in_reverse(PyObject *tensor);               /* told soon, and not yet whether it is an ordinary one */
int has_components(PyObject *tensor);              /* whether it has some already, of which views are to be */
int reversed_of(PyObject *tensor, Reversed *x);    /* 0, without an error, where it is no ordinary one */
void let_reversed_go(Reversed *x);
PyObject *row_of(const Reversed *x, int axes);     /* the residual, of equal rows along the first axes one */
PyObject *equal_row(PyObject *constant); /* of a constant, of which all along the first axis are equal, one; or itself */
double largest_of(const Array *at);           /* looking.c: the largest magnitude on the host; NaN of others */
PyObject *shape_of(const Array *at);
PyObject *widened(PyObject *row, const Array *value); /* a row, which is stolen, in the shape of a value */
/* What a value on the graph, or NULL, and a residual of equal rows, given by one, are: the decomposed tensor, whose value
 * and residual are made when they are asked for. Steals both. */
PyObject *made_of_rows(PyObject *carrier, PyObject *row, const Reversed *x);
int put_data(PyObject *carrier, PyObject *value);  /* let what is on a graph have a value: 0, or -1 with an error */

int are_settings_usual(void);
/* A new value on the graph of a carrier: `back` takes gradients of it, and the tensors that are held, to the carrier's. */
PyObject *on_graph_by(PyObject *value, PyObject *carrier, PyObject *back, PyObject *held);

/* reverse_sides.c: an argument, which is a tensor in reverse mode, a number, or a constant tensor without a graph. */
typedef struct {
    Reversed x;
    PyObject *constant, *row; /* what is in place of x; one of the equal rows, where `has_rows` has found it */
    Array at, low;            /* where the value of a tensor lies, and the row */
    Py_ssize_t period;        /* how many elements the row has */
    int is_reversed;
} Side;

int side_of(PyObject *item, Side *side);       /* 0, without an error, of others */
int side_with_rows(PyObject *item, Side *side); /* the same of tensors whose elements, and rows, lie one after the other */
void let_side_go(Side *side);
int is_number(PyObject *item);
int is_finite_number(PyObject *item);
PyObject *value_of(const Side *side);          /* borrowed; NULL with an error */
PyObject *residual_of(const Side *side);
PyObject *of_two(PyObject *func, PyObject *a, PyObject *b); /* of which one may be NULL for an error */

/* reverse_pairs.c: two arguments, of which one at least is in reverse mode. */
typedef struct {
    Side a, b;
    const Reversed *like; /* one that is in reverse mode */
    Array at;             /* where the value lies */
} Pair;

/* The decomposed tensor of what is on the graph, which is stolen; of as many first axes equal rows are one. */
PyObject *finished(PyObject *func, PyObject *carrier, const Pair *pair, int axes);
/* reverse_products.c: a b, and a / b, of which b moves; NULL, maybe with an error, where it is Python's. */
PyObject *by_middles(PyObject *func, Pair *pair, int axes, int is_each);
PyObject *by_inverses(PyObject *func, Pair *pair);
PyObject *by_node(PyObject *func, Pair *pair, int is_divided);

/* reverse_slopes.c: a function of torch, and what it is called with behind its first argument. */
typedef struct {
    PyObject *func, *const *args, *options;
    Py_ssize_t count;
} Called;

PyObject *called_at(const Called *its, PyObject *tensor);
/* The slope between x and r, of whose equal rows there may be one, and of values there; None where Python has looked at
 * it, and it is not to be had so; NULL, maybe with an error, where Python is to look. */
PyObject *slope_of(const Called *its, PyObject *closed, long traits, PyObject *x, PyObject *row, PyObject *fx,
                   PyObject *low);

PyObject *closed_called(char letter);          /* the closed form of a slope in Python, by its letter; borrowed */

/* The answer of the form of a pointwise function: its slope may have a closed form, of a letter. */
PyObject *call_pointwise(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *keywords);
PyObject *reversed_pointwise(const Form *form, char closed, PyObject *func, PyObject *const *args, Py_ssize_t count);

#endif
