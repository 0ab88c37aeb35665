/* Attention in reverse mode: of every query the way back through softmax, whose scores go from those of the residuals to
 * those of the values, and the mean of its weights at the two (npdec/_rules/attention_reverse.py). Each row has as many
 * nodes as its own path needs. Products of matrices are torch's. */
#include "exponentials.h"
#include "soft.h"

/* What all rows share. Of the scores at the residual heads, queries and keys may be one; a mask is added, or says by bools
 * where a query may look. */
typedef struct {
    Array high, low, by, mask;
    Py_ssize_t low_strides[3], mask_strides[3], first_head, first_query;
    int is_causal, is_masked;
    double scale;
    const double *rules, *limits; /* (nodes + 1, 2, most nodes), and up to which range so many serve */
    Py_ssize_t most_nodes;
} Heads;

#define HEADS(number, bits)                                                                                            \
    /* The scores of a row at both ends, less the largest, and the steps between: their range. */                      \
    BY_ANY_PROCESSOR static double path_##bits(number *restrict low, number *restrict step, Py_ssize_t width)              \
    {                                                                                                                  \
        Wide_##bits tops = (Wide_##bits){0} - (number)INFINITY, firsts = tops, most = {0}, least = {0}, totals = {0};  \
        number top = -(number)INFINITY, first = top, high = 0, bottom = 0, total = 0;                                  \
        for (Py_ssize_t j = 0; j < width; j += AT_ONCE(bits)) {                                                        \
            tops = LARGER(bits, AT(bits, step + j), tops);                                                             \
            firsts = LARGER(bits, AT(bits, low + j), firsts);                                                          \
        }                                                                                                              \
        for (int lane = 0; lane < AT_ONCE(bits); lane++) {                                                             \
            top = tops[lane] > top ? tops[lane] : top;                                                                 \
            first = firsts[lane] > first ? firsts[lane] : first;                                                       \
        }                                                                                                              \
        for (Py_ssize_t j = 0; j < width; j++) {                                                                       \
            number start = low[j] - first, move = (step[j] - top) - start;                                             \
            low[j] = start;                                                                                            \
            step[j] = start == -INFINITY ? 0 : move;                                                                   \
        }                                                                                                              \
        for (Py_ssize_t j = 0; j < width; j += AT_ONCE(bits)) {                                                        \
            most = LARGER(bits, AT(bits, step + j), most);                                                             \
            least = SMALLER(bits, AT(bits, step + j), least);                                                          \
            totals += 0 * AT(bits, step + j);                                                                          \
        }                                                                                                              \
        ADD_LANES(total, totals, bits);                                                                                \
        for (int lane = 0; lane < AT_ONCE(bits); lane++) {                                                             \
            high = most[lane] > high ? most[lane] : high;                                                              \
            bottom = least[lane] < bottom ? least[lane] : bottom;                                                      \
        }                                                                                                              \
        return total == 0 ? high - bottom : INFINITY;                                                                  \
    }                                                                                                                  \
    /* The weights at one end. */                                                                                      \
    BY_ANY_PROCESSOR static void weights_##bits(const number *restrict low, const number *restrict step, number time,      \
                                            number *restrict p, number *restrict made, Py_ssize_t width)               \
    {                                                                                                                  \
        Wide_##bits sums = {0};                                                                                        \
        number sum = 0;                                                                                                \
        for (Py_ssize_t j = 0; j < width; j++)                                                                         \
            p[j] = exponential_##bits(low[j] + time * step[j]);                                                        \
        for (Py_ssize_t j = 0; j < width; j += AT_ONCE(bits))                                                          \
            sums += AT(bits, p + j);                                                                                   \
        ADD_LANES(sum, sums, bits);                                                                                    \
        number factor = (number)0.5 / sum;                                                                             \
        for (Py_ssize_t j = 0; j < width; j++)                                                                         \
            made[j] += factor * p[j];                                                                                  \
    }                                                                                                                  \
    static void scores_##bits(const Heads *its, Py_ssize_t head, Py_ssize_t query, Py_ssize_t n, number *low,          \
                              number *step)                                                                            \
    {                                                                                                                  \
        const Py_ssize_t keys = its->high.shape[2];                                                                    \
        const number *high = (number *)its->high.elements + (head * its->high.shape[1] + query) * keys;                \
        const number *start = (number *)its->low.elements                                                              \
                            + (its->first_head + head) % its->low.shape[0] * its->low_strides[0]                       \
                            + query * its->low_strides[1];                                                             \
        const number scale = (number)its->scale;                                                                       \
        const Py_ssize_t by = its->low_strides[2];                                                                     \
        for (Py_ssize_t j = 0; j < n; j++)                                                                             \
            step[j] = scale * high[j];                                                                                 \
        if (by == 0)                                                                                                   \
            for (Py_ssize_t j = 0; j < n; j++)                                                                         \
                low[j] = scale * start[0];                                                                             \
        else                                                                                                           \
            for (Py_ssize_t j = 0; j < n; j++)                                                                         \
                low[j] = scale * start[j];                                                                             \
        if (its->is_masked) {                                                                                          \
            Py_ssize_t at = head * its->mask_strides[0] + query * its->mask_strides[1], next = its->mask_strides[2];   \
            if (its->mask.code == OF_FLOAT)                                                                            \
                for (Py_ssize_t j = 0; j < n; j++) {                                                                   \
                    number more = ((number *)its->mask.elements)[at + j * next];                                       \
                    low[j] += more;                                                                                    \
                    step[j] += more;                                                                                   \
                }                                                                                                      \
            else                                                                                                       \
                for (Py_ssize_t j = 0; j < n; j++)                                                                     \
                    if (!((unsigned char *)its->mask.elements)[at + j * next])                                         \
                        low[j] = step[j] = -INFINITY;                                                                  \
        }                                                                                                              \
    }                                                                                                                  \
    static int heads_##bits(const Heads *its, number *space, Py_ssize_t width)                                         \
    {                                                                                                                  \
        const Py_ssize_t queries = its->high.shape[1], keys = its->high.shape[2], most = its->most_nodes;              \
        number *low = space, *step = low + width, *c = step + width, *p = c + width, *made = p + width;                \
        for (Py_ssize_t i = 0; i < its->high.shape[0] * queries; i++) {                                                \
            Py_ssize_t n = keys, query = i % queries;                                                                  \
            if (its->is_causal && its->first_query + query + 1 < n)                                                    \
                n = its->first_query + query + 1;                                                                      \
            Py_ssize_t here = (n + WIDE - 1) / WIDE * WIDE, nodes = 2;                                                 \
            number *high = (number *)its->high.elements + i * keys, *by = (number *)its->by.elements + i * keys;       \
            scores_##bits(its, i / queries, query, n, low, step);                                                      \
            for (Py_ssize_t j = n; j < here; j++)                                                                      \
                low[j] = step[j] = -INFINITY, c[j] = 0;                                                                \
            int is_open = 0; /* whether it may look at something */                                                    \
            for (Py_ssize_t j = 0; j < n && !is_open; j++)                                                             \
                is_open = low[j] > -INFINITY;                                                                          \
            for (Py_ssize_t j = is_open ? n : 0; j < keys; j++)                                                        \
                high[j] = by[j] = 0;                                                                                   \
            if (!is_open)                                                                                              \
                continue;                                                                                              \
            Py_ssize_t place = 0;                                                                                      \
            for (Py_ssize_t j = 1; j < n; j++)                                                                         \
                place = step[j] > step[place] ? j : place;                                                             \
            double range = path_##bits(low, step, here);                                                               \
            while (nodes <= most && !(range <= its->limits[nodes]))                                                    \
                nodes++;                                                                                               \
            if (nodes > most)                                                                                          \
                return 0;                                                                                              \
            const double *times = its->rules + nodes * 2 * most;                                                       \
            for (Py_ssize_t j = 0; j < n; j++) /* what is the same for a whole row vanishes exactly */                 \
                c[j] = by[j] - by[place];                                                                              \
            soft_row_##bits(low, step, c, p, made, here, times, times + most, nodes);                                  \
            for (Py_ssize_t j = 0; j < n; j++)                                                                         \
                by[j] = made[j] * (number)its->scale;                                                                  \
            for (Py_ssize_t j = 0; j < here; j++)                                                                      \
                made[j] = 0;                                                                                           \
            weights_##bits(low, step, 0, p, made, here);                                                               \
            weights_##bits(low, step, 1, p, made, here);                                                               \
            for (Py_ssize_t j = 0; j < n; j++)                                                                         \
                high[j] = made[j];                                                                                     \
        }                                                                                                              \
        return 1;                                                                                                      \
    }
