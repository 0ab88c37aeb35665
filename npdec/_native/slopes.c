/* Secant slopes (f(x) − f(r)) / (x − r) of many elements in one pass over memory, and where they have lost digits. What
 * is to be done there is Python's (npdec/_law/secant_at_once.py). All is arithmetic that is the same on every
 * processor. */
#include "slopes.h"
#include "tensors.h"
#include <math.h>
#include <string.h>

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__)
#define BY_PROCESSOR __attribute__((target_clones("avx2", "default")))
#else
#define BY_PROCESSOR
#endif

#define IN_PIECES 1 /* a piecewise linear function, whose difference loses digits nowhere but without a step */
#define COARSE 2    /* close arguments lose digits as well */

typedef struct {
    Py_ssize_t marked;      /* elements without a slope: NaN is put there */
    int64_t most, least;    /* the bits of the largest magnitude among the others, and of the smallest */
    int64_t longest;        /* of the steps */
    int is_beyond;          /* whether something has left the range of the dtype */
} Found;

#define BLOCK 512 /* numbers, which stay where the processor finds them again */

/* Bits of numbers without a sign are ordered as they are; those of infinity and NaN come last. */
#define SECANTS(number, bits, least_number)                                                                            \
    BY_PROCESSOR static void secants_##number(const number *restrict x, const number *restrict r,                     \
                                              const number *restrict fx, const number *restrict fr,                   \
                                              number *restrict to, Py_ssize_t count, int flags, number kept,          \
                                              Found *restrict found)                                                   \
    {                                                                                                                  \
        const number nan_number = (number)NAN, endless_number = (number)INFINITY;                                      \
        bits nan, endless, most = 0, longest = 0, beyond = 0, marked = 0, lost[BLOCK], slope[BLOCK], length[BLOCK];    \
        const bits all = ~((bits)1 << (8 * sizeof(bits) - 1));                                                         \
        bits least = all;                                                                                              \
        memcpy(&nan, &nan_number, sizeof(nan));                                                                        \
        memcpy(&endless, &endless_number, sizeof(endless));                                                            \
        number step[BLOCK], excess[BLOCK], made[BLOCK];                                                                \
        if (flags & IN_PIECES)                                                                                         \
            for (Py_ssize_t i = 0; i < count; i++) {                                                                   \
                step[i] = x[i] - r[i];                                                                                 \
                made[i] = (fx[i] - fr[i]) / step[i];                                                                   \
            }                                                                                                          \
        else                                                                                                           \
            for (Py_ssize_t i = 0; i < count; i++) {                                                                   \
                number change = fx[i] - fr[i];                                                                         \
                step[i] = x[i] - r[i];                                                                                 \
                made[i] = change / step[i];                                                                            \
                excess[i] = (fx[i] * fr[i] + least_number) - kept * change * change;                                   \
            }                                                                                                          \
        memcpy(length, step, count * sizeof(bits));                                                                    \
        if (flags & IN_PIECES)                                                                                         \
            for (Py_ssize_t i = 0; i < count; i++)                                                                     \
                lost[i] = (length[i] & all) == 0;                                                                      \
        else                                                                                                           \
            memcpy(lost, excess, count * sizeof(bits));                                                                \
        memcpy(slope, made, count * sizeof(bits));                                                                     \
        if (flags & COARSE) {                                                                                          \
            for (Py_ssize_t i = 0; i < count; i++)                                                                     \
                excess[i] = x[i] * r[i] - kept * step[i] * step[i];                                                    \
            bits more[BLOCK];                                                                                          \
            memcpy(more, excess, count * sizeof(bits));                                                                \
            for (Py_ssize_t i = 0; i < count; i++) {                                                                   \
                beyond |= (more[i] & all) >= endless;                                                                  \
                lost[i] = more[i] > lost[i] ? more[i] : lost[i];                                                       \
            }                                                                                                          \
        }                                                                                                              \
        for (Py_ssize_t i = 0; i < count; i++) {                                                                       \
            bits mark = -(bits)(lost[i] > 0), size = slope[i] & all, its = length[i] & all;                            \
            bits high = size & ~mark, low = size | (mark & all);                                              \
            beyond |= (lost[i] & all) >= endless;                                                                      \
            most = high > most ? high : most;                                                                          \
            least = low < least ? low : least;                                                                         \
            longest = its > longest ? its : longest;                                                                   \
            marked -= mark;                                                                                            \
            slope[i] = (nan & mark) | (slope[i] & ~mark);                                                              \
        }                                                                                                              \
        memcpy(to, slope, count * sizeof(bits));                                                                       \
        found->marked += marked;                                                                                       \
        found->most = most > found->most ? most : found->most;                                                         \
        found->least = least < found->least ? least : found->least;                                                    \
        found->longest = longest > found->longest ? longest : found->longest;                                          \
        found->is_beyond |= beyond != 0;                                                                               \
    }                                                                                                                  \
    static double bits_as_##number(int64_t found)                                                                      \
    {                                                                                                                  \
        bits its = (bits)found;                                                                                        \
        number made;                                                                                                   \
        memcpy(&made, &its, sizeof(made));                                                                             \
        return made;                                                                                                   \
    }

