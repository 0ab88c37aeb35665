/* The operands of what is computed of few elements: arrays, scalars and Python's numbers, in one dtype. */
#include "few.h"

#include <math.h>

static PyObject *threads;    /* says in how many threads torch computes */
static signed char common[KINDS][KINDS]; /* what two kinds promote to, or -1 */

PyObject *
attach_few(PyObject *module, PyObject *args)
{
    PyObject *table, *count, *key, *value;
    Py_ssize_t at = 0;
    if (!PyArg_ParseTuple(args, "O!O:attach_few", &PyDict_Type, &table, &count))
        return NULL;
    Py_XSETREF(threads, Py_NewRef(count));
    memset(common, -1, sizeof(common));
    while (PyDict_Next(table, &at, &key, &value)) {
        const char *pair = PyUnicode_AsUTF8(key), *one = PyUnicode_AsUTF8(value);
        int a = pair == NULL ? -1 : kind_of_letter(pair), b = a < 0 ? -1 : kind_of_letter(pair + 1);
        int c = one == NULL || b < 0 ? -1 : kind_of_letter(one);
        if (c < 0)
            return NULL;
        common[a][b] = (signed char)c;
    }
    Py_RETURN_NONE;
}

/* --- operands ----------------------------------------------------------------------------------------------------- */

int
taken(PyObject *x, Operand *operand)
{
    operand->given = NULL;
    if (Py_IS_TYPE(x, arrays.type)) {
        if (!elements_of(x, &operand->here, &operand->at))
            return 0;
        operand->kind = operand->at->kind;
        return 1;
    }
    operand->given = x;
    if (PyFloat_CheckExact(x))
        operand->kind = FLOAT;
    else if (PyLong_CheckExact(x))
        operand->kind = INTEGER;
    else if (PyComplex_CheckExact(x))
        operand->kind = COMPLEX;
    else {
        operand->kind = kind_of_type(Py_TYPE(x));
        operand->given = operand->kind < 0 ? NULL : number_of(x, operand->kind);
    }
    return operand->given != NULL;
}

/* A number in a kind, as an operand of no axes; 0 where that takes more than to round it. */
int
in_kind(Operand *operand, int kind)
{
    PyObject *number = operand->given;
    if (PyLong_Check(number) && kind >= FLOAT16) {
        double found = PyLong_AsDouble(number);
        if (!(fabs(found) <= 0x1p53))
            return PyErr_Clear(), 0;
    }
    else if (PyLong_Check(number) ? IS_WHOLE(kind) && !in_range(kind, number)
                                  : !IS_COMPLEX(kind) && !(IS_REAL(kind) && PyFloat_Check(number)))
        return 0;
    if (kind == COMPLEX64 && PyComplex_Check(number))
        return 0;
    if ((kind == FLOAT32 || kind == COMPLEX64) && PyFloat_Check(number) && isfinite(PyFloat_AS_DOUBLE(number))
        && fabs(PyFloat_AS_DOUBLE(number)) > 3.4e38)
        return 0; /* it may leave the range */
    operand->here.memory = (char *)&operand->number;
    operand->here.kind = operand->kind = kind;
    operand->here.rank = 0;
    operand->here.itemsize = SIZES[kind];
    operand->at = &operand->here;
    return as_element(kind, number, &operand->number);
}

/* The kind in which two scalars, or a scalar and a number of Python's, are computed with, or -1. */
int
scalar_kind_of_both(int a, int b)
{
    if (a == b)
        return a < KINDS ? a : -1;
    if (a < KINDS && b < KINDS)
        return common[a][b];
    int weak = a < KINDS ? b : a, strong = a < KINDS ? a : b;
    if (strong >= KINDS)
        return -1;
    if (IS_COMPLEX(strong))
        return strong;
    if (weak == COMPLEX)
        return strong == FLOAT32 || strong == FLOAT16 ? COMPLEX64 : COMPLEX128;
    if (weak == FLOAT)
        return IS_REAL(strong) ? strong : FLOAT64;
    return strong == BOOL ? INT64 : strong;
}

/* The same of arrays, where another kind than float16 is made of both. */
int
kind_of_both(int a, int b)
{
    return a != b && (a == FLOAT16 || b == FLOAT16) && (a < KINDS || a == COMPLEX) && (b < KINDS || b == COMPLEX)
         ? -1 : scalar_kind_of_both(a, b);
}

#define MOST 32768           /* of more elements torch gives each thread some */
#define LIMIT ((Py_ssize_t)1 << 28)

Py_ssize_t
product(Py_ssize_t a, Py_ssize_t b)
{
    return b == 0 || a == 0 ? 0 : a > LIMIT / b ? LIMIT : a * b;
}

int
are_few(Py_ssize_t size)
{
    if (size <= MOST)
        return 1;
    PyObject *count = size < LIMIT ? PyObject_CallNoArgs(threads) : NULL;
    int is_one = count != NULL && PyLong_AsLong(count) == 1;
    Py_XDECREF(count);
    PyErr_Clear();
    return is_one;
}

Py_ssize_t
size_of(const Elements *elements)
{
    Py_ssize_t size = 1;
    for (int axis = 0; axis < elements->rank; axis++)
        size = product(size, elements->shape[axis]);
    return size;
}

