/* Max pools in reverse mode: the maxima of windows, which of the elements lead along the path from residual to value
 * (npdec/_impl/envelope_impl.py says what that means), and gradients back to them.
 */
#include "tensors.h"
#include <math.h>
#include <string.h>

#define AXES 3
#define MOST_PLACES 30 /* in a window: a bit for each, and two for what is said of all */
#define WALKED INT32_MIN
#define HANGS_OVER (1 << MOST_PLACES) /* a window of which some places lie outside */

typedef struct {
    Py_ssize_t lead, size[AXES], out[AXES], kernel[AXES], stride[AXES], padding[AXES], dilation[AXES];
    Py_ssize_t elements, outputs; /* of one of the leading axes */
    int places;
    Py_ssize_t offsets[MOST_PLACES]; /* of a window that lies inside */
    Py_ssize_t first[AXES], last[AXES]; /* the windows that do, along each axis, from first up to last */
} Pool;

/* Read the settings, a tuple of kernels, strides, paddings and dilations; 0 where they are not served. */
static int
read_pool(const Array *x, const Array *out, PyObject *settings, Pool *pool)
{
    if (!PyTuple_CheckExact(settings) || PyTuple_GET_SIZE(settings) % 4)
        return 0;
    int axes = (int)(PyTuple_GET_SIZE(settings) / 4), missing = AXES - axes;
    if (axes < 1 || axes > AXES || x->rank < axes || x->rank != out->rank)
        return 0;
    Py_ssize_t *kinds[4] = {pool->kernel, pool->stride, pool->padding, pool->dilation};
    pool->lead = pool->elements = pool->outputs = 1;
    for (int axis = 0; axis < x->rank - axes; axis++) {
        if (x->shape[axis] != out->shape[axis])
            return 0;
        pool->lead *= x->shape[axis];
    }
    Py_ssize_t places = 1;
    for (int axis = 0; axis < AXES; axis++) {
        int at = axis - missing;
        for (int kind = 0; kind < 4; kind++)
            kinds[kind][axis] = at < 0 ? kind != 2 : PyLong_AsSsize_t(PyTuple_GET_ITEM(settings, kind * axes + at));
        pool->size[axis] = at < 0 ? 1 : x->shape[x->rank - axes + at];
        pool->out[axis] = at < 0 ? 1 : out->shape[x->rank - axes + at];
        Py_ssize_t kernel = pool->kernel[axis], stride = pool->stride[axis], padding = pool->padding[axis],
                   dilation = pool->dilation[axis];
        if (PyErr_Occurred() || kernel < 1 || kernel > MOST_PLACES || stride < 1 || dilation < 1 || padding < 0
            || padding > kernel / 2)
            return 0;
        Py_ssize_t room = pool->size[axis] + 2 * padding - dilation * (kernel - 1) - 1;
        if (room < 0 || pool->out[axis] != room / stride + 1)
            return 0;
        Py_ssize_t above = room - padding < 0 ? -1 : (room - padding) / stride;
        pool->first[axis] = (padding + stride - 1) / stride;
        pool->last[axis] = above + 1 > pool->first[axis] ? above + 1 : pool->first[axis];
        pool->last[axis] = pool->last[axis] < pool->out[axis] ? pool->last[axis] : pool->out[axis];
        pool->elements *= pool->size[axis];
        pool->outputs *= pool->out[axis];
        places *= kernel;
    }
    if (places > MOST_PLACES)
        return 0;
    pool->places = 0;
    for (Py_ssize_t a = 0; a < pool->kernel[0]; a++)
        for (Py_ssize_t b = 0; b < pool->kernel[1]; b++)
            for (Py_ssize_t c = 0; c < pool->kernel[2]; c++)
                pool->offsets[pool->places++] = (a * pool->dilation[0] * pool->size[1] + b * pool->dilation[1])
                        * pool->size[2] + c * pool->dilation[2];
    return 1;
}

