/* The forms of products of matrices: decomposed rows, columns or batches, and a constant factor. */
#include "decomposed.h"

/* The residual, of equal rows one. */
static PyObject *
narrowed(const Parts *x)
{
    if (!x->has_equal_rows)
        return Py_NewRef(x->residual);
    PyObject *axes = PyLong_FromLong(x->value_at.rank - 1);
    PyObject *row = axes == NULL ? NULL : PyObject_CallFunctionObjArgs(given.narrowed, x->residual, axes, NULL);
    Py_XDECREF(axes);
    return row;
}

/* Whether they have the same strides. */
static int
lie_alike(const Array *a, const Array *b)
{
    for (int axis = 0; axis < a->rank; axis++)
        if (a->strides[axis] != b->strides[axis])
            return 0;
    return 1;
}

/* The other, decomposed factor behind a constant one. */
static PyObject *
behind(PyObject *func, PyObject *factor, int rank, const Parts *x)
{
    PyObject *residual = NULL, *components = NULL, *value = call(func, factor, &x->value, 1);
    if (value != NULL)
        residual = call(func, factor, &x->residual, 1);
    if (residual != NULL && x->value_at.rank > 1)
        components = call(given.matmul, factor, &x->components, 1);
    else if (residual != NULL) { /* each component is a vector */
        PyObject *turned = rank == 1 ? Py_NewRef(factor) : PyObject_GetAttr(factor, names.mT);
        if (turned != NULL)
            components = call(given.matmul, x->components, &turned, 1);
        Py_XDECREF(turned);
    }
    return built(value, residual, components, x, 0);
}

PyObject *
matmul(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Parts x;
    Array at;
    PyObject *made = NULL;
    int is_behind = count == 2 && !Py_IS_TYPE(args[0], given.type);
    if (count != 2 || !parts_of(args[is_behind], &x))
        return reversed_matmul(func, args, count);
    PyObject *factor = args[!is_behind];
    int rank = x.value_at.rank;
    int is_batch = rank == 3 && !x.has_equal_rows;
    if (rank >= 1 && is_plain(factor, &x, &at) && (is_batch ? at.rank == 3 : rank <= 2 && at.rank >= 1 && at.rank <= 2)
        && (!x.has_equal_rows || (!is_behind && rank == at.rank && rank == 2)) && is_moderate(factor, &at)) {
        if (is_behind)
            made = behind(func, factor, at.rank, &x);
        else {
            PyObject *row = narrowed(&x), *residual = NULL, *components = NULL;
            int lies_alike = !x.has_equal_rows && (is_by_rows(&x.residual_at) || lie_alike(&x.residual_at, &x.value_at));
            PyObject *rows = row == NULL || lies_alike ? Py_XNewRef(row) : PyObject_CallMethodNoArgs(row, names.contiguous);
            PyObject *value = rows == NULL ? NULL : call(func, x.value, &factor, 1);
            if (value != NULL)
                residual = call(func, rows, &factor, 1);
            if (residual != NULL)
                components = call(given.matmul, x.components, &factor, 1);
            Py_XDECREF(rows);
            Py_XDECREF(row);
            made = built(value, residual, components, &x, 0);
        }
    }
    let_parts_go(&x);
    return made;
}

/* Rows times a constant weight, and a constant bias. */
PyObject *
layer(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Parts x;
    Array weight, bias;
    PyObject *made = NULL;
    if (count < 2 || count > 3 || !parts_of(args[0], &x))
        return reversed_layer(func, args, count);
    int has_bias = count == 3 && args[2] != Py_None;
    if (x.value_at.rank >= 1 && x.value_at.rank <= 2 && is_plain(args[1], &x, &weight) && weight.rank == 2
        && (!has_bias || is_plain(args[2], &x, &bias)) && is_moderate(args[1], &weight)) {
        PyObject *row = narrowed(&x), *residual = NULL, *components = NULL;
        PyObject *value = row == NULL ? NULL : call(func, x.value, args + 1, count - 1);
        if (value != NULL)
            residual = call(func, row, args + 1, count - 1);
        if (residual != NULL)
            components = call(func, x.components, args + 1, 1);
        Py_XDECREF(row);
        made = built(value, residual, components, &x, 0);
    }
    let_parts_go(&x);
    return made;
}
