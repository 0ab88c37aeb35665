/* Cells of recurrent networks in reverse mode: of every gate the slope between its two ends, times what stands beside it
 * at the middle of the path, and the way back by these (npdec/_rules/cells_at_once.py). The numbers at the ends are
 * torch's. Slopes follow from tanh x − tanh r = tanh(x − r) (1 − tanh x tanh r), for the sigmoid, (1 + tanh(x / 2)) / 2,
 * with half the step: they lose no digits between close numbers. */
#include "exponentials.h"
#include "slopes.h"
#include "soft.h"

/* tanh(d) / d, which is one at zero. (Without branches, so that several are computed at once.) */
static inline float
part_32(float d)
{
    Single size = {.number = d}, near, far;
    size.bits &= INT32_MAX;
    float a = size.number, s = a * a, e = exponential_32(-2 * a);
    near.number = (135135 + s * (17325 + s * (378 + s))) / (135135 + s * (62370 + s * (3150 + s * 28)));
    far.number = (1 - e) / ((1 + e) * a);
    int32_t is_near = -(int32_t)(a < 0.625f);
    near.bits = (near.bits & is_near) | (far.bits & ~is_near);
    return near.number;
}

static inline double
part_64(double d)
{
    return fabs(d) < 1e-3 ? 1 - d * d * (1. / 3 - d * d * (2. / 15)) : tanh(d) / d;
}

#define SHORT 512 /* numbers of a row */
#define ALONE 2 /* a sigmoid, whose slope is found by what it is of */

/* The sigmoid, and what it lacks of one. */
static inline float
sigmoid_32(float x, float *rest)
{
    float e = exponential_32(x < 0 ? x : -x), near = 1 / (1 + e), far = e * near;
    *rest = x < 0 ? near : far;
    return x < 0 ? far : near;
}

/* The slope of the sigmoid between numbers, by themselves: of what is rounded to one nothing would be left. */
static inline float
whole_slope_32(float x, float r)
{
    float low, high, a = sigmoid_32(x, &high), b = sigmoid_32(r, &low);
    return part_32((x - r) / 2) / 2 * (a * low + b * high);
}

#define whole_slope_64(x, r) opened_slope_64((x) - (r), fx[j], fr[j])