SECANTS(float, int32_t, 1.17549435e-38f)
SECANTS(double, int64_t, 2.2250738585072014e-308)

int
written_out(const char **low, const char **low_of, Py_ssize_t *row, Py_ssize_t size, Py_ssize_t itemsize,
            Py_ssize_t block, char **held)
{
    *held = NULL;
    if (*row >= block / 2 || *row >= size)
        return 1;
    Py_ssize_t copies = block / *row, bytes = *row * itemsize;
    char *rows = *held = PyMem_Malloc(2 * copies * bytes);
    if (rows == NULL)
        return PyErr_NoMemory(), 0;
    for (Py_ssize_t i = 0; i < copies; i++) {
        memcpy(rows + i * bytes, *low, bytes);
        memcpy(rows + (copies + i) * bytes, *low_of, bytes);
    }
    *low = rows;
    *low_of = rows + copies * bytes;
    *row *= copies;
    return 1;
}

/* Whether r has the last axes of x, and those before them are of length one. */
int
is_row_of(const Array *r, const Array *x)
{
    int axis = r->rank - 1, skipped = x->rank - r->rank;
    if (skipped < 0)
        return 0;
    while (axis >= 0 && r->shape[axis] == x->shape[axis + skipped])
        axis--;
    while (axis >= 0 && r->shape[axis] == 1)
        axis--;
    return axis < 0;
}

static double usual_kept; /* fx fr over (fx − fr)², from which on digits are lost: Python's */

static int
put_slopes(PyObject *const *args, long flags, double kept, Secants *said)
{
    Array x, r, fx, fr, to;
    if (!plain_array(args[0], &x) || !plain_array(args[1], &r) || !plain_array(args[2], &fx)
        || !plain_array(args[3], &fr) || !plain_array(args[4], &to) || is_seen_by_torch())
        return 0;
    Py_ssize_t size = size_of(&x), row = period_of(&r), lows = size_of(&r);
    if (x.bits != r.bits || x.bits != fx.bits || x.bits != fr.bits || x.bits != to.bits || size == 0
        || period_of(&x) != size || period_of(&fx) != size || period_of(&to) != size
        || (lows != size && !is_row_of(&r, &x))
        || size_of(&fx) != size || size_of(&fr) != lows || size_of(&to) != size || row <= 0 || size % row
        || period_of(&fr) != row)
        return 0;
    Py_ssize_t itemsize = x.bits / 8;
    const char *low = r.elements, *low_of = fr.elements;
    char *rows;
    if (!written_out(&low, &low_of, &row, size, itemsize, BLOCK, &rows))
        return 0;
    Found found = {0, 0, INT64_MAX, 0, 0};
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < size;) {
        Py_ssize_t inside = i % row, here = row - inside < BLOCK ? row - inside : BLOCK;
        here = size - i < here ? size - i : here;
        const char *at_x = (char *)x.elements + i * itemsize, *at_fx = (char *)fx.elements + i * itemsize;
        const char *at_r = low + inside * itemsize, *at_fr = low_of + inside * itemsize;
        char *at = (char *)to.elements + i * itemsize;
        if (x.bits == 32)
            secants_float((float *)at_x, (float *)at_r, (float *)at_fx, (float *)at_fr, (float *)at, here, (int)flags,
                          (float)kept, &found);
        else
            secants_double((double *)at_x, (double *)at_r, (double *)at_fx, (double *)at_fr, (double *)at, here,
                           (int)flags, kept, &found);
        i += here;
    }
    Py_END_ALLOW_THREADS
    PyMem_Free(rows);
    double (*as_number)(int64_t) = itemsize == 4 ? bits_as_float : bits_as_double;
    said->marked = found.marked;
    said->most = as_number(found.most);
    said->least = found.marked == size ? INFINITY : as_number(found.least);
    said->longest = as_number(found.longest);
    said->is_beyond = found.is_beyond;
    return 1;
}

PyObject *
secants_said(const Secants *found)
{
    return Py_BuildValue("ndddO", found->marked, found->most, found->least, found->longest,
                         found->is_beyond ? Py_True : Py_False);
}

