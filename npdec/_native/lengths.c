/* Lengths of rows of numbers in reverse mode: the mean of their gradient u / |u| along the path u = r + t (x − r), as it is
 * written in npdec/_impl/segments_impl.py, of a row at a time; and, of sums alone, the means of 1 / |u| and of t / |u|. */
#include "soft.h"

#define SHORT (1.0 / 16) /* as in segments_impl.py: paths that are short beside their distance from the origin */
#define CLEAR (1.0 / 64) /* how far paths keep off the origin, beside their ends, where sums keep their digits */
#define FAR 1e100        /* up to which, and down to its reciprocal, squares are far from the ends of the exponent range */

static const double nodes[4] = {0.1834346424956498, 0.5255324099163290, 0.7966664774136267, 0.9602898564975363};
static const double weights[4] = {0.3626837833783620, 0.3137066458778873, 0.2223810344533745, 0.1012285362903763};

/* ∫ 1/s and ∫ t/s of a short path, by nodes. */
static void
of_short(double rr, double rd, double dd, double *to)
{
    to[0] = to[1] = 0;
    for (int i = 0; i < 8; i++) {
        double t = (1 + (i % 2 ? 1 : -1) * nodes[i / 2]) / 2;
        double part = weights[i / 2] / 2 / sqrt(rr + t * (2 * rd + t * dd));
        to[0] += part;
        to[1] += part * t;
    }
}

static inline __attribute__((always_inline)) double
dot_of(const double *a, const double *b, Py_ssize_t n)
{
    Wide_64 sums = {0}, more = {0};
    double sum = 0;
    Py_ssize_t j = 0;
    for (; j + 2 * AT_ONCE(64) <= n; j += 2 * AT_ONCE(64)) {
        sums += AT(64, a + j) * AT(64, b + j);
        more += AT(64, a + j + AT_ONCE(64)) * AT(64, b + j + AT_ONCE(64));
    }
    sums += more;
    ADD_LANES(sum, sums, 64);
    for (; j < n; j++)
        sum += a[j] * b[j];
    return sum;
}

static inline __attribute__((always_inline)) double
sum_of(const double *a, Py_ssize_t n)
{
    Wide_64 sums = {0}, more = {0};
    double sum = 0;
    Py_ssize_t j = 0;
    for (; j + 2 * AT_ONCE(64) <= n; j += 2 * AT_ONCE(64)) {
        sums += AT(64, a + j);
        more += AT(64, a + j + AT_ONCE(64));
    }
    sums += more;
    ADD_LANES(sum, sums, 64);
    for (; j < n; j++)
        sum += a[j];
    return sum;
}