/* Where a window begins, and which of its places lie inside, as bits. */
static Py_ssize_t
window_at(const Pool *pool, Py_ssize_t a, Py_ssize_t b, Py_ssize_t c, int32_t *inside)
{
    Py_ssize_t first[AXES] = {a * pool->stride[0] - pool->padding[0], b * pool->stride[1] - pool->padding[1],
                              c * pool->stride[2] - pool->padding[2]};
    int32_t all = (int32_t)((1u << pool->places) - 1);
    *inside = all;
    for (int axis = 0; axis < AXES; axis++)
        if (first[axis] < 0 || first[axis] + (pool->kernel[axis] - 1) * pool->dilation[axis] >= pool->size[axis])
            *inside = 0;
    if (*inside == 0) {
        int place = 0;
        for (Py_ssize_t i = 0; i < pool->kernel[0]; i++)
            for (Py_ssize_t j = 0; j < pool->kernel[1]; j++)
                for (Py_ssize_t k = 0; k < pool->kernel[2]; k++, place++) {
                    Py_ssize_t at[AXES] = {first[0] + i * pool->dilation[0], first[1] + j * pool->dilation[1],
                                           first[2] + k * pool->dilation[2]};
                    if (at[0] >= 0 && at[0] < pool->size[0] && at[1] >= 0 && at[1] < pool->size[1] && at[2] >= 0
                        && at[2] < pool->size[2])
                        *inside |= 1 << place;
                }
    }
    return (first[0] * pool->size[1] + first[1]) * pool->size[2] + first[2];
}

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

/* Of the windows of a line those that lie inside, where the line of windows does. */
static void
inner_of(const Pool *pool, Py_ssize_t a, Py_ssize_t b, Py_ssize_t *from, Py_ssize_t *to)
{
    int is_inside = a >= pool->first[0] && a < pool->last[0] && b >= pool->first[1] && b < pool->last[1];
    *from = is_inside ? pool->first[2] : 0;
    *to = is_inside ? pool->last[2] : 0;
}

#define MAXIMA(number)                                                                                                 \
    /* The largest of some windows that lie inside, the first of equal ones, and all that are as large, as bits. */    \
    static inline int inner_##number(const number *at, const Py_ssize_t *offsets, const int places, Py_ssize_t stride, \
                                     Py_ssize_t count, number *value, int32_t *leaders)                                \
    {                                                                                                                  \
        int wild = 0;                                                                                                  \
        for (Py_ssize_t i = 0; i < count; i++, at += stride) {                                                         \
            number most = at[offsets[0]], nothing = most - most;                                                       \
            for (int place = 1; place < places; place++) {                                                             \
                number its = at[offsets[place]];                                                                       \
                nothing += its - its;                                                                                  \
                most = its > most ? its : most;                                                                        \
            }                                                                                                          \
            int32_t equal = 0;                                                                                         \
            for (int place = 0; place < places; place++)                                                               \
                equal |= (at[offsets[place]] == most) << place;                                                        \
            wild |= !(nothing == 0);                                                                                   \
            value[i] = most;                                                                                           \
            leaders[i] = equal;                                                                                        \
        }                                                                                                              \
        return wild;                                                                                                   \
    }                                                                                                                  \
    /* The same of all windows; 0 where something is not finite. `value` has the room of the result. */                \
    static int maxima_##number(const Pool *pool, const number *x, number *value, int32_t *leaders)                     \
    {                                                                                                                  \
        int wild = 0;                                                                                                  \
        Py_ssize_t i = 0, from, to;                                                                                    \
        for (Py_ssize_t a = 0; a < pool->out[0]; a++)                                                                  \
            for (Py_ssize_t b = 0; b < pool->out[1]; b++) {                                                            \
                inner_of(pool, a, b, &from, &to);                                                                      \
                for (Py_ssize_t c = 0; c < pool->out[2]; c++, i++) {                                                   \
                    int32_t inside, equal = 0;                                                                         \
                    const number *at = x + window_at(pool, a, b, c, &inside);                                          \
                    if (c == from && to > from) {                                                                      \
                        const Py_ssize_t stride = pool->stride[2], count = to - from;                                  \
                        if (pool->places == 4)                                                                         \
                            wild |= inner_##number(at, pool->offsets, 4, stride, count, value + i, leaders + i);       \
                        else if (pool->places == 9)                                                                    \
                            wild |= inner_##number(at, pool->offsets, 9, stride, count, value + i, leaders + i);       \
                        else                                                                                           \
                            wild |= inner_##number(at, pool->offsets, pool->places, stride, count, value + i,          \
                                                   leaders + i);                                                       \
                        i += count - 1;                                                                                \
                        c = to - 1;                                                                                    \
                        continue;                                                                                      \
                    }                                                                                                  \
                    number most = -(number)INFINITY;                                                                   \
                    for (int place = 0; place < pool->places; place++) {                                               \
                        if (!(inside >> place & 1))                                                                    \
                            continue;                                                                                  \
                        number its = at[pool->offsets[place]];                                                         \
                        wild |= !(its - its == 0);                                                                     \
                        equal = its > most ? 1 << place : its == most ? equal | 1 << place : equal;                    \
                        most = its > most ? its : most;                                                                \
                    }                                                                                                  \
                    value[i] = most;                                                                                   \
                    leaders[i] = equal | HANGS_OVER;                                                                   \
                }                                                                                                      \
            }                                                                                                          \
        return !wild;                                                                                                  \
    }                                                                                                                  \
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

