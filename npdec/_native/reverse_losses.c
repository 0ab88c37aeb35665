/* Losses in reverse mode: the slopes of elements that npdec/_rules/losses_reverse.py finds by several functions of torch,
 * in one pass over memory. */
#include "decomposed.h"
#include "soft.h"

enum { SQUARE, MAGNITUDE, HUBER, SMOOTH, LOGITS };

/* Of a loss of the difference d to a target, from `low` to `high`: the mean of its derivative. That of the last two is d,
 * bounded to ±limit, whose mean is that of the bounded part, and of what is beyond. */
#define LOSSES(number, bits)                                                                                           \
    BY_ANY_PROCESSOR static void squares_##bits(const number *restrict x, const number *restrict r,                    \
                                                const number *restrict t, number *restrict to, Py_ssize_t n,           \
                                                number factor)                                                         \
    {                                                                                                                  \
        for (Py_ssize_t i = 0; i < n; i++)                                                                             \
            to[i] = factor * ((x[i] - t[i]) + (r[i] - t[i]));                                                          \
    }                                                                                                                  \
    BY_ANY_PROCESSOR static void magnitudes_##bits(const number *restrict x, const number *restrict r,                 \
                                                   const number *restrict t, number *restrict to, Py_ssize_t n,        \
                                                   number factor)                                                      \
    {                                                                                                                  \
        for (Py_ssize_t i = 0; i < n; i++) {                                                                           \
            number high = x[i] - t[i], low = r[i] - t[i], sum = high + low;                                            \
            number sign = (number)((sum > 0) - (sum < 0)), step = high > low ? high - low : low - high;                \
            number across = sum / step;                                                                                \
            int is_across = ((high > 0) & (low < 0)) | ((high < 0) & (low > 0));                                       \
            to[i] = factor * (is_across ? across : sign) + 0 * sum;                                                    \
        }                                                                                                              \
    }                                                                                                                  \
    BY_ANY_PROCESSOR static void bounded_##bits(const number *restrict x, const number *restrict r,                    \
                                                const number *restrict t, number *restrict to, Py_ssize_t n,           \
                                                number limit, number factor)                                           \
    {                                                                                                                  \
        for (Py_ssize_t i = 0; i < n; i++) {                                                                           \
            number high = x[i] - t[i], low = r[i] - t[i];                                                              \
            number b = high > limit ? limit : high < -limit ? -limit : high;                                           \
            number a = low > limit ? limit : low < -limit ? -limit : low, step = high - low;                           \
            number middle = (a + b) / 2, mean = ((b - a) * middle + (b * (high - b) - a * (low - a))) / step;          \
            int is_within = ((high == b) & (low == a)) | (a == b);                                                     \
            to[i] = factor * (is_within ? middle : mean) + 0 * step;                                                   \
        }                                                                                                              \
    }                                                                                                                  \
    /* Of binary cross entropy of logits, of slopes of the logarithm of the sigmoid. */                                \
    BY_ANY_PROCESSOR static void of_logits_##bits(const number *restrict slope, const number *restrict t,              \
                                                  number *restrict to, Py_ssize_t n, number factor)                    \
    {                                                                                                                  \
        for (Py_ssize_t i = 0; i < n; i++)                                                                             \
            to[i] = factor * ((1 - t[i]) - slope[i]);                                                                  \
    }                                                                                                                  \
    static void all_##bits(int kind, const number *x, const number *r, const number *t, number *to, Py_ssize_t size,   \
                           Py_ssize_t period, number parameter, number factor)                                         \
    {                                                                                                                  \
        for (Py_ssize_t i = 0; i < size; i += period)                                                                  \
            if (kind == SQUARE)                                                                                        \
                squares_##bits(x + i, r, t + i, to + i, period, factor);                                               \
            else if (kind == MAGNITUDE)                                                                                \
                magnitudes_##bits(x + i, r, t + i, to + i, period, factor);                                            \
            else if (kind == LOGITS)                                                                                   \
                of_logits_##bits(x + i, t + i, to + i, period, factor);                                                \
            else                                                                                                       \
                bounded_##bits(x + i, r, t + i, to + i, period, parameter,                                             \
                               kind == SMOOTH ? factor / parameter : factor);                                          \
    }                                                                                                                  \
    /* Of means of softmax, in place: less one at each row's class. */                                                 \
    BY_ANY_PROCESSOR static void of_classes_##bits(number *means, const int64_t *target, Py_ssize_t rows,              \
                                                   Py_ssize_t n, number factor)                                        \
    {                                                                                                                  \
        for (Py_ssize_t i = 0; i < rows; i++) {                                                                        \
            means[i * n + target[i]] -= 1;                                                                             \
            for (Py_ssize_t j = 0; j < n; j++)                                                                         \
                means[i * n + j] *= factor;                                                                            \
        }                                                                                                              \
    }                                                                                                                  \
    /* Of how far other scores of a row come over that of its class, less a margin. */                                 \
    BY_ANY_PROCESSOR static void over_##bits(const number *restrict x, const number *restrict r, Py_ssize_t own,       \
                                             number *restrict to, Py_ssize_t n, number margin, number factor)          \
    {                                                                                                                  \
        const number at = x[own], before = r[own];                                                                     \
        double all = 0;                                                                                                \
        for (Py_ssize_t j = 0; j < n; j++) {                                                                           \
            number high = (x[j] - at) + margin, low = (r[j] - before) + margin, step = high - low;                     \
            number part = ((high > 0 ? high : 0) - (low > 0 ? low : 0)) / step;                                        \
            int is_one = (high > 0) & (low > 0), is_none = (high <= 0) & (low <= 0);                                   \
            to[j] = (is_one ? 1 : is_none ? 0 : part) + 0 * step;                                                      \
        }                                                                                                              \
        to[own] = 0;                                                                                                   \
        for (Py_ssize_t j = 0; j < n; j++)                                                                             \
            all += to[j];                                                                                              \
        to[own] = (number)-all;                                                                                        \
        for (Py_ssize_t j = 0; j < n; j++)                                                                             \
            to[j] *= factor;                                                                                           \
    }