/* One row: whether it is centred, and a factor. 0 where squares leave the range. */
#define ROW(number, bits)                                                                                              \
    BY_PROCESSOR static int direction_##bits(const void *ends, const void *starts, void *made, Py_ssize_t n,           \
                                             const double *how, double *space)                                         \
    {                                                                                                                  \
        const number *restrict x = ends, *restrict r = starts;                                                         \
        number *restrict to = made;                                                                                    \
        double *restrict low = space, *restrict moved = space + n, factor = how[1];                                    \
        int centred = how[0] != 0;                                                                                     \
        double first = 0, second = 0, rr = 0, rd = 0, dd = 0, mean = 0;                                                \
        for (Py_ssize_t j = 0; j < n; j++) {                                                                           \
            low[j] = r[j];                                                                                             \
            moved[j] = (double)x[j] - r[j];                                                                            \
        }                                                                                                              \
        first = centred ? sum_of(low, n) / n : 0;                                                                      \
        second = centred ? sum_of(moved, n) / n : 0;                                                                   \
        for (Py_ssize_t j = 0; j < n; j++) {                                                                           \
            low[j] -= first;                                                                                           \
            moved[j] -= second;                                                                                        \
        }                                                                                                              \
        rr = dot_of(low, low, n);                                                                                      \
        rd = dot_of(low, moved, n);                                                                                    \
        dd = dot_of(moved, moved, n);                                                                                  \
        if (!(rr + dd < FAR) || (rr + dd < 1 / FAR && rr + dd > 0))                                                    \
            return 0;                                                                                                  \
        if (dd <= SHORT * rr) {                                                                                        \
            double near[2] = {0, 0};                                                                                   \
            if (rr > 0) /* at the origin the gradient is taken to be zero */                                           \
                of_short(rr, rd, dd, near);                                                                            \
            for (Py_ssize_t j = 0; j < n; j++)                                                                         \
                low[j] = low[j] * near[0] + moved[j] * near[1];                                                        \
        }                                                                                                              \
        else {                                                                                                         \
            double length = sqrt(dd), foot = rd / length, more = 0, q0 = 0, potential = 0;                             \
            double left = 0;                                                                                           \
            for (Py_ssize_t j = 0; j < n; j++) {                                                                       \
                moved[j] /= length;                                                                                    \
                low[j] -= foot * moved[j];                                                                             \
            }                                                                                                          \
            left = centred ? sum_of(low, n) / n : 0; /* what rounding left, beside a short U */                        \
            for (Py_ssize_t j = 0; j < n; j++)                                                                         \
                low[j] -= left;                                                                                        \
            more = dot_of(low, moved, n);                                                                              \
            foot += more;                                                                                              \
            for (Py_ssize_t j = 0; j < n; j++)                                                                         \
                low[j] -= more * moved[j];                                                                             \
            q0 = dot_of(low, low, n);                                                                                  \
            double last = foot + length, s0 = sqrt(q0 + foot * foot), s1 = sqrt(q0 + last * last);                     \
            double outer0 = s0 + fabs(foot), outer1 = s1 + fabs(last);                                                 \
            double gap = foot > 0 ? outer0 : outer0 > 0 ? q0 / outer0 : 0;                                             \
            gap += last < 0 ? outer1 : outer1 > 0 ? q0 / outer1 : 0;                                                   \
            if (q0 > 0 && gap > 0) /* on a path through the origin, U is zero */                                       \
                potential = log((s0 + s1 + length) / gap) / length;                                                    \
            double along = (s1 - s0) / length;                                                                         \
            for (Py_ssize_t j = 0; j < n; j++)                                                                         \
                low[j] = low[j] * potential + moved[j] * along;                                                        \
        }                                                                                                              \
        if (centred)                                                                                                   \
            mean = sum_of(low, n) / n;                                                                                 \
        for (Py_ssize_t j = 0; j < n; j++)                                                                             \
            to[j] = (number)((low[j] - mean) * factor);                                                                \
        return 1;                                                                                                      \
    }
ROW(float, 32)
ROW(double, 64)

/* mean_directions(x, r, centred, factor, to), of rows: whether it is done. The gradients of lengths, times the factor, of
 * rows without their means where they are `centred`. */
PyObject *
mean_directions(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    double how[2] = {0, 0};
    if (count == 5) {
        how[0] = PyObject_IsTrue(args[2]);
        how[1] = PyFloat_AsDouble(args[3]);
    }
    if (PyErr_Occurred())
        return NULL;
    return count == 5 ? put_by_rows(args, args[4], direction_32, direction_64, how) : PyBool_FromLong(0);
}

/* ∫ 1/s and ∫ t/s of one path by |r|², r·d and |d|², |r|, |d| and 1/|d|; 0 where it comes near the origin, or squares
 * leave the range. */
static inline int
inverses_by(double rr, double rd, double dd, double s0, double length, double inverse, double *to)
{
    if (!(rr + dd < FAR) || !(rr + dd > 1 / FAR))
        return 0;
    if (dd <= SHORT * rr) {
        of_short(rr, rd, dd, to);
        return 1;
    }
    double foot = rd * inverse, last = foot + length, q0 = rr - foot * foot, s1 = sqrt(rr + 2 * rd + dd);
    if (!(q0 > CLEAR * (rr + dd)))
        return 0;
    double outer0 = s0 + fabs(foot), outer1 = s1 + fabs(last);
    double gap = (foot > 0 ? outer0 : q0 / outer0) + (last < 0 ? outer1 : q0 / outer1);
    to[0] = log((s0 + s1 + length) / gap) * inverse;
    to[1] = ((s1 - s0) * inverse - foot * to[0]) * inverse;
    return 1;
}

static inline int
inverses_of(double rr, double rd, double dd, double *to)
{
    double length = sqrt(dd);
    return inverses_by(rr, rd, dd, sqrt(rr), length, 1 / length, to);
}

