/* Operators of scalars on the host: what `npdec._normalizer.number_operators` says in Python, for the same cases. */
#include "operators.h"
#include <float.h>
#include <math.h>

static const char *const NAMES[STEMS] = {"add", "sub", "mul", "truediv", "floordiv", "mod", "and", "or", "xor",
    "lshift", "rshift", "lt", "le", "gt", "ge", "eq", "ne", "pow", "divmod", "neg", "pos", "abs"};
static const binaryfunc WHOLE[RSHIFT + 1] = {PyNumber_Add, PyNumber_Subtract, PyNumber_Multiply, NULL,
    PyNumber_FloorDivide, PyNumber_Remainder, PyNumber_And, PyNumber_Or, PyNumber_Xor, PyNumber_Lshift,
    PyNumber_Rshift};
static const int COMPARED[] = {[LT] = Py_LT, [LE] = Py_LE, [GT] = Py_GT, [GE] = Py_GE, [EQ] = Py_EQ, [NE] = Py_NE};

/* The operators of arrays that give the same with the operands exchanged: they take a scalar as a number. */
static PyObject *turned[STEMS];
static PyObject *ufuncs[STEMS];

PyObject *
checked(int kind, double number)
{
    static const double tiny[KINDS] = {[FLOAT16] = 0x1p-14, [FLOAT32] = FLT_MIN, [FLOAT64] = DBL_MIN};
    static const double most[KINDS] = {[FLOAT16] = 65504, [FLOAT32] = FLT_MAX, [FLOAT64] = DBL_MAX};
    double size = fabs(number);
    if (!(size >= tiny[kind] && size <= most[kind]) && is_watching())
        return NULL;
    return kind == FLOAT64 ? float64_of(number) : scalar_of(kind, PyFloat_FromDouble(number));
}

PyObject *
comparison(enum stem stem, double a, double b)
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
        if (b == 0 && is_watching())
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
        return comparison(stem, a, b);
    default:
        return NULL;
    }
    return rounded(kind, &found) ? checked(kind, found) : NULL;
}

static const int BITS[KINDS] = {[INT8] = 8, [INT16] = 16, [INT32] = 32, [INT64] = 64, [UINT8] = 8, [UINT16] = 16,
    [UINT32] = 32, [UINT64] = 64};

PyObject *
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

/* Between two conditions; NULL also where they are numbers of int8. */
static PyObject *
of_conditions(enum stem stem, int a, int b)
{
    switch (stem) {
    case ADD: case OR: return Py_NewRef(bools[a | b]);
    case MUL: case AND: return Py_NewRef(bools[a & b]);
    case XOR: return Py_NewRef(bools[a ^ b]);
    case LT: case LE: case GT: case GE: case EQ: case NE: return comparison(stem, a, b);
    case TRUEDIV: return of_floats(stem, FLOAT64, a, b);
    default: return NULL;
    }
}

/* Between numbers of a kind, or that are taken in it; `weak` where the second one is Python's. */
static PyObject *
of_kind(enum stem stem, int kind, PyObject *a, PyObject *b, int weak)
{
    if (stem == DIVMOD) {
        PyObject *quotient = of_kind(FLOORDIV, kind, a, b, weak);
        PyObject *rest = quotient == NULL ? NULL : of_kind(MOD, kind, a, b, weak);
        PyObject *both = rest == NULL ? NULL : PyTuple_Pack(2, quotient, rest);
        Py_XDECREF(quotient);
        Py_XDECREF(rest);
        return both;
    }
    if (PyLong_Check(a) && PyLong_Check(b) && stem >= LT && stem <= NE)
        return of_integers(stem, kind, a, b); /* whatever holds both */
    if (kind == BOOL) {
        PyObject *found = of_conditions(stem, a == Py_True, b == Py_True);
        if (found != NULL || stem == SUB)
            return found;
        kind = INT8;
    }
    if (IS_COMPLEX(kind))
        return of_complex(stem, kind, a, b);
    if (IS_WHOLE(kind))
        return stem == POW ? whole_power(kind, a, b) : of_integers(stem, kind, a, b);
    double x, y;
    if (!as_double(a, &x) || !as_double(b, &y) || !rounded(kind, &x))
        return NULL;
    if (stem == POW && weak)
        return real_power(kind, x, y, 1);
    if (!rounded(kind, &y))
        return NULL;
    return stem == POW ? real_power(kind, x, y, 0) : of_floats(stem, kind, x, y);
}

