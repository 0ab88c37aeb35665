/* Few elements along an axis, or all of them: sums and products of integers, tests, counts, places of extremes, and
 * what runs along vectors. All of it is the same in whatever order processors take it. */
#include "few.h"

#include <math.h>

typedef uint8 bool_;

/* --- what becomes of numbers in a row ----------------------------------------------------------------------------- */

/* 0 where torch says what is found. */
typedef int Fold(char *to, const char *from, Py_ssize_t count, Py_ssize_t by);

#define EACH_ONE(type, start, step) \
    start; \
    if (by == sizeof(type)) \
        for (Py_ssize_t i = 0; i < count; i++) { \
            const type x = ((const type *)from)[i]; \
            step; \
        } \
    else \
        for (Py_ssize_t i = 0; i < count; i++, from += by) { \
            const type x = *(const type *)from; \
            step; \
        }
#define FOLD(name, type, out, start, step, found) \
    static int name##_##type(char *to, const char *from, Py_ssize_t count, Py_ssize_t by) \
    { \
        EACH_ONE(type, start, step) \
        *(out *)to = found; \
        return 1; \
    }
#define FIRST(name, type, sign) \
    static int name##_##type(char *to, const char *from, Py_ssize_t count, Py_ssize_t by) \
    { \
        type best = *(const type *)from; \
        int64 place = 0; \
        int is_number = 1; \
        EACH_ONE(type, (void)0, is_number &= x == x; if (x sign best) { best = x; place = i; }) \
        *(int64 *)to = place; \
        return is_number; \
    }
#define TESTS(type) \
    FOLD(any, type, char, char found = 0, found |= x != 0, found) \
    FOLD(all, type, char, char found = 1, found &= x != 0, found) \
    FOLD(count_nonzero, type, int64, int64 found = 0, found += x != 0, found) \
    FIRST(argmax, type, >) FIRST(argmin, type, <)
#define SUMS(type) \
    FOLD(sum, type, uint64, uint64 found = 0, found += (uint64)x, found) \
    FOLD(prod, type, uint64, uint64 found = 1, found *= (uint64)x, found)
#define WHOLE(type) TESTS(type) SUMS(type)
WHOLE(int8) WHOLE(int16) WHOLE(int32) WHOLE(int64) WHOLE(uint8) WHOLE(uint16) WHOLE(uint32) WHOLE(uint64)
TESTS(float)
TESTS(double)
FOLD(sum, bool_, uint64, uint64 found = 0, found += x != 0, found)
FOLD(argmax, bool_, int64, int64 found = -1, if (x && found < 0) found = i, found < 0 ? 0 : found)
FOLD(argmin, bool_, int64, int64 found = -1, if (!x && found < 0) found = i, found < 0 ? 0 : found)

#define INTEGERS(name) \
    [INT8] = name##_int8, [INT16] = name##_int16, [INT32] = name##_int32, [INT64] = name##_int64, \
    [UINT8] = name##_uint8, [UINT16] = name##_uint16, [UINT32] = name##_uint32, [UINT64] = name##_uint64
#define NUMBERS(name) INTEGERS(name), [FLOAT32] = name##_float, [FLOAT64] = name##_double
enum { WIDE = -1 }; /* 64 bits, with a sign or without */
static const struct {
    const char *name;
    int result;
    Fold *of[KINDS];
    Py_ssize_t most; /* of more elements torch is sooner */
} FOLDS[] = {
    {"any", BOOL, {[BOOL] = any_uint8, NUMBERS(any)}, 1 << 20},
    {"all", BOOL, {[BOOL] = all_uint8, NUMBERS(all)}, 1 << 20},
    {"count_nonzero", INT64, {[BOOL] = count_nonzero_uint8, NUMBERS(count_nonzero)}, 1 << 16},
    {"argmax", INT64, {[BOOL] = argmax_bool_, NUMBERS(argmax)}, 1 << 13},
    {"argmin", INT64, {[BOOL] = argmin_bool_, NUMBERS(argmin)}, 1 << 13},
    {"sum", WIDE, {[BOOL] = sum_bool_, INTEGERS(sum)}, 1 << 16},
    {"prod", WIDE, {INTEGERS(prod)}, 1 << 16},
};

/* --- along an axis ------------------------------------------------------------------------------------------------ */

