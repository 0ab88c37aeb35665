/* Gradients of products and quotients of two tensors in reverse mode, which broadcast: what goes back to each is found in
 * one pass, and added up along the axes that it does not have. What is computed is said in
 * npdec/_law/reverse_beside.py. */
#include "soft.h"
#include <string.h>

enum { GRADIENT, A, A_LOW, B, B_LOW, OPERANDS }; /* what is read: the ends of both */
#define TARGETS 2
#define ALL (OPERANDS + TARGETS)
#define TILE 512 /* numbers that are looked at together, and stay where the processor finds them again */

/* The axes that are walked, of which those that follow each other in all arrays are one; and by how much each array moves
 * along them. */
typedef struct {
    int axes;
    Py_ssize_t length[MOST_AXES + 2], steps[ALL][MOST_AXES + 2];
} Walk;

/* Begin a walk over the shape of the first of some arrays, with which the others, NULL for none, broadcast; 0 where one
 * does not. */
static int
walk_over(const Array *const *arrays, int count, Walk *walk)
{
    const Array *like = arrays[0];
    *walk = (Walk){0};
    for (int axis = 0; axis < like->rank; axis++) {
        Py_ssize_t length = like->shape[axis], steps[ALL] = {0};
        for (int k = 0; k < count; k++) {
            int its = arrays[k] == NULL ? -1 : arrays[k]->rank - like->rank + axis;
            if (arrays[k] != NULL && arrays[k]->rank > like->rank)
                return 0;
            if (its >= 0 && arrays[k]->shape[its] != 1) {
                if (arrays[k]->shape[its] != length)
                    return 0;
                steps[k] = arrays[k]->strides[its];
            }
        }
        if (length == 1)
            continue;
        int last = walk->axes - 1, is_one = last >= 0;
        for (int k = 0; k < count && is_one; k++)
            is_one = walk->steps[k][last] == steps[k] * length;
        if (!is_one)
            last = walk->axes++;
        walk->length[last] = is_one ? walk->length[last] * length : length;
        for (int k = 0; k < count; k++)
            walk->steps[k][last] = steps[k];
    }
    if (walk->axes < 2) { /* two at least, of which the first may be of one element */
        int by = 2 - walk->axes;
        for (int axis = 1; axis >= 0; axis--) {
            walk->length[axis] = axis >= by ? walk->length[axis - by] : 1;
            for (int k = 0; k < count; k++)
                walk->steps[k][axis] = axis >= by ? walk->steps[k][axis - by] : 0;
        }
        walk->axes = 2;
    }
    return 1;
}

/* Where a tile lies: its rows and columns, and by how much each array moves from its first element. */
typedef struct {
    Py_ssize_t at[MOST_AXES + 2], rows, columns, from[ALL];
} Tile;

static void
first_tile(const Walk *walk, Tile *tile)
{
    const Py_ssize_t wide = walk->length[walk->axes - 1], high = walk->length[walk->axes - 2];
    *tile = (Tile){0};
    tile->columns = wide < TILE ? wide : TILE;
    tile->rows = wide < TILE && TILE / wide < high ? TILE / wide : wide < TILE ? high : 1;
}

/* Go on by a tile; 0 behind the last. */
static int
next_tile(const Walk *walk, int count, Tile *tile)
{
    const int last = walk->axes - 1;
    const Py_ssize_t wide = walk->length[last], high = walk->length[last - 1];
    tile->at[last] += tile->columns;
    if (tile->at[last] >= wide) {
        tile->at[last] = 0;
        tile->at[last - 1] += tile->rows;
        for (int axis = last - 1; axis >= 0 && tile->at[axis] >= walk->length[axis]; axis--) {
            if (axis == 0)
                return 0;
            tile->at[axis] = 0;
            tile->at[axis - 1]++;
        }
    }
    tile->columns = wide - tile->at[last] < TILE ? wide - tile->at[last] : TILE;
    tile->rows = wide < TILE ? TILE / wide : 1;
    tile->rows = high - tile->at[last - 1] < tile->rows ? high - tile->at[last - 1] : tile->rows;
    for (int k = 0; k < count; k++) {
        tile->from[k] = 0;
        for (int axis = 0; axis < walk->axes; axis++)
            tile->from[k] += tile->at[axis] * walk->steps[k][axis];
    }
    return 1;
}

