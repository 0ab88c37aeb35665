/* Operators of scalars on the host: what `npdec._normalizer.number_operators` says in Python, for the same cases. */
#include "products.h"
#include <float.h>
#include <math.h>

static int
is_pythons(PyObject *other)
{
    return PyFloat_CheckExact(other) || PyLong_CheckExact(other) || PyBool_Check(other);
}

enum stem { ADD, SUB, MUL, TRUEDIV, FLOORDIV, MOD, AND, OR, XOR, LSHIFT, RSHIFT, LT, LE, GT, GE, EQ, NE, POW, DIVMOD,
            NEG, POS, ABS, STEMS };
static const char *const NAMES[STEMS] = {"add", "sub", "mul", "truediv", "floordiv", "mod", "and", "or", "xor",
    "lshift", "rshift", "lt", "le", "gt", "ge", "eq", "ne", "pow", "divmod", "neg", "pos", "abs"};
static const binaryfunc WHOLE[RSHIFT + 1] = {PyNumber_Add, PyNumber_Subtract, PyNumber_Multiply, NULL,
    PyNumber_FloorDivide, PyNumber_Remainder, PyNumber_And, PyNumber_Or, PyNumber_Xor, PyNumber_Lshift,
    PyNumber_Rshift};
static const int COMPARED[] = {[LT] = Py_LT, [LE] = Py_LE, [GT] = Py_GT, [GE] = Py_GE, [EQ] = Py_EQ, [NE] = Py_NE};

/* The operators of arrays that give the same with the operands exchanged: they take a scalar as a number. */
static PyObject *turned[STEMS];

/* The scalar of a number that may be a floating-point error: NULL, without an error, where that may be of interest. */
static PyObject *
checked(int kind, double number)
{
    static const double tiny[KINDS] = {[FLOAT16] = 0x1p-14, [FLOAT32] = FLT_MIN, [FLOAT64] = DBL_MIN};
    static const double most[KINDS] = {[FLOAT16] = 65504, [FLOAT32] = FLT_MAX, [FLOAT64] = DBL_MAX};
    double size = fabs(number);
    if (!(size >= tiny[kind] && size <= most[kind]) && is_watching())
        return NULL;
    return scalar_of(kind, PyFloat_FromDouble(number));
}

static PyObject *
compared(enum stem stem, double a, double b)
{
    int found = stem == LT ? a < b : stem == LE ? a <= b : stem == GT ? a > b : stem == GE ? a >= b
              : stem == EQ ? a == b : a != b;
    return Py_NewRef(bools[found]);
}

/* A quotient rounded down or what is left of it, of floats of less than 64 bits. */
static double
of_short_floats(enum stem stem, float a, float b)
{
    float left = fmodf(a, b), quotient = (a - left) / b;
    if (left != 0) {
        if ((b < 0) != (left < 0)) {
            left += b;
            quotient -= 1;
        }
    }
    else
        left = copysignf(0, b);
    if (stem == MOD)
        return left;
    if (quotient == 0)
        return copysignf(0, a / b);
    float down = floorf(quotient);
    return quotient - down > 0.5f ? down + 1 : down;
}

/* Between floats of a kind. NULL, here and below, leaves it to Python, and nothing is raised. */
static PyObject *
of_floats(enum stem stem, int kind, double a, double b)
{
    double found;
    switch (stem) {
    case ADD: found = a + b; break;
    case SUB: found = a - b; break;
    case MUL: found = a * b; break;
    case TRUEDIV:
        if (b == 0)
            return NULL;
        found = a / b;
        break;
    case FLOORDIV: case MOD: {
        PyObject *x, *y, *of = NULL;
        if (b == 0)
            return NULL;
        if (kind != FLOAT64) {
            found = of_short_floats(stem, a, b);
            break;
        }
        x = PyFloat_FromDouble(a);
        y = PyFloat_FromDouble(b);
        if (x != NULL && y != NULL)
            of = WHOLE[stem](x, y);
        Py_XDECREF(x);
        Py_XDECREF(y);
        if (of == NULL)
            return PyErr_Clear(), NULL;
        found = PyFloat_AS_DOUBLE(of);
        Py_DECREF(of);
        break;
    }
    case LT: case LE: case GT: case GE: case EQ: case NE:
        return compared(stem, a, b);
    default:
        return NULL;
    }
    return rounded(kind, &found) ? checked(kind, found) : NULL;
}

static const int BITS[KINDS] = {[INT8] = 8, [INT16] = 16, [INT32] = 32, [INT64] = 64, [UINT8] = 8, [UINT16] = 16,
    [UINT32] = 32, [UINT64] = 64};

/* The scalar of an integer, which goes around where it is out of range: NULL, without an error, where that may be of
   interest, or where there is none. Takes the reference. */
