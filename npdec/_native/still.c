/* Where marked numbers do not move: of these the slope is the derivative, which Python finds of all of them at once. What is
 * between close numbers otherwise is left to npdec/_law/secant_at_once.py. */
#include "slopes.h"
#include "tensors.h"
#include <math.h>

/* What a walk over marked places does with what does not move there: the numbers are taken, or put. */
#define STILL(number, bits)                                                                                            \
    static Py_ssize_t take_still_##bits(const number *x, const number *r, Py_ssize_t row, const number *to,           \
                                        Py_ssize_t size, number *points, Py_ssize_t room)                              \
    {                                                                                                                  \
        Py_ssize_t some = 0;                                                                                           \
        for (Py_ssize_t i = 0; i < size; i += row)                                                                     \
            for (Py_ssize_t j = 0; j < row; j++)                                                                       \
                if (to[i + j] != to[i + j] && x[i + j] == r[j]) {                                                      \
                    if (some == room)                                                                                  \
                        return 0;                                                                                      \
                    points[some++] = x[i + j];                                                                         \
                }                                                                                                      \
        return some;                                                                                                   \
    }                                                                                                                  \
    static void put_still_##bits(const number *x, const number *r, Py_ssize_t row, number *to, Py_ssize_t size,       \
                                 const number *made)                                                                   \
    {                                                                                                                  \
        for (Py_ssize_t i = 0; i < size; i += row)                                                                     \
            for (Py_ssize_t j = 0; j < row; j++)                                                                       \
                if (to[i + j] != to[i + j] && x[i + j] == r[j])                                                        \
                    to[i + j] = *made++;                                                                               \
    }
STILL(float, 32)
STILL(double, 64)

/* Numbers that lie one after the other, and the row of those they come from; 0 of others. */
static int
are_rows(PyObject *x, PyObject *r, PyObject *to, Array *at)
{
    for (int i = 0; i < 3; i++)
        if (!plain_array(i == 0 ? x : i == 1 ? r : to, &at[i]) || at[i].bits != at[0].bits)
            return 0;
    Py_ssize_t size = size_of(&at[0]), row = period_of(&at[1]);
    return size > 0 && period_of(&at[0]) == size && size_of(&at[2]) == size && period_of(&at[2]) == size && row > 0
        && size % row == 0;
}

Py_ssize_t
still_points(PyObject *x, PyObject *r, PyObject *to, PyObject *points, Py_ssize_t room)
{
    Array at[3], made;
    if (!are_rows(x, r, to, at) || !plain_array(points, &made) || made.bits != at[0].bits || size_of(&made) != room
        || period_of(&made) != room)
        return left_to_python(), 0;
    Py_ssize_t size = size_of(&at[0]), row = period_of(&at[1]);
    return at[0].bits == 32 ? take_still_32(at[0].elements, at[1].elements, row, at[2].elements, size, made.elements, room)
                            : take_still_64(at[0].elements, at[1].elements, row, at[2].elements, size, made.elements, room);
}

int
put_where_still(PyObject *x, PyObject *r, PyObject *made, PyObject *to, Secants *found)
{
    Array at[3], its;
    double most = 0, least = INFINITY;
    if (!are_rows(x, r, to, at) || !plain_array(made, &its) || its.bits != at[0].bits || its.rank != 1
        || period_of(&its) != size_of(&its) || size_of(&its) > found->marked)
        return left_to_python(), 0;
    Py_ssize_t many = size_of(&its), size = size_of(&at[0]), row = period_of(&at[1]);
    for (Py_ssize_t i = 0; i < many; i++) {
        double length = fabs(its.bits == 32 ? ((float *)its.elements)[i] : ((double *)its.elements)[i]);
        if (!(length < INFINITY))
            return 0;
        most = length > most ? length : most;
        least = length < least && length > 0 ? length : least;
    }
    if (its.bits == 32)
        put_still_32(at[0].elements, at[1].elements, row, at[2].elements, size, its.elements);
    else
        put_still_64(at[0].elements, at[1].elements, row, at[2].elements, size, its.elements);
    found->marked -= many;
    found->most = most > found->most ? most : found->most;
    found->least = least < found->least ? least : found->least;
    return 1;
}
