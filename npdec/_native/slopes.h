/* What others ask of slopes.c and of close.c. */
#ifndef NPDEC_SLOPES_H
#define NPDEC_SLOPES_H

#include "dlpack.h"
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
/* close.c: a closed form between close numbers, by that in Python; NULL where there is none */
typedef double Close(double x, double r, double step);
Close *close_form(PyObject *function);
/* The slope that it has found between x and r (of the ends x, r, f(x) and f(r)), or the secant where it leaves that by
 * more than rounding does; 0 where it is not finite. */
int between(double found, const double *ends, double eps, double *slope);

/* Put those between close numbers in single precision, which are marked as NaN, by the differences in double precision
 * of `f(·, of)`; `empty` makes a tensor of so many doubles. Marked stay those whose difference is not more than `kept`
 * times the value; 0, maybe with an error, where all do. */
typedef PyObject *Caller(PyObject *tensor, const void *of);
int secants_between(PyObject *x, PyObject *r, PyObject *to, PyObject *empty, double kept, Caller *f,
                const void *of, Secants *found);
/* The first of these places, or one of those TOGETHER that are looked at at once, where something is marked as NaN; their end where
 * nothing is. */
#define TOGETHER 64
Py_ssize_t without_marks(const Array *x, Py_ssize_t first, Py_ssize_t size);
/* The numbers x of the marked places where x is r, one after the other, as a tensor that x makes by the method `empty`; and
 * these places, for which there is room. NULL, maybe with an error, where there are none, or they do not lie so. Then put
 * what was found of them there; 0 where that is no such numbers. */
PyObject *still_points(PyObject *x, PyObject *r, PyObject *to, PyObject *empty, Py_ssize_t room, int64_t *places);
int put_where_still(PyObject *made, PyObject *to, const int64_t *places, Secants *found);
/* Put the slopes of tanh or of the sigmoid (gates.c); whether they are finite numbers. */
int are_gate_slopes(int is_opened, PyObject *x, PyObject *r, PyObject *fx, PyObject *fr, PyObject *to);
PyObject *secants_said(const Secants *found); /* as Python is told */

#endif
