/* Where marked numbers do not move: of these the slope is the derivative, which Python finds of all of them at once. What is
 * between close numbers otherwise is left to npdec/_law/secant_at_once.py. */
#include "slopes.h"
#include "tensors.h"
#include <math.h>

/* The marked places where numbers do not move, of which there may be so many; how many there are, or 0. */
#define STILL(number, bits)                                                                                            \
    static Py_ssize_t still_##bits(const Array *x, const Array *r, Py_ssize_t row, const Array *to, Py_ssize_t size,   \
                                   int64_t *places, Py_ssize_t room)                                                   \
    {                                                                                                                  \
        const number *high = x->elements, *low = r->elements, *made = to->elements;                                    \
        Py_ssize_t some = 0, at = 0;                                                                                   \
        while ((at = without_marks(to, at, size)) < size)                                                              \
            for (Py_ssize_t end = size - at < TOGETHER ? size : at + TOGETHER; at < end; at++)                         \
                if (made[at] != made[at] && high[at] == low[at % row]) {                                               \
                    if (some == room)                                                                                  \
                        return 0;                                                                                      \
                    places[some++] = at;                                                                               \
                }                                                                                                      \
        return some;                                                                                                   \
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

PyObject *
still_points(PyObject *x, PyObject *r, PyObject *to, PyObject *empty, Py_ssize_t room, int64_t *places)
{
    Array at[3], made;
    if (!are_rows(x, r, to, at))
        return left_to_python();
    Py_ssize_t size = size_of(&at[0]), row = period_of(&at[1]);
    Py_ssize_t many = at[0].bits == 32 ? still_32(&at[0], &at[1], row, &at[2], size, places, room)
                                       : still_64(&at[0], &at[1], row, &at[2], size, places, room);
    PyObject *count = many == 0 ? NULL : PyLong_FromSsize_t(many);
    PyObject *points = count == NULL ? NULL : PyObject_CallMethodOneArg(x, empty, count);
    Py_XDECREF(count);
    if (points != NULL && (!plain_array(points, &made) || made.bits != at[0].bits || size_of(&made) != many))
        Py_CLEAR(points);
    for (Py_ssize_t i = 0; points != NULL && i < many; i++)
        if (made.bits == 32)
            ((float *)made.elements)[i] = ((float *)at[0].elements)[places[i]];
        else
            ((double *)made.elements)[i] = ((double *)at[0].elements)[places[i]];
    return points == NULL ? left_to_python() : points;
}

int
put_where_still(PyObject *made, PyObject *to, const int64_t *places, Secants *found)
{
    Array at, its;
    double most = 0, least = INFINITY;
    if (!plain_array(to, &at) || !plain_array(made, &its) || its.bits != at.bits || its.rank != 1
        || period_of(&its) != size_of(&its) || size_of(&its) > found->marked)
        return left_to_python(), 0;
    Py_ssize_t many = size_of(&its);
    for (Py_ssize_t i = 0; i < many; i++) {
        double length = fabs(its.bits == 32 ? ((float *)its.elements)[i] : ((double *)its.elements)[i]);
        if (!(length < INFINITY))
            return 0;
        most = length > most ? length : most;
        least = length < least && length > 0 ? length : least;
    }
    for (Py_ssize_t i = 0; i < many; i++)
        if (its.bits == 32)
            ((float *)at.elements)[places[i]] = ((float *)its.elements)[i];
        else
            ((double *)at.elements)[places[i]] = ((double *)its.elements)[i];
    found->marked -= many;
    found->most = most > found->most ? most : found->most;
    found->least = least < found->least ? least : found->least;
    return 1;
}
