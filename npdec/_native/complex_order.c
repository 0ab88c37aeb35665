/* The order of a few complex numbers: comparisons, and the larger of two, as `npdec._law.complex_order_of_few` has them. */
#include "few_complex.h"
#include "lazy.h"
#include <math.h>

#define ROUNDINGS 32 /* `npdec._law.of_few` */

static int
is_less(Py_complex a, Py_complex b)
{
    return a.real == b.real ? a.imag < b.imag : a.real < b.real;
}

static int
is_less_or_equal(Py_complex a, Py_complex b)
{
    return a.real == b.real ? a.imag <= b.imag : a.real < b.real;
}

int
orders_first(int law, Py_complex a, Py_complex b)
{
    switch (law) {
    case COMPLEX_LESS: return is_less(a, b);
    case COMPLEX_LESS_EQUAL: return is_less_or_equal(a, b);
    case COMPLEX_MAXIMUM: return !is_less(a, b);
    default: return !is_less(b, a);
    }
}

/* One end of a comparison by order, or of the larger of two. */
PyObject *
ordered_end(int law, const ComplexCall *call, int is_double, int is_residual)
{
    const ComplexOperand *a = &call->of[0], *b = &call->of[1];
    const Py_complex *x = is_residual && a->carries ? a->r : a->x, *y = is_residual && b->carries ? b->r : b->x;
    Array scalar = {.rank = 0};
    const Array *like = a->is_number || (!b->is_number && a->at.rank == 0) ? &b->at : &a->at;
    if (call->operands != 2 || (a->is_number && b->is_number))
        return NULL;
    like = like->rank == 0 ? &scalar : like;
    int is_extreme = law >= COMPLEX_MAXIMUM;
    Py_ssize_t count = elements_in(like);
    for (int i = 0; i < 2; i++)
        if (!call->of[i].is_number && call->of[i].at.rank != 0 && !are_alike(&call->of[i].at, like))
            return NULL;
    char *memory;
    PyObject *tensor = tensor_by_rows(!is_extreme ? BOOL : is_double ? COMPLEX128 : COMPLEX64, like, count, &memory);
    for (Py_ssize_t i = 0; tensor != NULL && i < count; i++) {
        Py_complex one = x[a->is_number || a->at.rank == 0 ? 0 : i], other = y[b->is_number || b->at.rank == 0 ? 0 : i];
        int is_true = orders_first(law, one, other);
        Py_complex found = is_true ? one : other;
        if (!is_extreme)
            memory[i] = (char)is_true;
        else if (is_double)
            ((Py_complex *)memory)[i] = found;
        else {
            ((float *)memory)[2 * i] = (float)found.real;
            ((float *)memory)[2 * i + 1] = (float)found.imag;
        }
    }
    return tensor;
}

/* The difference of two at an element, and whether its imaginary part is the one that decides. */
typedef struct {
    const ComplexCall *call;
    Py_ssize_t i;
    Py_complex at, before;
    int is_alone;
} Gap;

static Py_complex
component_of(const Gap *gap, Py_ssize_t row)
{
    const ComplexOperand *a = &gap->call->of[0], *b = &gap->call->of[1];
    Py_ssize_t at = row * gap->call->count + gap->i;
    return !b->carries ? a->components[at] : a->carries ? _Py_c_diff(a->components[at], b->components[at])
         : _Py_c_neg(b->components[at]);
}

static int
is_bounded(Py_complex z)
{
    return isfinite(z.real) && isfinite(z.imag);
}

static int
is_gap(const ComplexCall *call, Py_ssize_t i, Gap *gap)
{
    const ComplexOperand *a = &call->of[0], *b = &call->of[1];
    *gap = (Gap){call, i, _Py_c_diff(a->x[i], b->x[i]), _Py_c_diff(a->r[i], b->r[i]), 0};
    gap->is_alone = gap->at.real == 0 && gap->before.real == 0;
    for (Py_ssize_t row = 0; row < call->rows; row++)
        for (int of = 0; of < 2; of++)
            if (call->of[of].carries && !is_bounded(call->of[of].components[row * call->count + i]))
                return 0;
    return is_bounded(gap->at) && is_bounded(gap->before);
}

/* What the components of a part have of a jump between its ends; 0 where they cancel. */
static int
is_shared(const Gap *gap, double jump, int is_alone, double *found)
{
    const ComplexLimits *its = gap->call->limits;
    double step = is_alone ? gap->at.imag - gap->before.imag : gap->at.real - gap->before.real, total = 0, gross = 0;
    *found = 0;
    if (jump == 0)
        return 1;
    for (Py_ssize_t row = 0; row < gap->call->rows; row++) {
        Py_complex component = component_of(gap, row);
        double part = is_alone ? component.imag : component.real;
        total += part;
        gross += fabs(part);
    }
    if (!(fabs(step - total) <= ROUNDINGS * its->eps * gross)
        || !(fabs(total) > fmax(1 / given.steep, sqrt(its->eps)) * gross))
        return 0;
    *found = jump / total;
    return its->tiny / its->eps <= fabs(*found) && fabs(*found) <= given.steep * given.steep;
}

static int
of_comparison(const Gap *gap, Py_complex *first, Py_complex *second)
{
    double jump = gap->call->after[gap->i].real - gap->call->before[gap->i].real, weight;
    if (!is_shared(gap, jump, gap->is_alone, &weight))
        return 0;
    *first = gap->is_alone ? (Py_complex){0, -weight} : (Py_complex){weight, 0};
    *second = _Py_c_neg(*first);
    return 1;
}

static int
of_extreme(int law, const Gap *gap, Py_complex *first, Py_complex *second)
{
    const ComplexOperand *a = &gap->call->of[0], *b = &gap->call->of[1];
    int at = orders_first(law, a->x[gap->i], b->x[gap->i]), before = orders_first(law, a->r[gap->i], b->r[gap->i]);
    double late = fabs(gap->is_alone ? gap->at.imag : gap->at.real);
    double early = fabs(gap->is_alone ? gap->before.imag : gap->before.real), path = late + early, weight = 0;
    if (!(path < INFINITY))
        return 0;
    double share = at, other = !at;
    if (path == 0)
        share = other = 0.5;
    else if (at != before) {
        share = (before ? early : late) / path;
        other = (before ? late : early) / path;
        double leap = gap->at.imag * (early / path) + gap->before.imag * (late / path);
        if (!gap->is_alone && !is_shared(gap, at ? leap : -leap, 0, &weight))
            return 0;
    }
    *first = (Py_complex){share, weight};
    *second = (Py_complex){other, 0};
    return 1;
}

int
order_weights(int law, const ComplexCall *call, Py_complex (*weights)[HANDFUL])
{
    Gap gap;
    if (!are_steps_usual())
        return 0;
    for (Py_ssize_t i = 0; i < call->count; i++)
        if (!is_gap(call, i, &gap)
            || !(law < COMPLEX_MAXIMUM ? of_comparison(&gap, &weights[0][i], &weights[1][i])
                                       : of_extreme(law, &gap, &weights[0][i], &weights[1][i])))
            return 0;
    return 1;
}