/* Where the numbers of a step lie: of each row n. Those at the residual may be of one row, and then have no stride. */
#define CELLS(number, bits)                                                                                            \
    static inline number opened_slope_##bits(number d, number a, number b) /* of the sigmoid */                        \
    {                                                                                                                  \
        return part_##bits(d / 2) / 2 * (a * (1 - b) + b * (1 - a));                                                   \
    }                                                                                                                  \
    static inline number bent_slope_##bits(number d, number a, number b) /* of tanh */                                 \
    {                                                                                                                  \
        return part_##bits(d) * (1 - a * b);                                                                           \
    }                                                                                                                  \
    BY_ANY_PROCESSOR static int slopes_##bits(const number *restrict x, const number *restrict r,                          \
                                          const number *restrict fx, const number *restrict fr, number *restrict to,   \
                                          Py_ssize_t count, int is_opened)                                             \
    {                                                                                                                  \
        number totals[LANES] = {0}, total = 0; /* NaN as soon as a slope is infinite or NaN */                         \
        Py_ssize_t lanes = count - count % LANES;                                                                      \
        if (is_opened == ALONE)                                                                                        \
            for (Py_ssize_t j = 0; j < count; j++)                                                                     \
                to[j] = whole_slope_##bits(x[j], r[j]);                                                                \
        else if (is_opened)                                                                                            \
            for (Py_ssize_t j = 0; j < count; j++)                                                                     \
                to[j] = opened_slope_##bits(x[j] - r[j], fx[j], fr[j]);                                                \
        else                                                                                                           \
            for (Py_ssize_t j = 0; j < count; j++)                                                                     \
                to[j] = bent_slope_##bits(x[j] - r[j], fx[j], fr[j]);                                                  \
        for (Py_ssize_t j = 0; j < lanes; j += LANES)                                                                  \
            for (int lane = 0; lane < LANES; lane++)                                                                   \
                totals[lane] += 0 * to[j + lane];                                                                      \
        for (int lane = 0; lane < LANES; lane++)                                                                       \
            total += totals[lane];                                                                                     \
        for (Py_ssize_t j = lanes; j < count; j++)                                                                     \
            total += 0 * to[j];                                                                                        \
        return total == 0;                                                                                             \
    }                                                                                                                  \
    static int many_slopes_##bits(const Array *x, const Array *r, const Array *fx, const Array *fr, const Array *to,   \
                                  int is_opened)                                                                       \
    {                                                                                                                  \
        Py_ssize_t size = size_of(x), row = size_of(r), is_done = 1;                                                   \
        const number *low = r->elements, *low_of = fr->elements;                                                       \
        number rows[2][SHORT];                                                                                         \
        if (row <= SHORT / 2 && row < size) { /* short rows are written out, to have no shorter loops */               \
            Py_ssize_t copies = SHORT / row;                                                                           \
            for (Py_ssize_t i = 0; i < copies * row; i++) {                                                            \
                rows[0][i] = low[i % row];                                                                             \
                rows[1][i] = low_of[i % row];                                                                          \
            }                                                                                                          \
            low = rows[0];                                                                                             \
            low_of = rows[1];                                                                                          \
            row *= copies;                                                                                             \
        }                                                                                                              \
        for (Py_ssize_t i = 0; i < size; i += row) {                                                                   \
            Py_ssize_t here = size - i < row ? size - i : row;                                                         \
            is_done &= slopes_##bits((number *)x->elements + i, low, (number *)fx->elements + i, low_of,               \
                                     (number *)to->elements + i, here, is_opened);                                     \
        }                                                                                                              \
        return (int)is_done;                                                                                           \
    }                                                                                                                  \
    /* A slope times the middle between two numbers. */                                                                \
    BY_ANY_PROCESSOR static void beside_##bits(number *restrict to, const number *restrict a, const number *restrict b,    \
                                           Py_ssize_t n)                                                               \
    {                                                                                                                  \
        for (Py_ssize_t j = 0; j < n; j++)                                                                             \
            to[j] *= a[j] / 2 + b[j] / 2;                                                                              \
    }                                                                                                                  \
    static int lstm_##bits(const Array *its, Py_ssize_t rows, Py_ssize_t n, const Py_ssize_t *by, int is_first)        \
    {                                                                                                                  \
        int is_done = 1;                                                                                               \
        const number *gates = its[0].elements, *opened = its[1].elements;                                              \
        for (Py_ssize_t i = 0; i < rows; i++) {                                                                        \
            Py_ssize_t low = by[0] ? rows + i : rows;                                                                  \
            const number *x = gates + i * 4 * n, *r = gates + low * 4 * n, *fx = opened + i * 4 * n;                   \
            const number *fr = opened + low * 4 * n, *c = (number *)its[2].elements + i * n;                           \
            const number *c_r = (number *)its[3].elements + i * by[1], *after = (number *)its[4].elements + i * n;     \
            const number *after_r = (number *)its[5].elements + i * by[2], *seen = (number *)its[6].elements + i * n;  \
            const number *seen_r = (number *)its[7].elements + i * by[2];                                              \
            number *all = (number *)its[8].elements + i * 6 * n, *to = is_first ? all + n : all;                       \
            number *kept = is_first ? all : all + 4 * n, *shown = all + 5 * n; /* of the cell */                       \
            is_done &= slopes_##bits(x, r, fx, fr, to, 2 * n, 1);                                                      \
            is_done &= slopes_##bits(x + 2 * n, r + 2 * n, fx + 2 * n, fr + 2 * n, to + 2 * n, n, 0);                  \
            is_done &= slopes_##bits(x + 3 * n, r + 3 * n, fx + 3 * n, fr + 3 * n, to + 3 * n, n, 1);                  \
            is_done &= slopes_##bits(after, after_r, seen, seen_r, shown, n, 0);                                       \
            beside_##bits(to, fx + 2 * n, fr + 2 * n, n);                                                              \
            beside_##bits(to + n, c, c_r, n);                                                                          \
            beside_##bits(to + 2 * n, fx, fr, n);                                                                      \
            beside_##bits(to + 3 * n, seen, seen_r, n);                                                                \
            for (Py_ssize_t j = 0; j < n; j++)                                                                         \
                kept[j] = 1;                                                                                           \
            beside_##bits(kept, fx + n, fr + n, n);                                                                    \
            beside_##bits(shown, fx + 3 * n, fr + 3 * n, n);                                                           \
        }                                                                                                              \
        return is_done;                                                                                                \
    }                                                                                                                  \
    static int gru_##bits(const Array *its, Py_ssize_t rows, Py_ssize_t n, const Py_ssize_t *by)                       \
    {                                                                                                                  \
        int is_done = 1;                                                                                               \
        const number *sums = its[0].elements, *opened = its[1].elements, *own = its[2].elements;                       \
        for (Py_ssize_t i = 0; i < rows; i++) {                                                                        \
            Py_ssize_t low = by[0] ? rows + i : rows;                                                                  \
            const number *fx = opened + i * 2 * n, *fr = opened + low * 2 * n, *near = own + (i * 3 + 2) * n;          \
            const number *near_r = own + (low * 3 + 2) * n, *last = (number *)its[3].elements + i * n;                 \
            const number *last_r = (number *)its[4].elements + i * by[1], *bent = (number *)its[5].elements + i * n;   \
            const number *bent_r = (number *)its[6].elements + i * by[1], *h = (number *)its[7].elements + i * n;      \
            const number *h_r = (number *)its[8].elements + i * by[2];                                                 \
            number *to = (number *)its[9].elements + i * 5 * n, *of_z = to + n, *of_n = to + 2 * n;                    \
            is_done &= slopes_##bits(sums + i * 2 * n, sums + low * 2 * n, fx, fr, to, 2 * n, 1);                      \
            is_done &= slopes_##bits(last, last_r, bent, bent_r, of_n, n, 0);                                          \
            beside_##bits(to, near, near_r, n);                                                                        \
            for (Py_ssize_t j = 0; j < n; j++) {                                                                       \
                number z = fx[n + j] / 2 + fr[n + j] / 2, r = fx[j] / 2 + fr[j] / 2;                                   \
                of_n[j] *= 1 - z;                                                                                      \
                to[j] *= of_n[j];                                                                                      \
                of_z[j] *= (h[j] - bent[j]) / 2 + (h_r[j] - bent_r[j]) / 2;                                            \
                to[3 * n + j] = of_n[j] * r;                                                                           \
                to[4 * n + j] = z;                                                                                     \
            }                                                                                                          \
        }                                                                                                              \
        return is_done;                                                                                                \
    }                                                                                                                  \
    BY_ANY_PROCESSOR static void lstm_back_##bits(const number *restrict hidden, const number *restrict cell,              \
                                              const number *restrict by, number *restrict gates,                       \
                                              number *restrict kept, Py_ssize_t n)                                     \
    {                                                                                                                  \
        for (Py_ssize_t j = 0; j < n; j++)                                                                             \
            kept[j] = (cell == NULL ? 0 : cell[j]) + (hidden == NULL ? 0 : hidden[j] * by[5 * n + j]);                 \
        for (int k = 0; k < 3; k++)                                                                                    \
            for (Py_ssize_t j = 0; j < n; j++)                                                                         \
                gates[k * n + j] = kept[j] * by[k * n + j];                                                            \
        for (Py_ssize_t j = 0; j < n; j++) {                                                                           \
            gates[3 * n + j] = hidden == NULL ? 0 : hidden[j] * by[3 * n + j];                                         \
            kept[j] *= by[4 * n + j];                                                                                  \
        }                                                                                                              \
    }                                                                                                                  \
    BY_ANY_PROCESSOR static void gru_back_##bits(const number *restrict grad, const number *restrict by,                   \
                                             number *restrict entered, number *restrict own, number *restrict kept,    \
                                             Py_ssize_t n)                                                             \
    {                                                                                                                  \
        for (Py_ssize_t j = 0; j < n; j++) {                                                                           \
            entered[j] = own[j] = grad[j] * by[j];                                                                     \
            entered[n + j] = own[n + j] = grad[j] * by[n + j];                                                         \
            entered[2 * n + j] = grad[j] * by[2 * n + j];                                                              \
            own[2 * n + j] = grad[j] * by[3 * n + j];                                                                  \
            kept[j] = grad[j] * by[4 * n + j];                                                                         \
        }                                                                                                              \
    }
