/* Normalisation layers: of each row the sums that its path needs, and its mean derivative, a symmetric matrix, of
 * components or of gradients on their way back. What is computed is written in npdec/_impl/segments_impl.py: with rows
 * u = low + t moved, less their means where they are centred, and s(t) the root of |u|² + floor, the mean derivative of
 * u / s is diagonal − Vᵀ W V, with V of low and moved; where the path comes near the origin, of what of low is across
 * it, and of its direction.
 */
#include "soft.h"

#define BLOCK 512 /* numbers, which stay where the processor finds them again */

/* What is kept of a row: the diagonal, W, the means, and of what V is made: the second is moved times `inverse`, and
 * the first low less `foot` times that, less `rest`, less `more` times that, times `unit`. */
enum { DIAGONAL, W00, W01, W11, OF_LOW, OF_MOVED, INVERSE, FOOT, REST, MORE, UNIT, NUMBERS };

#define SHORT (1.0 / 16) /* as in segments_impl.py: paths that are short beside their distance from the origin */
#define CLEAR (1.0 / 16) /* and that keep so far off it that sums keep their digits */
#define LARGE 1e10

static const double nodes[4] = {0.1834346424956498, 0.5255324099163290, 0.7966664774136267, 0.9602898564975363};
static const double weights[4] = {0.3626837833783620, 0.3137066458778873, 0.2223810344533745, 0.1012285362903763};

typedef Wide_64 Lanes; /* sums that are added up side by side */

static inline __attribute__((always_inline)) double
added(const Lanes *lanes)
{
    return ((*lanes)[0] + (*lanes)[2]) + ((*lanes)[1] + (*lanes)[3]);
}

/* Numbers behind a part of a row, which add nothing to sums. */
static inline __attribute__((always_inline)) Py_ssize_t
padded(double *numbers, Py_ssize_t count)
{
    Py_ssize_t width = (count + WIDE - 1) / WIDE * WIDE;
    for (Py_ssize_t j = count; j < width; j++)
        numbers[j] = 0;
    return width;
}

/* ∫ 1/s, and ∫ (1, t, t²) / s³, by |r|² + floor, r·d and |d|²; 0 where the path comes near the origin. */
static int
of_sums(double rr, double rd, double dd, double *to)
{
    if (dd <= SHORT * rr) {
        to[0] = to[1] = to[2] = to[3] = 0;
        for (int i = 0; i < 8; i++) {
            double t = (1 + (i % 2 ? 1 : -1) * nodes[i / 2]) / 2, weight = weights[i / 2] / 2;
            double q = rr + t * (2 * rd + t * dd), root = sqrt(q), cube = weight / (q * root);
            to[0] += weight / root;
            to[1] += cube;
            to[2] += cube * t;
            to[3] += cube * t * t;
        }
        return 1;
    }
    double q0 = rr - rd * rd / dd;
    if (!(q0 > CLEAR * rr))
        return 0;
    double length = sqrt(dd), p0 = rd / length, p1 = p0 + length, width = sqrt(q0);
    double s0 = sqrt(q0 + p0 * p0), s1 = sqrt(q0 + p1 * p1), back = rd / dd;
    double potential = (asinh(p1 / width) - asinh(p0 / width)) / length, bend = (p1 / s1 - p0 / s0) / length;
    double cross = -(1 / s1 - 1 / s0) / length / length, w00 = bend / q0, w01 = cross - w00 * back;
    to[0] = potential;
    to[1] = w00;
    to[2] = w01;
    to[3] = (potential - bend) / dd - back * (cross + w01);
    return 1;
}

/* The same of a path that comes near the origin, of whose low there is `across` left: |across|² + floor is q0. */
static int
of_path(double p0, double length, double q0, double deepest, double *to)
{
    double p1 = p0 + length, s0 = sqrt(q0 + p0 * p0), s1 = sqrt(q0 + p1 * p1), width = sqrt(q0);
    double outer0 = s0 + fabs(p0), outer1 = s1 + fabs(p1);
    double gap = (p0 > 0 ? outer0 : q0 / outer0) + (p1 < 0 ? outer1 : q0 / outer1);
    double potential = log((s0 + s1 + length) / gap) / length, bend = (p1 / s1 - p0 / s0) / length;
    if (!(width > 0 && potential * length < deepest))
        return 0;
    to[DIAGONAL] = potential;
    to[W00] = bend;
    to[W01] = width * (1 / s0 - 1 / s1) / length;
    to[W11] = potential - bend;
    to[UNIT] = 1 / width;
    return 1;
}

