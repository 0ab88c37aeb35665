/* Slopes of powers u^p between the value x and the residual r, of many elements in one pass: between close numbers by the
 * series of ((1 + h)^p − 1) / h in h = (x − r) / r, else by the secant, or by logarithms where that has lost digits. */
#include "slopes.h"
#include "tensors.h"
#include "soft.h"
#include <string.h>

#define BLOCK 256        /* numbers, which stay where the processor finds them again */
#define TERMS 16         /* of the series */
#define FEW_TERMS 7      /* in single precision */
#define CLOSE (1.0 / 32) /* h up to which there are enough of them, for powers up to the next number */
#define MOST_POWER 8
#define KEPT 16          /* how many times larger than their difference numbers may be that have kept their digits */

typedef struct {
    double p, terms[TERMS]; /* of the series, without the first, which is p */
} Power;

typedef struct {
    int32_t most_int32_t, least_int32_t; /* the bits of magnitudes, of single precision or double; the least above zero */
    int64_t most_int64_t, least_int64_t;
    Py_ssize_t left; /* blocks of which elements have lost digits */
    int is_beyond;   /* whether a change is not finite */
} Sizes;

/* Put the slopes of some elements, no more than BLOCK; NaN where digits are lost. Bits of numbers without a sign are ordered
 * as they are. */
#define SLOPES(number, bits, few)                                                                                      \
    BY_ANY_PROCESSOR static void slopes_##number(const Power *power, const number *restrict x,                         \
                                                 const number *restrict r, const number *restrict fx,                  \
                                                 const number *restrict fr, number *restrict to, Py_ssize_t some,      \
                                                 Sizes *sizes)                                                         \
    {                                                                                                                  \
        number p = (number)power->p, at_zero = p == 1, terms[few], made[BLOCK], lost[BLOCK], change[BLOCK];            \
        const number none = 0, one = 1;                                                                                \
        for (int k = 0; k < few; k++)                                                                                  \
            terms[k] = (number)power->terms[k];                                                                        \
        for (Py_ssize_t i = 0; i < some; i++) {                                                                        \
            number low = r[i], step = x[i] - low, rise = fx[i] - fr[i], inverse = one / (low == 0 ? one : low);        \
            number h = step * inverse, sum = terms[few - 1];                                                           \
            for (int k = few - 2; k >= 0; k--)                                                                         \
                sum = sum * h + terms[k];                                                                              \
            number between = p * (fr[i] * inverse) * (one + sum * h);                                                  \
            number secant = rise / (step == 0 ? one : step);                                                           \
            number far = low == 0 ? one : h * h - (number)(CLOSE * CLOSE); /* above zero: no close numbers */          \
            secant = step == 0 ? at_zero : secant; /* without a step, and at zero */                                   \
            number high = fx[i] < 0 ? -fx[i] : fx[i], grown = rise < 0 ? -rise : rise;                                 \
            number is_lost = far > 0 ? high - KEPT * grown : none;                                                     \
            lost[i] = step == 0 ? none : is_lost;                                                                      \
            made[i] = far > 0 ? secant : between;                                                                      \
            change[i] = rise - rise;                                                                                   \
        }                                                                                                              \
        bits its[BLOCK], most = 0, least = sizes->least_##bits, left = 0, beyond = 0;                                  \
        const bits all = ~((bits)1 << (8 * sizeof(bits) - 1));                                                         \
        memcpy(its, change, some * sizeof(bits));                                                                      \
        for (Py_ssize_t i = 0; i < some; i++)                                                                          \
            beyond |= its[i] & all;                                                                                    \
        memcpy(its, lost, some * sizeof(bits));                                                                        \
        for (Py_ssize_t i = 0; i < some; i++)                                                                          \
            left |= -(bits)(its[i] > 0);                                                                               \
        memcpy(its, made, some * sizeof(bits));                                                                        \
        for (Py_ssize_t i = 0; i < some; i++) {                                                                        \
            bits size = its[i] & all, above = size == 0 ? all : size;                                                  \
            most = size > most ? size : most;                                                                          \
            least = above < least ? above : least;                                                                     \
        }                                                                                                              \
        sizes->most_##bits = most > sizes->most_##bits ? most : sizes->most_##bits;                                    \
        sizes->least_##bits = least;                                                                                   \
        sizes->left += left != 0;                                                                                      \
        sizes->is_beyond |= beyond != 0;                                                                               \
        memcpy(to, made, some * sizeof(number));                                                                       \
        for (Py_ssize_t i = 0; left && i < some; i++)                                                                  \
            to[i] = lost[i] > 0 ? (number)NAN : to[i];                                                                 \
    }                                                                                                                  \
    static int lost_##number(const Power *power, const number *x, const number *r, const number *fr, number *to,       \
                             Py_ssize_t some)                                                                          \
    {                                                                                                                  \
        for (Py_ssize_t i = 0; i < some; i++) {                                                                        \
            if (to[i] == to[i])                                                                                        \
                continue;                                                                                              \
            double low = r[i], step = x[i] - low;                                                                      \
            if (!(low > 0) || !(x[i] > 0))                                                                             \
                return 0;                                                                                              \
            to[i] = (number)(fr[i] * expm1(power->p * log1p(step / low)) / step);                                      \
        }                                                                                                              \
        return 1;                                                                                                      \
    }
