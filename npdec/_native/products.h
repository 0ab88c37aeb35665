/* Products of complex numbers (products.c). */
#ifndef NPDEC_PRODUCTS_H
#define NPDEC_PRODUCTS_H

#include "few.h"

int complex_of_two(int kind, int is_quotient, char *to, const char *x, const char *y); /* 0 where torch says it */
PyObject *complex_products(Operand *a, Operand *b);   /* NULL, maybe with an error, where that is Python's */

#endif