/* Of a row of x and of r: the means, and the sums of products of what is left without them. */
#define ROW(number)                                                                                                    \
    BY_PROCESSOR static void row_##number(const number *restrict x, const number *restrict r, Py_ssize_t m,            \
                                          int centred, double *restrict means, double *restrict sums)                  \
    {                                                                                                                  \
        Lanes first = {0}, second = {0}, rr = {0}, rd = {0}, dd = {0};                                                 \
        double low[BLOCK], moved[BLOCK];                                                                               \
        means[0] = means[1] = 0;                                                                                       \
        for (Py_ssize_t i = 0; centred && i < m; i += BLOCK) {                                                         \
            Py_ssize_t count = m - i < BLOCK ? m - i : BLOCK, width;                                                   \
            for (Py_ssize_t j = 0; j < count; j++) {                                                                   \
                low[j] = r[i + j];                                                                                     \
                moved[j] = (double)x[i + j] - r[i + j];                                                                \
            }                                                                                                          \
            width = padded(low, count);                                                                                \
            padded(moved, count);                                                                                      \
            for (Py_ssize_t j = 0; j < width; j += AT_ONCE(64)) {                                                      \
                first += *(const Lanes *)(low + j);                                                                    \
                second += *(const Lanes *)(moved + j);                                                                 \
            }                                                                                                          \
        }                                                                                                              \
        if (centred) {                                                                                                 \
            means[0] = added(&first) / m;                                                                              \
            means[1] = added(&second) / m;                                                                             \
        }                                                                                                              \
        const double of_low = means[0], of_moved = means[1];                                                           \
        for (Py_ssize_t i = 0; i < m; i += BLOCK) {                                                                    \
            Py_ssize_t count = m - i < BLOCK ? m - i : BLOCK, width;                                                   \
            for (Py_ssize_t j = 0; j < count; j++) {                                                                   \
                low[j] = r[i + j] - of_low;                                                                            \
                moved[j] = ((double)x[i + j] - r[i + j]) - of_moved;                                                   \
            }                                                                                                          \
            width = padded(low, count);                                                                                \
            padded(moved, count);                                                                                      \
            for (Py_ssize_t j = 0; j < width; j += AT_ONCE(64)) {                                                      \
                const Lanes a = *(const Lanes *)(low + j), b = *(const Lanes *)(moved + j);                            \
                rr += a * a;                                                                                           \
                rd += a * b;                                                                                           \
                dd += b * b;                                                                                           \
            }                                                                                                          \
        }                                                                                                              \
        sums[0] = added(&rr);                                                                                          \
        sums[1] = added(&rd);                                                                                          \
        sums[2] = added(&dd);                                                                                          \
    }                                                                                                                  \
    /* Some elements of a row: what gradients come to, times what stands in `scale`, one number for every `step`; and the \
     * two directions. */                                                                                              \
    static inline __attribute__((always_inline)) void part_##number(const number *restrict x, const number *restrict r, \
        const number *restrict grad, const number *restrict scale, Py_ssize_t step, Py_ssize_t from, Py_ssize_t count, \
        const double *of, double *restrict row, double *restrict low, double *restrict moved)                          \
    {                                                                                                                  \
        const double of_low = of[OF_LOW], of_moved = of[OF_MOVED], inverse = of[INVERSE], foot = of[FOOT];             \
        const double rest = of[REST], more = of[MORE], unit = of[UNIT];                                                \
        for (Py_ssize_t j = 0; j < count; j++) {                                                                       \
            moved[j] = (((double)x[j] - r[j]) - of_moved) * inverse;                                                   \
            low[j] = ((((r[j] - of_low) - foot * moved[j]) - rest) - more * moved[j]) * unit;                          \
        }                                                                                                              \
        if (scale == NULL)                                                                                             \
            for (Py_ssize_t j = 0; j < count; j++)                                                                     \
                row[j] = grad[j];                                                                                      \
        else if (step == 1)                                                                                            \
            for (Py_ssize_t j = 0; j < count; j++)                                                                     \
                row[j] = (double)grad[j] * scale[from + j];                                                            \
        else                                                                                                           \
            for (Py_ssize_t j = 0; j < count;) {                                                                       \
                const double its = scale[(from + j) / step];                                                           \
                Py_ssize_t end = j + step - (from + j) % step;                                                         \
                for (end = end < count ? end : count; j < end; j++)                                                    \
                    row[j] = (double)grad[j] * its;                                                                    \
            }                                                                                                          \
    }                                                                                                                  \
    /* Gradients of a row back through it. */                                                                          \
    BY_PROCESSOR static void back_##number(const number *restrict x, const number *restrict r,                         \
        const number *restrict grad, const number *restrict scale, Py_ssize_t step, Py_ssize_t m, int centred,         \
        const double *restrict of, number *restrict to)                                                                \
    {                                                                                                                  \
        Lanes first = {0}, second = {0}, all = {0};                                                                    \
        double row[BLOCK], low[BLOCK], moved[BLOCK];                                                                   \
        for (Py_ssize_t i = 0; i < m; i += BLOCK) {                                                                    \
            Py_ssize_t count = m - i < BLOCK ? m - i : BLOCK, width = padded(row, count);                              \
            padded(low, count);                                                                                        \
            padded(moved, count);                                                                                      \
            part_##number(x + i, r + i, grad + i, scale, step, i, count, of, row, low, moved);                         \
            for (Py_ssize_t j = 0; j < width; j += AT_ONCE(64)) {                                                      \
                const Lanes c = *(const Lanes *)(row + j);                                                             \
                first += c * *(const Lanes *)(low + j);                                                                \
                second += c * *(const Lanes *)(moved + j);                                                             \
                all += c;                                                                                              \
            }                                                                                                          \
        }                                                                                                              \
        const double a = added(&first), b = added(&second), mean = centred ? added(&all) / m : 0;                      \
        const double by_low = of[W00] * a + of[W01] * b, by_moved = of[W01] * a + of[W11] * b;                         \
        const double diagonal = of[DIAGONAL];                                                                          \
        for (Py_ssize_t i = 0; i < m; i += BLOCK) {                                                                    \
            Py_ssize_t count = m - i < BLOCK ? m - i : BLOCK;                                                          \
            if (m > BLOCK) /* of a short row all is there yet */                                                       \
                part_##number(x + i, r + i, grad + i, scale, step, i, count, of, row, low, moved);                     \
            for (Py_ssize_t j = 0; j < count; j++)                                                                     \
                to[i + j] = (number)(diagonal * (row[j] - mean) - low[j] * by_low - moved[j] * by_moved);              \
        }                                                                                                              \
    }                                                                                                                  \
    /* What is kept of a row whose path comes near the origin; 0 where it meets it. */                                 \
    static int near_##number(const number *x, const number *r, Py_ssize_t m, int centred, const double *sums,          \
                             double floor, double deepest, double *to)                                                 \
    {                                                                                                                  \
        double length = sqrt(sums[2]), inverse = 1 / length, foot = sums[1] * inverse, rest = 0, more = 0, q0 = floor; \
        if (!(length > 0))                                                                                             \
            return 0;                                                                                                  \
        for (int turn = centred ? 0 : 1; turn < 3; turn++) {                                                           \
            double sum = 0;                                                                                            \
            for (Py_ssize_t j = 0; j < m; j++) {                                                                       \
                double along = (((double)x[j] - r[j]) - to[OF_MOVED]) * inverse;                                       \
                double across = (((r[j] - to[OF_LOW]) - foot * along) - rest) - more * along;                          \
                sum += turn == 0 ? across : turn == 1 ? across * along : across * across;                              \
            }                                                                                                          \
            if (turn == 0)                                                                                             \
                rest = sum / m;                                                                                        \
            else if (turn == 1)                                                                                        \
                more = sum;                                                                                            \
            else                                                                                                       \
                q0 += sum;                                                                                             \
        }                                                                                                              \
        to[INVERSE] = inverse;                                                                                         \
        to[FOOT] = foot;                                                                                               \
        to[REST] = rest;                                                                                               \
        to[MORE] = more;                                                                                               \
        return of_path(foot + more, length, q0, deepest, to);                                                          \
    }