/* An axis, which is None or an int; 0 where it is neither, or none of the array's. -1 stands for all. */
static int
axis_of(PyObject *given, const Elements *of, int *axis)
{
    *axis = -1;
    if (given == Py_None)
        return 1;
    long found = PyLong_CheckExact(given) ? PyLong_AsLong(given) : MOST_AXES;
    found += found < 0 ? of->rank : 0;
    *axis = (int)found;
    return !PyErr_Occurred() && found >= 0 && found < of->rank;
}

/* The kind of an array, -1 of anything else. */
static int
kind_in(PyObject *array)
{
    return Py_IS_TYPE(array, arrays.type) ? kind_of_dtype(SLOT(array, arrays.of_dtype)) : -1;
}

/* The operand, if it is one for these functions. */
static int
operand(PyObject *array, PyObject *given, Elements *here, const Elements **of, int *axis)
{
    if (is_traced() || is_watching() || !elements_of(array, here, of)
        || (*of)->rank == 0 || !axis_of(given, *of, axis) || is_seen_by_torch() || !is_in_order(*of))
        return 0;
    Py_ssize_t size = size_of(*of), row = 1;
    if (size == 0 || !are_few(size))
        return 0;
    for (int i = (*of)->rank; i-- > 0; row *= (*of)->shape[i])
        if ((*of)->shape[i] > 1 && ((*of)->strides[i] == 0 || (*axis < 0 && (*of)->rank > 1
                                                                && (*of)->strides[i] != row * (*of)->itemsize)))
            return 0; /* an axis of equal rows, or all of elements that do not lie in a row */
    return 1;
}

#define MOST_ACROSS 1024 /* of more elements torch goes through the rows */

/* The outer and the inner elements beside an axis, and where the next ones lie. */
typedef struct {
    Py_ssize_t shape[MOST_AXES], strides[MOST_AXES], at[MOST_AXES];
    int rank;
} Others;

static const char *
next_of(Others *others, const char *from)
{
    for (int axis = others->rank; axis-- > 0;) {
        from += others->strides[axis];
        if (++others->at[axis] < others->shape[axis])
            return from;
        from -= others->shape[axis] * others->strides[axis];
        others->at[axis] = 0;
    }
    return NULL;
}

static Others
others_of(const Elements *of, int axis)
{
    Others others = {.rank = 0};
    for (int i = 0; i < of->rank; i++)
        if (i != axis) {
            others.shape[others.rank] = of->shape[i];
            others.strides[others.rank] = of->strides[i];
            others.rank++;
        }
    return others;
}

/* A function, by name, of an array along an axis, or None for all of it. */
PyObject *
few_reduced(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    const char *name = count == 3 ? PyUnicode_AsUTF8(args[0]) : NULL;
    Elements here, made;
    Element found;
    const Elements *of;
    int axis;
    size_t which = 0, all = sizeof(FOLDS) / sizeof(*FOLDS);
    while (name != NULL && which < all && strcmp(FOLDS[which].name, name) != 0)
        which++;
    int kind = name == NULL || which == all ? -1 : kind_in(args[1]);
    if (kind < 0 || FOLDS[which].of[kind] == NULL || !operand(args[1], args[2], &here, &of, &axis))
        return or_none(left_to_python());
    if (size_of(of) > FOLDS[which].most)
        Py_RETURN_NONE;
    Fold *fold = FOLDS[which].of[of->kind];
    made.kind = FOLDS[which].result != WIDE ? FOLDS[which].result
              : of->kind >= UINT8 && of->kind <= UINT64 ? UINT64 : INT64;
    made.itemsize = SIZES[made.kind];
    if (axis < 0 || of->rank == 1) {
        Py_ssize_t by = of->rank == 1 ? of->strides[0] : of->itemsize;
        if (!fold((char *)&found, of->memory, size_of(of), by))
            Py_RETURN_NONE;
        return scalar_at(&made, (char *)&found);
    }
    if (of->strides[axis] != of->itemsize && size_of(of) > MOST_ACROSS)
        Py_RETURN_NONE;
    Others others = others_of(of, axis);
    made.rank = others.rank;
    memcpy(made.shape, others.shape, sizeof(made.shape));
    PyObject *result = new_lazy(&made);
    if (result == NULL)
        return NULL;
    char *to = made.memory;
    for (const char *from = of->memory; from != NULL; from = next_of(&others, from), to += made.itemsize)
        if (!fold(to, from, of->shape[axis], of->strides[axis])) {
            Py_DECREF(result);
            Py_RETURN_NONE;
        }
    return result;
}

