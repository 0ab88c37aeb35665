/* Decomposed numbers as Python's numbers, and made of them: what `npdec._law.ordinary_numbers` does in several calls of
 * torch. */
#include "decomposed.h"
#include "lazy.h"
#include <float.h>
#include <math.h>

#define FAR (1 << 20) /* integers: `npdec._law.discrete_of_few` */

/* Whether tensors that are made here are as torch makes them, and no mode is to be told. (What is transformed, or
 * observed, comes here no more: `npdec._law.ordinary`.) */
static int
is_free_to_make(void)
{
    return is_off(asked.is_inference) && !is_in_mode() && is_off(asked.functions)
        && PyDict_GetItemWithError(asked.profiler, asked.is_profiled) == Py_False && !PyErr_Occurred();
}

static PyObject *
number_on_host(const Array *at, Py_ssize_t place)
{
    if (at->code == OF_BOOL)
        return Py_NewRef(((unsigned char *)at->elements)[place] ? Py_True : Py_False);
    if (at->code == OF_INTEGER)
        return PyFloat_FromDouble((double)((int64_t *)at->elements)[place]);
    return PyFloat_FromDouble(at->bits == 64 ? ((double *)at->elements)[place] : ((float *)at->elements)[place]);
}

static PyObject *
listed(const Array *at)
{
    PyObject *list = PyList_New(at->shape[0]);
    for (Py_ssize_t i = 0; list != NULL && i < at->shape[0]; i++) {
        PyObject *number = number_on_host(at, i * at->strides[0]);
        if (number == NULL)
            Py_CLEAR(list);
        else
            PyList_SET_ITEM(list, i, number);
    }
    return list;
}

/* Whether the end of a number is of the kind that is asked for, and no integer that is far from zero. */
static int
is_asked_for(const Array *at, int others)
{
    if (at->code == OF_INTEGER) {
        int64_t number = *(int64_t *)at->elements;
        return others == OR_INTEGERS && number >= -FAR && number <= FAR;
    }
    return (at->code == OF_BOOL) == (others != 0);
}

static PyObject *
parts_on_host(PyObject *tensor, int others)
{
    Parts x;
    PyObject *found = NULL;
    if (!Py_IS_TYPE(tensor, given.type) || is_traced() || !parts_of_any(tensor, &x, others))
        return or_none(left_to_python());
    if (x.value_at.rank == 0 && x.components_at.shape[0] > 0
        && x.components_at.shape[0] <= HANDFUL && is_on_host(&x.value_at) && is_on_host(&x.residual_at)
        && is_on_host(&x.components_at) && is_readable(x.value) && is_readable(x.residual)
        && is_readable(x.components) && is_asked_for(&x.value_at, others) && is_asked_for(&x.residual_at, others)
        && !is_in_mode() && !is_followed())
        found = Py_BuildValue("(NNN)", number_on_host(&x.value_at, 0), number_on_host(&x.residual_at, 0),
                              listed(&x.components_at));
    let_parts_go(&x);
    return or_none(found == NULL ? left_to_python() : found);
}

/* number_in(tensor), condition_in(tensor), discrete_in(tensor) */
PyObject *
number_in_parts(PyObject *module, PyObject *tensor)
{
    return parts_on_host(tensor, 0);
}

PyObject *
condition_in_parts(PyObject *module, PyObject *tensor)
{
    return parts_on_host(tensor, OR_CONDITIONS);
}

PyObject *
discrete_in_parts(PyObject *module, PyObject *tensor)
{
    return parts_on_host(tensor, OR_INTEGERS);
}

/* Write a number in a floating dtype, by way of single precision as torch does; 0 where it leaves the range of half
 * precision. */
static int
put_number(char *memory, int kind, Py_ssize_t i, double number)
{
    if (kind == FLOAT16)
        return PyFloat_Pack2((float)number, memory + 2 * i, PY_LITTLE_ENDIAN) == 0 ? 1 : (PyErr_Clear(), 0);
    if (kind == FLOAT64)
        ((double *)memory)[i] = number;
    else
        ((float *)memory)[i] = (float)number;
    return 1;
}

/* One end as a tensor: a number of a kind, a condition, an integer, or a tensor of no axes. */
static PyObject *
as_part(PyObject *end, int kind)
{
    Array at = {.rank = 0};
    char *memory;
    if (Py_IS_TYPE(end, arrays.tensor))
        return look_at_any(end, &at) && at.rank == 0 ? Py_NewRef(end) : NULL;
    if (!PyBool_Check(end) && !PyFloat_CheckExact(end) && !PyLong_CheckExact(end))
        return NULL;
    long long whole = 0;
    int beyond = 0;
    if (PyLong_CheckExact(end) && ((whole = PyLong_AsLongLongAndOverflow(end, &beyond)), beyond))
        return NULL;
    int kept = PyBool_Check(end) ? BOOL : PyLong_CheckExact(end) ? INT64 : kind;
    PyObject *tensor = tensor_by_rows(kept, &at, 1, &memory);
    if (tensor == NULL)
        return NULL;
    if (kept == BOOL)
        *(unsigned char *)memory = end == Py_True;
    else if (kept == INT64)
        *(int64_t *)memory = whole;
    else if (!put_number(memory, kind, 0, PyFloat_AS_DOUBLE(end)))
        Py_CLEAR(tensor);
    return tensor;
}