/* Whether the axes of elements lie in memory in their order: then those of what is made of them do. */
int
is_in_order(const Elements *elements)
{
    Py_ssize_t before = PY_SSIZE_T_MAX;
    for (int axis = 0; axis < elements->rank; axis++) {
        Py_ssize_t stride = elements->strides[axis];
        if (elements->shape[axis] == 1 || stride == 0)
            continue;
        stride = stride < 0 ? -stride : stride;
        if (stride >= before) /* where they are equal, torch goes by the lengths */
            return 0;
        before = stride;
    }
    return 1;
}

/* Whether elements that do not lie row by row fill a block of memory, with their axes in another order; and the strides
 * of a copy that lies as they do. */
int
lie_dense(const Elements *of, Py_ssize_t itemsize, Py_ssize_t *strides)
{
    Py_ssize_t size = of->itemsize;
    int left = (1 << of->rank) - 1;
    for (int axis = 0; axis < of->rank; axis++)
        if (of->shape[axis] == 1)
            return 0; /* the stride of such an axis Python says */
    for (int count = 0; count < of->rank; count++) {
        int next = 0;
        while (next < of->rank && (!(left & 1 << next) || of->strides[next] != size))
            next++;
        if (next == of->rank)
            return 0;
        left &= ~(1 << next);
        strides[next] = size / of->itemsize * itemsize;
        size *= of->shape[next];
    }
    return 1;
}

/* --- going over the elements -------------------------------------------------------------------------------------- */

/* The strides of an operand along the axes of a result, 0 where it is one number for all; 0 where it does not fit. */
int
spread(const Elements *operand, int rank, const Py_ssize_t *shape, Py_ssize_t *strides)
{
    int more = rank - operand->rank;
    if (more < 0)
        return 0;
    for (int axis = 0; axis < rank; axis++) {
        Py_ssize_t size = axis < more ? 1 : operand->shape[axis - more];
        strides[axis] = size == 1 ? 0 : operand->strides[axis - more];
        if (size != shape[axis] && size != 1)
            return 0;
    }
    return 1;
}

void
over(Inner *inner, int rank, const Py_ssize_t *shape, char *to, const char *a, const char *b,
     Py_ssize_t (*by)[MOST_AXES])
{
    Py_ssize_t counts[MOST_AXES + 1], strides[MOST_AXES + 1][3], at[MOST_AXES + 1] = {0};
    int axes = 0; /* the last comes first, and axes that go on in each other are one */
    for (int axis = rank; axis-- > 0;) {
        if (shape[axis] == 1)
            continue;
        int goes_on = axes > 0;
        for (int i = 0; goes_on && i < 3; i++)
            goes_on = by[i][axis] == strides[axes - 1][i] * counts[axes - 1];
        if (goes_on)
            counts[axes - 1] *= shape[axis];
        else {
            counts[axes] = shape[axis];
            for (int i = 0; i < 3; i++)
                strides[axes][i] = by[i][axis];
            axes++;
        }
    }
    if (axes == 0) {
        counts[0] = 1;
        strides[0][0] = strides[0][1] = strides[0][2] = 0;
        axes = 1;
    }
    for (;;) {
        inner(to, a, b, counts[0], strides[0]);
        int axis = 1;
        for (; axis < axes; axis++) {
            to += strides[axis][0];
            a += strides[axis][1];
            b += strides[axis][2];
            if (++at[axis] < counts[axis])
                break;
            to -= counts[axis] * strides[axis][0];
            a -= counts[axis] * strides[axis][1];
            b -= counts[axis] * strides[axis][2];
            at[axis] = 0;
        }
        if (axis >= axes)
            return;
    }
}

void
forget(Operand *operands, int count)
{
    for (int i = 0; i < count; i++)
        PyMem_Free(operands[i].copy);
}

int
copied(Operand *operand, int kind)
{
    Elements made;
    Inner *cast = kind == BOOL ? cast_for(operand->at, kind) : cast_of(operand->at->kind, kind);
    Py_ssize_t count = size_of(operand->at);
    char *memory = cast == NULL || !are_few(count) ? NULL : PyMem_Malloc((size_t)(count * SIZES[kind]));
    if (memory == NULL)
        return 0;
    PyMem_Free(operand->copy);
    operand->copy = memory;
    Py_ssize_t by[3][MOST_AXES] = {{0}}, size = SIZES[kind];
    made.memory = memory;
    made.kind = kind;
    made.rank = operand->at->rank;
    made.itemsize = size;
    for (int axis = made.rank; axis-- > 0;) {
        made.shape[axis] = operand->at->shape[axis];
        made.strides[axis] = by[0][axis] = size;
        by[1][axis] = operand->at->strides[axis];
        size *= made.shape[axis];
    }
    over(cast, made.rank, made.shape, memory, operand->at->memory, operand->at->memory, by);
    memcpy((void *)&operand->here, (void *)&made, offsetof(Elements, of));
    operand->at = &operand->here;
    operand->kind = kind;
    return 1;
}

int
is_brought(Operand *operand, int kind)
{
    if (operand->given != NULL)
        return in_kind(operand, kind);
    return operand->kind == kind || copied(operand, kind);
}
