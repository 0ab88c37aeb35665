/* Products and quotients of complex numbers, as torch rounds them on this processor.
 *
 * torch's compiler fuses a product and a sum where it likes: in the numbers at the ends of vectors, in scalars, not in
 * the middle. Which formula it uses is learned, for each length and place, of numbers of which the formulas give
 * different ones, at the first such call. Where none gives what torch gives, torch is asked.
 */
#include "products.h"

#include <math.h>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("fp-contract=off")
#endif

static PyObject *asked_of_torch; /* a function of an operator, a dtype's letter, a form, and two operands' bytes */

/* --- the formulas ------------------------------------------------------------------------------------------------- */

#define FORMULAS(type, part, f) \
    static type product_of_##type(type x, type y) \
    { \
        const part a = x.real * y.real, b = x.imag * y.imag, c = x.real * y.imag, d = x.imag * y.real; \
        return (type){a - b, c + d}; \
    } \
    static type fused_product_of_##type(type x, type y) \
    { \
        const part b = x.imag * y.imag, d = x.imag * y.real; \
        return (type){fma##f(x.real, y.real, -b), fma##f(x.real, y.imag, d)}; \
    } \
    static type quotient_of_##type(type x, type y) \
    { \
        if (fabs##f(y.real) >= fabs##f(y.imag)) { \
            const part ratio = y.imag / y.real, a = y.imag * ratio, scale = 1 / (y.real + a); \
            const part b = x.imag * ratio, c = x.real * ratio; \
            return (type){(x.real + b) * scale, (x.imag - c) * scale}; \
        } \
        const part ratio = y.real / y.imag, a = y.real * ratio, scale = 1 / (a + y.imag); \
        const part b = x.real * ratio, c = x.imag * ratio; \
        return (type){(b + x.imag) * scale, (c - x.real) * scale}; \
    } \
    static type fused_quotient_of_##type(type x, type y) \
    { \
        if (fabs##f(y.real) >= fabs##f(y.imag)) { \
            const part ratio = y.imag / y.real, scale = 1 / fma##f(y.imag, ratio, y.real); \
            return (type){fma##f(x.imag, ratio, x.real) * scale, fma##f(-x.real, ratio, x.imag) * scale}; \
        } \
        const part ratio = y.real / y.imag, scale = 1 / fma##f(y.real, ratio, y.imag); \
        return (type){fma##f(x.real, ratio, x.imag) * scale, fma##f(x.imag, ratio, -x.real) * scale}; \
    } \
    static type half_fused_quotient_of_##type(type x, type y) \
    { \
        if (fabs##f(y.real) >= fabs##f(y.imag)) { \
            const part ratio = y.imag / y.real, scale = 1 / fma##f(y.imag, ratio, y.real); \
            const part b = x.imag * ratio, c = x.real * ratio; \
            return (type){(x.real + b) * scale, (x.imag - c) * scale}; \
        } \
        const part ratio = y.real / y.imag, scale = 1 / fma##f(y.real, ratio, y.imag); \
        const part b = x.real * ratio, c = x.imag * ratio; \
        return (type){(b + x.imag) * scale, (c - x.real) * scale}; \
    } \
    static void compute_##type(int is_quotient, int formula, char *to, const char *x, const char *y) \
    { \
        static type (*const all[2][3])(type, type) = { \
            {product_of_##type, fused_product_of_##type, fused_product_of_##type}, \
            {quotient_of_##type, fused_quotient_of_##type, half_fused_quotient_of_##type}}; \
        *(type *)to = all[is_quotient][formula](*(const type *)x, *(const type *)y); \
    } \
    static int is_same_##type(const char *x, const char *y) \
    { \
        const part *a = (const part *)x, *b = (const part *)y; \
        for (int i = 0; i < 2; i++) \
            if (a[i] == b[i] ? signbit(a[i]) != signbit(b[i]) : a[i] == a[i] || b[i] == b[i]) \
                return 0; \
        return 1; \
    } \
    static int are_apart_##type(const char *x, const char *y) \
    { \
        const part *a = (const part *)x, *b = (const part *)y; \
        return a[0] != b[0] && a[1] != b[1]; \
    }
FORMULAS(complex64, float, f)
FORMULAS(complex128, double, )

static void
compute(int kind, int is_quotient, int formula, char *to, const char *x, const char *y)
{
    (kind == COMPLEX64 ? compute_complex64 : compute_complex128)(is_quotient, formula, to, x, y);
}

static int
is_same(int kind, const char *x, const char *y)
{
    return (kind == COMPLEX64 ? is_same_complex64 : is_same_complex128)(x, y);
}

/* --- what is learned ---------------------------------------------------------------------------------------------- */

enum form { OF_ARRAYS, BY_NUMBER, OF_NUMBER, OF_SCALARS, FORMS };
#define LONGEST 64
#define ROUNDS 4 /* each fourth one has numbers of all kinds */
typedef struct {
    char state;     /* 0: not asked yet, 1: known, 2: torch's */
    char formula;   /* of a quotient */
    uint64 fused;   /* of products, by their places */
} Known;
static Known known[2][2][FORMS][LONGEST + 1];

static uint64
drawn(uint64 *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void
draw(uint64 *state, int kind, int is_any, char *to)
{
    static const double others[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1e-310, -3e-320, 1.7e308,
                                    1.0, -1.5, 3e-39, 2e38};
    for (int part = 0; part < 2; part++) {
        uint64 bits = drawn(state);
        double number = ((double)(bits >> 12) * 0x1p-52 + 1) * (bits & 1 ? 1 : -1) * ldexp(1, (int)(bits >> 1 & 7) - 4);
        if (is_any && drawn(state) % 3)
            number = others[drawn(state) % (sizeof(others) / sizeof(*others))];
        if (kind == COMPLEX64)
            ((float *)to)[part] = (float)number;
        else
            ((double *)to)[part] = number;
    }
}

/* Whether torch's numbers of one round are those of a formula, or of two: then, which of them are fused. */
static int
learn_round(int kind, int is_quotient, int formula, enum form form, int count, int round, uint64 *state, uint64 *fused)
{
    static const char *const names[FORMS] = {"arrays", "by", "of", "scalars"};
    char x[LONGEST * 16], y[LONGEST * 16], one[16], other[16], third[16];
    Py_ssize_t size = SIZES[kind];
    int is_any = round % ROUNDS == ROUNDS - 1;
    for (int i = 0; i < count; i++) {
        char *a = form == OF_NUMBER ? x : x + i * size, *b = form == BY_NUMBER ? y : y + i * size;
        for (int tries = 0; tries < 1000; tries++) { /* numbers of which the formulas give different ones */
            if (form != OF_NUMBER || i == 0)
                draw(state, kind, is_any, a);
            if (form != BY_NUMBER || i == 0)
                draw(state, kind, is_any, b);
            compute(kind, is_quotient, 0, one, a, b);
            compute(kind, is_quotient, 1, other, a, b);
            compute(kind, is_quotient, 2, third, a, b);
            int (*const are_apart)(const char *, const char *) = kind == COMPLEX64 ? are_apart_complex64
                                                                                    : are_apart_complex128;
            if (is_any || (are_apart(one, other)
                            && (!is_quotient || (!is_same(kind, one, third) && !is_same(kind, other, third)))))
                break;
        }
    }
    Py_ssize_t bytes_x = (form == OF_NUMBER ? 1 : count) * size, bytes_y = (form == BY_NUMBER ? 1 : count) * size;
    PyObject *found = PyObject_CallFunction(asked_of_torch, "sssy#y#", is_quotient ? "div" : "mul",
                                            kind == COMPLEX64 ? "F" : "D", names[form], x, bytes_x, y, bytes_y);
    int is_one = found != NULL && PyBytes_CheckExact(found) && PyBytes_GET_SIZE(found) == count * size;
    for (int i = 0; is_one && i < count; i++) {
        const char *a = form == OF_NUMBER ? x : x + i * size, *b = form == BY_NUMBER ? y : y + i * size;
        const char *theirs = PyBytes_AS_STRING(found) + i * size;
        if (is_any && is_quotient) { /* by zero torch goes another way */
            const double zero = kind == COMPLEX64 ? fabs(((const float *)b)[0]) + fabs(((const float *)b)[1])
                                                  : fabs(((const double *)b)[0]) + fabs(((const double *)b)[1]);
            if (zero == 0)
                continue;
        }
        compute(kind, is_quotient, is_quotient ? formula : 0, one, a, b);
        if (is_quotient) {
            is_one = is_same(kind, one, theirs);
            continue;
        }
        compute(kind, 0, 1, other, a, b);
        int is_plain = is_same(kind, one, theirs), is_fused = is_same(kind, other, theirs);
        if (is_plain != is_fused && round == 0)
            *fused |= (uint64)is_fused << i;
        is_one = *fused >> i & 1 ? is_fused : is_plain;
    }
    Py_XDECREF(found);
    return is_one;
}

static const Known *
known_of(int kind, int is_quotient, enum form form, int count)
{
    Known *one = &known[kind == COMPLEX128][is_quotient][form][count];
    if (one->state == 0) {
        if (is_seen_by_torch())
            return NULL;
        uint64 state = 0x9E3779B97F4A7C15u, fused = 0;
        int is_one = 0, formula = 0;
        for (; asked_of_torch != NULL && !is_one && formula < (is_quotient ? 3 : 1) && !PyErr_Occurred(); formula++) {
            is_one = 1;
            for (int round = 0; is_one && round < (count == 1 ? 10 * ROUNDS : ROUNDS); round++)
                is_one = learn_round(kind, is_quotient, formula, form, count, round, &state, &fused);
        }
        if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception))
            return NULL; /* an interrupt: it is asked again */
        PyErr_Clear();
        one->fused = fused;
        one->formula = (char)(formula - 1);
        one->state = is_one ? 1 : 2;
        return NULL; /* what was asked may have run anything: the operands lie where they lay the next time */
    }
    return one->state == 1 ? one : NULL;
}

PyObject *
attach_products(PyObject *module, PyObject *function)
{
    Py_XSETREF(asked_of_torch, Py_NewRef(function));
    memset(known, 0, sizeof(known));
    Py_RETURN_NONE;
}

/* --- what is computed --------------------------------------------------------------------------------------------- */

int
complex_of_two(int kind, int is_quotient, char *to, const char *x, const char *y)
{
    const Known *by = known_of(kind, is_quotient, OF_SCALARS, 1);
    if (by != NULL)
        compute(kind, is_quotient, is_quotient ? by->formula : (int)(by->fused & 1), to, x, y);
    return by != NULL;
}

/* How many elements lie in a row; 0 where they lie otherwise, or are too many. */
static Py_ssize_t
in_a_row(const Elements *of)
{
    Py_ssize_t count = 1;
    for (int axis = of->rank; axis-- > 0; count *= of->shape[axis])
        if (of->shape[axis] > LONGEST || of->strides[axis] != count * of->itemsize)
            return 0;
    return count > LONGEST ? 0 : count;
}

PyObject *
complex_products(Operand *a, Operand *b)
{
    int kind = kind_of_both(a->kind, b->kind);
    const Operand *array = a->given == NULL ? a : b;
    if (kind < COMPLEX64 || array->given != NULL || array->kind != kind || array->at->rank == 0)
        return NULL;
    Py_ssize_t count = in_a_row(array->at);
    enum form form = a->given != NULL ? OF_NUMBER : b->given != NULL ? BY_NUMBER : OF_ARRAYS;
    if (count == 0)
        return NULL;
    if (form == OF_ARRAYS) {
        if (b->kind != kind || a->at->rank != b->at->rank || in_a_row(b->at) != count)
            return NULL;
        for (int axis = 0; axis < a->at->rank; axis++)
            if (a->at->shape[axis] != b->at->shape[axis])
                return NULL;
    }
    else if (!in_kind(form == OF_NUMBER ? a : b, kind))
        return NULL;
    const Known *by = known_of(kind, 0, form, (int)count);
    if (by == NULL)
        return NULL;
    Elements made = {.kind = kind, .itemsize = SIZES[kind], .rank = array->at->rank};
    memcpy(made.shape, array->at->shape, sizeof(made.shape));
    PyObject *result = new_lazy(&made);
    for (Py_ssize_t i = 0; result != NULL && i < count; i++)
        compute(kind, 0, (int)(by->fused >> i & 1), made.memory + i * made.itemsize,
                a->at->memory + (form == OF_NUMBER ? 0 : i * made.itemsize),
                b->at->memory + (form == BY_NUMBER ? 0 : i * made.itemsize));
    return result;
}