LOSSES(float, 32)
LOSSES(double, 64)

/* loss_slopes(kind, x, r, target, parameter, factor), of which r may be a row of the residual: the slopes, times the
 * factor; None of others. */
PyObject *
loss_slopes(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    static const char *const kinds[] = {"square", "magnitude", "huber", "smooth", "logits"};
    Array x, r, t, to;
    Py_ssize_t period;
    int kind = 0;
    if (count != 6 || !PyUnicode_Check(args[0]) || rows_of_two(args + 1, &x, &r, &period) == 0
        || !plain_array(args[3], &t) || t.bits != x.bits || !are_alike(&t, &x) || period_of(&t) != size_of(&x)
        || is_seen_by_torch())
        return or_none(left_to_python());
    while (kind <= LOGITS && PyUnicode_CompareWithASCIIString(args[0], kinds[kind]) != 0)
        kind++;
    double parameter = PyFloat_AsDouble(args[4]), factor = PyFloat_AsDouble(args[5]);
    if (PyErr_Occurred())
        return NULL;
    PyObject *made = kind > LOGITS || !(parameter > 0) ? NULL : PyObject_CallOneArg(given.empty_like, args[1]);
    if (made == NULL || !plain_array(made, &to) || !are_alike(&to, &x) || period_of(&to) != size_of(&x)) {
        Py_CLEAR(made);
        return or_none(left_to_python());
    }
    Py_BEGIN_ALLOW_THREADS
    if (x.bits == 32)
        all_32(kind, x.elements, r.elements, t.elements, to.elements, size_of(&x), period, (float)parameter,
               (float)factor);
    else
        all_64(kind, x.elements, r.elements, t.elements, to.elements, size_of(&x), period, parameter, factor);
    Py_END_ALLOW_THREADS
    if (!is_finite(&to))
        Py_CLEAR(made);
    return or_none(made);
}

/* The classes of rows, which follow each other, if all are among so many; else NULL. */
static const int64_t *
classes_of(PyObject *target, Py_ssize_t rows, Py_ssize_t n, int64_t ignored)
{
    Array at;
    if (!host_array(target, &at) || at.code != OF_INTEGER || at.bits != 64 || at.rank != 1 || at.shape[0] != rows
        || period_of(&at) != rows || is_true_of(target, names.requires_grad))
        return NULL;
    const int64_t *its = at.elements;
    for (Py_ssize_t i = 0; i < rows; i++)
        if (its[i] < 0 || its[i] >= n || its[i] == ignored)
            return NULL;
    return its;
}

/* class_slopes(means of softmax, classes, which class is ignored, factor): whether those of cross entropy were put in
 * their place, times the factor; not where a row is ignored. */
PyObject *
class_slopes(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array means;
    if (count != 4 || !plain_array(args[0], &means) || means.rank != 2 || period_of(&means) != size_of(&means)
        || size_of(&means) == 0 || !PyLong_Check(args[2]) || is_seen_by_torch())
        return left_to_python(), PyBool_FromLong(0);
    long long ignored = PyLong_AsLongLong(args[2]);
    double factor = PyFloat_AsDouble(args[3]);
    if (PyErr_Occurred())
        return NULL;
    const int64_t *target = classes_of(args[1], means.shape[0], means.shape[1], ignored);
    if (target == NULL)
        return left_to_python(), PyBool_FromLong(0);
    if (means.bits == 32)
        of_classes_32(means.elements, target, means.shape[0], means.shape[1], (float)factor);
    else
        of_classes_64(means.elements, target, means.shape[0], means.shape[1], factor);
    Py_RETURN_TRUE;
}

/* margin_slopes(x, r, classes, margin, factor), of which r may be a row of the residual: those of the sums of what other
 * scores come over the margin; None of others. */
PyObject *
margin_slopes(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array x, r, to;
    Py_ssize_t period, rows = count == 5 && !is_seen_by_torch() ? rows_of_two(args, &x, &r, &period) : 0;
    double margin = rows > 0 ? PyFloat_AsDouble(args[3]) : 0, factor = rows > 0 ? PyFloat_AsDouble(args[4]) : 0;
    if (PyErr_Occurred())
        return NULL;
    const int64_t *target = rows > 0 && x.rank == 2 ? classes_of(args[2], rows, x.shape[1], -1) : NULL;
    PyObject *made = target == NULL ? NULL : PyObject_CallOneArg(given.empty_like, args[0]);
    if (made == NULL || !plain_array(made, &to) || !are_alike(&to, &x) || period_of(&to) != size_of(&x)) {
        Py_CLEAR(made);
        return or_none(left_to_python());
    }
    for (Py_ssize_t i = 0, n = x.shape[1]; i < rows; i++)
        if (x.bits == 32)
            over_32((float *)x.elements + i * n, (float *)r.elements + i * n % period, target[i],
                    (float *)to.elements + i * n, n, (float)margin, (float)factor);
        else
            over_64((double *)x.elements + i * n, (double *)r.elements + i * n % period, target[i],
                    (double *)to.elements + i * n, n, margin, factor);
    if (!is_finite(&to))
        Py_CLEAR(made);
    return or_none(made);
}