SLOPES(float, int32_t, FEW_TERMS)
SLOPES(double, int64_t, TERMS)

static int
put_some(const Power *power, int bits, const char *x, const char *r, const char *fx, const char *fr, char *to,
         Py_ssize_t some, Sizes *sizes)
{
    Py_ssize_t before = sizes->left;
    if (bits == 32) {
        slopes_float(power, (float *)x, (float *)r, (float *)fx, (float *)fr, (float *)to, some, sizes);
        return sizes->left == before || lost_float(power, (float *)x, (float *)r, (float *)fr, (float *)to, some);
    }
    slopes_double(power, (double *)x, (double *)r, (double *)fx, (double *)fr, (double *)to, some, sizes);
    return sizes->left == before || lost_double(power, (double *)x, (double *)r, (double *)fr, (double *)to, some);
}

int
are_power_slopes(double p, const Array *x, const Array *r, const Array *fx, const Array *fr, const Array *to)
{
    Py_ssize_t size = size_of(x), row = size_of(r), itemsize = x->bits / 8;
    const Array *all[5] = {x, r, fx, fr, to};
    for (int i = 0; i < 5; i++)
        if (all[i]->bits != x->bits || period_of(all[i]) != size_of(all[i]))
            return 0;
    if (!(fabs(p) <= MOST_POWER) || p == 0 || size == 0 || row == 0 || size % row || size_of(fx) != size
        || size_of(fr) != row || size_of(to) != size || (row != size && !is_row_of(r, x)))
        return 0;
    Power power = {p, {0}};
    double term = 1;
    for (int k = 0; k < TERMS; k++)
        power.terms[k] = term *= (p - k - 1) / (k + 2);
    Sizes sizes = {0, INT32_MAX, 0, INT64_MAX, 0, 0};
    char *rows;
    const char *low = r->elements, *low_of = fr->elements;
    if (!written_out(&low, &low_of, &row, size, itemsize, BLOCK, &rows))
        return 0;
    int is_done = 1;
    for (Py_ssize_t i = 0; i < size && is_done;) {
        Py_ssize_t inside = i % row, some = row - inside < BLOCK ? row - inside : BLOCK;
        some = size - i < some ? size - i : some;
        is_done = put_some(&power, x->bits, (char *)x->elements + i * itemsize, low + inside * itemsize,
                           (char *)fx->elements + i * itemsize, low_of + inside * itemsize,
                           (char *)to->elements + i * itemsize, some, &sizes);
        i += some;
    }
    PyMem_Free(rows);
    /* In the middle of the exponent range are numbers of these bits. */
    if (x->bits == 32)
        return is_done && !sizes.is_beyond && sizes.most_int32_t < (254 - 23) << 23 && sizes.least_int32_t >= 24 << 23;
    return is_done && !sizes.is_beyond && sizes.most_int64_t < (int64_t)(2046 - 52) << 52
        && sizes.least_int64_t >= (int64_t)53 << 52;
}

/* power_slopes(exponent, x, r, f(x), f(r), to), of tensors, of which those at r may be one row: whether it is done. */
PyObject *
power_slopes(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array all[5];
    double p = count == 6 ? PyFloat_AsDouble(args[0]) : 0;
    if (PyErr_Occurred())
        return NULL;
    int is_known = count == 6 && !is_seen_by_torch();
    for (int i = 0; is_known && i < 5; i++)
        is_known = plain_array(args[i + 1], &all[i]);
    is_known = is_known && are_power_slopes(p, &all[0], &all[1], &all[2], &all[3], &all[4]);
    if (PyErr_Occurred())
        left_to_python();
    return PyErr_Occurred() ? NULL : PyBool_FromLong(is_known);
}
