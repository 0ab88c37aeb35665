/* Where numbers belong among few that are sorted. */
#include "few.h"

#define MOST_SEARCHED ((Py_ssize_t)1 << 16)

/* Whether numbers are in order; NaN is in none. */
#define SEARCH(type) \
    static int is_sorted_##type(const char *at, Py_ssize_t by, Py_ssize_t count) \
    { \
        int found = count == 0 || *(const type *)at == *(const type *)at; \
        for (Py_ssize_t i = 1; i < count; i++, at += by) \
            found &= *(const type *)at <= *(const type *)(at + by); \
        return found; \
    } \
    /* The place of each number among sorted ones. Those that are in order too are looked for near the one before. */ \
    static int places_of_##type(const char *at, Py_ssize_t by, Py_ssize_t count, int is_right, const char *wanted, \
                                Py_ssize_t next, Py_ssize_t number, int64 *to) \
    { \
        Py_ssize_t place = 0; \
        type before = 0; \
        for (Py_ssize_t i = 0; i < number; i++, wanted += next) { \
            const type x = *(const type *)wanted; \
            Py_ssize_t low = 0, high = count; \
            if (x != x) \
                return 0; \
            if (i > 0 && x >= before) { \
                Py_ssize_t step = 1; \
                for (low = place; low + step <= count; low += step, step *= 2) { \
                    const type y = *(const type *)(at + (low + step - 1) * by); \
                    if (is_right ? x < y : x <= y) { \
                        high = low + step - 1; \
                        break; \
                    } \
                } \
            } \
            else if (i > 0) \
                high = place; \
            while (low < high) { \
                const Py_ssize_t middle = low + (high - low) / 2; \
                const type y = *(const type *)(at + middle * by); \
                if (is_right ? y <= x : y < x) \
                    low = middle + 1; \
                else \
                    high = middle; \
            } \
            *to++ = place = low; \
            before = x; \
        } \
        return 1; \
    }
SEARCH(double)
SEARCH(int64)

/* `np.searchsorted(a, v, side)` of a vector and numbers of its dtype, or None. */
PyObject *
few_searchsorted(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Operand a, v;
    Elements made;
    int64 place;
    a.copy = v.copy = NULL;
    const char *side = count == 3 && PyUnicode_CheckExact(args[2]) ? PyUnicode_AsUTF8(args[2]) : NULL;
    int is_right = side != NULL && strcmp(side, "right") == 0;
    if (side == NULL || (!is_right && strcmp(side, "left") != 0) || is_traced() || is_watching()
        || !Py_IS_TYPE(args[0], arrays.type) || !taken(args[0], &a) || (a.kind != FLOAT64 && a.kind != INT64)
        || a.at->rank != 1 || a.at->shape[0] == 0 || !taken(args[1], &v) || is_seen_by_torch())
        return or_none(left_to_python());
    int is_number = v.given != NULL;
    if (is_number ? (v.kind != a.kind && v.kind != (a.kind == FLOAT64 ? FLOAT : INTEGER)) || !in_kind(&v, a.kind)
                  : v.kind != a.kind)
        return or_none(left_to_python());
    Py_ssize_t length = a.at->shape[0], by = a.at->strides[0], number = size_of(v.at);
    if (number == 0 || length > MOST_SEARCHED || number > MOST_SEARCHED || !are_few(length) || !are_few(number)
        || !(a.kind == FLOAT64 ? is_sorted_double : is_sorted_int64)(a.at->memory, by, length))
        return or_none(left_to_python());
    int (*const places)(const char *, Py_ssize_t, Py_ssize_t, int, const char *, Py_ssize_t, Py_ssize_t, int64 *) =
        a.kind == FLOAT64 ? places_of_double : places_of_int64;
    if (is_number)
        return places(a.at->memory, by, length, is_right, v.at->memory, 0, 1, &place)
                 ? scalar_of(INT64, PyLong_FromLongLong(place)) : Py_NewRef(Py_None);
    Py_ssize_t row = v.at->itemsize;
    for (int axis = v.at->rank; axis-- > 0; row *= v.at->shape[axis])
        if (v.at->rank > 1 && v.at->strides[axis] != row)
            return Py_NewRef(Py_None);
    if (v.at->rank == 0)
        return Py_NewRef(Py_None);
    made.kind = INT64;
    made.itemsize = SIZES[INT64];
    made.rank = v.at->rank;
    memcpy(made.shape, v.at->shape, sizeof(made.shape));
    PyObject *found = new_lazy(&made);
    if (found == NULL || places(a.at->memory, by, length, is_right, v.at->memory,
                                v.at->rank == 1 ? v.at->strides[0] : v.at->itemsize, number, (int64 *)made.memory))
        return found;
    Py_DECREF(found);
    Py_RETURN_NONE;
}
