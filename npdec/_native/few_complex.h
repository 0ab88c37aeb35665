/* A few complex numbers that carry something (few_complex.c), for their laws (complex_laws.c). */
#ifndef NPDEC_FEW_COMPLEX_H
#define NPDEC_FEW_COMPLEX_H

#include "decomposed.h"

#define MOST_PARTS 64 /* components of all elements: `npdec._law.of_few.FEW` */

/* An operand: a decomposed tensor, a plain one, or one of Python's numbers. Its elements at the value and at the
 * residual, and for each component, one after the other. */
typedef struct {
    PyObject *value, *residual; /* borrowed */
    Parts parts;
    Array at;                   /* of a plain tensor */
    int carries, is_number;
    Py_complex x[HANDFUL], r[HANDFUL], components[MOST_PARTS];
} ComplexOperand;

/* What `npdec._decomposed.size_warnings` and torch say of a precision. */
typedef struct {
    double eps, tiny, steepest, digits;
} ComplexLimits;

/* A call of one or two, and what it gives at both ends. */
typedef struct {
    ComplexOperand of[2];
    int operands;
    Py_ssize_t count, rows;     /* of elements, and of labels */
    Py_complex after[HANDFUL], before[HANDFUL];
    const ComplexLimits *limits;
} ComplexCall;

/* As `npdec._law.complex_laws` numbers them. Of a sum the components are not multiplied: they may be infinite. */
enum { COMPLEX_SUM, COMPLEX_DIFFERENCE, COMPLEX_LESSENED, COMPLEX_PRODUCT, COMPLEX_QUOTIENT, COMPLEX_HOLOMORPHIC,
       COMPLEX_POWER, COMPLEX_LENGTH, COMPLEX_COMPARED, COMPLEX_LESS, COMPLEX_LESS_EQUAL,
       COMPLEX_MAXIMUM, COMPLEX_MINIMUM, COMPLEX_LAWS };

/* What the components of each operand are multiplied with at each element; 0 where a general way knows more. */
int complex_weights(int law, const ComplexCall *call, Py_complex (*weights)[HANDFUL]);

/* Of an order (complex_order.c): what there is at one end, the comparison of two numbers, or whether the first one
 * leads, and the multipliers. Of the larger of two the imaginary part of the first one's is what the components of the
 * crossing are multiplied with. */
PyObject *ordered_end(int law, const ComplexCall *call, int is_double, int is_residual);
int orders_first(int law, Py_complex a, Py_complex b);
int order_weights(int law, const ComplexCall *call, Py_complex (*weights)[HANDFUL]);

/* One of two numbers by a condition (complex_choices.c); NULL, without an error, where Python is to say. */
struct number;
PyObject *complex_choice(const struct number *condition, ComplexOperand *of, int is_double);

/* Of one, and of powers (complex_powers.c): as complex_weights. The slope between the ends of an element, a step apart; 0
 * where it has lost digits, or is steep. */
int of_holomorphic(const ComplexCall *call, Py_complex (*weights)[HANDFUL]);
int of_power(const ComplexCall *call, Py_complex (*weights)[HANDFUL]);
int complex_secant(const ComplexCall *call, Py_ssize_t i, Py_complex step, Py_complex *slope);
int set_power_nodes(PyObject *const *levels);         /* three tuples of nodes and weights; 0 with an error */

#endif
