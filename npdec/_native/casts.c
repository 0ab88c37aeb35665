/* Elements of a dtype, written as those of another. */
#include "few.h"

#define CAST_BY(from, to, expression) \
    static void from##_as_##to(char *put, const char *a, const char *b, Py_ssize_t count, const Py_ssize_t *by) \
    { \
        (void)b; \
        if (by[0] == sizeof(to) && by[1] == sizeof(from)) \
            for (; count > 0; count--, put += sizeof(to), a += sizeof(from)) \
                *(to *)put = expression; \
        else if (by[0] == sizeof(to) && by[1] == 0) { \
            const to one = expression; \
            for (; count > 0; count--, put += sizeof(to)) \
                *(to *)put = one; \
        } \
        else \
            for (; count > 0; count--, put += by[0], a += by[1]) \
                *(to *)put = expression; \
    }
#define CAST(from, to) CAST_BY(from, to, (to)*(const from *)a)
#define CAST_BOOL(from, to) CAST_BY(from, to, (to)(*a != 0)) /* any byte but 0 is true */
#define CASTS(from, CAST) \
    CAST(from, int8) CAST(from, int16) CAST(from, int32) CAST(from, int64) CAST(from, uint8) CAST(from, uint16) \
    CAST(from, uint32) CAST(from, uint64) CAST(from, float32) CAST(from, float64)
typedef float float32;
typedef double float64;
typedef uint8 bool_;
#define AS_COMPLEX(from, to, expression) \
    static void from##_as_##to(char *put, const char *a, const char *b, Py_ssize_t count, const Py_ssize_t *by) \
    { \
        (void)b; \
        for (; count > 0; count--, put += by[0], a += by[1]) \
            *(to *)put = (to){expression, 0}; \
    }
#define ALL_CASTS(from) \
    CASTS(from, CAST) \
    AS_COMPLEX(from, complex64, (float)*(const from *)a) AS_COMPLEX(from, complex128, (double)*(const from *)a)
CASTS(bool_, CAST_BOOL) AS_COMPLEX(bool_, complex64, *a != 0) AS_COMPLEX(bool_, complex128, *a != 0)
ALL_CASTS(int8) ALL_CASTS(int16) ALL_CASTS(int32) ALL_CASTS(int64) ALL_CASTS(uint8) ALL_CASTS(uint16)
ALL_CASTS(uint32) ALL_CASTS(uint64)
CAST(float32, float32) CAST(float32, float64) CAST(float64, float32) CAST(float64, float64)
CAST(complex128, complex128)
AS_COMPLEX(float32, complex64, *(const float *)a) AS_COMPLEX(float32, complex128, *(const float *)a)
AS_COMPLEX(float64, complex64, (float)*(const double *)a) AS_COMPLEX(float64, complex128, *(const double *)a)

#define BETWEEN_COMPLEX(from, to, part) \
    static void from##_as_##to(char *put, const char *a, const char *b, Py_ssize_t count, const Py_ssize_t *by) \
    { \
        (void)b; \
        for (; count > 0; count--, put += by[0], a += by[1]) { \
            const to made = {(part)((const from *)a)->real, (part)((const from *)a)->imag}; \
            *(to *)put = made; \
        } \
    }
BETWEEN_COMPLEX(complex64, complex128, double) BETWEEN_COMPLEX(complex128, complex64, float)

#define TO(from) \
    {[INT8] = from##_as_int8, [INT16] = from##_as_int16, [INT32] = from##_as_int32, [INT64] = from##_as_int64, \
     [UINT8] = from##_as_uint8, [UINT16] = from##_as_uint16, [UINT32] = from##_as_uint32, \
     [UINT64] = from##_as_uint64, [FLOAT32] = from##_as_float32, [FLOAT64] = from##_as_float64, \
     [COMPLEX64] = from##_as_complex64, [COMPLEX128] = from##_as_complex128}
static Inner *const casts[KINDS][KINDS] = {
    [BOOL] = TO(bool_), [INT8] = TO(int8), [INT16] = TO(int16), [INT32] = TO(int32), [INT64] = TO(int64),
    [UINT8] = TO(uint8), [UINT16] = TO(uint16), [UINT32] = TO(uint32), [UINT64] = TO(uint64),
    [FLOAT32] = {[FLOAT32] = float32_as_float32, [FLOAT64] = float32_as_float64,
                 [COMPLEX64] = float32_as_complex64, [COMPLEX128] = float32_as_complex128},
    [FLOAT64] = {[FLOAT32] = float64_as_float32, [FLOAT64] = float64_as_float64, [COMPLEX64] = float64_as_complex64,
                 [COMPLEX128] = float64_as_complex128},
    [COMPLEX64] = {[COMPLEX128] = complex64_as_complex128}, [COMPLEX128] = {[COMPLEX64] = complex128_as_complex64}};

/* What writes elements of a kind as those of another; NULL where that may lose something, or is Python's. */
Inner *
cast_of(int from, int to)
{
    if (from != to)
        return casts[from][to];
    switch (SIZES[to]) {
    case 1: return uint8_as_uint8;
    case 2: return uint16_as_uint16;
    case 4: return uint32_as_uint32;
    case 8: return uint64_as_uint64;
    default: return complex128_as_complex128;
    }
}

/* --- what is looked at first ----------------------------------------------------------------------------------------- */

/* Floats whose whole part is a number of an integer dtype: of others every processor makes what it likes. */
#define WITHIN(type) \
    BY_PROCESSOR static void within_##type(char *to, const char *a, const char *b, Py_ssize_t count, \
                                           const Py_ssize_t *by) \
    { \
        const double low = ((const double *)b)[0], high = ((const double *)b)[1]; \
        int beyond = 0; \
        if (by[1] == sizeof(type)) \
            for (Py_ssize_t i = 0; i < count; i++) { \
                const double x = ((const type *)a)[i]; \
                beyond |= !((x > low) & (x < high)); \
            } \
        else \
            for (; count > 0; count--, a += by[1]) { \
                const double x = *(const type *)a; \
                beyond |= !((x > low) & (x < high)); \
            } \
        *to |= beyond; \
    }