/* mean_inverses(rr, rd, dd, to, weighted), tensors of doubles of one shape: of |r|², r·d and |d|² puts ∫ 1/s and ∫ t/s, and
 * says whether that was done; it is not where a path comes near the origin. */
PyObject *
mean_inverses(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array all[5];
    int is_done = count == 5 && !is_seen_by_torch();
    for (int i = 0; is_done && i < 5; i++)
        is_done = plain_array(args[i], &all[i]) && all[i].bits == 64 && size_of(&all[i]) == size_of(&all[0])
            && period_of(&all[i]) == size_of(&all[0]);
    if (!is_done)
        return left_to_python(), PyBool_FromLong(0);
    double *rr = all[0].elements, *rd = all[1].elements, *dd = all[2].elements, made[2];
    double *to = all[3].elements, *weighted = all[4].elements;
    for (Py_ssize_t i = 0, size = size_of(&all[0]); i < size; i++) {
        if (!inverses_of(rr[i], rd[i], dd[i], made))
            Py_RETURN_FALSE;
        to[i] = made[0];
        weighted[i] = made[1];
    }
    Py_RETURN_TRUE;
}

#define SQUARES(number)                                                                                                \
    BY_ANY_PROCESSOR static double square_##number(const number *restrict row, Py_ssize_t n)                           \
    {                                                                                                                  \
        double sums[LANES] = {0}, sum;                                                                                 \
        Py_ssize_t i = 0;                                                                                              \
        for (; i + LANES <= n; i += LANES)                                                                             \
            for (int j = 0; j < LANES; j++)                                                                            \
                sums[j] += (double)row[i + j] * row[i + j];                                                            \
        for (int j = 0; i < n; i++, j++)                                                                               \
            sums[j] += (double)row[i] * row[i];                                                                        \
        ADD_UP(sum, sums);                                                                                             \
        return sum;                                                                                                    \
    }
SQUARES(float)
SQUARES(double)

static double
square_of(const Array *at, Py_ssize_t row, Py_ssize_t n)
{
    return at->bits == 32 ? square_float((float *)at->elements + row * n, n)
                          : square_double((double *)at->elements + row * n, n);
}

/* shortest(x): the least length of a row, NaN where one is no number; None of rows that do not follow each other. */
PyObject *
shortest(PyObject *module, PyObject *tensor)
{
    Array x;
    double least = INFINITY;
    if (is_seen_by_torch() || !plain_array(tensor, &x) || x.rank < 1 || size_of(&x) == 0 || period_of(&x) != size_of(&x))
        return or_none(left_to_python());
    for (Py_ssize_t i = 0, n = x.shape[x.rank - 1], rows = size_of(&x) / n; i < rows; i++) {
        double square = square_of(&x, i, n);
        least = square >= least ? least : square;
    }
    return PyFloat_FromDouble(sqrt(least));
}

/* inverses_beside(d, r, r·d, to, weighted), of tensors: the same of each of N paths d, shape (N, K), from each of M starts
 * r, (M, K), between which r·d and what is put have shape (N, M). */
PyObject *
inverses_beside(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array all[5];
    int is_done = count == 5 && !is_seen_by_torch();
    for (int i = 0; is_done && i < 5; i++)
        is_done = plain_array(args[i], &all[i]) && all[i].bits == all[0].bits && all[i].rank == 2
            && period_of(&all[i]) == size_of(&all[i]);
    Py_ssize_t rows = is_done ? all[0].shape[0] : 0, n = is_done ? all[0].shape[1] : 0, m = is_done ? all[1].shape[0] : 0;
    is_done = is_done && all[1].shape[1] == n && n > 0 && m > 0;
    for (int i = 2; is_done && i < 5; i++)
        is_done = all[i].shape[0] == rows && all[i].shape[1] == m;
    if (!is_done)
        return left_to_python(), PyBool_FromLong(0);
    double *starts = PyMem_Malloc(2 * m * sizeof *starts), made[2]; /* their squares, and their lengths */
    if (starts == NULL)
        return PyErr_NoMemory();
    for (Py_ssize_t k = 0; k < m; k++) {
        starts[k] = square_of(&all[1], k, n);
        starts[m + k] = sqrt(starts[k]);
    }
    for (Py_ssize_t i = 0; is_done && i < rows; i++) {
        double dd = square_of(&all[0], i, n), length = sqrt(dd), inverse = 1 / length;
        for (Py_ssize_t j = 0, k = i * m; is_done && j < m; j++, k++) {
            is_done = inverses_by(starts[j], number_in(&all[2], k), dd, starts[m + j], length, inverse, made);
            for (int part = 0; is_done && part < 2; part++)
                if (all[3].bits == 32)
                    ((float *)all[3 + part].elements)[k] = (float)made[part];
                else
                    ((double *)all[3 + part].elements)[k] = made[part];
        }
    }
    PyMem_Free(starts);
    return PyBool_FromLong(is_done);
}

