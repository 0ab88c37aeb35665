/* What ufuncs make of one number or two: those whose result is the same on every processor, to the bit, so that it does
 * not matter who computes it. */
#include "native.h"

#include <math.h>
#include <stdlib.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-trapping-math", "no-math-errno") /* nobody asks for the flags: choices are no branches */
#endif

#define EACH(x_, y_, expression) \
    for (Py_ssize_t i = 0; i < count; i++) { \
        const In x = x_, y = y_; \
        (void)x, (void)y; \
        put[i] = expression; \
    }
#define LOOP(name, in, out, expression) \
    BY_PROCESSOR static void name(char *to, const char *a, const char *b, Py_ssize_t count, const Py_ssize_t *by) \
    { \
        typedef in In; \
        typedef out Out; \
        if (by[0] == sizeof(Out) && (by[1] == sizeof(In) || !by[1]) && (by[2] == sizeof(In) || !by[2])) { \
            Out *put = (Out *)to; \
            const In *of_a = (const In *)a, *of_b = (const In *)b, first = *of_a, second = *of_b; \
            if (by[1] && by[2]) \
                EACH(of_a[i], of_b[i], expression) \
            else if (by[1]) \
                EACH(of_a[i], second, expression) \
            else if (by[2]) \
                EACH(first, of_b[i], expression) \
            else \
                EACH(first, second, expression) \
            return; \
        } \
        for (; count > 0; count--, to += by[0], a += by[1], b += by[2]) { \
            const In x = *(const In *)a, y = *(const In *)b; \
            (void)x, (void)y; \
            *(Out *)to = expression; \
        } \
    }

/* As LOOP, of what is seldom asked for, or takes as long for each number. */
#define ONE_BY_ONE(name, in, out, expression) \
    static void name(char *to, const char *a, const char *b, Py_ssize_t count, const Py_ssize_t *by) \
    { \
        for (; count > 0; count--, to += by[0], a += by[1], b += by[2]) { \
            const in x = *(const in *)a, y = *(const in *)b; \
            (void)x, (void)y; \
            *(out *)to = expression; \
        } \
    }