/* How much of the path each of some lines leads, from `starts` to `ends`: as `_walked` in envelope_impl.py has it. */
static void
walk(const double *ends, const double *starts, int count, double *made)
{
    double slope[MOST_PLACES], height = -INFINITY, pitch = -INFINITY, goal = -INFINITY, now = 0, left = 1;
    for (int j = 0; j < count; j++) {
        made[j] = 0;
        slope[j] = ends[j] - starts[j];
        if (starts[j] > height || (starts[j] == height && slope[j] > pitch)) {
            height = starts[j];
            pitch = slope[j];
            goal = ends[j];
        }
    }
    for (int turn = 0; turn < count; turn++) {
        double crossing[MOST_PLACES], ahead[MOST_PLACES], following = INFINITY, after = -INFINITY;
        int same = 0;
        for (int j = 0; j < count; j++) {
            crossing[j] = slope[j] > pitch ? (height - starts[j]) / (slope[j] - pitch) : INFINITY;
            ahead[j] = slope[j] > pitch ? (ends[j] - goal) / (slope[j] - pitch) : -INFINITY;
            crossing[j] = crossing[j] > 0 ? crossing[j] : 0;
            ahead[j] = ahead[j] < 1 ? ahead[j] : 1;
            following = crossing[j] < following ? crossing[j] : following;
            after = ahead[j] > after ? ahead[j] : after;
            same += starts[j] == height && slope[j] == pitch;
        }
        int early = following < 0.5;
        double until = following < 1 ? following : 1, rest = after > 0 ? after : 0;
        until = until > now ? until : now;
        rest = rest < left ? rest : left;
        double share = (now < 0.5 ? until - now : left - rest) / same;
        for (int j = 0; j < count; j++)
            if (starts[j] == height && slope[j] == pitch)
                made[j] += share;
        if (!(rest > 0))
            return;
        double steepest = -INFINITY, from = -INFINITY, to = -INFINITY;
        for (int j = 0; j < count; j++)
            if (slope[j] > pitch && (early ? crossing[j] == following : ahead[j] == after)
                && (slope[j] > steepest || (slope[j] == steepest && starts[j] > from))) {
                steepest = slope[j];
                from = starts[j];
                to = ends[j];
            }
        pitch = steepest;
        height = from;
        goal = to;
        now = until;
        left = rest;
    }
}

MAXIMA(float)
MAXIMA(double)

