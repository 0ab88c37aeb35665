/* Sums of all the numbers of a tensor, and of their magnitudes, and what each input contributes to a number: in one pass
 * over memory. */
#include "tensors.h"

#include <math.h>
#include <string.h>

#define ALONGSIDE 8 /* sums that are added up side by side */
#define SUMS(number)                                                                                                   \
    BY_PROCESSOR static void sums_##number(const number *restrict x, Py_ssize_t count, double *made, double *total)    \
    {                                                                                                                  \
        double sizes[ALONGSIDE] = {0}, sums[ALONGSIDE] = {0};                                                          \
        Py_ssize_t i = 0;                                                                                              \
        for (; i + ALONGSIDE <= count; i += ALONGSIDE)                                                                 \
            for (int j = 0; j < ALONGSIDE; j++) {                                                                      \
                sizes[j] += fabs((double)x[i + j]);                                                                    \
                sums[j] += (double)x[i + j];                                                                           \
            }                                                                                                          \
        for (int j = 0; i < count; i++, j++) {                                                                         \
            sizes[j] += fabs((double)x[i]);                                                                            \
            sums[j] += (double)x[i];                                                                                   \
        }                                                                                                              \
        for (int j = 0; j < ALONGSIDE; j++) {                                                                          \
            *made += sizes[j];                                                                                         \
            *total += sums[j];                                                                                         \
        }                                                                                                              \
    }                                                                                                                  \
    BY_PROCESSOR static void shares_##number(const number *a, Py_ssize_t period, const number *b, number *to,          \
                                             Py_ssize_t count, double *made, double *total)                            \
    {                                                                                                                  \
        for (Py_ssize_t i = 0; i < count; i += BLOCK) { /* which is read again while it is near */                     \
            Py_ssize_t some = count - i < BLOCK ? count - i : BLOCK;                                                   \
            if (period == count)                                                                                       \
                for (Py_ssize_t j = i; j < i + some; j++)                                                              \
                    to[j] = a[j] * b[j];                                                                               \
            else if (period == 1)                                                                                      \
                for (Py_ssize_t j = i; j < i + some; j++)                                                              \
                    to[j] = a[0] * b[j];                                                                               \
            else                                                                                                       \
                for (Py_ssize_t j = i; j < i + some; j++)                                                              \
                    to[j] = a[j % period] * b[j];                                                                      \
            sums_##number(to + i, some, made, total);                                                                  \
        }                                                                                                              \
    }
#define BLOCK 4096
SUMS(float)
SUMS(double)

static int
is_whole(const Array *at)
{
    return period_of(at) == size_of(at);
}

/* sums(x): the sum of the magnitudes, and the sum, of real numbers that follow each other on the host; or None. */
PyObject *
sums(PyObject *module, PyObject *tensor)
{
    Array x;
    double made = 0, total = 0;
    if (!plain_array(tensor, &x) || !is_whole(&x) || is_seen_by_torch())
        return or_none(left_to_python());
    if (x.bits == 32)
        sums_float(x.elements, size_of(&x), &made, &total);
    else
        sums_double(x.elements, size_of(&x), &made, &total);
    return Py_BuildValue("dd", made, total);
}

/* shares(slope, change, to): puts the products, `to` may be the slope itself; the sum of their magnitudes, and their sum;
 * or None where tensors of one shape do not follow each other on the host. */
PyObject *
shares(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array all[3];
    int is_known = count == 3 && !is_seen_by_torch();
    for (int i = 0; is_known && i < 3; i++)
        is_known = plain_array(args[i], &all[i]) && all[i].bits == all[0].bits && size_of(&all[i]) == size_of(&all[0]);
    Py_ssize_t period = is_known ? period_of(&all[0]) : -1;
    if (period <= 0 || !is_whole(&all[1]) || !is_whole(&all[2]))
        return or_none(left_to_python());
    double made = 0, total = 0;
    Py_ssize_t size = size_of(&all[0]);
    if (all[0].bits == 32)
        shares_float(all[0].elements, period, all[1].elements, all[2].elements, size, &made, &total);
    else
        shares_double(all[0].elements, period, all[1].elements, all[2].elements, size, &made, &total);
    return Py_BuildValue("dd", made, total);
}