/* The mean direction of a pair along the path from r by d; 0 where squares leave the range. */
static inline int
pair_direction(double r0, double r1, double d0, double d1, double *to)
{
    double rr = r0 * r0 + r1 * r1, dd = d0 * d0 + d1 * d1, rd = r0 * d0 + r1 * d1;
    if (!(rr + dd < FAR) || (rr + dd < 1 / FAR && rr + dd > 0))
        return 0;
    if (rr == 0) { /* from the origin on, the direction stays */
        double length = sqrt(dd);
        to[0] = dd > 0 ? d0 / length : 0;
        to[1] = dd > 0 ? d1 / length : 0;
        return 1;
    }
    double low[2] = {r0, r1}, moved[2] = {d0, d1}, means[2];
    if (dd <= SHORT * rr) {
        of_short(rr, rd, dd, means);
    }
    else {
        double length = sqrt(dd), across = (r0 * d1 - r1 * d0) / length; /* the distance of the line, with a sign */
        moved[0] /= length;
        moved[1] /= length;
        low[0] = across * moved[1];
        low[1] = -across * moved[0];
        double foot = rd / length, last = foot + length, q0 = across * across;
        double s0 = sqrt(q0 + foot * foot), s1 = sqrt(q0 + last * last);
        double outer0 = s0 + fabs(foot), outer1 = s1 + fabs(last);
        double gap = foot > 0 ? outer0 : outer0 > 0 ? q0 / outer0 : 0;
        gap += last < 0 ? outer1 : outer1 > 0 ? q0 / outer1 : 0;
        means[0] = q0 > 0 && gap > 0 ? log((s0 + s1 + length) / gap) / length : 0;
        means[1] = (s1 - s0) / length;
    }
    to[0] = low[0] * means[0] + moved[0] * means[1];
    to[1] = low[1] * means[0] + moved[1] * means[1];
    return 1;
}

#define PAIRS(number)                                                                                                  \
    static int pairs_##number(const number *x, const number *r, number *to, Py_ssize_t size, Py_ssize_t row)           \
    {                                                                                                                  \
        for (Py_ssize_t i = 0, k = 0; i < size; i += 2, k = k + 2 == row ? 0 : k + 2) {                                \
            double made[2], r0 = r[k], r1 = r[k + 1];                                                                  \
            if (!pair_direction(r0, r1, x[i] - r0, x[i + 1] - r1, made))                                               \
                return 0;                                                                                              \
            to[i] = (number)made[0];                                                                                   \
            to[i + 1] = (number)made[1];                                                                               \
        }                                                                                                              \
        return 1;                                                                                                      \
    }
PAIRS(float)
PAIRS(double)

/* pair_directions(x, r, to), of tensors (*, 2), of which r may be a row: the mean gradients of lengths of pairs; whether
 * it is done. */
PyObject *
pair_directions(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array all[3];
    int is_done = count == 3 && !is_seen_by_torch();
    for (int i = 0; is_done && i < 3; i++)
        is_done = plain_array(args[i], &all[i]) && all[i].bits == all[0].bits && period_of(&all[i]) == size_of(&all[i]);
    if (!is_done)
        return left_to_python(), PyBool_FromLong(0);
    Py_ssize_t size = size_of(&all[0]), row = size_of(&all[1]);
    if (row < 2 || row % 2 || size % row || size_of(&all[2]) != size)
        Py_RETURN_FALSE;
    void *x = all[0].elements, *r = all[1].elements, *to = all[2].elements;
    return PyBool_FromLong(all[0].bits == 32 ? pairs_float(x, r, to, size, row) : pairs_double(x, r, to, size, row));
}
