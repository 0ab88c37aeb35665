/* Decomposed numbers beside each other and beside constants: what few_choices.c and few_jumps.c share. */
#ifndef NPDEC_FEW_NUMBERS_H
#define NPDEC_FEW_NUMBERS_H

#include "decomposed.h"

/* A number at the value and at the residual; of a constant there are no parts. A constant of Python's is not of the
 * dtype yet. */
typedef struct number {
    double x, r;
    Parts parts;
    int carries;
} Number;
#define MOST_NUMBERS 3

/* The numbers of a call, one of which carries something, if nobody looks on; then they are held. `conditions`: so many
 * of the first are booleans. 0, without an error, where that is Python's. */
int are_numbers(PyObject *const *args, Py_ssize_t count, int conditions, Number *numbers);
int is_condition(PyObject *tensor, Number *number);    /* of one; then it is held, if it carries something */
void let_numbers_go(Number *numbers, Py_ssize_t count);
int bits_of(const Number *numbers, Py_ssize_t count); /* of the dtype of those that are no conditions; 0 without */
double to_bits(int bits, double number);
/* What the components are multiplied with where a function jumps between the ends, which are a step apart; `size`: that
 * of the ends, if it moves beside its jumps as well, or -1. 0 where a general way knows more. */
int jump_shared(const Parts *x, const double *column, Py_ssize_t count, double jump, double step, double size,
                int bits, double *found);
int jump_of(const Number *x, double jump, double size, int bits, double *found); /* the same of a number's */
/* The components of all numbers, each times its weight, added up, and their labels; -1 where that is Python's. Of what
 * has no weight nothing is added, or NaN where it is not finite. */
enum { ADD_ALL, LEAVE_OUT };
Py_ssize_t total_of(const Number *numbers, Py_ssize_t count, const double *weights, int are_left_out, double *sums,
                    PyObject **labels);
/* A number of two ends, or a condition, of components; labels are stolen. */
PyObject *number_made(double value, double residual, int is_condition, const double *sums, Py_ssize_t count, int bits,
                      PyObject *labels);
PyObject *number_by_weights(double value, double residual, const Number *numbers, Py_ssize_t count,
                            const double *weights, int are_left_out, int bits);
/* Which part of the path each of two leads, from (r, s) to (x, y); 0 where that is not finite. */
int leading_shares_of(int sign, double x, double y, double r, double s, double *shares);
/* A number of Python's or a plain tensor without axes. */
int is_constant_number(PyObject *given_to_it, int is_condition, Number *number);

#endif