/* --- what runs ---------------------------------------------------------------------------------------------------- */

typedef int Run(char *to, Py_ssize_t to_by, const char *from, Py_ssize_t count, Py_ssize_t by);

/* 0 where torch says what a zero, or a NaN, makes. */
#define RUN(name, type, out, is_open, step) \
    static int run_##name##_##type(char *to, Py_ssize_t to_by, const char *from, Py_ssize_t count, Py_ssize_t by) \
    { \
        out found = (out)*(const type *)from; \
        for (Py_ssize_t i = 0; i < count; i++, to += to_by, from += by) { \
            const out x = (out)*(const type *)from; \
            if (is_open) \
                return 0; \
            if (i > 0) \
                found = step; \
            *(out *)to = found; \
        } \
        return 1; \
    }
RUN(sum, double, double, i == 0 && x == 0 && signbit(x), found + x)
RUN(prod, double, double, 0, found *x)
RUN(maximum, double, double, x != x || (x == 0 && signbit(x)), x > found ? x : found)
RUN(minimum, double, double, x != x || (x == 0 && signbit(x)), x < found ? x : found)
RUN(sum, int64, uint64, 0, found + x)
RUN(prod, int64, uint64, 0, found *x)
RUN(maximum, int64, int64, 0, x > found ? x : found)
RUN(minimum, int64, int64, 0, x < found ? x : found)
RUN(sum, int32, uint64, 0, found + x)

static Run *
run_of(const char *name, int kind, int *result)
{
    static const struct {
        const char *name;
        int kind, result;
        Run *run;
    } RUNS[] = {
        {"sum", FLOAT64, FLOAT64, run_sum_double}, {"prod", FLOAT64, FLOAT64, run_prod_double},
        {"maximum", FLOAT64, FLOAT64, run_maximum_double}, {"minimum", FLOAT64, FLOAT64, run_minimum_double},
        {"sum", INT64, INT64, run_sum_int64}, {"prod", INT64, INT64, run_prod_int64},
        {"maximum", INT64, INT64, run_maximum_int64}, {"minimum", INT64, INT64, run_minimum_int64},
        {"sum", INT32, INT64, run_sum_int32}};
    for (size_t i = 0; i < sizeof(RUNS) / sizeof(*RUNS); i++)
        if (RUNS[i].kind == kind && strcmp(RUNS[i].name, name) == 0) {
            *result = RUNS[i].result;
            return RUNS[i].run;
        }
    return NULL;
}

/* Running sums and so on, by name, of an array along an axis; None goes along all of it. */
PyObject *
few_running(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    const char *name = count == 3 ? PyUnicode_AsUTF8(args[0]) : NULL;
    Elements here, made;
    const Elements *of;
    int axis;
    int kind = name == NULL ? -1 : kind_in(args[1]);
    Run *run = kind < 0 ? NULL : run_of(name, kind, &made.kind);
    if (run == NULL || !operand(args[1], args[2], &here, &of, &axis))
        return or_none(left_to_python());
    made.itemsize = SIZES[made.kind];
    made.rank = axis < 0 ? 1 : of->rank;
    memcpy(made.shape, of->shape, sizeof(made.shape));
    if (axis < 0)
        made.shape[0] = size_of(of);
    PyObject *result = new_lazy(&made);
    if (result == NULL)
        return NULL;
    int is_done = 1;
    if (axis < 0 || of->rank == 1)
        is_done = run(made.memory, made.itemsize, of->memory, made.shape[0],
                      of->rank == 1 ? of->strides[0] : of->itemsize);
    else {
        Others from = others_of(of, axis), to = others_of(&made, axis);
        const char *put = made.memory;
        for (const char *at = of->memory; is_done && at != NULL; at = next_of(&from, at), put = next_of(&to, put))
            is_done = run((char *)put, made.strides[axis], at, of->shape[axis], of->strides[axis]);
    }
    if (is_done)
        return result;
    Py_DECREF(result);
    Py_RETURN_NONE;
}

/* --- others ------------------------------------------------------------------------------------------------------- */

