/* Gradients of the maxima of windows, back to what leads them; and the shares of windows in which that changes on the
 * way from residual to value.
 */
#include "pools.h"
#include <math.h>

/* What is seen at a place: where it lies outside along an axis, the first place of the window that does not. */
static int
seen_at(const Pool *pool, int place, int32_t inside)
{
    if (inside >> place & 1)
        return place;
    int steps[AXES] = {(int)(pool->kernel[1] * pool->kernel[2]), (int)pool->kernel[2], 1}, found = 0;
    for (int axis = 0; axis < AXES; axis++) {
        int at = place / steps[axis] % (int)pool->kernel[axis], first = -1, is_inside = 0;
        for (int k = 0; k < pool->places; k++)
            if (inside >> k & 1) {
                int its = k / steps[axis] % (int)pool->kernel[axis];
                first = first < 0 || its < first ? its : first;
                is_inside |= its == at;
            }
        found += steps[axis] * (is_inside ? at : first);
    }
    return found;
}

/* The windows of one of the leading axes: with `i` the number of one, `at` where it begins, and `inside`. */
#define EACH_WINDOW                                                                                                    \
    for (Py_ssize_t a = 0, i = 0; a < pool->out[0]; a++)                                                               \
        for (Py_ssize_t b = 0; b < pool->out[1]; b++)                                                                  \
            for (Py_ssize_t c = 0; c < pool->out[2]; c++, i++)

static inline int
lowest_bit(int32_t bits)
{
#if defined(__GNUC__)
    return __builtin_ctz((unsigned)bits);
#else
    int place = 0;
    while (!(bits >> place & 1))
        place++;
    return place;
#endif
}

/* How much of the path each of some lines leads, from `starts` to `ends`: as `_walked` in envelope_impl.py has it. Of those
 * that come after the first one only lines that end above it are looked at. */
static void
walk(const double *ends, const double *starts, int count, double *made)
{
    double slope[MOST_PLACES], low[MOST_PLACES], high[MOST_PLACES];
    double height = -INFINITY, pitch = -INFINITY, goal = -INFINITY, now = 0, left = 1;
    int places[MOST_PLACES], some = 0, same = 0;
    for (int j = 0; j < count; j++) {
        double its = ends[j] - starts[j];
        made[j] = 0;
        if (starts[j] > height || (starts[j] == height && its > pitch)) {
            height = starts[j];
            pitch = its;
            goal = ends[j];
        }
    }
    for (int j = 0; j < count; j++) {
        same += starts[j] == height && ends[j] - starts[j] == pitch;
        low[some] = starts[j];
        high[some] = ends[j];
        slope[some] = ends[j] - starts[j];
        places[some] = j;
        some += ends[j] > goal; /* else the next one takes its place */
    }
    for (int turn = 0; turn <= some; turn++) {
        double crossing[MOST_PLACES], ahead[MOST_PLACES], following = INFINITY, after = -INFINITY;
        for (int j = 0; j < some; j++) {
            crossing[j] = slope[j] > pitch ? (height - low[j]) / (slope[j] - pitch) : INFINITY;
            ahead[j] = slope[j] > pitch ? (high[j] - goal) / (slope[j] - pitch) : -INFINITY;
            crossing[j] = crossing[j] > 0 ? crossing[j] : 0;
            ahead[j] = ahead[j] < 1 ? ahead[j] : 1;
            following = crossing[j] < following ? crossing[j] : following;
            after = ahead[j] > after ? ahead[j] : after;
        }
        int early = following < 0.5;
        double until = following < 1 ? following : 1, rest = after > 0 ? after : 0;
        until = until > now ? until : now;
        rest = rest < left ? rest : left;
        if (turn == 0) {
            double share = (now < 0.5 ? until - now : left - rest) / same;
            for (int j = 0; j < count; j++)
                if (starts[j] == height && ends[j] - starts[j] == pitch)
                    made[j] += share;
        }
        else {
            same = 0;
            for (int j = 0; j < some; j++)
                same += low[j] == height && slope[j] == pitch;
            double share = (now < 0.5 ? until - now : left - rest) / same;
            for (int j = 0; j < some; j++)
                if (low[j] == height && slope[j] == pitch)
                    made[places[j]] += share;
        }
        if (!(rest > 0))
            return;
        double steepest = -INFINITY, from = -INFINITY, to = -INFINITY;
        for (int j = 0; j < some; j++)
            if (slope[j] > pitch && (early ? crossing[j] == following : ahead[j] == after)
                && (slope[j] > steepest || (slope[j] == steepest && low[j] > from))) {
                steepest = slope[j];
                from = low[j];
                to = high[j];
            }
        pitch = steepest;
        height = from;
        goal = to;
        now = until;
        left = rest;
    }
}