ROW(float)
ROW(double)

/* Where the rows of x and of r lie, which has as many or a part of them, again and again; the number of them, or 0
 * where they do not lie one after the other. */
static Py_ssize_t
rows_in(PyObject *const *args, Py_ssize_t m, Array *x, Array *r, Array *numbers, Py_ssize_t *period)
{
    if (m <= 0 || !plain_array(args[0], x) || !plain_array(args[1], r) || !plain_array(args[2], numbers))
        return 0;
    Py_ssize_t size = size_of(x);
    *period = period_of(r);
    if (size == 0 || size % m || x->bits != r->bits || size % size_of(r) || period_of(x) != size || *period <= 0
        || *period % m || numbers->bits != 64 || size_of(numbers) != NUMBERS * (size / m)
        || period_of(numbers) != size_of(numbers))
        return 0;
    return size / m;
}

/* Whether a row, by its mean and the squares of what is left without it, has hardly any variance beside its size. */
static int
is_flat(double mean, double squares, Py_ssize_t m, double limit)
{
    return squares <= limit * (squares + m * mean * mean);
}

/* normal_rows(x, r, numbers, m, floor, centred, deepest, flat): puts what is kept of each row of m elements, and says
 * whether that was all: not where a path passes so near the origin that its `deepest` logarithm has to be looked at, nor
 * where both of its ends have hardly any variance, which is `flat` beside their size. */
