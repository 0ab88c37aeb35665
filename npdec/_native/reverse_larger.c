/* The larger or the smaller of two tensors of one shape in reverse mode: each passes on the part of the path on which it
 * leads, as npdec/_law/reverse_elements.py says. */
#include "reverse.h"
#include "soft.h"
#include <math.h>

#define FEW (1 << 15) /* elements, of which products are sooner computed than a node made in Python */

/* The part of the path on which a leads, and what is left of it; 0 where it is no number. */
#define SHARES(number, bits)                                                                                           \
    BY_ANY_PROCESSOR static number some_##bits(const number *restrict a, const number *restrict b,                     \
                                               const number *restrict r, const number *restrict s, Py_ssize_t size,    \
                                               number sign, number *restrict share, number *restrict rest)             \
    {                                                                                                                  \
        number nothing = 0;                                                                                            \
        for (Py_ssize_t j = 0; j < size; j++) {                                                                        \
            number last = sign * (a[j] - b[j]), first = sign * (r[j] - s[j]);                                          \
            number above = (last > 0 ? last : 0) + (first > 0 ? first : 0);                                            \
            number below = (last < 0 ? last : 0) + (first < 0 ? first : 0), path = above - below;                      \
            number part = above / path;                                                                                \
            nothing = (last - last) + (first - first) + (path - path) == 0 ? nothing : 1;                              \
            part = path == 0 ? (number)0.5 : part;                                                                     \
            share[j] = part;                                                                                           \
            rest[j] = 1 - part;                                                                                        \
        }                                                                                                              \
        return nothing;                                                                                                \
    }                                                                                                                  \
    static int shares_##bits(const number *a, const number *b, const number *r, Py_ssize_t of_r, const number *s,      \
                             Py_ssize_t of_s, Py_ssize_t size, int sign, number *share, number *rest)                  \
    {                                                                                                                  \
        Py_ssize_t block = of_r < of_s ? of_r : of_s; /* one of which is a multiple of the other */                    \
        number nothing = 0;                                                                                            \
        for (Py_ssize_t i = 0; i < size; i += block)                                                                   \
            nothing += some_##bits(a + i, b + i, r + i % of_r, s + i % of_s, block, (number)sign, share + i, rest + i); \
        return nothing == 0;                                                                                           \
    }
SHARES(float, 32)
SHARES(double, 64)

static int
shares_of_two(const Side *a, const Side *b, int sign, PyObject *share, PyObject *rest)
{
    Array at, its;
    if (!look_at_any(share, &at) || !look_at_any(rest, &its) || !is_by_rows(&at) || !is_by_rows(&its))
        return 0;
    Py_ssize_t size = elements_in(&a->at);
    return at.bits == 32 ? shares_32(a->at.elements, b->at.elements, a->low.elements, a->period, b->low.elements,
                                     b->period, size, sign, at.elements, its.elements)
                         : shares_64(a->at.elements, b->at.elements, a->low.elements, a->period, b->low.elements,
                                     b->period, size, sign, at.elements, its.elements);
}

static PyObject *
led_by_shares(PyObject *func, const Side *a, const Side *b, int sign)
{
    Array at;
    PyObject *share = PyObject_CallOneArg(given.empty_like, value_of(a)), *first = NULL, *second = NULL, *carrier = NULL;
    PyObject *rest = share == NULL ? NULL : PyObject_CallOneArg(given.empty_like, value_of(a)), *value = NULL, *low = NULL;
    int is_done = rest != NULL && shares_of_two(a, b, sign, share, rest);
    if (is_done && a->is_reversed)
        first = PyNumber_Multiply(a->x.on_graph, share);
    if (is_done && b->is_reversed && !PyErr_Occurred())
        second = PyNumber_Multiply(b->x.on_graph, rest);
    Py_XDECREF(share);
    Py_XDECREF(rest);
    if (first != NULL && second != NULL)
        carrier = PyNumber_Add(first, second);
    else if (!PyErr_Occurred())
        carrier = Py_XNewRef(first == NULL ? second : first);
    Py_XDECREF(first);
    Py_XDECREF(second);
    if (carrier != NULL && (value = of_two(func, value_of(a), value_of(b))) != NULL
        && (low = of_two(func, a->row, b->row)) != NULL && (!look_at_any(value, &at) || put_data(carrier, value) < 0))
        Py_CLEAR(low);
    Py_XDECREF(value);
    return made_of_rows(carrier, low, a->is_reversed ? &a->x : &b->x);
}

PyObject *
larger(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Side a = {0}, b = {0};
    PyObject *made = NULL;
    if (count != 2 || !(is_in_reverse(args[0]) || is_in_reverse(args[1])) || !are_settings_usual())
        return NULL;
    if (side_with_rows(args[0], &a) && side_with_rows(args[1], &b) && are_alike(&a.at, &b.at) && a.at.bits == b.at.bits
        && elements_in(&a.at) <= FEW && (!(a.is_reversed && b.is_reversed) || a.x.labels == b.x.labels))
        made = led_by_shares(func, &a, &b, (int)PyLong_AsLong(PyTuple_GET_ITEM(form->rest, 0)));
    let_side_go(&a);
    let_side_go(&b);
    return made == NULL ? left_to_python() : made;
}
