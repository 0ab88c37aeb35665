/* The forms of sums, differences, products and quotients of a decomposed tensor and a constant, and of two. */
#include "decomposed.h"
#include <math.h>

/* An ordinary tensor and a constant beside it: a number, or a tensor that broadcasts to its shape. */
typedef struct {
    Parts x;
    PyObject *constant;
    Array at;
    double number;
    int is_turned, is_number, has_number; /* the constant is the first argument; it is a number, or holds one alone */
} Beside;

/* The operation of a number without axes and a plain tensor that has some; NULL of others. */
static PyObject *
spread(int which, PyObject *const *args, Py_ssize_t count)
{
    Parts x;
    Array at;
    PyObject *made = NULL;
    int is_turned = count == 2 && Py_IS_TYPE(args[1], given.type);
    if (count != 2 || !Py_IS_TYPE(args[!is_turned], arrays.tensor) || !Py_IS_TYPE(args[is_turned], given.type)
        || !look_at_any(args[!is_turned], &at) || at.rank == 0 || at.code != OF_FLOAT || !parts_of(args[is_turned], &x))
        return NULL;
    if (x.value_at.rank == 0)
        made = few_spread(which, &x, args[!is_turned], &at, is_turned);
    let_parts_go(&x);
    return made;
}

/* A number that is not so large that something has to be said. */
static int
as_moderate(PyObject *constant, double *number)
{
    if (PyFloat_CheckExact(constant))
        *number = PyFloat_AS_DOUBLE(constant);
    else if (PyBool_Check(constant))
        *number = constant == Py_True;
    else if (PyLong_CheckExact(constant)) {
        *number = PyLong_AsDouble(constant);
        if (*number == -1 && PyErr_Occurred())
            return PyErr_Clear(), 0;
    }
    else
        return 0;
    return fabs(*number) <= given.steep;
}

static int
broadcasts(const Array *from, const Array *to)
{
    int more = to->rank - from->rank;
    for (int axis = 0; more >= 0 && axis < from->rank; axis++)
        if (from->shape[axis] != 1 && from->shape[axis] != to->shape[axis + more])
            return 0;
    return more >= 0;
}

/* Whether two shapes broadcast against each other. */
static int
fit(const Array *a, const Array *b)
{
    for (int axis = 1; axis <= Py_MIN(a->rank, b->rank); axis++) {
        int64_t of_a = a->shape[a->rank - axis], of_b = b->shape[b->rank - axis];
        if (of_a != of_b && of_a != 1 && of_b != 1)
            return 0;
    }
    return 1;
}

/* Whether a call is one of x and a constant; then the parts of x are held. The constant broadcasts to the shape of x,
 * or if it may be wider both do to another one, of as many axes as x has. */
static int
is_beside(PyObject *const *args, Py_ssize_t count, int may_be_wider, Beside *found)
{
    if (count != 2)
        return 0;
    found->is_turned = !Py_IS_TYPE(args[0], given.type);
    found->constant = args[!found->is_turned];
    if (Py_IS_TYPE(found->constant, given.type) || !parts_of(args[found->is_turned], &found->x))
        return 0;
    found->is_number = !found->is_turned && as_moderate(found->constant, &found->number);
    found->has_number = found->is_number;
    if (found->is_number)
        return 1;
    if (!is_plain(found->constant, &found->x, &found->at)
        || !(may_be_wider ? found->at.rank <= found->x.value_at.rank && fit(&found->at, &found->x.value_at)
                          : broadcasts(&found->at, &found->x.value_at))) {
        let_parts_go(&found->x);
        return 0;
    }
    if (elements_in(&found->at) == 1 && is_on_host(&found->at) && is_readable(found->constant)) {
        found->number = found->at.bits == 64 ? *(double *)found->at.elements : *(float *)found->at.elements;
        found->has_number = fabs(found->number) <= given.steep;
    }
    return 1;
}

