/* Ufuncs at indices of a vector, one after the other. */
#include "few.h"

/* Where elements lie that are written, the indices, and what is taken beside. */
typedef struct {
    char *to;
    const char *index, *from;
    Py_ssize_t length, to_by, index_by, from_by;
} Places;
typedef void At(const Places *at, Py_ssize_t count);

#define AT(name, type, expression) \
    static void name##_##type##_at(const Places *at, Py_ssize_t count) \
    { \
        const char *index = at->index, *from = at->from; \
        for (; count > 0; count--, index += at->index_by, from += at->from_by) { \
            const long long place = *(const long long *)index; \
            type *to = (type *)(at->to + (place < 0 ? place + at->length : place) * at->to_by); \
            const type x = *to, y = *(const type *)from; \
            *to = expression; \
        } \
    }
#define ALL_AT(type, sum, difference) \
    AT(add, type, sum) AT(subtract, type, difference) AT(maximum, type, (x != x) | (x > y) ? x : y) \
    AT(minimum, type, (x != x) | (x < y) ? x : y)
ALL_AT(double, x + y, x - y)
ALL_AT(float, x + y, x - y)
ALL_AT(int64, (int64)((uint64)x + (uint64)y), (int64)((uint64)x - (uint64)y))
#define QUICK(name) {#name, {[INT64] = name##_int64_at, [FLOAT32] = name##_float_at, [FLOAT64] = name##_double_at}}
static const struct {
    const char *name;
    At *of[KINDS];
} QUICKLY[] = {QUICK(add), QUICK(subtract), QUICK(maximum), QUICK(minimum)};

static void
one_by_one(const Loops *loops, int kind, const Places *at, Py_ssize_t count)
{
    for (size_t i = 0; i < sizeof(QUICKLY) / sizeof(*QUICKLY); i++)
        if (QUICKLY[i].of[kind] != NULL && strcmp(QUICKLY[i].name, loops->name) == 0) {
            QUICKLY[i].of[kind](at, count);
            return;
        }
    const Py_ssize_t by[3] = {0};
    for (Py_ssize_t i = 0; i < count; i++) {
        const long long index = *(const long long *)(at->index + i * at->index_by);
        char *place = at->to + (index < 0 ? index + at->length : index) * at->to_by;
        loops->of[kind](place, place, at->from + i * at->from_by, 1, by);
    }
}

#define NEGATIVE_ZERO(type, bits) \
    BY_PROCESSOR static int negative_zero_##type(const char *at, Py_ssize_t by, Py_ssize_t count) \
    { \
        const bits wanted = (bits)1 << (8 * sizeof(bits) - 1); \
        int found = 0; \
        if (by == sizeof(bits)) \
            for (Py_ssize_t i = 0; i < count; i++) \
                found |= ((const bits *)at)[i] == wanted; \
        else \
            for (; count > 0; count--, at += by) \
                found |= *(const bits *)at == wanted; \
        return found; \
    }
NEGATIVE_ZERO(float, uint32)
NEGATIVE_ZERO(double, uint64)

/* Whether there is a zero among floats that has a sign: which one is an extreme, torch says. */
static int
has_negative_zero(const Elements *of)
{
    Py_ssize_t count = of->rank ? of->shape[0] : 1, by = of->rank ? of->strides[0] : 0;
    return (of->kind == FLOAT64 ? negative_zero_double : negative_zero_float)(of->memory, by, count);
}

static int
applied_at(const Loops *loops, PyObject *array, PyObject *key, PyObject *value, Operand *given)
{
    Elements keys, here;
    const Elements *chosen, *to;
    if (loops == NULL || loops->result != SAME || loops->is_product || is_watching() || !can_write(array)
        || !Py_IS_TYPE(key, arrays.type) || !elements_of(array, &here, &to) || to->rank != 1
        || loops->of[to->kind] == NULL || !can_be_written(to) || is_seen_by_torch())
        return 0;
    Py_ssize_t number = indices_of(key, to->shape[0], &keys, &chosen);
    if (number < 0 || chosen->rank != 1 || overlap(chosen, to) != 0 || !taken(value, given)
        || kind_of_both(to->kind, given->kind) != to->kind || !is_for(given, to->kind, number, to)
        || (loops->unless[0] != NULL && IS_REAL(to->kind) && (has_negative_zero(to) || has_negative_zero(given->at)))
        || tell(array) < 0)
        return 0;
    const Places at = {to->memory, chosen->memory, given->at->memory, to->shape[0], to->strides[0], chosen->strides[0],
                       given->at->rank ? given->at->strides[0] : 0};
    one_by_one(loops, to->kind, &at, number);
    return 1;
}

/* `ufunc.at(array, indices, values)`, by name: True where it is done, False where that is left to Python. */
PyObject *
few_at(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    const char *name = count == 4 ? PyUnicode_AsUTF8(args[0]) : NULL;
    Operand given;
    given.copy = NULL;
    int done = name == NULL ? 0 : applied_at(loops_of(name), args[1], args[2], args[3], &given);
    forget(&given, 1);
    left_to_python();
    return PyErr_Occurred() ? NULL : PyBool_FromLong(done);
}