WITHIN(float)
WITHIN(double)
#define WHOLE(from, to) \
    static void whole_##from##_##to(char *put, const char *a, const char *b, Py_ssize_t count, const Py_ssize_t *by) \
    { \
        (void)b; \
        if (by[0] == sizeof(to) && by[1] == sizeof(from)) \
            for (Py_ssize_t i = 0; i < count; i++) \
                ((to *)put)[i] = (to)((const from *)a)[i]; \
        else \
            for (; count > 0; count--, put += by[0], a += by[1]) \
                *(to *)put = (to)*(const from *)a; \
    }
#define TRUTH(from, expression) \
    static void truth_of_##from(char *put, const char *a, const char *b, Py_ssize_t count, const Py_ssize_t *by) \
    { \
        (void)b; \
        for (; count > 0; count--, put += by[0], a += by[1]) { \
            const from x = *(const from *)a; \
            *put = expression; \
        } \
    }
#define ALL_WHOLE(from) \
    WHOLE(from, int8) WHOLE(from, int16) WHOLE(from, int32) WHOLE(from, int64) WHOLE(from, uint8) WHOLE(from, uint16) \
    WHOLE(from, uint32) WHOLE(from, uint64)
ALL_WHOLE(float)
ALL_WHOLE(double)
TRUTH(uint8, x != 0)
TRUTH(uint16, x != 0)
TRUTH(uint32, x != 0)
TRUTH(uint64, x != 0)
TRUTH(float, x != 0)
TRUTH(double, x != 0)
#define TO_WHOLE(from) \
    {[INT8] = whole_##from##_int8, [INT16] = whole_##from##_int16, [INT32] = whole_##from##_int32, \
     [INT64] = whole_##from##_int64, [UINT8] = whole_##from##_uint8, [UINT16] = whole_##from##_uint16, \
     [UINT32] = whole_##from##_uint32, [UINT64] = whole_##from##_uint64}
static Inner *const whole[2][KINDS] = {TO_WHOLE(float), TO_WHOLE(double)};
static const double BOUNDS[KINDS][2] = {
    [INT8] = {-129, 128}, [INT16] = {-32769, 32768}, [INT32] = {-2147483649.0, 2147483648.0},
    [INT64] = {-0x1p63 - 2048, 0x1p63}, [UINT8] = {-1, 256}, [UINT16] = {-1, 65536}, [UINT32] = {-1, 4294967296.0},
    [UINT64] = {-1, 0x1p64}};

int
are_within(const Elements *of, int kind)
{
    const int64 *numbers = (const int64 *)of->memory;
    for (Py_ssize_t i = size_of(of); i-- > 0;)
        if (!((double)numbers[i] > BOUNDS[kind][0] && (double)numbers[i] < BOUNDS[kind][1]))
            return 0;
    return 1;
}

Inner *
cast_for(const Elements *of, int kind)
{
    if (kind == BOOL && of->kind != BOOL) {
        if (IS_REAL(of->kind))
            return of->kind == FLOAT64 ? truth_of_double : of->kind == FLOAT32 ? truth_of_float : NULL;
        return IS_COMPLEX(of->kind) ? NULL : of->itemsize == 1 ? truth_of_uint8 : of->itemsize == 2 ? truth_of_uint16
             : of->itemsize == 4 ? truth_of_uint32 : truth_of_uint64;
    }
    if (IS_WHOLE(kind) && (of->kind == FLOAT32 || of->kind == FLOAT64)) {
        Py_ssize_t by[3][MOST_AXES] = {{0}};
        char beyond = 0;
        memcpy(by[1], of->strides, sizeof(of->strides));
        over(of->kind == FLOAT64 ? within_double : within_float, of->rank, of->shape, &beyond, of->memory,
             (const char *)BOUNDS[kind], by);
        return beyond ? NULL : whole[of->kind == FLOAT64][kind];
    }
    return cast_of(of->kind, kind);
}