HEADS(float, 32)
HEADS(double, 64)

/* The strides of three axes that are those of `like`, or of length one; 0 where they are others. */
static int
strides_beside(const Array *at, const Array *like, Py_ssize_t *strides, int any_heads)
{
    int skipped = 3 - at->rank;
    if (skipped < 0 || at->rank < 2)
        return 0;
    for (int axis = 0; axis < 3; axis++) {
        Py_ssize_t length = axis < skipped ? 1 : at->shape[axis - skipped];
        strides[axis] = length == 1 ? 0 : at->strides[axis - skipped];
        if (length != 1 && length != like->shape[axis] && !(any_heads && axis == 0))
            return 0;
    }
    return 1;
}

/* heads_back(scores (N, L, S), those at the residual, gradients of the weights, mask or None, scale, whether it is causal,
 * the first head and the first query of all, rules, limits): puts the gradients of the products of queries and keys over
 * those of the weights, and the mean weights over the scores; whether it was done. Scores are products that are not
 * scaled or masked yet; where it was not done, what is there is nothing. */
PyObject *
heads_back(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Heads its = {0};
    Array rules, limits;
    if (count != 10 || !plain_array(args[0], &its.high) || !plain_array(args[1], &its.low)
        || !plain_array(args[2], &its.by) || !plain_array(args[8], &rules) || !plain_array(args[9], &limits)
        || is_seen_by_torch())
        return left_to_python(), PyBool_FromLong(0);
    its.scale = PyFloat_AsDouble(args[4]);
    its.is_causal = args[5] == Py_True;
    its.first_head = PyLong_AsSsize_t(args[6]);
    its.first_query = PyLong_AsSsize_t(args[7]);
    its.is_masked = args[3] != Py_None;
    if (PyErr_Occurred())
        return NULL;
    Py_ssize_t size = size_of(&its.high);
    if (its.high.rank != 3 || size == 0 || its.by.bits != its.high.bits || its.low.bits != its.high.bits
        || size_of(&its.by) != size || period_of(&its.high) != size || period_of(&its.by) != size || its.first_head < 0
        || its.first_query < 0 || its.low.rank != 3 || its.low.shape[0] < 1
        || !strides_beside(&its.low, &its.high, its.low_strides, 1) || (its.low_strides[2] != 0 && its.low_strides[2] != 1))
        Py_RETURN_FALSE;
    if (its.is_masked) {
        if (!host_array(args[3], &its.mask) || !strides_beside(&its.mask, &its.high, its.mask_strides, 0)
            || !((its.mask.code == OF_FLOAT && its.mask.bits == its.high.bits)
                 || (its.mask.code == OF_BOOL && its.mask.bits == 8)))
            return left_to_python(), PyBool_FromLong(0);
    }
    its.most_nodes = size_of(&limits) - 1;
    its.rules = rules.elements;
    its.limits = limits.elements;
    if (rules.bits != 64 || limits.bits != 64 || its.most_nodes < 2
        || size_of(&rules) != (its.most_nodes + 1) * 2 * its.most_nodes || period_of(&rules) != size_of(&rules)
        || period_of(&limits) != size_of(&limits))
        Py_RETURN_FALSE;
    Py_ssize_t width = (its.high.shape[2] + WIDE - 1) / WIDE * WIDE;
    void *space = PyMem_RawMalloc((size_t)width * 5 * (size_t)(its.high.bits / 8));
    if (space == NULL)
        return PyErr_NoMemory();
    int is_done;
    Py_BEGIN_ALLOW_THREADS
    is_done = its.high.bits == 32 ? heads_32(&its, space, width) : heads_64(&its, space, width);
    Py_END_ALLOW_THREADS
    PyMem_RawFree(space);
    return PyBool_FromLong(is_done);
}
