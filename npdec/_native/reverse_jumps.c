/* Jumps, choices and gates in reverse mode, in one pass over memory: what npdec/_law/reverse_elements.py finds by several
 * functions of torch. What is not found here is found there. */
#include "exponentials.h"
#include "soft.h"
#include <string.h>

#define BLOCK 512       /* numbers, which stay where the processor finds them again */
#define ROUNDINGS 32    /* as reverse_elements.py has it */
#define STEEP 1048576.0 /* as size_warnings.py has it */
#define MOST 12         /* operands */

/* What lies in memory again and again, or is a number. */
typedef struct {
    const char *elements;
    Py_ssize_t period, itemsize;
    double number;
} Operand;

/* Its numbers from one of these places on: where they lie, or copied to `space`. */
static const void *
part_of_operand(const Operand *its, Py_ssize_t first, Py_ssize_t count, char *space)
{
    Py_ssize_t inside = first % its->period, done = its->period - inside, size = its->itemsize;
    if (count <= done)
        return its->elements + inside * size;
    memcpy(space, its->elements + inside * size, (size_t)(done * size));
    Py_ssize_t more = count - done < inside ? count - done : inside;
    memcpy(space + done * size, its->elements, (size_t)(more * size));
    for (done += more; done < count; done += more) {
        more = count - done < done ? count - done : done;
        memcpy(space + done * size, space, (size_t)(more * size));
    }
    return space;
}

/* An operand in the shape of an array, of floats of its dtype, of booleans, or a number where `is_any`; 0 of another. */
static int
is_operand(PyObject *object, const Array *of, int is_bool, int is_any, Operand *to)
{
    Array at;
    if (is_any && (PyFloat_CheckExact(object) || PyLong_CheckExact(object))) {
        to->number = PyFloat_AsDouble(object);
        if (of->bits == 32) {
            float single = (float)to->number;
            memcpy(&to->number, &single, sizeof single);
        }
        *to = (Operand){NULL, 1, of->bits / 8, to->number}; /* which may be moved: the address is put later */
        return !PyErr_Occurred();
    }
    if (is_bool ? !(host_array(object, &at) && at.code == OF_BOOL && at.bits == 8)
                : !(plain_array(object, &at) && at.bits == of->bits))
        return 0;
    int skipped = of->rank - at.rank;
    for (int axis = 0; skipped >= 0 && axis < at.rank; axis++)
        if (at.shape[axis] != of->shape[axis + skipped] && at.shape[axis] != 1)
            return 0;
    /* What is one in memory stands first: a period is then a product of the last lengths. */
    Py_ssize_t period = period_of(&at), last = 1;
    for (int axis = of->rank - 1; axis >= 0 && last < period; axis--)
        last *= of->shape[axis];
    *to = (Operand){at.elements, period, at.bits / 8, 0};
    if (skipped < 0 || period < 1 || last != period)
        return 0;
    for (int axis = 0; period > 1 && axis < at.rank; axis++) { /* of length one only before the others */
        Py_ssize_t behind = 1;
        for (int other = axis; other < at.rank; other++)
            behind *= of->shape[other + skipped];
        if (behind <= period && at.shape[axis] != of->shape[axis + skipped])
            return 0;
    }
    return 1;
}

static int
is_dense(PyObject *object, const Array *of, Operand *to)
{
    return is_operand(object, of, 0, 0, to) && to->period == size_of(of);
}

/* --- slopes across jumps ------------------------------------------------------------------------------------------ */

typedef struct {
    Py_ssize_t still;
    int is_apart, is_moved, is_steep; /* from the total; though it stands still; or not finite */
} Jumps;