PyObject *
normal_rows(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array x, r, numbers;
    Py_ssize_t period, m = count == 8 ? PyLong_AsSsize_t(args[3]) : 0;
    double floor = count == 8 ? PyFloat_AsDouble(args[4]) : 0, deepest = count == 8 ? PyFloat_AsDouble(args[6]) : 0;
    double flat = count == 8 ? PyFloat_AsDouble(args[7]) : 0;
    Py_ssize_t rows = PyErr_Occurred() ? 0 : rows_in(args, m, &x, &r, &numbers, &period);
    if (rows == 0 || is_seen_by_torch())
        return left_to_python(), PyBool_FromLong(0);
    int centred = args[5] == Py_True, is_all = 1;
    double root = sqrt((double)m);
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < rows && is_all; i++) {
        double sums[3], *to = (double *)numbers.elements + NUMBERS * i;
        Py_ssize_t at = i * m, low = at % period;
        int is_single = x.bits == 32;
        to[INVERSE] = to[UNIT] = 1;
        to[FOOT] = to[REST] = to[MORE] = 0;
        if (is_single)
            row_float((float *)x.elements + at, (float *)r.elements + low, m, centred, to + OF_LOW, sums);
        else
            row_double((double *)x.elements + at, (double *)r.elements + low, m, centred, to + OF_LOW, sums);
        double at_value = sums[0] + 2 * sums[1] + sums[2];
        if (!(1 / LARGE < sums[0] + floor + sums[2] && sums[0] + floor + sums[2] < LARGE)
            || (flat > 0 && is_flat(to[OF_LOW], sums[0], m, flat)
                && is_flat(to[OF_LOW] + to[OF_MOVED], at_value, m, flat)))
            is_all = 0;
        else if (!of_sums(sums[0] + floor, sums[1], sums[2], to))
            is_all = is_single ? near_float((float *)x.elements + at, (float *)r.elements + low, m, centred, sums,
                                            floor, deepest, to)
                               : near_double((double *)x.elements + at, (double *)r.elements + low, m, centred, sums,
                                             floor, deepest, to);
        for (int k = DIAGONAL; k <= W11; k++)
            to[k] *= root;
    }
    Py_END_ALLOW_THREADS
    return PyBool_FromLong(is_all);
}

/* normal_back(x, r, numbers, gradients, weight or None, step, centred, to): gradients back through the rows, or several
 * of each, one of all rows after the other. Each number of the weight stands beside `step` elements, again and again.
 * Whether it was done. */
PyObject *
normal_back(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array x, r, numbers, grad, weight, to;
    Py_ssize_t period, step = count == 8 ? PyLong_AsSsize_t(args[5]) : 0;
    if (step <= 0 || !plain_array(args[0], &x) || !plain_array(args[2], &numbers) || size_of(&numbers) < NUMBERS
        || is_seen_by_torch())
        return left_to_python(), PyBool_FromLong(0);
    Py_ssize_t size = size_of(&x), m = size / (size_of(&numbers) / NUMBERS);
    Py_ssize_t rows = rows_in(args, m, &x, &r, &numbers, &period), numbers_of_weight = 0;
    int has_weight = args[4] != Py_None, centred = args[6] == Py_True;
    if (rows == 0 || !plain_array(args[3], &grad) || !plain_array(args[7], &to) || grad.bits != x.bits
        || to.bits != x.bits || size_of(&grad) == 0 || size_of(&grad) % size || period_of(&grad) != size_of(&grad)
        || size_of(&to) != size_of(&grad) || period_of(&to) != size_of(&to))
        return left_to_python(), PyBool_FromLong(0);
    if (has_weight) {
        if (!plain_array(args[4], &weight) || weight.bits != x.bits || period_of(&weight) != size_of(&weight)
            || size_of(&weight) == 0 || m % step || (size_of(&weight) * step) % m)
            return left_to_python(), PyBool_FromLong(0);
        numbers_of_weight = size_of(&weight);
    }
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < size_of(&grad) / m; i++) {
        const double *of = (double *)numbers.elements + NUMBERS * (i % rows);
        Py_ssize_t at = i * m, here = at % size, low = here % period;
        Py_ssize_t beside = has_weight ? here / step % numbers_of_weight : 0;
        if (x.bits == 32)
            back_float((float *)x.elements + here, (float *)r.elements + low, (float *)grad.elements + at,
                       has_weight ? (float *)weight.elements + beside : NULL, step, m, centred, of,
                       (float *)to.elements + at);
        else
            back_double((double *)x.elements + here, (double *)r.elements + low, (double *)grad.elements + at,
                        has_weight ? (double *)weight.elements + beside : NULL, step, m, centred, of,
                        (double *)to.elements + at);
    }
    Py_END_ALLOW_THREADS
    Py_RETURN_TRUE;
}