#define BESIDE(number, bits)                                                                                           \
    /* The elements of a tile one after the other: as they lie in memory, or in `room`. */                             \
    static inline const number *gathered_##bits(const void *elements, const Walk *walk, const Tile *tile, int k,       \
                                                number *room)                                                          \
    {                                                                                                                  \
        const number *its = (const number *)elements + tile->from[k];                                                  \
        const Py_ssize_t down = walk->steps[k][walk->axes - 2], by = walk->steps[k][walk->axes - 1];                   \
        if (by == 1 && (tile->rows == 1 || down == tile->columns))                                                     \
            return its;                                                                                                \
        number *to = room;                                                                                             \
        for (Py_ssize_t i = 0; i < tile->rows; i++, its += down, to += tile->columns) {                                \
            const number one = *its;                                                                                   \
            if (by == 0)                                                                                               \
                for (Py_ssize_t j = 0; j < tile->columns; j++)                                                         \
                    to[j] = one;                                                                                       \
            else                                                                                                       \
                for (Py_ssize_t j = 0; j < tile->columns; j++)                                                         \
                    to[j] = its[j * by];                                                                               \
        }                                                                                                              \
        return room;                                                                                                   \
    }                                                                                                                  \
    /* Of a product: each gradient is that of the result times the other's midpoint. Nothing passes where nothing      \
     * comes from. */                                                                                                  \
    BY_ANY_PROCESSOR static void product_##bits(const number *restrict g, const number *restrict x,                    \
                                                const number *restrict r, number *restrict to, Py_ssize_t count)       \
    {                                                                                                                  \
        for (Py_ssize_t i = 0; i < count; i++)                                                                         \
            to[i] = g[i] == 0 ? 0 : g[i] * (x[i] / 2 + r[i] / 2);                                                      \
    }                                                                                                                  \
    /* Of a quotient: by the first the mean of the reciprocals of the second; by the second their product, less than   \
     * zero, times the midpoint of the first. */                                                                       \
    BY_ANY_PROCESSOR static void above_##bits(const number *restrict g, const number *restrict b,                      \
                                              const number *restrict low, number *restrict to, Py_ssize_t count)       \
    {                                                                                                                  \
        for (Py_ssize_t i = 0; i < count; i++)                                                                         \
            to[i] = g[i] == 0 ? 0 : g[i] * ((1 / b[i]) / 2 + (1 / low[i]) / 2);                                        \
    }                                                                                                                  \
    BY_ANY_PROCESSOR static void below_##bits(const number *restrict g, const number *restrict x,                      \
                                              const number *restrict r, const number *restrict b,                      \
                                              const number *restrict low, number *restrict to, Py_ssize_t count)       \
    {                                                                                                                  \
        for (Py_ssize_t i = 0; i < count; i++)                                                                         \
            to[i] = g[i] == 0 ? 0 : g[i] * (-((1 / b[i]) * (1 / low[i])) * (x[i] / 2 + r[i] / 2));                     \
    }                                                                                                                  \
    /* Add what is found for a tile to sums, along the axes on which they do not move. */                              \
    BY_ANY_PROCESSOR static void add_##bits(const number *restrict from, double *restrict to, Py_ssize_t rows,         \
                                            Py_ssize_t columns, Py_ssize_t down, Py_ssize_t by)                        \
    {                                                                                                                  \
        for (Py_ssize_t i = 0; i < rows; i++, from += columns, to += down) {                                           \
            if (by != 0) {                                                                                             \
                for (Py_ssize_t j = 0; j < columns; j++)                                                               \
                    to[j] += from[j];                                                                                  \
                continue;                                                                                              \
            }                                                                                                          \
            Wide_##bits sums = {0}, more = {0};                                                                        \
            double all = 0;                                                                                            \
            Py_ssize_t j = 0;                                                                                          \
            for (; j + 2 * AT_ONCE(bits) <= columns; j += 2 * AT_ONCE(bits)) {                                         \
                sums += AT(bits, from + j);                                                                            \
                more += AT(bits, from + j + AT_ONCE(bits));                                                            \
            }                                                                                                          \
            sums += more;                                                                                              \
            ADD_LANES(all, sums, bits);                                                                                \
            for (; j < columns; j++)                                                                                   \
                all += from[j];                                                                                        \
            *to += all;                                                                                                \
        }                                                                                                              \
    }                                                                                                                  \
    static void back_##bits(int is_divided, const Array *const *arrays, const Walk *walk, double *const *sums)         \
    {                                                                                                                  \
        number rooms[ALL][TILE];                                                                                       \
        const void *its[OPERANDS];                                                                                     \
        Tile tile;                                                                                                     \
        first_tile(walk, &tile);                                                                                       \
        do {                                                                                                           \
            const Py_ssize_t count = tile.rows * tile.columns;                                                         \
            for (int k = 0; k < OPERANDS; k++)                                                                         \
                its[k] = gathered_##bits(arrays[k]->elements, walk, &tile, k, rooms[k]);                               \
            for (int k = OPERANDS; k < ALL; k++) {                                                                     \
                if (arrays[k] == NULL)                                                                                 \
                    continue;                                                                                          \
                const Py_ssize_t down = walk->steps[k][walk->axes - 2], by = walk->steps[k][walk->axes - 1];           \
                double *sum = sums[k - OPERANDS];                                                                      \
                int is_there = sum == NULL && by == 1 && (tile.rows == 1 || down == tile.columns);                     \
                number *to = is_there ? (number *)arrays[k]->elements + tile.from[k] : rooms[k];                       \
                if (!is_divided)                                                                                       \
                    product_##bits(its[GRADIENT], its[k == OPERANDS ? B : A], its[k == OPERANDS ? B_LOW : A_LOW],      \
                                   to, count);                                                                         \
                else if (k == OPERANDS)                                                                                \
                    above_##bits(its[GRADIENT], its[B], its[B_LOW], to, count);                                        \
                else                                                                                                   \
                    below_##bits(its[GRADIENT], its[A], its[A_LOW], its[B], its[B_LOW], to, count);                    \
                if (sum != NULL)                                                                                       \
                    add_##bits(to, sum + tile.from[k], tile.rows, tile.columns, down, by);                             \
                else if (!is_there)                                                                                    \
                    for (Py_ssize_t i = 0; i < tile.rows; i++)                                                         \
                        memcpy((number *)arrays[k]->elements + tile.from[k] + i * down, to + i * tile.columns,         \
                               tile.columns * sizeof(number));                                                         \
            }                                                                                                          \
        } while (next_tile(walk, ALL, &tile));                                                                         \
    }                                                                                                                  \
    static void put_sums_##bits(const double *sums, const Array *to)                                                   \
    {                                                                                                                  \
        for (Py_ssize_t i = 0, size = size_of(to); i < size; i++)                                                      \
            ((number *)to->elements)[i] = (number)sums[i];                                                             \
    }                                                                                                                  \
    /* Of divisors from r to x: the largest and the smallest of 1 / (x r), and of x / r and r / x. */                  \
    BY_ANY_PROCESSOR static void divisors_##bits(const number *restrict x, const number *restrict r, Py_ssize_t count, \
                                                 double *restrict made)                                                \
    {                                                                                                                  \
        number most = 0, least = INFINITY, far = 0, nothing = 0;                                                       \
        for (Py_ssize_t i = 0; i < count; i++) {                                                                       \
            number end = 1 / x[i], start = 1 / r[i], both = end * start, ratio = x[i] * start, other = r[i] * end;     \
            both = both < 0 ? -both : both;                                                                            \
            ratio = ratio < 0 ? -ratio : ratio;                                                                        \
            other = other < 0 ? -other : other;                                                                        \
            nothing += 0 * (both + ratio + other);                                                                     \
            most = both > most ? both : most;                                                                          \
            least = both < least ? both : least;                                                                       \
            far = ratio > far ? ratio : far;                                                                           \
            far = other > far ? other : far;                                                                           \
        }                                                                                                              \
        made[0] = most > made[0] ? most : made[0];                                                                     \
        made[1] = least < made[1] ? least : made[1];                                                                   \
        made[2] = far > made[2] ? far : made[2];                                                                       \
        made[3] += nothing;                                                                                            \
    }                                                                                                                  \
    static void range_##bits(const Array *const *arrays, const Walk *walk, double *made)                               \
    {                                                                                                                  \
        number rooms[2][TILE];                                                                                         \
        Tile tile;                                                                                                     \
        first_tile(walk, &tile);                                                                                       \
        do {                                                                                                           \
            const number *x = gathered_##bits(arrays[0]->elements, walk, &tile, 0, rooms[0]);                          \
            const number *r = gathered_##bits(arrays[1]->elements, walk, &tile, 1, rooms[1]);                          \
            divisors_##bits(x, r, tile.rows * tile.columns, made);                                                     \
        } while (next_tile(walk, 2, &tile));                                                                           \
    }                                                                                                                  \
    /* How many quotients of a by b have contributions that cancel to fewer digits than `limit` says. */               \
    BY_ANY_PROCESSOR static Py_ssize_t lost_##bits(const number *restrict x, const number *restrict r,                 \
                                                   const number *restrict b, const number *restrict low,               \
                                                   const number *restrict value, const number *restrict residual,      \
                                                   Py_ssize_t count, number limit)                                     \
    {                                                                                                                  \
        int32_t lost = 0;                                                                                              \
        for (Py_ssize_t i = 0; i < count; i++) {                                                                       \
            number end = 1 / b[i], start = 1 / low[i], change = value[i] - residual[i];                                \
            number one = (x[i] - r[i]) * (end + start), other = (x[i] + r[i]) * (end - start);                         \
            number v = value[i] < 0 ? -value[i] : value[i], w = residual[i] < 0 ? -residual[i] : residual[i];          \
            number gross = (one < 0 ? -one : one) + (other < 0 ? -other : other);                                      \
            lost += (gross / 2 > limit * (v + w + (change < 0 ? -change : change))) & (gross - gross == 0);            \
        }                                                                                                              \
        return lost;                                                                                                   \
    }                                                                                                                  \
    static Py_ssize_t all_lost_##bits(const Array *const *arrays, const Walk *walk, double limit)                      \
    {                                                                                                                  \
        number rooms[6][TILE];                                                                                         \
        const number *its[6];                                                                                          \
        Py_ssize_t lost = 0;                                                                                           \
        Tile tile;                                                                                                     \
        first_tile(walk, &tile);                                                                                       \
        do {                                                                                                           \
            for (int k = 0; k < 6; k++)                                                                                \
                its[k] = gathered_##bits(arrays[k]->elements, walk, &tile, k, rooms[k]);                               \
            const Py_ssize_t count = tile.rows * tile.columns;                                                         \
            lost += lost_##bits(its[2], its[3], its[4], its[5], its[0], its[1], count, (number)limit);                 \
        } while (next_tile(walk, 6, &tile));                                                                           \
        return lost;                                                                                                   \
    }