/* Bits, without a branch, tell what is left to Python. */
#define JUMPS(number, bits, room, half, size)                                                                          \
    BY_ANY_PROCESSOR static void jumps_##bits(const number *restrict x, const number *restrict r,                          \
                                          const number *restrict total, const number *restrict change,                 \
                                          number *restrict to, Py_ssize_t count, int is_zero, Jumps *found)            \
    {                                                                                                                  \
        int apart = 0, steep = 0, moved = 0, still = 0;                                                                \
        const number rest = is_zero ? 0 : (number)NAN;                                                                 \
        for (Py_ssize_t i = 0; i < count; i++) {                                                                       \
            number step = x[i] - r[i], length = size(step);                                                            \
            int is_still = !(length - (size(x[i]) + size(r[i])) * (number)room > 0);                                   \
            number slope = change[i] / total[i];                                                                       \
            apart |= !(size(step - total[i]) <= (number)half * length);                                                \
            moved |= is_still & (change[i] != 0);                                                                      \
            steep |= !is_still & !(size(slope) <= (number)STEEP);                                                      \
            still += is_still;                                                                                         \
            to[i] = is_still ? rest : slope;                                                                           \
        }                                                                                                              \
        found->is_apart |= apart;                                                                                      \
        found->is_steep |= steep;                                                                                      \
        found->is_moved |= moved;                                                                                      \
        found->still += still;                                                                                         \
    }                                                                                                                  \
    BY_ANY_PROCESSOR static void differences_##bits(const number *restrict a, const number *restrict b,                    \
                                                number *restrict to, Py_ssize_t count)                                 \
    {                                                                                                                  \
        for (Py_ssize_t i = 0; i < count; i++)                                                                         \
            to[i] = a[i] - b[i];                                                                                       \
    }                                                                                                                  \
    BY_ANY_PROCESSOR static void turns_##bits(const uint8_t *restrict a, const uint8_t *restrict b, number *restrict to,   \
                                          Py_ssize_t count)                                                            \
    {                                                                                                                  \
        for (Py_ssize_t i = 0; i < count; i++)                                                                         \
            to[i] = (number)((int)a[i] - (int)b[i]);                                                                   \
    }                                                                                                                  \
    static void all_jumps_##bits(const Operand *its, number *to, number *kept, Py_ssize_t size, int is_bool,           \
                                 Jumps *found)                                                                         \
    {                                                                                                                  \
        char space[5][BLOCK * sizeof(double)];                                                                         \
        number change[BLOCK];                                                                                          \
        for (Py_ssize_t i = 0; i < size; i += BLOCK) {                                                                 \
            Py_ssize_t count = size - i < BLOCK ? size - i : BLOCK;                                                    \
            const void *part[5];                                                                                       \
            for (int k = 0; k < 5; k++)                                                                                \
                part[k] = its[k].elements == NULL ? NULL : part_of_operand(&its[k], i, count, space[k]);               \
            number *by = kept == NULL ? change : kept + i, *step = (number *)space[4];                                 \
            if (is_bool)                                                                                               \
                turns_##bits(part[2], part[3], by, count);                                                             \
            else                                                                                                       \
                differences_##bits(part[2], part[3], by, count);                                                       \
            if (part[4] == NULL)                                                                                       \
                differences_##bits(part[0], part[1], step, count);                                                     \
            jumps_##bits(part[0], part[1], part[4] == NULL ? step : part[4], by, to + i, count, is_bool, found);       \
        }                                                                                                              \
    }
JUMPS(float, 32, ROUNDINGS * 1.1920928955078125e-07, 3.4526698300124393e-04, fabsf)
JUMPS(double, 64, ROUNDINGS * 2.220446049250313e-16, 1.4901161193847656e-08, fabs)

/* jumps(x, r, by how much contributions move x or None, f(x), f(r), to, change or None): puts the change of f over that of
 * x, and the former. Where x may stand still, that is zero of conditions, and NaN of numbers, of which it gives how many
 * there are; None where these move, where a slope is steep, or where what moves x is not its change. */
PyObject *
jumps(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array x, f;
    Operand its[5] = {0}, to, kept = {0};
    Jumps found = {0};
    if (count != 7 || !plain_array(args[0], &x) || !host_array(args[3], &f) || is_seen_by_torch())
        return or_none(left_to_python());
    int is_bool = f.code == OF_BOOL;
    Py_ssize_t size = size_of(&x);
    if (size == 0 || !is_dense(args[0], &x, &its[0]) || !is_operand(args[1], &x, 0, 0, &its[1])
        || (args[2] != Py_None && !is_dense(args[2], &x, &its[4])) || !is_operand(args[3], &x, is_bool, 0, &its[2])
        || !is_operand(args[4], &x, is_bool, 0, &its[3]) || !is_dense(args[5], &x, &to)
        || (args[6] != Py_None && !is_dense(args[6], &x, &kept)) || its[2].period != size)
        return or_none(left_to_python());
    Py_BEGIN_ALLOW_THREADS
    if (x.bits == 32)
        all_jumps_32(its, (float *)to.elements, (float *)kept.elements, size, is_bool, &found);
    else
        all_jumps_64(its, (double *)to.elements, (double *)kept.elements, size, is_bool, &found);
    Py_END_ALLOW_THREADS
    if (found.is_moved || found.is_steep || (found.is_apart && args[2] != Py_None))
        Py_RETURN_NONE;
    return PyLong_FromSsize_t(found.still);
}

/* --- choices ------------------------------------------------------------------------------------------------------ */

