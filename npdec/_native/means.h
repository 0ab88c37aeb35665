/* The mean gradients of smooth functions of two numbers (means.c), for few_means.c. */
#ifndef NPDEC_MEANS_H
#define NPDEC_MEANS_H

#include "decomposed.h"

/* As `npdec._law.means_of_few` numbers them. */
enum { MEAN_HYPOT, MEAN_ANGLE, MEAN_LOGADDEXP, MEAN_LOGADDEXP2, MEAN_NEXT, MEAN_POWER, MEAN_XLOGY, MEAN_XLOG1PY, MEANS };

int set_mean_nodes(PyObject *const *levels);  /* of 10, 12 and 16 nodes; 0 with an error */
/* The means of the derivatives along the path from (r, s) to (x, y), where the function is fr and fx; 0 where a general
 * way knows more. */
int means_of(int which, double x, double y, double r, double s, double fx, double fr, double *means);
/* complex_powers.c: of powers of negative bases, in the order of `means_of`. */
int means_beside_negatives(double x, double y, double r, double s, double *means);

#endif
