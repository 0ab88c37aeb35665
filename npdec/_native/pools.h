/* What the files of max pools share (pools.c, pools_back.c): the settings of a pool, and where its windows lie. */
#ifndef NPDEC_POOLS_H
#define NPDEC_POOLS_H

#include "tensors.h"

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
static inline int
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
static inline Py_ssize_t
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

/* What a call is given: x, r, which lies as x does but for leading axes of length one, the leaders and the settings. */
static inline int
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
static inline Py_ssize_t
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

#endif