static int
is_nonzero(const char *at, int kind, Py_ssize_t size)
{
    switch (kind) {
    case FLOAT32: return *(const float *)at != 0;
    case FLOAT64: return *(const double *)at != 0;
    default: return size == 1 ? *at != 0 : size == 2 ? *(const uint16 *)at != 0 : size == 4 ? *(const uint32 *)at != 0
                  : *(const uint64 *)at != 0;
    }
}

/* The places of what is not zero in a table, a vector for each axis. */
static PyObject *
places_in_table(const Elements *of)
{
    Elements made = {.kind = INT64, .itemsize = SIZES[INT64], .rank = 1};
    Py_ssize_t count = 0;
    PyObject *axes[2] = {NULL, NULL};
    int64 *to[2];
    for (int round = 0; round < 2; round++) {
        for (Py_ssize_t i = 0; i < of->shape[0]; i++)
            for (Py_ssize_t j = 0; j < of->shape[1]; j++)
                if (is_nonzero(of->memory + i * of->strides[0] + j * of->strides[1], of->kind, of->itemsize)) {
                    count++;
                    if (round) {
                        *to[0]++ = i;
                        *to[1]++ = j;
                    }
                }
        for (int axis = 0; !round && count > 0 && axis < 2; axis++) {
            made.shape[0] = count;
            if ((axes[axis] = new_lazy(&made)) == NULL)
                break;
            to[axis] = (int64 *)made.memory;
        }
        if (axes[0] == NULL || axes[1] == NULL)
            break;
    }
    PyObject *found = axes[1] == NULL ? NULL : PyTuple_Pack(2, axes[0], axes[1]);
    Py_XDECREF(axes[0]);
    Py_XDECREF(axes[1]);
    return found;
}

/* `np.nonzero(a)` of a vector or a table: a tuple of one array or two. */
PyObject *
few_nonzero(PyObject *module, PyObject *array)
{
    Elements here, made;
    const Elements *of;
    int axis;
    if (kind_in(array) < 0 || !operand(array, Py_None, &here, &of, &axis) || of->rank > 2
        || of->kind == FLOAT16 || IS_COMPLEX(of->kind))
        return or_none(left_to_python());
    if (of->rank == 2)
        return or_none(size_of(of) > 1 << 13 ? NULL : places_in_table(of));
    Py_ssize_t count = 0, by = of->strides[0];
    int is_bytes = of->kind == BOOL && by == 1;
    if (!is_bytes && of->shape[0] > 1 << 13)
        Py_RETURN_NONE;
    if (is_bytes) {
        int64 found = 0;
        count_nonzero_uint8((char *)&found, of->memory, of->shape[0], 1);
        count = (Py_ssize_t)found;
    }
    else
        for (Py_ssize_t i = 0; i < of->shape[0]; i++)
            count += is_nonzero(of->memory + i * by, of->kind, of->itemsize);
    if (count == 0)
        Py_RETURN_NONE;
    made.kind = INT64;
    made.itemsize = SIZES[INT64];
    made.rank = 1;
    made.shape[0] = count;
    PyObject *places = new_lazy(&made);
    if (places == NULL)
        return NULL;
    int64 *to = (int64 *)made.memory, *const end = to + count;
    for (Py_ssize_t i = 0; is_bytes && to < end; i++) {
        *to = i;
        to += of->memory[i] != 0;
    }
    for (Py_ssize_t i = 0; i < of->shape[0] && to < end; i++)
        if (is_nonzero(of->memory + i * by, of->kind, of->itemsize))
            *to++ = i;
    PyObject *found = PyTuple_Pack(1, places);
    Py_DECREF(places);
    return found;
}

/* `np.trace(a)` of so few rows of doubles that they are added one after the other. */
PyObject *
few_trace(PyObject *module, PyObject *array)
{
    Elements here;
    const Elements *of;
    int axis;
    if (kind_in(array) != FLOAT64 || !operand(array, Py_None, &here, &of, &axis) || of->rank != 2 || of->kind != FLOAT64
        || size_of(of) > 32)
        return or_none(left_to_python());
    Py_ssize_t rows = of->shape[0] < of->shape[1] ? of->shape[0] : of->shape[1];
    double total = 0;
    for (Py_ssize_t i = 0; i < rows; i++)
        total += *(const double *)(of->memory + i * (of->strides[0] + of->strides[1]));
    return float64_of(total);
}