#define BACK(number)                                                                                           \
    /* Shares of the places of those windows whose leaders change on the way, row by row. */                           \
    static number *shares_##number(const Pool *pool, const number *x, const number *r, const int32_t *leaders,        \
                                   number *to)                                                                         \
    {                                                                                                                  \
        EACH_WINDOW                                                                                                    \
        {                                                                                                              \
            if (leaders[i] != WALKED)                                                                                  \
                continue;                                                                                              \
            int32_t inside;                                                                                            \
            Py_ssize_t at = window_at(pool, a, b, c, &inside);                                                         \
            double ends[MOST_PLACES], starts[MOST_PLACES], made[MOST_PLACES];                                          \
            for (int place = 0; place < pool->places; place++) {                                                       \
                Py_ssize_t its = at + pool->offsets[seen_at(pool, place, inside)];                                     \
                ends[place] = x[its];                                                                                  \
                starts[place] = r[its];                                                                                \
                to[place] = 0;                                                                                         \
            }                                                                                                          \
            walk(ends, starts, pool->places, made);                                                                    \
            for (int place = 0; place < pool->places; place++)                                                         \
                to[seen_at(pool, place, inside)] += (number)made[place];                                               \
            to += pool->places;                                                                                        \
        }                                                                                                              \
        return to;                                                                                                     \
    }                                                                                                                  \
    static const number *back_##number(const Pool *pool, const number *grad, const int32_t *leaders,                   \
                                       const number *shares, number *to)                                               \
    {                                                                                                                  \
        Py_ssize_t i = 0;                                                                                              \
        for (Py_ssize_t a = 0; a < pool->out[0]; a++)                                                                  \
            for (Py_ssize_t b = 0; b < pool->out[1]; b++) {                                                            \
                Py_ssize_t line = (a * pool->stride[0] - pool->padding[0]) * pool->size[1]                             \
                    + b * pool->stride[1] - pool->padding[1];                                                          \
                number *at = to + line * pool->size[2] - pool->padding[2];                                             \
                for (Py_ssize_t c = 0; c < pool->out[2]; c++, i++, at += pool->stride[2]) {                            \
                    int32_t its = leaders[i];                                                                          \
                    if (its == WALKED) {                                                                               \
                        for (int place = 0; place < pool->places; place++, shares++)                                   \
                            if (*shares != 0)                                                                          \
                                at[pool->offsets[place]] += grad[i] * *shares;                                         \
                        continue;                                                                                      \
                    }                                                                                                  \
                    number part = grad[i];                                                                             \
                    if (its & (its - 1)) {                                                                             \
                        int count = 0;                                                                                 \
                        for (int32_t rest = its; rest; rest &= rest - 1)                                               \
                            count++;                                                                                   \
                        part *= (number)1 / count;                                                                     \
                    }                                                                                                  \
                    for (; its; its &= its - 1)                                                                        \
                        at[pool->offsets[lowest_bit(its)]] += part;                                                    \
                }                                                                                                      \
            }                                                                                                          \
        return shares;                                                                                                 \
    }

BACK(float)
BACK(double)

/* pool_shares(x, r, leaders, shares, settings): puts the shares of places, a row for each window with several leaders;
 * whether it was done. */
PyObject *
pool_shares(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array x, r, leaders, shares;
    Pool pool;
    if (count != 5 || !read_call(args, &x, &r, &leaders, &pool, args[4]) || !plain_array(args[3], &shares)
        || shares.bits != x.bits || period_of(&shares) != size_of(&shares))
        return left_to_python(), PyBool_FromLong(0);
    Py_ssize_t walked = 0;
    int32_t *its = leaders.elements;
    for (Py_ssize_t i = 0; i < pool.lead * pool.outputs; i++)
        walked += its[i] == WALKED;
    if (size_of(&shares) != walked * pool.places)
        Py_RETURN_FALSE;
    void *to = shares.elements;
    int axes = (int)(PyTuple_GET_SIZE(args[4]) / 4);
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < pool.lead; i++) {
        Py_ssize_t row = row_of(&x, &r, axes, i) * pool.elements, at = i * pool.elements;
        if (x.bits == 32)
            to = shares_float(&pool, (float *)x.elements + at, (float *)r.elements + row, its + i * pool.outputs, to);
        else
            to = shares_double(&pool, (double *)x.elements + at, (double *)r.elements + row,
                               its + i * pool.outputs, to);
    }
    Py_END_ALLOW_THREADS
    Py_RETURN_TRUE;
}

/* pool_back(gradients, leaders, shares, to, settings): adds gradients of the maxima to those of what they lead; whether
 * it was done. */
PyObject *
pool_back(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array grad, leaders, shares, to;
    Pool pool;
    if (count != 5 || !plain_array(args[0], &grad) || !host_array(args[1], &leaders) || leaders.bits != 32
        || leaders.code != OF_INTEGER || !plain_array(args[3], &to) || grad.bits != to.bits || is_seen_by_torch()
        || !read_pool(&to, &leaders, args[4], &pool) || size_of(&grad) != size_of(&leaders)
        || period_of(&grad) != size_of(&grad) || period_of(&to) != size_of(&to)
        || period_of(&leaders) != size_of(&leaders))
        return left_to_python(), PyBool_FromLong(0);
    const void *from = NULL;
    Py_ssize_t walked = 0;
    int32_t *its = leaders.elements;
    for (Py_ssize_t i = 0; i < pool.lead * pool.outputs; i++)
        walked += its[i] == WALKED;
    if (walked > 0) {
        if (!plain_array(args[2], &shares) || shares.bits != to.bits || period_of(&shares) != size_of(&shares)
            || size_of(&shares) != walked * pool.places)
            return left_to_python(), PyBool_FromLong(0);
        from = shares.elements;
    }
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < pool.lead; i++) {
        Py_ssize_t out = i * pool.outputs, at = i * pool.elements;
        if (to.bits == 32)
            from = back_float(&pool, (float *)grad.elements + out, its + out, from, (float *)to.elements + at);
        else
            from = back_double(&pool, (double *)grad.elements + out, its + out, from, (double *)to.elements + at);
    }
    Py_END_ALLOW_THREADS
    Py_RETURN_TRUE;
}
