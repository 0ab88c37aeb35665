/* The exponential function of numbers that are not positive, for loops over many (soft_back.c, gates.c). */
#ifndef NPDEC_EXPONENTIALS_H
#define NPDEC_EXPONENTIALS_H

#include <math.h>
#include <stdint.h>

typedef union {
    float number;
    int32_t bits;
} Single;

/* The exponential of a number that is not positive, to the last bits; zero of what is below the range. (Without branches,
 * so that several are computed at once.) */
static inline float
exponential_32(float x)
{
    int32_t is_inside = -(int32_t)(x >= -87.0f);
    Single low = {.number = x}, scale, made;
    low.bits &= is_inside;
    float whole = (low.number * 1.44269504f + 12582912.0f) - 12582912.0f; /* rounded: so large, it has no bits for halves */
    float f = low.number - whole * 0.693359375f + whole * 2.12194440e-4f;
    made.number = 1 + f * (1 + f * (0.5f + f * (1.66666667e-1f + f * (4.16666667e-2f + f * (8.33333333e-3f
        + f * (1.38888889e-3f + f * 1.98412698e-4f))))));
    scale.bits = ((int32_t)whole + 127) << 23;
    made.number *= scale.number;
    made.bits &= is_inside;
    return made.number;
}

static inline double
exponential_64(double x)
{
    return exp(x);
}

#endif