static PyObject *
around(int kind, PyObject *number)
{
    if (number == NULL)
        return PyErr_Clear(), NULL;
    if (!in_range(kind, number)) {
        unsigned long long found = PyLong_AsUnsignedLongLongMask(number);
        int above = 64 - BITS[kind];
        Py_DECREF(number);
        if (is_watching())
            return NULL;
        found <<= above;
        number = kind <= INT64 ? PyLong_FromLongLong((long long)found >> above)
                               : PyLong_FromUnsignedLongLong(found >> above);
    }
    return scalar_of(kind, number);
}

static PyObject *
of_integers(enum stem stem, int kind, PyObject *a, PyObject *b)
{
    if (stem >= LT) {
        int found = PyObject_RichCompareBool(a, b, COMPARED[stem]);
        return found < 0 ? (PyErr_Clear(), NULL) : Py_NewRef(bools[found]);
    }
    if (stem == TRUEDIV) {
        double x, y;
        return as_double(a, &x) && as_double(b, &y) ? of_floats(stem, FLOAT64, x, y) : NULL;
    }
    if (stem == LSHIFT || stem == RSHIFT) {
        long by = PyLong_AsLong(b);
        if (by < 0)
            return PyErr_Clear(), NULL;
        if (by >= BITS[kind]) {
            int beyond;
            long long number = PyLong_AsLongLongAndOverflow(a, &beyond);
            return scalar_of(kind, PyLong_FromLong(stem == RSHIFT && !beyond && number < 0 ? -1 : 0));
        }
    }
    PyObject *found = WHOLE[stem](a, b);
    if (found == NULL)
        return PyErr_Clear(), NULL;
    if (PyBool_Check(found)) { /* of two of Python's */
        PyObject *number = PyLong_FromLong(found == Py_True);
        Py_SETREF(found, number);
    }
    return around(kind, found);
}

static int
as_complex(int kind, PyObject *number, Py_complex *found)
{
    if (PyComplex_Check(number))
        *found = ((PyComplexObject *)number)->cval;
    else {
        found->imag = 0;
        if (!as_double(number, &found->real))
            return 0;
    }
    return kind == COMPLEX128 || (rounded(FLOAT32, &found->real) && rounded(FLOAT32, &found->imag));
}

static int
is_real(PyObject *number)
{
    return PyFloat_CheckExact(number) || PyLong_CheckExact(number);
}

/* A product or quotient, as torch rounds it here; NULL where it says so itself. */
static PyObject *
rounded_by_torch(enum stem stem, int kind, Py_complex a, Py_complex b)
{
    Element x, y, found;
    Elements one = {.kind = kind, .itemsize = SIZES[kind]};
    if (stem == TRUEDIV && b.real == 0 && b.imag == 0)
        return NULL;
    if (kind == COMPLEX64) {
        x = (Element){.complex64 = {(float)a.real, (float)a.imag}};
        y = (Element){.complex64 = {(float)b.real, (float)b.imag}};
    }
    else {
        x = (Element){.complex128 = {a.real, a.imag}};
        y = (Element){.complex128 = {b.real, b.imag}};
    }
    if (!complex_of_two(kind, stem == TRUEDIV, (char *)&found, (char *)&x, (char *)&y))
        return left_to_python();
    return scalar_of(kind, number_at(&one, (char *)&found));
}

/* By the real parts, and where these are equal by the imaginary ones; NULL where one is NaN. */
static PyObject *
ordered(enum stem stem, Py_complex a, Py_complex b)
{
    if (a.real != a.real || a.imag != a.imag || b.real != b.real || b.imag != b.imag)
        return NULL;
    return a.real == b.real ? compared(stem, a.imag, b.imag) : compared(stem, a.real, b.real);
}

static PyObject *
of_complex(enum stem stem, int kind, PyObject *x, PyObject *y)
{
    Py_complex a, b;
    if (!as_complex(kind, x, &a) || !as_complex(kind, y, &b))
        return NULL;
    if (stem == EQ || stem == NE)
        return Py_NewRef(bools[(a.real == b.real && a.imag == b.imag) == (stem == EQ)]);
    if (stem >= LT && stem <= GE)
        return ordered(stem, a, b);
    if (stem > TRUEDIV || is_watching())
        return NULL;
    if (stem == TRUEDIV)
        return rounded_by_torch(stem, kind, a, b);
    if (stem == MUL) {
        if (!is_real(x) && !is_real(y))
            return rounded_by_torch(stem, kind, a, b);
        Py_complex product = {a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real};
        if (kind == COMPLEX64 && !(rounded(FLOAT32, &product.real) && rounded(FLOAT32, &product.imag)))
            return NULL;
        return scalar_of(kind, PyComplex_FromCComplex(product));
    }
    a.real = stem == ADD ? a.real + b.real : a.real - b.real;
    a.imag = stem == ADD ? a.imag + b.imag : a.imag - b.imag;
    if (kind == COMPLEX64 && !(rounded(FLOAT32, &a.real) && rounded(FLOAT32, &a.imag)))
        return NULL;
    return scalar_of(kind, PyComplex_FromCComplex(a));
}

