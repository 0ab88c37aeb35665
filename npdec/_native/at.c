/* Ufuncs at indices, one after the other, and of slices of a vector. */
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
    const Loops *loops = name == NULL || is_traced() ? NULL : loops_of(name);
    Operand given;
    given.copy = NULL;
    int done = loops == NULL ? 0 : applied_at(loops, args[1], args[2], args[3], &given);
    forget(&given, 1);
    if (!done && !PyErr_Occurred() && loops != NULL && loops->result == SAME && !loops->is_product
        && Py_IS_TYPE(args[1], arrays.type)) {
        PyObject *key = ready_key(args[1], args[2]);
        done = few_at_picked(loops, args[1], key == NULL ? args[2] : key, args[3]);
        Py_XDECREF(key);
    }
    left_to_python();
    return PyErr_Occurred() ? NULL : PyBool_FromLong(done);
}

/* --- slices ------------------------------------------------------------------------------------------------------- */

/* Numbers folded by halves, as `npdec._normalizer.folding` does it; where they lie they are written over. */
static void
fold_by_halves(Inner *function, char *numbers, Py_ssize_t count, Py_ssize_t itemsize)
{
    const Py_ssize_t by[3] = {itemsize, itemsize, itemsize};
    while (count > 1) {
        Py_ssize_t half = count / 2;
        function(numbers, numbers, numbers + half * itemsize, half, by);
        if (count % 2)
            memcpy(numbers + half * itemsize, numbers + 2 * half * itemsize, (size_t)itemsize);
        count = half + count % 2;
    }
}

/* The slices of a vector that begin at each of the starts, folded; NULL where that is Python's. */
static PyObject *
folded_slices(const Loops *loops, const Elements *of, const Elements *starts, int kind)
{
    Elements made = {.kind = kind, .itemsize = SIZES[kind], .rank = 1, .shape = {starts->shape[0]}};
    Inner *cast = cast_of(of->kind, kind);
    Py_ssize_t length = of->shape[0], count = starts->shape[0], size = made.itemsize;
    const Py_ssize_t by[3] = {size, of->strides[0], of->strides[0]};
    char *room = cast == NULL ? NULL : PyMem_Malloc((size_t)(length * size));
    PyObject *result = room == NULL ? NULL : new_lazy(&made);
    for (Py_ssize_t i = 0; result != NULL && i < count; i++) {
        int64 first = *(const int64 *)(starts->memory + i * starts->strides[0]), next = length;
        if (i + 1 < count)
            next = *(const int64 *)(starts->memory + (i + 1) * starts->strides[0]);
        Py_ssize_t number = next > first ? (Py_ssize_t)(next - first) : 1;
        cast(room, of->memory + first * of->strides[0], of->memory, number, by);
        fold_by_halves(loops->of[kind], room, number, size);
        memcpy(made.memory + i * size, room, (size_t)size);
    }
    PyMem_Free(room);
    return result;
}

static int
folds_by_halves(const char *name)
{
    static const char *const names[] = {"add", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or",
                                        "bitwise_xor"};
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
        if (strcmp(names[i], name) == 0)
            return 1;
    return 0;
}

/* `ufunc.reduceat(array, indices)` of a vector, by name; or None. */
PyObject *
few_reduceat(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    const char *name = count == 3 ? PyUnicode_AsUTF8(args[0]) : NULL;
    const Loops *loops = name == NULL || is_traced() || is_watching() ? NULL : loops_of(name);
    PyObject *indices = loops == NULL ? NULL : Py_NewRef(args[2]), *found = NULL;
    Elements here, keys;
    const Elements *of, *starts;
    if (indices != NULL && (PyList_CheckExact(indices) || PyTuple_CheckExact(indices))) {
        PyObject *as_array[2] = {indices, Py_None}, *made = few_array(NULL, as_array, 2);
        Py_SETREF(indices, made);
    }
    if (indices != NULL && folds_by_halves(name) && Py_IS_TYPE(args[1], arrays.type) && elements_of(args[1], &here, &of)
        && of->rank == 1 && are_few(of->shape[0])) {
        int sums = strcmp(name, "add") == 0 || strcmp(name, "multiply") == 0, kind = of->kind;
        if (sums && (kind == BOOL || IS_WHOLE(kind)))
            kind = kind >= UINT8 && kind <= UINT64 ? UINT64 : INT64;
        int is_open = loops->of[kind] != NULL && !IS_COMPLEX(kind) && kind != FLOAT16
                   && (loops->unless[0] == NULL || !IS_REAL(kind) || !has_negative_zero(of));
        Py_ssize_t number = is_open ? indices_of(indices, of->shape[0], &keys, &starts) : -1;
        for (Py_ssize_t i = 0; i < number && starts->rank == 1; i++)
            is_open &= *(const int64 *)(starts->memory + i * starts->strides[0]) >= 0;
        if (number > 0 && is_open && starts->rank == 1 && !is_seen_by_torch())
            found = folded_slices(loops, of, starts, kind);
    }
    Py_XDECREF(indices);
    return or_none(found == NULL ? left_to_python() : found);
}
