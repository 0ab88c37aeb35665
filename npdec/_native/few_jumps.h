/* Functions with jumps of two numbers (few_jumps.c), and of few elements (few_jumps_each.c). */
#ifndef NPDEC_FEW_JUMPS_H
#define NPDEC_FEW_JUMPS_H

#include "few_numbers.h"

/* As `npdec._law.numbers_in_c` counts them. */
enum { QUOTIENT, REST, FMOD, SIGN, STEP, BOTH };

/* Two numbers, what they were, and the function of both. */
typedef struct {
    double a, b, r, s, fx, fr;
} Jump;

/* The function in the dtype, as torch has it; 0 where it is to say that. */
int jump_at(int which, int bits, double a, double b, double *found);
/* Find the function in the dtype, and what each has of its change: of one that does not carry anything nothing. 0 where
 * Python is to say. */
int jump_between(int which, int bits, int carries_a, int carries_b, Jump *its, double *by);

#endif