BESIDE(float, 32)
BESIDE(double, 64)

/* beside_back(is a quotient, gradients, a, a at the residual, b, b at the residual, to a, to b), of which one target may
 * be None: puts what goes back to each; whether it is done. */
PyObject *
beside_back(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array at[ALL];
    const Array *arrays[ALL] = {NULL};
    double *sums[TARGETS] = {NULL};
    Walk walk;
    int can_be = count == ALL + 1 && !is_seen_by_torch(), is_lacking = 0;
    for (int k = 0; k < ALL && can_be; k++) {
        if (k >= OPERANDS && args[k + 1] == Py_None)
            continue;
        can_be = plain_array(args[k + 1], &at[k]) && at[k].bits == at[0].bits && size_of(&at[k]) > 0;
        if (can_be && k >= OPERANDS) /* whose elements follow each other */
            can_be = period_of(&at[k]) == size_of(&at[k]);
        arrays[k] = &at[k];
    }
    if (!can_be || !walk_over(arrays, ALL, &walk))
        return left_to_python(), PyBool_FromLong(0);
    for (int k = OPERANDS; k < ALL; k++)
        if (arrays[k] != NULL && size_of(arrays[k]) != size_of(arrays[0]))
            is_lacking |= (sums[k - OPERANDS] = PyMem_Calloc(size_of(arrays[k]), sizeof(double))) == NULL;
    if (!is_lacking) {
        Py_BEGIN_ALLOW_THREADS
        if (at[0].bits == 32)
            back_32(args[0] == Py_True, arrays, &walk, sums);
        else
            back_64(args[0] == Py_True, arrays, &walk, sums);
        for (int k = 0; k < TARGETS; k++)
            if (sums[k] != NULL) {
                if (at[0].bits == 32)
                    put_sums_32(sums[k], arrays[OPERANDS + k]);
                else
                    put_sums_64(sums[k], arrays[OPERANDS + k]);
            }
        Py_END_ALLOW_THREADS
    }
    for (int k = 0; k < TARGETS; k++)
        PyMem_Free(sums[k]);
    return is_lacking ? PyErr_NoMemory() : Py_NewRef(Py_True);
}