/* By a condition c, and c₀ at the residual, of a and b: these are chosen by bits, as they are. */
#define CHOICES(number, bits, whole)                                                                                   \
    BY_ANY_PROCESSOR static void chosen_##bits(const uint8_t *restrict c, const void *a, const void *b, void *to,          \
                                           Py_ssize_t count)                                                           \
    {                                                                                                                  \
        const whole *restrict first = a, *restrict other = b;                                                          \
        whole *restrict made = to;                                                                                     \
        for (Py_ssize_t i = 0; i < count; i++) {                                                                       \
            whole mask = -(whole)(c[i] != 0);                                                                          \
            made[i] = (first[i] & mask) | (other[i] & ~mask);                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    BY_ANY_PROCESSOR static int rises_##bits(const uint8_t *restrict c, const uint8_t *restrict c_r,                       \
                                         const number *restrict a, const number *restrict a_r,                         \
                                         const number *restrict b, const number *restrict b_r, number *restrict rise,  \
                                         number *restrict share, Py_ssize_t count)                                     \
    {                                                                                                                  \
        int is_finite = 1;                                                                                             \
        for (Py_ssize_t i = 0; i < count; i++) {                                                                       \
            number of_a = a[i] / 2 + a_r[i] / 2, of_b = b[i] / 2 + b_r[i] / 2, now = c[i], then = c_r[i];              \
            is_finite &= 0 * of_a == 0 && 0 * of_b == 0;                                                               \
            rise[i] = (now > then ? now : then) * of_a - (1 - now * then) * of_b;                                      \
            share[i] = (now + then) / 2;                                                                               \
        }                                                                                                              \
        return is_finite;                                                                                              \
    }                                                                                                                  \
    static int all_choices_##bits(const Operand *its, const Operand *to, Py_ssize_t size)                              \
    {                                                                                                                  \
        char space[6][BLOCK * sizeof(double)];                                                                         \
        int is_done = 1;                                                                                               \
        for (Py_ssize_t i = 0; i < size; i += BLOCK) {                                                                 \
            Py_ssize_t count = size - i < BLOCK ? size - i : BLOCK;                                                    \
            const void *part[6];                                                                                       \
            for (int k = 0; k < 6; k++)                                                                                \
                part[k] = part_of_operand(&its[k], i, count, space[k]);                                                \
            chosen_##bits(part[0], part[2], part[4], (number *)to[0].elements + i, count);                             \
            if (i < to[1].period) {                                                                                    \
                Py_ssize_t some = to[1].period - i < count ? to[1].period - i : count;                                 \
                chosen_##bits(part[1], part[3], part[5], (number *)to[1].elements + i, some);                          \
            }                                                                                                          \
            is_done &= rises_##bits(part[0], part[1], part[2], part[3], part[4], part[5],                              \
                                    (number *)to[2].elements + i, (number *)to[3].elements + i, count);                \
        }                                                                                                              \
        return is_done;                                                                                                \
    }
CHOICES(float, 32, uint32_t)
CHOICES(double, 64, uint64_t)

/* choices(c, c₀, a, a₀, b, b₀, value, residual, rise, share), of conditions, tensors or numbers, and what is put: the
 * value and the residual, of which there may be one row; by how much each rises with the condition; and the share of a.
 * Whether it is done: of branches that are finite along the path. */
PyObject *
choices(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array to;
    Operand its[6], made[4];
    if (count != 10 || !plain_array(args[6], &to) || is_seen_by_torch())
        return left_to_python(), PyBool_FromLong(0);
    Py_ssize_t size = size_of(&to);
    int is_done = size > 0;
    for (int i = 0; is_done && i < 6; i++) {
        is_done = is_operand(args[i], &to, i < 2, i > 1, &its[i]);
        if (is_done && its[i].elements == NULL)
            its[i].elements = (const char *)&its[i].number;
    }
    for (int i = 0; is_done && i < 4; i++)
        is_done = i == 1 ? is_operand(args[7], &to, 0, 0, &made[1]) : is_dense(args[6 + i], &to, &made[i]);
    for (int i = 1; is_done && i < 6; i += 2)
        is_done = its[i].period <= made[1].period;
    if (!is_done)
        return left_to_python(), PyBool_FromLong(0);
    Py_BEGIN_ALLOW_THREADS
    is_done = to.bits == 32 ? all_choices_32(its, made, size) : all_choices_64(its, made, size);
    Py_END_ALLOW_THREADS
    return PyBool_FromLong(is_done);
}

/* --- gates -------------------------------------------------------------------------------------------------------- */

/* σ(t), and what it rises by. (Without branches, so that several are computed at once.) */
static inline float
sigmoid_32(float t, float *rate)
{
    Single sign = {.number = t}, size = {.number = t}, one = {.number = 1}, made;
    size.bits &= INT32_MAX;
    float e = exponential_32(-size.number), q = 1 / (1 + e);
    made.number = e;
    made.bits = (made.bits & (sign.bits >> 31)) | (one.bits & ~(sign.bits >> 31));
    *rate = e * q * q;
    return made.number * q;
}