int
secants_of(PyObject *x, PyObject *r, PyObject *fx, PyObject *fr, PyObject *to, int flags, Secants *found)
{
    PyObject *const args[5] = {x, r, fx, fr, to};
    return put_slopes(args, flags, usual_kept, found);
}

/* set_kept(kept): what `secants_of` takes for it. */
PyObject *
set_kept(PyObject *module, PyObject *kept)
{
    usual_kept = PyFloat_AsDouble(kept);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}

/* secants(x, r, f(x), f(r), to, flags, kept): (how many are marked, largest and least magnitude of the others, longest
 * step, whether numbers leave the range), or None where they do not lie one after the other. Those at the residual may
 * be one row for all. */
PyObject *
secants(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Secants found;
    long flags = count == 7 ? PyLong_AsLong(args[5]) : 0;
    double kept = count == 7 ? PyFloat_AsDouble(args[6]) : 0;
    if (PyErr_Occurred())
        return NULL;
    if (count != 7 || !put_slopes(args, flags, kept, &found))
        return or_none(left_to_python());
    return secants_said(&found);
}

#define MARKS(number, bits)                                                                                            \
    BY_PROCESSOR static int has_marks_##bits(const number *restrict x, Py_ssize_t count)                               \
    {                                                                                                                  \
        int any = 0;                                                                                                   \
        for (Py_ssize_t i = 0; i < count; i++)                                                                         \
            any |= x[i] != x[i];                                                                                       \
        return any;                                                                                                    \
    }
MARKS(float, 32)
MARKS(double, 64)

Py_ssize_t
without_marks(const Array *x, Py_ssize_t first, Py_ssize_t size)
{
    Py_ssize_t done = first;
    for (; done < size; done += TOGETHER) {
        Py_ssize_t count = size - done < TOGETHER ? size - done : TOGETHER;
        if (x->bits == 32 ? has_marks_32((float *)x->elements + done, count)
                          : has_marks_64((double *)x->elements + done, count))
            break;
    }
    return done < size ? done : size;
}

/* Put the places of what is NaN, of which there are as many as there is room for; 0 where there are others. */
static int
put_places(const Array *x, int64_t *places, Py_ssize_t room)
{
    int64_t here[TOGETHER];
    Py_ssize_t size = size_of(x), found = 0;
    for (Py_ssize_t i = without_marks(x, 0, size); i < size; i = without_marks(x, i + TOGETHER, size)) {
        Py_ssize_t some = 0, end = size - i < TOGETHER ? size : i + TOGETHER;
        for (Py_ssize_t j = i; j < end; j++) { /* without a branch, which could not be foretold */
            double number = x->bits == 32 ? ((float *)x->elements)[j] : ((double *)x->elements)[j];
            here[some] = j;
            some += number != number;
        }
        if (some > room - found)
            return 0;
        memcpy(places + found, here, some * sizeof(int64_t));
        found += some;
    }
    return found == room;
}

/* places_of_nan(x, to): the places of what is NaN, of which there are as many as `to`, whole numbers of 64 bits, takes;
 * whether it was done. */
PyObject *
places_of_nan(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array x, to;
    if (count != 2 || !plain_array(args[0], &x) || !host_array(args[1], &to) || to.code != OF_INTEGER || to.bits != 64)
        return left_to_python(), PyBool_FromLong(0);
    int is_whole = period_of(&x) == size_of(&x) && period_of(&to) == size_of(&to);
    return PyBool_FromLong(is_whole && put_places(&x, to.elements, size_of(&to)));
}

/* The k chosen places of an array, one after the other; NULL where they are none of one of `size` elements. */
static const int64_t *
chosen_places(PyObject *tensor, Py_ssize_t size, Py_ssize_t *count)
{
    Array places;
    if (!host_array(tensor, &places) || places.code != OF_INTEGER || places.bits != 64
        || period_of(&places) != size_of(&places))
        return NULL;
    const int64_t *found = places.elements;
    *count = size_of(&places);
    for (Py_ssize_t i = 0; i < *count; i++)
        if (found[i] < 0 || found[i] >= size)
            return NULL;
    return found;
}

/* Put the chosen elements of both, of which the latter are again and again a row, into two rows. */
static void
put_ends(const float *x, const float *r, Py_ssize_t row, const int64_t *places, Py_ssize_t some, double *ends)
{
    int is_power = (row & (row - 1)) == 0; /* of two: a division takes longer than all else */
    for (Py_ssize_t i = 0; i < some; i++) {
        ends[i] = x[places[i]];
        ends[some + i] = r[is_power ? places[i] & (row - 1) : places[i] % row];
    }
}