/* The square, of which NumPy makes a product; NULL for other exponents. */
static PyObject *
squared(int kind, PyObject *a, PyObject *exponent)
{
    if (!PyLong_CheckExact(exponent) || PyLong_AsLong(exponent) != 2 || kind == FLOAT16 || is_watching())
        return PyErr_Clear(), NULL;
    double x;
    return IS_REAL(kind) && as_double(a, &x) ? of_floats(MUL, kind, x, x) : NULL;
}

/* A power of integers, which goes around; NULL for negative exponents. */
static PyObject *
whole_power(int kind, PyObject *a, PyObject *other)
{
    PyObject *exponent = kind_of_type(Py_TYPE(other)) == kind ? number_of(other, kind) : other;
    long by = exponent != NULL && PyLong_CheckExact(exponent) && in_range(kind, exponent) ? PyLong_AsLong(exponent) : -1;
    if (by < 0 || is_watching())
        return PyErr_Clear(), NULL;
    unsigned long long base = PyLong_AsUnsignedLongLongMask(a), found = 1;
    for (; by; by >>= 1, base *= base)
        if (by & 1)
            found *= base;
    return around(kind, PyLong_FromUnsignedLongLong(found));
}

static PyObject *
between(enum stem stem, PyObject *self, PyObject *other, int reflected)
{
    int kind = kind_of_type(Py_TYPE(self));
    PyObject *a = kind < 0 ? NULL : number_of(self, kind), *b = NULL;
    if (a == NULL)
        return NULL;
    if (stem == POW)
        return IS_WHOLE(kind) ? whole_power(kind, a, other) : squared(kind, a, other);
    if (stem == DIVMOD) {
        PyObject *quotient = between(FLOORDIV, self, other, reflected);
        PyObject *rest = quotient == NULL ? NULL : between(MOD, self, other, reflected);
        PyObject *both = rest == NULL ? NULL : PyTuple_Pack(2, quotient, rest);
        Py_XDECREF(quotient);
        Py_XDECREF(rest);
        return both;
    }
    if (!reflected && (kind == FLOAT64 || kind == INT64) && turned[stem] != NULL && Py_IS_TYPE(other, arrays.type)) {
        PyObject *found = PyObject_CallFunctionObjArgs(turned[stem], other, self, NULL);
        return found == NULL ? left_to_python() : found;
    }
    if (other == Py_None && (stem == EQ || stem == NE))
        return Py_NewRef(Py_NotImplemented); /* whereupon Python says that they are not the same */
    if (Py_IS_TYPE(other, Py_TYPE(self)))
        b = number_of(other, kind);
    else if (is_pythons(other) || (IS_COMPLEX(kind) && PyComplex_CheckExact(other))) {
        b = other;
        if (IS_WHOLE(kind) && (PyFloat_Check(b) || (stem < LT && !in_range(kind, b))))
            return NULL;
    }
    else if (stem < LT && kind != BOOL) { /* what two dtypes promote to, if that is float64 or complex128 */
        int with = kind_of_type(Py_TYPE(other)), to = kind == COMPLEX128 || with == COMPLEX128 ? COMPLEX128 : FLOAT64;
        if (with <= BOOL || (kind != to && with != to) || kind == COMPLEX64 || with == COMPLEX64 || stem > MOD)
            return NULL;
        b = number_of(other, with);
        kind = to;
    }
    if (b == NULL || kind == BOOL)
        return NULL;
    if (reflected) {
        PyObject *first = b;
        b = a;
        a = first;
    }
    if (IS_COMPLEX(kind))
        return of_complex(stem, kind, a, b);
    if (IS_WHOLE(kind))
        return of_integers(stem, kind, a, b);
    double x, y;
    if (!as_double(a, &x) || !as_double(b, &y) || !rounded(kind, &x) || !rounded(kind, &y))
        return NULL;
    return of_floats(stem, kind, x, y);
}

static PyObject *
alone(enum stem stem, PyObject *self)
{
    int kind = kind_of_type(Py_TYPE(self));
    PyObject *a = kind <= BOOL ? NULL : number_of(self, kind);
    if (a == NULL)
        return NULL;
    if (IS_REAL(kind) ? !PyFloat_Check(a) : IS_COMPLEX(kind) ? !PyComplex_Check(a) : !PyLong_Check(a))
        return NULL;
    if (stem == POS)
        return scalar_of(kind, Py_NewRef(a));
    if (IS_WHOLE(kind)) {
        PyObject *found = stem == NEG ? PyNumber_Negative(a) : PyNumber_Absolute(a);
        return around(kind, found);
    }
    if (IS_COMPLEX(kind)) {
        Py_complex found = ((PyComplexObject *)a)->cval;
        return stem == NEG ? scalar_of(kind, PyComplex_FromDoubles(-found.real, -found.imag)) : NULL;
    }
    double number = PyFloat_AS_DOUBLE(a);
    return scalar_of(kind, PyFloat_FromDouble(stem == NEG ? -number : fabs(number)));
}