/* The function of a part and the constant, in their order. */
static PyObject *
of_part(PyObject *func, const Beside *call, PyObject *part)
{
    PyObject *args[] = {NULL, part, call->constant};
    if (call->is_turned) {
        args[1] = call->constant;
        args[2] = part;
    }
    return part == NULL ? NULL : PyObject_Vectorcall(func, args + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

/* By calls of torch; the components are those of x, or its negatives, or what the function makes of them. */
enum { AS_THEY_ARE, NEGATED, LIKE_VALUES };
static PyObject *
by_calls(PyObject *func, const Beside *call, int which)
{
    const Parts *x = &call->x;
    PyObject *row = rows_of(x), *value = NULL, *residual = NULL, *components = NULL;
    /* In the order of Python, in which the gradients of the constant are added up, and strides are found. */
    int are_first = which == LIKE_VALUES && (call->is_turned || !are_alike(&call->at, &x->value_at));
    if (are_first && row != NULL)
        components = PyObject_CallFunctionObjArgs(func, x->components, call->constant, NULL);
    if (row != NULL && (components != NULL || !are_first))
        value = of_part(func, call, x->value);
    if (value != NULL)
        residual = of_part(func, call, row);
    if (residual != NULL && !are_first)
        components = which == LIKE_VALUES ? of_part(func, call, x->components)
                                          : PyObject_CallMethodNoArgs(x->components, which ? names.neg : names.clone);
    Py_XDECREF(row);
    return built(value, residual, components, x, 0);
}

/* --- sums and differences ----------------------------------------------------------------------------------------- */

/* Under the same labels; their shapes broadcast. */
static PyObject *
sum_of_parts(PyObject *func, const Parts *x, const Parts *y)
{
    int rank = Py_MAX(x->value_at.rank, y->value_at.rank);
    PyObject *value = PyObject_CallFunctionObjArgs(func, x->value, y->value, NULL), *residual = NULL;
    PyObject *first = NULL, *second = NULL, *components = NULL;
    if (value != NULL && (residual = PyObject_CallFunctionObjArgs(func, x->residual, y->residual, NULL)) != NULL)
        first = with_axes(x, rank);
    if (first != NULL && (second = with_axes(y, rank)) != NULL)
        components = PyObject_CallFunctionObjArgs(func, first, second, NULL);
    Py_XDECREF(second);
    Py_XDECREF(first);
    return built(value, residual, components, x, 0);
}

static PyObject *
sum_of_two(const Form *form, PyObject *func, PyObject *const *args)
{
    Parts x, y;
    PyObject *made = NULL;
    if (!parts_of(args[0], &x))
        return NULL;
    if (!parts_of(args[1], &y)) {
        let_parts_go(&x);
        return NULL;
    }
    int are_of_one_kind = x.labels == y.labels && !x.has_equal_rows && !y.has_equal_rows
                       && x.value_at.bits == y.value_at.bits && fit(&x.value_at, &y.value_at);
    if (are_of_one_kind && are_alike(&x.value_at, &y.value_at))
        made = few_sum(&x, &y, form->traits);
    else
        made = few_sum_of_two(args, form->traits);
    if (made == NULL && !PyErr_Occurred() && are_of_one_kind)
        made = sum_of_parts(func, &x, &y);
    let_parts_go(&y);
    let_parts_go(&x);
    return made;
}

static int
are_two(PyObject *const *args, Py_ssize_t count)
{
    return count == 2 && Py_IS_TYPE(args[0], given.type) && Py_IS_TYPE(args[1], given.type);
}

/* --- a + alpha * b ------------------------------------------------------------------------------------------------ */

int
is_with_alpha(const Form *form, Py_ssize_t count, PyObject *keywords)
{
    if (form->answer == unless_near && form->inner != NULL)
        form = form->inner;
    return form->answer == added && count == 2 && PyTuple_GET_SIZE(keywords) == 1
        && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(keywords, 0), "alpha") == 0;
}

/* The function of two parts. */
static PyObject *
with_alpha(PyObject *func, PyObject *a, PyObject *b, PyObject *alpha)
{
    static PyObject *keywords;
    if (keywords == NULL && (keywords = Py_BuildValue("(s)", "alpha")) == NULL)
        return NULL;
    PyObject *args[] = {NULL, a, b, alpha};
    return PyObject_Vectorcall(func, args + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, keywords);
}

/* x and alpha times a tensor, which may be decomposed under the same labels. */
static PyObject *
added_times(const Form *form, PyObject *func, PyObject *const *args)
{
    Parts x, y;
    Array at;
    if ((form->traits & SUBTRACTS_FROM) || !(PyLong_CheckExact(args[2]) || PyFloat_CheckExact(args[2]))
        || !parts_of(args[0], &x))
        return NULL;
    PyObject *value = NULL, *residual = NULL, *components = NULL;
    int is_constant = is_plain(args[1], &x, &at), are_two = !is_constant && parts_of(args[1], &y);
    if (is_constant && !x.has_equal_rows && broadcasts(&at, &x.value_at)) {
        if ((value = with_alpha(func, x.value, args[1], args[2])) != NULL)
            residual = with_alpha(func, x.residual, args[1], args[2]);
        if (residual != NULL)
            components = PyObject_CallMethodNoArgs(x.components, names.clone);
    }
    else if (are_two && x.labels == y.labels && !x.has_equal_rows && !y.has_equal_rows
             && are_alike(&x.value_at, &y.value_at) && x.value_at.bits == y.value_at.bits) {
        if ((value = with_alpha(func, x.value, y.value, args[2])) != NULL)
            residual = with_alpha(func, x.residual, y.residual, args[2]);
        if (residual != NULL)
            components = with_alpha(func, x.components, y.components, args[2]);
    }
    PyObject *made = built(value, residual, components, &x, 0);
    if (are_two)
        let_parts_go(&y);
    let_parts_go(&x);
    return made;
}

PyObject *
added(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Beside call;
    if (count == 3)
        return added_times(form, func, args);
    PyObject *found = reversed_added(func, args, count);
    if (found != NULL || PyErr_Occurred())
        return found;
    if (are_two(args, count))
        return sum_of_two(form, func, args);
    if (!is_beside(args, count, 0, &call))
        return form->traits & SUBTRACTS_FROM ? NULL : spread(form->traits & SUBTRACTS ? FEW_DIFFERENCE : FEW_SUM, args, count);
    /* Turned around, x - c is c - x, and so is c - x. */
    int traits = form->traits & (SUBTRACTS | SUBTRACTS_FROM);
    if (call.is_turned && traits)
        traits ^= SUBTRACTS | SUBTRACTS_FROM;
    PyObject *made = NULL;
    if (call.has_number)
        made = few_moved(&call.x, call.number, traits);
    else if (are_alike(&call.at, &call.x.value_at))
        made = few_beside(&call.x, call.constant, &call.at, traits);
    if (made == NULL && !PyErr_Occurred() && !call.is_number)
        made = by_calls(func, &call, traits & SUBTRACTS_FROM ? NEGATED : AS_THEY_ARE);
    let_parts_go(&call.x);
    return made;
}

/* --- products and quotients --------------------------------------------------------------------------------------- */

PyObject *
scaled(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Beside call;
    PyObject *made = are_two(args, count) ? few_product_of_two(args) : NULL;
    if (made != NULL || PyErr_Occurred())
        return made;
    if (!is_beside(args, count, 1, &call)) {
        made = spread(FEW_PRODUCT, args, count);
        return made != NULL || PyErr_Occurred() ? made : reversed_scaled(func, args, count, 0);
    }
    if (call.has_number || is_moderate(call.constant, &call.at)) {
        made = call.has_number ? few_scaled(&call.x, call.number, 0)
             : are_alike(&call.at, &call.x.value_at) ? few_times(&call.x, call.constant, &call.at) : NULL;
        if (made == NULL && !PyErr_Occurred() && !call.is_number)
            made = by_calls(func, &call, LIKE_VALUES);
    }
    let_parts_go(&call.x);
    return made;
}

/* x over a constant that is neither so small that something has to be said, nor infinite. */
PyObject *
divided(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Beside call;
    PyObject *made = are_two(args, count) ? few_quotient_of_two(args)
                   : count == 2 && Py_IS_TYPE(args[1], given.type) ? few_over(func, args[0], args[1]) : NULL;
    if (made != NULL || PyErr_Occurred())
        return made;
    if (count != 2 || !Py_IS_TYPE(args[0], given.type) || !is_beside(args, count, 1, &call)) {
        made = spread(FEW_QUOTIENT, args, count);
        return made != NULL || PyErr_Occurred() ? made : reversed_scaled(func, args, count, 1);
    }
    if (call.has_number ? fabs(call.number) >= 1 / given.steep : is_no_small_divisor(&call.at)) {
        made = call.has_number ? few_scaled(&call.x, call.number, 1) : NULL;
        if (made == NULL && !PyErr_Occurred() && !call.is_number)
            made = by_calls(func, &call, LIKE_VALUES);
    }
    let_parts_go(&call.x);
    return made;
}