#define LOGICAL(type) \
    LOOP(logical_and_##type, type, char, x && y) \
    LOOP(logical_or_##type, type, char, x || y) \
    LOOP(logical_xor_##type, type, char, !x != !y)

static uint64
divisor(uint64 x, uint64 y)
{
    while (y != 0) {
        uint64 rest = x % y;
        x = y;
        y = rest;
    }
    return x;
}

/* Integers wrap around, which C leaves open of signed ones. */
#define OF_INTEGERS(type, unsigned_) \
    LOOP(add_##type, type, type, (unsigned_)((uint64)x + (uint64)y)) \
    LOOP(subtract_##type, type, type, (unsigned_)((uint64)x - (uint64)y)) \
    LOOP(multiply_##type, type, type, (unsigned_)((uint64)x * (uint64)y)) \
    LOOP(bitwise_and_##type, type, type, x & y) \
    LOOP(bitwise_or_##type, type, type, x | y) \
    LOOP(bitwise_xor_##type, type, type, x ^ y) \
    LOOP(left_shift_##type, type, type, (uint64)y < 8 * sizeof(type) ? (unsigned_)((uint64)x << (uint64)y) : 0) \
    LOOP(right_shift_##type, type, type, (uint64)y < 8 * sizeof(type) ? x >> y : -(x < (type)1 && x != 0)) \
    LOOP(maximum_##type, type, type, x > y ? x : y) \
    LOOP(minimum_##type, type, type, x < y ? x : y) \
    LOOP(negative_##type, type, type, (unsigned_)(0 - (uint64)x)) \
    LOOP(square_##type, type, type, (unsigned_)((uint64)x * (uint64)x)) \
    LOOP(invert_##type, type, type, ~x) \
    LOOP(logical_not_##type, type, char, !x) \
    ONE_BY_ONE(positive_##type, type, type, x) \
    LOGICAL(type) \
    COMPARED(type)
#define COMPARED(type) \
    LOOP(less_##type, type, char, x < y) \
    LOOP(less_equal_##type, type, char, x <= y) \
    LOOP(greater_##type, type, char, x > y) \
    LOOP(greater_equal_##type, type, char, x >= y) \
    LOOP(equal_##type, type, char, x == y) \
    LOOP(not_equal_##type, type, char, x != y)
#define BY_SIZE(type, sign, size, other) \
    ONE_BY_ONE(sign_##type, type, type, sign) \
    ONE_BY_ONE(bitwise_count_##type, type, uint8, (uint8)__builtin_popcountll(size)) \
    ONE_BY_ONE(gcd_##type, type, type, (type)divisor(size, other))
/* Quotients towards minus infinity; what is divided by zero is zero. */
#define OF_SIGNED(type, unsigned_) \
    OF_INTEGERS(type, unsigned_) \
    BY_SIZE(type, (x > 0) - (x < 0), (unsigned_)(x < 0 ? 0 - (uint64)x : (uint64)x), \
            (unsigned_)(y < 0 ? 0 - (uint64)y : (uint64)y)) \
    LOOP(absolute_##type, type, type, x < 0 ? (unsigned_)(0 - (uint64)x) : (unsigned_)x) \
    LOOP(floor_divide_##type, type, type, \
         y == 0 ? 0 : y == -1 ? (type)(unsigned_)(0 - (uint64)x) : x / y - (x % y != 0 && (x < 0) != (y < 0))) \
    ONE_BY_ONE(fmod_##type, type, type, y == 0 || y == -1 ? 0 : x % y) \
    LOOP(remainder_##type, type, type, y == 0 || y == -1 ? 0 : x % y + (x % y != 0 && (x < 0) != (y < 0) ? y : 0))
#define OF_UNSIGNED(type) \
    OF_INTEGERS(type, type) \
    BY_SIZE(type, x != 0, x, y) \
    LOOP(absolute_##type, type, type, x) \
    LOOP(floor_divide_##type, type, type, y == 0 ? 0 : x / y) \
    ONE_BY_ONE(fmod_##type, type, type, y == 0 ? 0 : x % y) \
    LOOP(remainder_##type, type, type, y == 0 ? 0 : x % y)
/* What is left of a division towards minus infinity, and its quotient, which may be one off where it is rounded up. */
#define DIVIDED(type, f) \
    static inline type rest_of_##type(type x, type y) \
    { \
        type rest = fmod##f(x, y); \
        if (rest == 0) \
            return copysign##f(0, y); \
        return y != 0 && (y < 0) != (rest < 0) ? rest + y : rest; \
    } \
    static inline type quotient_of_##type(type x, type y) \
    { \
        if (y == 0) \
            return x / y; \
        type rest = fmod##f(x, y), found = (x - rest) / y, whole; \
        if (rest != 0 && (y < 0) != (rest < 0)) \
            found -= 1; \
        if (found == 0) \
            return copysign##f(0, x / y); \
        whole = floor##f(found); \
        return found - whole > (type)0.5 ? whole + 1 : whole; \
    }
DIVIDED(float, f)
DIVIDED(double, )

/* Of NaN and another number the larger and the smaller are NaN. */
#define OF_FLOATS(type, f) \
    LOOP(add_##type, type, type, x + y) \
    LOOP(subtract_##type, type, type, x - y) \
    LOOP(multiply_##type, type, type, x *y) \
    LOOP(divide_##type, type, type, x / y) \
    LOOP(maximum_##type, type, type, (x != x) | (x > y) ? x : y) \
    LOOP(minimum_##type, type, type, (x != x) | (x < y) ? x : y) \
    LOOP(negative_##type, type, type, -x) \
    LOOP(absolute_##type, type, type, fabs##f(x)) \
    LOOP(square_##type, type, type, x *x) \
    LOOP(reciprocal_##type, type, type, 1 / x) \
    LOOP(floor_divide_##type, type, type, quotient_of_##type(x, y)) \
    LOOP(remainder_##type, type, type, rest_of_##type(x, y)) \
    LOOP(floor_##type, type, type, floor##f(x)) \
    LOOP(ceil_##type, type, type, ceil##f(x)) \
    LOOP(trunc_##type, type, type, trunc##f(x)) \
    LOOP(isnan_##type, type, char, x != x) \
    LOOP(isinf_##type, type, char, fabs##f(x) == (type)INFINITY) \
    LOOP(isfinite_##type, type, char, fabs##f(x) < (type)INFINITY) \
    LOOP(logical_not_##type, type, char, !x) \
    LOOP(fmax_##type, type, type, (x >= y) | (y != y) ? x : y) \
    LOOP(fmin_##type, type, type, (x <= y) | (y != y) ? x : y) \
    LOOP(rint_##type, type, type, rint##f(x)) \
    LOOP(sign_##type, type, type, x != x ? x : (type)((x > 0) - (x < 0))) \
    LOOP(positive_##type, type, type, x) \
    LOOP(copysign_##type, type, type, copysign##f(x, y)) \
    LOOP(signbit_##type, type, char, signbit(x) != 0) \
    LOOP(heaviside_##type, type, type, x != x ? x : x == 0 ? y : (type)(x > 0)) \
    ONE_BY_ONE(fmod_##type, type, type, fmod##f(x, y)) \
    LOGICAL(type) \
    COMPARED(type)

OF_SIGNED(int8, uint8)
OF_SIGNED(int16, uint16)
OF_SIGNED(int32, uint32)
OF_SIGNED(int64, uint64)
OF_UNSIGNED(uint8)
OF_UNSIGNED(uint16)
OF_UNSIGNED(uint32)
OF_UNSIGNED(uint64)
OF_FLOATS(float, f)
OF_FLOATS(double, )
LOOP(both, uint8, char, x && y)
LOOP(either, uint8, char, x || y)
LOOP(one, uint8, char, !x != !y)
LOOP(neither, uint8, char, !x)
LOOP(less_bool, uint8, char, !x && y)
LOOP(less_equal_bool, uint8, char, !x || y)
LOOP(greater_bool, uint8, char, x && !y)
LOOP(greater_equal_bool, uint8, char, x || !y)
LOOP(equal_bool, uint8, char, !x == !y)

/* Of complex numbers: sums part by part, and products of those of which one is real. */
#define OF_COMPLEX(type, part) \
    static inline type add_of_##type(type x, type y) { return (type){x.real + y.real, x.imag + y.imag}; } \
    static inline type subtract_of_##type(type x, type y) { return (type){x.real - y.real, x.imag - y.imag}; } \
    static inline type negative_of_##type(type x) { return (type){-x.real, -x.imag}; } \
    static inline type multiply_of_##type(type x, type y) \
    { \
        return (type){x.real * y.real - x.imag * y.imag, x.real * y.imag + x.imag * y.real}; \
    } \
    LOOP(add_##type, type, type, add_of_##type(x, y)) \
    LOOP(subtract_##type, type, type, subtract_of_##type(x, y)) \
    LOOP(multiply_##type, type, type, multiply_of_##type(x, y)) \
    LOOP(negative_##type, type, type, negative_of_##type(x)) \
    ONE_BY_ONE(positive_##type, type, type, x) \
    ONE_BY_ONE(conjugate_##type, type, type, ((type){x.real, -x.imag})) \
    LOOP(equal_##type, type, char, x.real == y.real && x.imag == y.imag) \
    LOOP(not_equal_##type, type, char, x.real != y.real || x.imag != y.imag)
OF_COMPLEX(complex64, float)
OF_COMPLEX(complex128, double)

/* The larger and the smaller of 0 and -0 are what torch says, of vectors otherwise than at their ends. */
#define OPEN(type, bits) \
    BY_PROCESSOR static void open_##type(char *to, const char *a, const char *b, Py_ssize_t count, \
                                         const Py_ssize_t *by) \
    { \
        bits found = 0; \
        if (by[1] == sizeof(bits) && by[2] == sizeof(bits)) \
            for (Py_ssize_t i = 0; i < count; i++) { \
                const bits x = ((const bits *)a)[i], y = ((const bits *)b)[i]; \
                found |= !(bits)(x << 1) & !(bits)(y << 1) & (x != y); \
            } \
        else \
            for (; count > 0; count--, a += by[1], b += by[2]) { \
                const bits x = *(const bits *)a, y = *(const bits *)b; \
                found |= !(bits)(x << 1) & !(bits)(y << 1) & (x != y); \
            } \
        *to |= found != 0; \
    }
OPEN(float, uint32)
OPEN(double, uint64)

#define INTEGERS(name) \
    [INT8] = name##_int8, [INT16] = name##_int16, [INT32] = name##_int32, [INT64] = name##_int64, \
    [UINT8] = name##_uint8, [UINT16] = name##_uint16, [UINT32] = name##_uint32, [UINT64] = name##_uint64
#define FLOATS(name) [FLOAT32] = name##_float, [FLOAT64] = name##_double
#define COMPLEX(name) [COMPLEX64] = name##_complex64, [COMPLEX128] = name##_complex128
static const Loops LOOPS[] = {
    {"add", SAME, {[BOOL] = either, INTEGERS(add), FLOATS(add), COMPLEX(add)}},
    {"subtract", SAME, {INTEGERS(subtract), FLOATS(subtract), COMPLEX(subtract)}},
    {"multiply", SAME, {[BOOL] = both, INTEGERS(multiply), FLOATS(multiply), COMPLEX(multiply)}, {NULL, NULL}, 1},
    {"divide", SAME, {FLOATS(divide)}, {NULL, NULL}, 0, 1},
    {"floor_divide", SAME, {INTEGERS(floor_divide), FLOATS(floor_divide)}},
    {"remainder", SAME, {INTEGERS(remainder), FLOATS(remainder)}},
    {"maximum", SAME, {[BOOL] = either, INTEGERS(maximum), FLOATS(maximum)}, {open_float, open_double}},
    {"minimum", SAME, {[BOOL] = both, INTEGERS(minimum), FLOATS(minimum)}, {open_float, open_double}},
    {"bitwise_and", SAME, {[BOOL] = both, INTEGERS(bitwise_and)}},
    {"bitwise_or", SAME, {[BOOL] = either, INTEGERS(bitwise_or)}},
    {"bitwise_xor", SAME, {[BOOL] = one, INTEGERS(bitwise_xor)}},
    {"left_shift", SAME, {INTEGERS(left_shift)}},
    {"right_shift", SAME, {INTEGERS(right_shift)}},
    {"logical_and", BOOL, {[BOOL] = both, INTEGERS(logical_and), FLOATS(logical_and)}},
    {"logical_or", BOOL, {[BOOL] = either, INTEGERS(logical_or), FLOATS(logical_or)}},
    {"logical_xor", BOOL, {[BOOL] = one, INTEGERS(logical_xor), FLOATS(logical_xor)}},
    {"less", BOOL, {[BOOL] = less_bool, INTEGERS(less), FLOATS(less)}},
    {"less_equal", BOOL, {[BOOL] = less_equal_bool, INTEGERS(less_equal), FLOATS(less_equal)}},
    {"greater", BOOL, {[BOOL] = greater_bool, INTEGERS(greater), FLOATS(greater)}},
    {"greater_equal", BOOL, {[BOOL] = greater_equal_bool, INTEGERS(greater_equal), FLOATS(greater_equal)}},
    {"equal", BOOL, {[BOOL] = equal_bool, INTEGERS(equal), FLOATS(equal), COMPLEX(equal)}},
    {"not_equal", BOOL, {[BOOL] = one, INTEGERS(not_equal), FLOATS(not_equal), COMPLEX(not_equal)}},
    {"negative", SAME, {INTEGERS(negative), FLOATS(negative), COMPLEX(negative)}},
    {"absolute", SAME, {INTEGERS(absolute), FLOATS(absolute)}},
    {"fabs", SAME, {FLOATS(absolute)}},
    {"square", SAME, {INTEGERS(square), FLOATS(square)}},
    {"reciprocal", SAME, {FLOATS(reciprocal)}},
    {"floor", SAME, {FLOATS(floor)}},
    {"ceil", SAME, {FLOATS(ceil)}},
    {"trunc", SAME, {FLOATS(trunc)}},
    {"invert", SAME, {[BOOL] = neither, INTEGERS(invert)}},
    {"logical_not", BOOL, {[BOOL] = neither, INTEGERS(logical_not), FLOATS(logical_not)}},
    {"fmod", SAME, {INTEGERS(fmod), FLOATS(fmod)}, {NULL, NULL}, 0, 0, 1 << 10},
    {"fmax", SAME, {[BOOL] = either, INTEGERS(maximum), FLOATS(fmax)}, {open_float, open_double}},
    {"fmin", SAME, {[BOOL] = both, INTEGERS(minimum), FLOATS(fmin)}, {open_float, open_double}},
    {"gcd", SAME, {INTEGERS(gcd)}},
    {"heaviside", SAME, {FLOATS(heaviside)}},
    {"copysign", SAME, {FLOATS(copysign)}},
    {"rint", SAME, {FLOATS(rint)}},
    {"sign", SAME, {INTEGERS(sign), FLOATS(sign)}},
    {"signbit", BOOL, {FLOATS(signbit)}},
    {"positive", SAME, {INTEGERS(positive), FLOATS(positive), COMPLEX(positive)}},
    {"conjugate", SAME, {INTEGERS(positive), FLOATS(positive), COMPLEX(conjugate)}},
    {"bitwise_count", UINT8, {INTEGERS(bitwise_count)}},
    {"isnan", BOOL, {FLOATS(isnan)}},
    {"isinf", BOOL, {FLOATS(isinf)}},
    {"isfinite", BOOL, {FLOATS(isfinite)}},
};

const Loops *
loops_of(const char *name)
{
    for (size_t i = 0; i < sizeof(LOOPS) / sizeof(*LOOPS); i++)
        if (strcmp(LOOPS[i].name, name) == 0)
            return &LOOPS[i];
    return NULL;
}