/* ends_at(x, r, places, to): puts the chosen elements of both, in single precision, into two rows in double precision;
 * whether it was done. */
PyObject *
ends_at(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array x, r, to;
    Py_ssize_t some = 0;
    if (count != 4 || !plain_array(args[0], &x) || !plain_array(args[1], &r) || !plain_array(args[3], &to)
        || x.bits != 32 || r.bits != 32 || to.bits != 64)
        return left_to_python(), PyBool_FromLong(0);
    Py_ssize_t size = size_of(&x), row = period_of(&r);
    const int64_t *places = chosen_places(args[2], size, &some);
    if (places == NULL || period_of(&x) != size || size_of(&r) != size || row <= 0 || size_of(&to) != 2 * some
        || period_of(&to) != 2 * some)
        return left_to_python(), PyBool_FromLong(0);
    put_ends(x.elements, r.elements, row, places, some, to.elements);
    Py_RETURN_TRUE;
}

/* Put the secants of the two rows of values over those of ends, and tell the largest and the least magnitude; how many
 * are left, whose difference is not more than `kept` times the value. Where both values are zero, so is the slope, and no
 * digit lost. */
static Py_ssize_t
put_differences(const double *x, const double *fx, const int64_t *places, Py_ssize_t some, double kept, float *to,
                double *most, double *least)
{
    Py_ssize_t left = 0;
    for (Py_ssize_t i = 0; i < some; i++) {
        double move = fx[i] - fx[some + i];
        if (!(fabs(move) > kept * fabs(fx[i]) || (fx[i] == 0 && fx[some + i] == 0 && x[i] != x[some + i]))) {
            left++;
            continue;
        }
        double slope = move / (x[i] - x[some + i]), size = fabs(slope);
        to[places[i]] = (float)slope;
        *most = size > *most ? size : *most;
        *least = size < *least && size > 0 ? size : *least;
    }
    return left;
}

/* put_secants(ends, values, places, to, kept): puts the secants of the two rows of values over those of ends there, and
 * gives the largest and the least of their magnitudes; None where a difference is not more than `kept` times the value,
 * so that it has lost too many digits. */
PyObject *
put_secants(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array ends, values, to;
    Py_ssize_t some = 0;
    if (count != 5 || !plain_array(args[0], &ends) || !plain_array(args[1], &values) || !plain_array(args[3], &to)
        || ends.bits != 64 || values.bits != 64 || to.bits != 32)
        return or_none(left_to_python());
    const int64_t *places = chosen_places(args[2], size_of(&to), &some);
    double kept = PyFloat_AsDouble(args[4]), most = 0, least = INFINITY;
    if (places == NULL || PyErr_Occurred() || size_of(&ends) != 2 * some || size_of(&values) != 2 * some
        || period_of(&ends) != 2 * some || period_of(&values) != 2 * some || period_of(&to) != size_of(&to))
        return or_none(left_to_python());
    if (put_differences(ends.elements, values.elements, places, some, kept, to.elements, &most, &least) > 0)
        Py_RETURN_NONE;
    return Py_BuildValue("dd", most, least);
}

int
secants_between(PyObject *x, PyObject *r, PyObject *to, PyObject *empty, double kept, Caller *f,
                const void *of, Secants *found)
{
    Array high, low, slopes, made;
    PyObject *size = NULL, *ends = NULL, *values = NULL;
    if (!plain_array(x, &high) || !plain_array(r, &low) || !plain_array(to, &slopes) || high.bits != 32)
        return 0;
    Py_ssize_t some = found->marked, row = period_of(&low);
    int64_t *places = PyMem_Malloc(some * sizeof *places);
    double most = found->most, least = found->least;
    int is_done = 0;
    if (places == NULL)
        return PyErr_NoMemory(), 0;
    if (put_places(&slopes, places, some) && (size = PyLong_FromSsize_t(2 * some)) != NULL
        && (ends = PyObject_CallOneArg(empty, size)) != NULL && plain_array(ends, &made) && made.bits == 64
        && size_of(&made) == 2 * some) {
        double *at = made.elements;
        put_ends(high.elements, low.elements, row, places, some, at);
        values = f(ends, of);
        is_done = values != NULL && plain_array(values, &made) && made.bits == 64 && size_of(&made) == 2 * some
               && period_of(&made) == 2 * some;
        if (is_done) {
            found->marked = put_differences(at, made.elements, places, some, kept, slopes.elements, &most, &least);
            found->most = most;
            found->least = least;
        }
    }
    PyMem_Free(places);
    Py_XDECREF(size);
    Py_XDECREF(values);
    Py_XDECREF(ends);
    return is_done;
}
