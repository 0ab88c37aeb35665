/* The maxima of windows of max pools in reverse mode, and which of the elements lead along the path from residual to
 * value (npdec/_impl/envelope_impl.py says what that means).
 */
#include "pools.h"
#include <math.h>

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
    }

MAXIMA(float)
MAXIMA(double)

/* pool_leaders(x, r, leaders, value, settings): puts the maxima of the windows, and the leaders as bits; how many
 * windows have several one after the other. None where it is not done. */
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
        is_tame = x.bits == 32 ? maxima_float(&pool, (float *)r.elements + i * pool.elements, room,
                                               starts + i * pool.outputs)
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