CELLS(float, 32)
CELLS(double, 64)

/* Tensors of one dtype whose numbers follow each other. Of the first ones so many may be None: these have no elements. */
static int
arrays_of(PyObject *const *args, int many, int optional, Array *its)
{
    for (int i = 0; i < many; i++) {
        its[i] = (Array){0};
        if (!(i < optional && args[i] == Py_None)
            && (!plain_array(args[i], &its[i]) || period_of(&its[i]) != size_of(&its[i])))
            return 0;
    }
    for (int i = 0; i < many; i++)
        if (its[i].elements != NULL && its[i].bits != its[many - 1].bits)
            return 0;
    return !is_seen_by_torch();
}

/* Whether a tensor has so many rows of a length, or one, whose stride is zero then. */
static int
has_rows(const Array *at, Py_ssize_t rows, Py_ssize_t length, Py_ssize_t *stride)
{
    Py_ssize_t size = size_of(at);
    if (stride == NULL)
        return size == rows * length;
    *stride = size == rows * length ? length : 0;
    return size == rows * length || size == length;
}

int
are_gate_slopes(int is_opened, PyObject *x, PyObject *r, PyObject *fx, PyObject *fr, PyObject *to)
{
    Array its[5];
    PyObject *const tensors[5] = {x, r, fx, fr, to};
    if (!arrays_of(tensors, 5, 0, its))
        return 0;
    Py_ssize_t size = size_of(&its[0]), row = size_of(&its[1]), last = its[0].rank - 1, low = its[1].rank - 1;
    if (row == 0 || size % row || size_of(&its[2]) != size || size_of(&its[3]) != row || size_of(&its[4]) != size)
        return 0;
    while (last >= 0 && low >= 0 && its[0].shape[last] == its[1].shape[low]) /* a row has the last axes */
        last--, low--;
    for (; low >= 0; low--)
        if (its[1].shape[low] != 1)
            return 0;
    is_opened = is_opened ? ALONE : 0;
    return its[0].bits == 32 ? many_slopes_32(&its[0], &its[1], &its[2], &its[3], &its[4], is_opened)
                             : many_slopes_64(&its[0], &its[1], &its[2], &its[3], &its[4], is_opened);
}