/* What a call is given: x, r, which lies as x does but for leading axes of length one, the leaders and the settings. */
static int
read_call(PyObject *const *args, Array *x, Array *r, Array *leaders, Pool *pool, PyObject *settings)
{
    if (!plain_array(args[0], x) || !plain_array(args[1], r) || !host_array(args[2], leaders)
        || leaders->code != OF_INTEGER || leaders->bits != 32 || x->bits != r->bits || x->rank != r->rank
        || is_seen_by_torch() || !read_pool(x, leaders, settings, pool))
        return 0;
    int axes = (int)(PyTuple_GET_SIZE(settings) / 4);
    for (int axis = 0; axis < x->rank; axis++)
        if (x->shape[axis] != r->shape[axis] && (axis >= x->rank - axes || r->shape[axis] != 1))
            return 0;
    return size_of(x) > 0 && period_of(x) == size_of(x) && period_of(r) == size_of(r)
        && period_of(leaders) == size_of(leaders);
}

/* Which of the residuals belongs to one of the leading axes, which are those before the pool's. */
static Py_ssize_t
row_of(const Array *x, const Array *r, int axes, Py_ssize_t lead)
{
    Py_ssize_t found = 0, step = 1;
    for (int axis = x->rank - axes - 1; axis >= 0; axis--) {
        if (r->shape[axis] != 1)
            found += lead % x->shape[axis] * step;
        lead /= x->shape[axis];
        step *= r->shape[axis];
    }
    return found;
}

/* pool_leaders(x, r, leaders, value, settings): puts the maxima of the windows, and the leaders as bits; how many windows
 * have several one after the other. None where it is not done. */
PyObject *
pool_leaders(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array x, r, leaders, value;
    Pool pool;
    if (count != 5 || !read_call(args, &x, &r, &leaders, &pool, args[4]) || !plain_array(args[3], &value)
        || value.bits != x.bits || size_of(&value) != size_of(&leaders) || period_of(&value) != size_of(&value))
        return or_none(left_to_python());
    Py_ssize_t rows = size_of(&r) / pool.elements, walked = 0;
    int32_t *starts = PyMem_Malloc(rows * pool.outputs * sizeof(int32_t)), *its = leaders.elements;
    void *room = PyMem_Malloc(pool.outputs * (x.bits / 8));
    if (starts == NULL || room == NULL) {
        PyMem_Free(starts);
        PyMem_Free(room);
        return PyErr_NoMemory();
    }
    int is_tame = 1, axes = (int)(PyTuple_GET_SIZE(args[4]) / 4);
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < rows && is_tame; i++)
        is_tame = x.bits == 32 ? maxima_float(&pool, (float *)r.elements + i * pool.elements, room, starts + i * pool.outputs)
                               : maxima_double(&pool, (double *)r.elements + i * pool.elements, room,
                                               starts + i * pool.outputs);
    for (Py_ssize_t i = 0; i < pool.lead && is_tame; i++) {
        int32_t *here = its + i * pool.outputs, *first = starts + row_of(&x, &r, axes, i) * pool.outputs;
        is_tame = x.bits == 32 ? maxima_float(&pool, (float *)x.elements + i * pool.elements,
                                              (float *)value.elements + i * pool.outputs, here)
                               : maxima_double(&pool, (double *)x.elements + i * pool.elements,
                                               (double *)value.elements + i * pool.outputs, here);
        for (Py_ssize_t j = 0; j < pool.outputs; j++) {
            int32_t both = here[j] & first[j], its = both & ~HANGS_OVER;
            int is_shared = (its & (its - 1)) != 0 && both != its; /* perhaps by places outside as well */
            here[j] = its == 0 || is_shared ? WALKED : its;
            walked += here[j] == WALKED;
        }
    }
    Py_END_ALLOW_THREADS
    PyMem_Free(starts);
    PyMem_Free(room);
    if (!is_tame)
        Py_RETURN_NONE;
    return PyLong_FromSsize_t(walked);
}

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
            to = shares_double(&pool, (double *)x.elements + at, (double *)r.elements + row, its + i * pool.outputs, to);
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