/* --- the functions that these stand before ------------------------------------------------------------------------ */

#define BETWEEN(STEM, name, reflected) \
    static PyObject *name(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *names) \
    { \
        if (PyVectorcall_NARGS(nargsf) == 2 && names == NULL && !is_traced()) { \
            PyObject *found = between(STEM, args[0], args[1], reflected); \
            if (found != NULL || PyErr_Occurred()) \
                return found; \
        } \
        return go_on(function, args, nargsf, names); \
    }
#define BOTH(STEM, name) BETWEEN(STEM, name, 0) BETWEEN(STEM, r##name, 1)
#define ALONE(STEM, name) \
    static PyObject *name(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *names) \
    { \
        if (PyVectorcall_NARGS(nargsf) == 1 && names == NULL && !is_traced()) { \
            PyObject *found = alone(STEM, args[0]); \
            if (found != NULL || PyErr_Occurred()) \
                return found; \
        } \
        return go_on(function, args, nargsf, names); \
    }

BOTH(ADD, add) BOTH(SUB, sub) BOTH(MUL, mul) BOTH(TRUEDIV, truediv) BOTH(FLOORDIV, floordiv) BOTH(MOD, mod)
BOTH(AND, and_) BOTH(OR, or_) BOTH(XOR, xor_) BOTH(LSHIFT, lshift) BOTH(RSHIFT, rshift)
BETWEEN(LT, lt, 0) BETWEEN(LE, le, 0) BETWEEN(GT, gt, 0) BETWEEN(GE, ge, 0) BETWEEN(EQ, eq, 0) BETWEEN(NE, ne, 0)
BETWEEN(POW, pow_, 0) BOTH(DIVMOD, divmod_)
ALONE(NEG, neg) ALONE(POS, pos) ALONE(ABS, abs_)

static const vectorcallfunc ORDINARY[STEMS][2] = {{add, radd}, {sub, rsub}, {mul, rmul}, {truediv, rtruediv},
    {floordiv, rfloordiv}, {mod, rmod}, {and_, rand_}, {or_, ror_}, {xor_, rxor_}, {lshift, rlshift},
    {rshift, rrshift}, {lt, NULL}, {le, NULL}, {gt, NULL}, {ge, NULL}, {eq, NULL}, {ne, NULL}, {pow_, NULL},
    {divmod_, rdivmod_}, {neg, NULL}, {pos, NULL}, {abs_, NULL}};

int
stem_of(PyObject *function, int *reflected)
{
    PyObject *name = PyObject_GetAttrString(function, "__name__");
    const char *word = name == NULL || !PyUnicode_Check(name) ? NULL : PyUnicode_AsUTF8(name);
    size_t length = word == NULL ? 0 : strlen(word);
    int found = -1;
    if (length > 4 && memcmp(word, "__", 2) == 0)
        for (int turned_ = 0; turned_ < 2; turned_++)
            for (int i = 0; i < STEMS; i++) {
                size_t size = strlen(NAMES[i]);
                if (found < 0 && length == size + 4 + (size_t)turned_ && (!turned_ || word[2] == 'r')
                    && memcmp(word + 2 + turned_, NAMES[i], size) == 0) {
                    found = i;
                    *reflected = turned_;
                }
            }
    Py_XDECREF(name);
    return found;
}

PyObject *
complex_operator(int stem, int reflected, PyObject *self, PyObject *other)
{
    return IS_COMPLEX(kind_of_type(Py_TYPE(self))) ? between(stem, self, other, reflected) : NULL;
}

PyObject *
attach_operator(PyObject *module, PyObject *args)
{
    PyObject *function, *of_arrays;
    const char *stem;
    int reflected;
    if (!PyArg_ParseTuple(args, "OspO:attach_operator", &function, &stem, &reflected, &of_arrays))
        return NULL;
    for (int i = 0; i < STEMS; i++)
        if (strcmp(stem, NAMES[i]) == 0 && ORDINARY[i][reflected] != NULL) {
            if (of_arrays != Py_None)
                Py_XSETREF(turned[i], Py_NewRef(of_arrays));
            return stand_before(function, ORDINARY[i][reflected]) < 0 ? NULL : Py_NewRef(Py_True);
        }
    Py_RETURN_FALSE;
}