static inline double
sigmoid_64(double t, double *rate)
{
    double e = exponential_64(-fabs(t)), q = 1 / (1 + e);
    *rate = e * q * q;
    return t < 0 ? e * q : q;
}

#define GATES(number, bits)                                                                                            \
    BY_ANY_PROCESSOR static void gate_##bits(const number *restrict a, const number *restrict b,                           \
                                         const number *restrict low, const number *restrict start,                     \
                                         number *restrict of_a, number *restrict of_b, Py_ssize_t count,               \
                                         const double *times, const double *weights, Py_ssize_t nodes)                 \
    {                                                                                                                  \
        for (Py_ssize_t i = 0; i < count; i++)                                                                         \
            of_a[i] = of_b[i] = 0;                                                                                     \
        for (Py_ssize_t k = 0; k < nodes; k++) {                                                                       \
            number time = (number)times[k], weight = (number)weights[k];                                               \
            for (Py_ssize_t i = 0; i < count; i++) {                                                                   \
                number rate, p = sigmoid_##bits(start[i] + time * (b[i] - start[i]), &rate);                           \
                of_a[i] += weight * p;                                                                                 \
                of_b[i] += weight * rate * (low[i] + time * (a[i] - low[i]));                                          \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
    /* The longest step of b; NaN or infinite where one is. */                                                         \
    static double longest_##bits(const Operand *x, const Operand *r, Py_ssize_t size, Py_ssize_t n)                    \
    {                                                                                                                  \
        number longest = 0, nothing = 0;                                                                               \
        for (Py_ssize_t i = n; i < size; i += 2 * n) {                                                                 \
            const number *b = (number *)x->elements + i, *start = (number *)r->elements + i % r->period;               \
            for (Py_ssize_t j = 0; j < n; j++) {                                                                       \
                number step = b[j] - start[j], length = step < 0 ? -step : step;                                       \
                longest = length > longest ? length : longest;                                                         \
                nothing += 0 * step;                                                                                   \
            }                                                                                                          \
        }                                                                                                              \
        return (double)(longest + nothing);                                                                            \
    }
GATES(float, 32)
GATES(double, 64)

/* Of x and r the halves a and b follow each other, `n` elements of each. */
static Py_ssize_t
halves(PyObject *const *args, Array *at, Operand *x, Operand *r)
{
    Py_ssize_t n = PyLong_Check(args[2]) ? PyLong_AsSsize_t(args[2]) : 0;
    if (n < 1 || !plain_array(args[0], at) || !is_dense(args[0], at, x) || !is_operand(args[1], at, 0, 0, r)
        || x->period % (2 * n) || r->period % (2 * n) || is_seen_by_torch())
        return 0;
    return n;
}

/* gate_length(x, r, n): the longest step of b, which is every second `n` elements; or None. */
PyObject *
gate_length(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array at;
    Operand x, r;
    Py_ssize_t n = count == 3 ? halves(args, &at, &x, &r) : 0;
    if (n == 0)
        return or_none(left_to_python());
    return PyFloat_FromDouble(at.bits == 32 ? longest_32(&x, &r, x.period, n) : longest_64(&x, &r, x.period, n));
}

/* gate_means(x, r, n, rule, to): puts the means along the path of σ(b), for a, and of a σ'(b), for b; whether it is
 * done. */
PyObject *
gate_means(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array at;
    Operand x, r, to;
    double times[MOST_NODES], weights[MOST_NODES];
    Py_ssize_t n = count == 5 ? halves(args, &at, &x, &r) : 0, nodes = n == 0 ? 0 : rule_of(args[3], times, weights);
    if (nodes == 0 || !is_dense(args[4], &at, &to))
        return left_to_python(), PyBool_FromLong(0);
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < x.period; i += 2 * n)
        for (Py_ssize_t j = i; j < i + n; j += BLOCK) {
            Py_ssize_t some = i + n - j < BLOCK ? i + n - j : BLOCK, low = j % r.period;
            if (at.bits == 32) {
                const float *end = (const float *)x.elements + j, *start = (const float *)r.elements + low;
                float *made = (float *)to.elements + j;
                gate_32(end, end + n, start, start + n, made, made + n, some, times, weights, nodes);
            } else {
                const double *end = (const double *)x.elements + j, *start = (const double *)r.elements + low;
                double *made = (double *)to.elements + j;
                gate_64(end, end + n, start, start + n, made, made + n, some, times, weights, nodes);
            }
        }
    Py_END_ALLOW_THREADS
    Py_RETURN_TRUE;
}
