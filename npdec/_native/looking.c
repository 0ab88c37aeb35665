/* What is said of the elements of an array: the largest magnitude, and whether all are finite numbers. */
#include "reverse.h"
#include "soft.h"

/* What is said of elements: the largest magnitude, and a sum that is zero where all are finite numbers. */
typedef struct {
    double most, total;
} Looked;

#define LOOK(number, bits)                                                                                             \
    BY_ANY_PROCESSOR static void look_at_##bits(const number *its, Py_ssize_t length, Py_ssize_t stride, Looked *looked) \
    {                                                                                                                  \
        number most = 0, total = 0;                                                                                    \
        Py_ssize_t i = 0;                                                                                              \
        if (stride == 1) {                                                                                             \
            Wide_##bits high = {0}, totals = {0}, more = {0};                                                          \
            for (; i + 2 * AT_ONCE(bits) <= length; i += 2 * AT_ONCE(bits)) {                                          \
                const Wide_##bits x = AT(bits, its + i), y = AT(bits, its + i + AT_ONCE(bits));                        \
                totals += 0 * x;                                                                                       \
                more += 0 * y;                                                                                         \
                high = LARGER(bits, LARGER(bits, x, -x), high);                                                        \
                high = LARGER(bits, LARGER(bits, y, -y), high);                                                        \
            }                                                                                                          \
            totals += more;                                                                                            \
            for (int lane = 0; lane < AT_ONCE(bits); lane++) {                                                         \
                total += totals[lane];                                                                                 \
                most = high[lane] > most ? high[lane] : most;                                                          \
            }                                                                                                          \
        }                                                                                                              \
        for (; i < length; i++) {                                                                                      \
            number size = its[i * stride] < 0 ? -its[i * stride] : its[i * stride];                                    \
            total += 0 * size;                                                                                         \
            most = size > most ? size : most;                                                                          \
        }                                                                                                              \
        looked->total += total;                                                                                        \
        looked->most = fmax(looked->most, most);                                                                       \
    }
LOOK(float, 32)
LOOK(double, 64)

static void
look_at_row(const Array *at, Py_ssize_t place, Py_ssize_t length, Py_ssize_t stride, Looked *looked)
{
    if (at->bits == 32)
        look_at_32((const float *)at->elements + place, length, stride, looked);
    else
        look_at_64((const double *)at->elements + place, length, stride, looked);
}

/* From the element at a place on, along the axes from one on; of those that are one in memory, once. */
static void
look_along(const Array *at, int axis, Py_ssize_t place, Looked *looked)
{
    Py_ssize_t length = axis < at->rank ? at->shape[axis] : 1, stride = axis < at->rank ? at->strides[axis] : 0;
    length = stride == 0 && length > 1 ? 1 : length;
    if (axis >= at->rank - 1)
        look_at_row(at, place, length, stride, looked);
    else
        for (Py_ssize_t i = 0; i < length; i++)
            look_along(at, axis + 1, place + i * stride, looked);
}

static int
looked_at(const Array *at, Looked *looked)
{
    *looked = (Looked){0, 0};
    if (!is_on_host(at) || at->code != OF_FLOAT || (at->bits != 32 && at->bits != 64))
        return 0;
    if (is_by_rows(at))
        look_at_row(at, 0, elements_in(at), 1, looked);
    else
        look_along(at, 0, 0, looked);
    return 1;
}

/* The largest magnitude of elements on the host; NaN of others. */
double
largest_of(const Array *at)
{
    Looked looked;
    return looked_at(at, &looked) && looked.total == 0 ? looked.most : NAN;
}

int
is_finite(const Array *at)
{
    Looked looked;
    return looked_at(at, &looked) && looked.total == 0;
}