static PyObject *
as_components(PyObject *list, int kind)
{
    int64_t count = PyList_GET_SIZE(list);
    Array at = {.rank = 1, .shape = &count};
    char *memory;
    for (Py_ssize_t i = 0; i < count; i++)
        if (!PyFloat_CheckExact(PyList_GET_ITEM(list, i)))
            return NULL;
    PyObject *tensor = count == 0 ? NULL : tensor_by_rows(kind, &at, count, &memory);
    for (Py_ssize_t i = 0; tensor != NULL && i < count; i++) {
        if (!put_number(memory, kind, i, PyFloat_AS_DOUBLE(PyList_GET_ITEM(list, i))))
            Py_CLEAR(tensor);
    }
    return tensor;
}

static int
is_discrete(PyObject *value)
{
    Array at;
    return look_at_any(value, &at) && (at.code == OF_BOOL || at.code == OF_INTEGER || at.code == OF_UNSIGNED);
}

/* number_of(value, residual, components, labels, dtype) */
PyObject *
number_of_parts(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    int kind = count == 5 ? kind_of_dtype(args[4]) : -1;
    if ((kind != FLOAT64 && kind != FLOAT32 && kind != FLOAT16) || is_traced() || !PyList_CheckExact(args[2])
        || !PyTuple_CheckExact(args[3]) || !is_free_to_make())
        return or_none(left_to_python());
    PyObject *value = as_part(args[0], kind), *residual = value == NULL ? NULL : as_part(args[1], kind), *made = NULL;
    PyObject *components = residual == NULL ? NULL : as_components(args[2], kind);
    if (components != NULL && (made = carrying(value)) != NULL
        && (set_parts(made, value, residual, components, args[3]) < 0
            || (is_discrete(value) && PyObject_SetAttr(made, names.discrete, Py_True) < 0)))
        Py_CLEAR(made);
    Py_XDECREF(value);
    Py_XDECREF(residual);
    Py_XDECREF(components);
    return or_none(made == NULL ? left_to_python() : made);
}

static double
real_at(const Array *at, Py_ssize_t i)
{
    Py_ssize_t place = 0;
    for (int axis = at->rank; axis-- > 0; i /= at->shape[axis])
        place += i % at->shape[axis] * at->strides[axis];
    return at->code == OF_BOOL ? ((unsigned char *)at->elements)[place] != 0
         : at->code == OF_INTEGER ? (double)((int64_t *)at->elements)[place]
         : at->bits == 64 ? ((double *)at->elements)[place] : ((float *)at->elements)[place];
}

/* A part in a floating or complex dtype; NULL, without an error, where a number is far, or leaves the range. */
static PyObject *
in_kind(const Array *from, int kind)
{
    char *memory;
    Py_ssize_t count = elements_in(from), i = 0;
    PyObject *tensor = tensor_by_rows(kind, from, count, &memory);
    int is_complex = kind == COMPLEX128 || kind == COMPLEX64, is_double = kind == COMPLEX128 || kind == FLOAT64;
    for (; tensor != NULL && i < count; i++) {
        double number = real_at(from, i);
        Py_ssize_t to = is_complex ? 2 * i : i;
        if ((from->code == OF_INTEGER && !(fabs(number) <= FAR)) || (!is_double && fabs(number) > FLT_MAX))
            break;
        if (is_double)
            ((double *)memory)[to] = number;
        else
            ((float *)memory)[to] = (float)number;
        if (is_complex && is_double)
            ((double *)memory)[to + 1] = 0;
        else if (is_complex)
            ((float *)memory)[to + 1] = 0;
    }
    if (i < count)
        Py_CLEAR(tensor);
    return tensor;
}

/* numbers_as(tensor, dtype): few decomposed booleans, integers near zero or real numbers as numbers of a floating or
 * complex dtype; or None. */
PyObject *
numbers_as(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Parts x;
    PyObject *ends[3] = {NULL, NULL, NULL}, *made = NULL;
    int kind = count == 2 ? kind_of_dtype(args[1]) : -1;
    if ((kind != FLOAT64 && kind != FLOAT32 && kind != COMPLEX128 && kind != COMPLEX64) || is_traced() || is_observed()
        || !is_usual_rule() || !parts_of_any(args[0], &x, OR_INTEGERS))
        return or_none(left_to_python());
    const Array *parts[3] = {&x.value_at, &x.residual_at, &x.components_at};
    int are_read = elements_in(&x.components_at) <= FEW_COMPONENTS && are_plain_numbers(&x) && is_free_to_make();
    for (int i = 0; i < 3 && are_read; i++)
        are_read = is_on_host(parts[i]) && (ends[i] = in_kind(parts[i], kind)) != NULL;
    if (are_read)
        made = assembled(ends[0], ends[1], ends[2], &x);
    else
        for (int i = 0; i < 3; i++)
            Py_XDECREF(ends[i]);
    let_parts_go(&x);
    return or_none(made == NULL ? left_to_python() : made);
}

/* tensor_of(number, dtype) */
PyObject *
tensor_of_number(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    int kind = count == 2 && PyFloat_CheckExact(args[0]) ? kind_of_dtype(args[1]) : -1;
    if ((kind != FLOAT64 && kind != FLOAT32) || is_traced() || !is_free_to_make())
        return or_none(left_to_python());
    PyObject *made = as_part(args[0], kind);
    return or_none(made == NULL ? left_to_python() : made);
}