int
range_of_divisors(PyObject *x, PyObject *r, double *range)
{
    Array at[2];
    const Array *arrays[2] = {&at[0], &at[1]};
    Walk walk;
    double made[4] = {0, INFINITY, 0, 0};
    if (is_seen_by_torch() || !plain_array(x, &at[0]) || !plain_array(r, &at[1]) || at[0].bits != at[1].bits
        || size_of(&at[0]) == 0 || size_of(&at[1]) == 0 || !walk_over(arrays, 2, &walk))
        return 0;
    Py_BEGIN_ALLOW_THREADS
    if (at[0].bits == 32)
        range_32(arrays, &walk, made);
    else
        range_64(arrays, &walk, made);
    Py_END_ALLOW_THREADS
    memcpy(range, made, 3 * sizeof *range);
    return made[3] == 0;
}

/* divisor_range(x, r), of which the latter broadcasts: the largest and the smallest magnitude of 1 / (x r), and the largest
 * of x / r and r / x; None where one of them is no number, and of others. */
PyObject *
divisor_range(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    double made[3];
    if (count != 2 || !range_of_divisors(args[0], args[1], made))
        return or_none(left_to_python());
    return Py_BuildValue("ddd", made[0], made[1], made[2]);
}

/* digits_lost(value, residual, a, a at the residual, b, b at the residual, limit): how many quotients have contributions
 * that cancel to fewer digits than the limit says; None of others. */
PyObject *
digits_lost(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Array at[6];
    const Array *arrays[6];
    Walk walk;
    int can_be = count == 7 && !is_seen_by_torch();
    double limit = can_be ? PyFloat_AsDouble(args[6]) : 0;
    for (int k = 0; k < 6 && can_be; k++) {
        can_be = plain_array(args[k], &at[k]) && at[k].bits == at[0].bits && size_of(&at[k]) > 0;
        arrays[k] = &at[k];
    }
    if (!can_be || PyErr_Occurred() || !walk_over(arrays, 6, &walk))
        return or_none(left_to_python());
    Py_ssize_t lost;
    Py_BEGIN_ALLOW_THREADS
    lost = at[0].bits == 32 ? all_lost_32(arrays, &walk, limit) : all_lost_64(arrays, &walk, limit);
    Py_END_ALLOW_THREADS
    return PyLong_FromSsize_t(lost);
}