/* gate_slopes(is a sigmoid, x, r, f(x), f(r), to): puts the slopes; whether all are finite numbers. Of those at the
 * residual there may be one row. */
PyObject *
gate_slopes(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count == 6 && are_gate_slopes(args[0] == Py_True, args[1], args[2], args[3], args[4], args[5]))
        Py_RETURN_TRUE;
    return left_to_python(), PyBool_FromLong(0);
}

/* lstm_cell(gates, opened, c, c_r, after, after_r, seen, seen_r, to): puts the multipliers (rows, 6, n) of the gates, of
 * the cell before, and of the state in the cell; whether all are finite. Behind the rows of gates at the value are those
 * at the residual, as many or one. */
PyObject *
lstm_cell(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array its[9];
    if (count != 9 || !arrays_of(args, 9, 0, its) || its[2].rank != 2)
        return left_to_python(), PyBool_FromLong(0);
    Py_ssize_t rows = its[2].shape[0], n = its[2].shape[1], all = its[0].shape[0], by[3] = {all > rows + 1, 0, 0};
    if (its[0].rank != 2 || (all != rows + 1 && all != 2 * rows) || !has_rows(&its[0], all, 4 * n, NULL)
        || !has_rows(&its[1], all, 4 * n, NULL) || !has_rows(&its[3], rows, n, by + 1)
        || !has_rows(&its[4], rows, n, NULL) || !has_rows(&its[5], rows, n, by + 2)
        || !has_rows(&its[6], rows, n, NULL) || size_of(&its[7]) != size_of(&its[5])
        || !has_rows(&its[8], rows, 6 * n, NULL))
        Py_RETURN_FALSE;
    return PyBool_FromLong(its[0].bits == 32 ? lstm_32(its, rows, n, by, 0) : lstm_64(its, rows, n, by, 0));
}

/* lstm_steps(rows, gates, opened, before, after, seen, to): the same of many steps (T, rows and those of residuals, n),
 * where the multiplier of the cell before is the first of six. */
PyObject *
lstm_steps(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array its[6], here[9];
    if (count != 7 || !arrays_of(args + 1, 6, 0, its) || its[2].rank != 3)
        return left_to_python(), PyBool_FromLong(0);
    Py_ssize_t rows = PyLong_AsSsize_t(args[0]), steps = its[2].shape[0], all = its[2].shape[1], n = its[2].shape[2];
    if (rows < 1 || (all != rows + 1 && all != 2 * rows) || size_of(&its[0]) != steps * all * 4 * n
        || size_of(&its[1]) != steps * all * 4 * n || size_of(&its[3]) != steps * all * n
        || size_of(&its[4]) != steps * all * n || size_of(&its[5]) != steps * rows * 6 * n)
        return left_to_python(), PyBool_FromLong(0);
    int is_done = 1, size = its[0].bits / 8;
    Py_ssize_t low = all == 2 * rows ? n : 0, by[3] = {all > rows + 1, low, low};
    for (Py_ssize_t t = 0; t < steps; t++) {
        for (int i = 0; i < 2; i++)
            here[i].elements = (char *)its[i].elements + t * all * 4 * n * size;
        for (int i = 0; i < 3; i++) { /* those at the values, and behind them those at the residuals */
            here[2 + 2 * i].elements = (char *)its[2 + i].elements + t * all * n * size;
            here[3 + 2 * i].elements = (char *)here[2 + 2 * i].elements + rows * n * size;
        }
        here[8].elements = (char *)its[5].elements + t * rows * 6 * n * size;
        is_done &= size == 4 ? lstm_32(here, rows, n, by, 1) : lstm_64(here, rows, n, by, 1);
    }
    return PyBool_FromLong(is_done);
}