/* Beside a float64 what it holds as one: another, a Python float, and an integer that is one exactly. */
static int
as_float64(PyObject *other, double *found)
{
    int beyond = 0;
    if (Py_IS_TYPE(other, type_of_kind(FLOAT64)) || PyFloat_CheckExact(other)) {
        *found = PyFloat_AS_DOUBLE(other);
        return 1;
    }
    long long whole = PyLong_CheckExact(other) ? PyLong_AsLongLongAndOverflow(other, &beyond) : LLONG_MAX;
    *found = (double)whole;
    return !beyond && -(1LL << 53) <= whole && whole <= 1LL << 53;
}

static PyObject *
between(enum stem stem, PyObject *self, PyObject *other, int reflected)
{
    double number;
    int is_of_floats = stem <= MOD || (stem >= LT && stem <= NE);
    if (is_of_floats && Py_IS_TYPE(self, type_of_kind(FLOAT64)) && as_float64(other, &number)) {
        double its = PyFloat_AS_DOUBLE(self);
        return of_floats(stem, FLOAT64, reflected ? number : its, reflected ? its : number);
    }
    int kind = kind_of_type(Py_TYPE(self)), with, weak = 0;
    PyObject *a = kind < 0 ? NULL : number_of(self, kind), *b = other;
    if (a == NULL)
        return NULL;
    if (!reflected && (kind == FLOAT64 || kind == INT64) && turned[stem] != NULL && Py_IS_TYPE(other, arrays.type)) {
        PyObject *found = PyObject_CallFunctionObjArgs(turned[stem], other, self, NULL);
        return found == NULL ? left_to_python() : found;
    }
    if (!reflected && ufuncs[stem] != NULL && Py_IS_TYPE(other, arrays.type))
        return PyObject_CallFunctionObjArgs(ufuncs[stem], self, other, NULL);
    if (other == Py_None && (stem == EQ || stem == NE))
        return Py_NewRef(Py_NotImplemented); /* whereupon Python says that they are not the same */
    if (Py_IS_TYPE(other, Py_TYPE(self)))
        b = number_of(other, with = kind);
    else if (PyBool_Check(other))
        with = BOOL;
    else if (PyFloat_CheckExact(other) || PyLong_CheckExact(other) || PyComplex_CheckExact(other)) {
        with = PyFloat_CheckExact(other) ? FLOAT : PyLong_CheckExact(other) ? INTEGER : COMPLEX;
        weak = !reflected && (kind == FLOAT32 || kind >= FLOAT64);
    }
    else if ((with = kind_of_type(Py_TYPE(other))) >= 0)
        b = number_of(other, with);
    if (b == NULL || with < 0)
        return NULL;
    int to = scalar_kind_of_both(kind, with);
    int is_held = stem < LT || stem > NE || kind == BOOL; /* where a comparison takes any integer, but for conditions */
    if (to < 0 || (with == INTEGER && IS_WHOLE(to) && is_held && !in_range(to, b)))
        return NULL;
    return reflected ? of_kind(stem, to, b, a, weak) : of_kind(stem, to, a, b, weak);
}

static PyObject *
alone(enum stem stem, PyObject *self)
{
    int kind = kind_of_type(Py_TYPE(self));
    if (kind == FLOAT64 && stem != POS)
        return float64_of(stem == NEG ? -PyFloat_AS_DOUBLE(self) : fabs(PyFloat_AS_DOUBLE(self)));
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
BOTH(POW, pow_) BOTH(DIVMOD, divmod_)
ALONE(NEG, neg) ALONE(POS, pos) ALONE(ABS, abs_)

static const vectorcallfunc ORDINARY[STEMS][2] = {{add, radd}, {sub, rsub}, {mul, rmul}, {truediv, rtruediv},
    {floordiv, rfloordiv}, {mod, rmod}, {and_, rand_}, {or_, ror_}, {xor_, rxor_}, {lshift, rlshift},
    {rshift, rrshift}, {lt, NULL}, {le, NULL}, {gt, NULL}, {ge, NULL}, {eq, NULL}, {ne, NULL}, {pow_, rpow_},
    {divmod_, rdivmod_}, {neg, NULL}, {pos, NULL}, {abs_, NULL}};

/* attach_ufuncs({stem: ufunc}): what the operators of scalars are beside arrays. */
PyObject *
attach_ufuncs(PyObject *module, PyObject *table)
{
    for (int i = 0; i < STEMS; i++) {
        PyObject *ufunc = PyDict_GetItemString(table, NAMES[i]);
        Py_XSETREF(ufuncs[i], Py_XNewRef(ufunc));
    }
    Py_RETURN_NONE;
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
