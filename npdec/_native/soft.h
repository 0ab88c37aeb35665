/* What the files about softmax in reverse mode share (soft.c, soft_back.c). */
#ifndef NPDEC_SOFT_H
#define NPDEC_SOFT_H

#include "tensors.h"
#include <math.h>

/* What is no number of an array, but passes gradients back, may be rounded as the processor does it soonest. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 12
#define BY_ANY_PROCESSOR __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "avx2", "default")))
#else
#define BY_ANY_PROCESSOR BY_PROCESSOR
#endif

#define MOST_NODES 64
#define LANES 8 /* sums that are added up side by side */
/* Numbers that are added up side by side by one instruction: what lies in memory is read as such, two at a time. */
#define WIDE (2 * LANES)
typedef float Wide_32 __attribute__((vector_size(32), aligned(4), may_alias));
typedef double Wide_64 __attribute__((vector_size(32), aligned(8), may_alias));
typedef int32_t Mask_32 __attribute__((vector_size(32)));
typedef int64_t Mask_64 __attribute__((vector_size(32)));
#define WHERE(bits, mask, a, b) ((Wide_##bits)(((mask) & (Mask_##bits)(a)) | (~(mask) & (Mask_##bits)(b))))
#define LARGER(bits, a, b) WHERE(bits, (a) > (b), a, b)
#define SMALLER(bits, a, b) WHERE(bits, (a) < (b), a, b)
#define AT(bits, numbers) (*(const Wide_##bits *)(numbers))
#define AT_ONCE(bits) ((Py_ssize_t)(256 / (bits)))
#define ADD_LANES(sum, its, bits) \
    for (int lane = 0; lane < AT_ONCE(bits); lane++) \
    sum += (its)[lane]
#define ADD_UP(sum, its) \
    sum = (((its)[0] + (its)[4]) + ((its)[2] + (its)[6])) + (((its)[1] + (its)[5]) + ((its)[3] + (its)[7]))

Py_ssize_t rows_of_two(PyObject *const *args, Array *x, Array *r, Py_ssize_t *period);
/* What a function of one row, from r to x, puts for it: 0 where that cannot be. There is memory for twice its length. */
typedef int RowFunction(const void *x, const void *r, void *to, Py_ssize_t n, const double *how, double *space);
/* Whether the function, of single or of double precision, was called for all rows of two tensors. */
PyObject *put_by_rows(PyObject *const *ends, PyObject *to, RowFunction *single, RowFunction *twice, const double *how);
Py_ssize_t rule_of(PyObject *list, double *times, double *weights);

/* soft_back.c: one row of numbers that are not positive, from `low` by `step`: the mean of p along the path, or, beside
 * gradients c, what the mean derivative makes of these. All have `width` numbers, a multiple of WIDE, of which those behind
 * the row are -inf, 0 and 0; p is space. */
void soft_row_32(const float *low, const float *step, const float *c, float *p, float *made, Py_ssize_t width,
                 const double *times, const double *weights, Py_ssize_t nodes);
void soft_row_64(const double *low, const double *step, const double *c, double *p, double *made, Py_ssize_t width,
                 const double *times, const double *weights, Py_ssize_t nodes);

static inline double
number_in(const Array *at, Py_ssize_t i)
{
    return at->bits == 32 ? ((float *)at->elements)[i] : ((double *)at->elements)[i];
}

#endif