/* gru_cell(sums, opened, own, last, last_r, bent, bent_r, h, h_r, to): the multipliers (rows, 5, n) of reset, update and
 * candidate, of what the state adds to this, and of the state. */
PyObject *
gru_cell(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array its[10];
    if (count != 10 || !arrays_of(args, 10, 0, its) || its[7].rank != 2)
        return left_to_python(), PyBool_FromLong(0);
    Py_ssize_t rows = its[7].shape[0], n = its[7].shape[1], all = its[0].shape[0], by[3] = {all > rows + 1, 0, 0};
    if (its[0].rank != 2 || (all != rows + 1 && all != 2 * rows) || !has_rows(&its[0], all, 2 * n, NULL)
        || !has_rows(&its[1], all, 2 * n, NULL) || !has_rows(&its[2], all, 3 * n, NULL)
        || !has_rows(&its[3], rows, n, NULL) || !has_rows(&its[4], rows, n, by + 1) || !has_rows(&its[5], rows, n, NULL)
        || size_of(&its[6]) != size_of(&its[4]) || !has_rows(&its[8], rows, n, by + 2)
        || !has_rows(&its[9], rows, 5 * n, NULL))
        Py_RETURN_FALSE;
    return PyBool_FromLong(its[0].bits == 32 ? gru_32(its, rows, n, by) : gru_64(its, rows, n, by));
}

/* lstm_cell_back(gradients of the state or None, of the cell or None, multipliers, those of the gates, of the cell
 * before): puts the last two; whether it was done. */
PyObject *
lstm_cell_back(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array its[5];
    if (count != 5 || !arrays_of(args, 5, 2, its) || its[4].rank != 2)
        return left_to_python(), PyBool_FromLong(0);
    Py_ssize_t rows = its[4].shape[0], n = its[4].shape[1];
    if ((its[0].elements != NULL && !has_rows(&its[0], rows, n, NULL))
        || (its[1].elements != NULL && !has_rows(&its[1], rows, n, NULL)) || !has_rows(&its[2], rows, 6 * n, NULL)
        || !has_rows(&its[3], rows, 4 * n, NULL))
        Py_RETURN_FALSE;
#define BACK(number, bits)                                                                                             \
    for (Py_ssize_t i = 0; i < rows; i++)                                                                              \
        lstm_back_##bits(its[0].elements == NULL ? NULL : (number *)its[0].elements + i * n,                           \
                         its[1].elements == NULL ? NULL : (number *)its[1].elements + i * n,                           \
                         (number *)its[2].elements + i * 6 * n, (number *)its[3].elements + i * 4 * n,                 \
                         (number *)its[4].elements + i * n, n)
    if (its[4].bits == 32)
        BACK(float, 32);
    else
        BACK(double, 64);
#undef BACK
    Py_RETURN_TRUE;
}

/* gru_cell_back(gradients, multipliers, those of what enters, of what the state adds, of the state itself): puts the last
 * three; whether it was done. */
PyObject *
gru_cell_back(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array its[5];
    if (count != 5 || !arrays_of(args, 5, 0, its) || its[4].rank != 2)
        return left_to_python(), PyBool_FromLong(0);
    Py_ssize_t rows = its[4].shape[0], n = its[4].shape[1];
    if (!has_rows(&its[0], rows, n, NULL) || !has_rows(&its[1], rows, 5 * n, NULL)
        || !has_rows(&its[2], rows, 3 * n, NULL) || !has_rows(&its[3], rows, 3 * n, NULL))
        Py_RETURN_FALSE;
#define BACK(number, bits)                                                                                             \
    for (Py_ssize_t i = 0; i < rows; i++)                                                                              \
        gru_back_##bits((number *)its[0].elements + i * n, (number *)its[1].elements + i * 5 * n,                      \
                        (number *)its[2].elements + i * 3 * n, (number *)its[3].elements + i * 3 * n,                  \
                        (number *)its[4].elements + i * n, n)
    if (its[4].bits == 32)
        BACK(float, 32);
    else
        BACK(double, 64);
#undef BACK
    Py_RETURN_TRUE;
}
