/* What a decomposed tensor is known to be of another one (`npdec._rules.rms_norm_pattern`). */
#include "decomposed.h"

static struct {
    PyObject *remember, *wider, *square; /* a function, and kinds of origins */
} origins;

/* What is known of ordinary tensors is that they are the same in a wider dtype, or a square, or nothing. */
int
is_ordinary_origin(PyObject *origin)
{
    if (origin == NULL || origin == Py_None)
        return 1;
    PyObject *kind = PyTuple_Check(origin) && PyTuple_GET_SIZE(origin) > 0 ? PyTuple_GET_ITEM(origin, 0) : NULL;
    return kind != NULL && (kind == origins.wider || kind == origins.square);
}

PyObject *
origin_of(PyObject *tensor)
{
    PyObject *its = Py_IS_TYPE(tensor, given.type) ? PyObject_GenericGetDict(tensor, NULL) : NULL;
    PyObject *origin = its == NULL ? NULL : PyDict_GetItemWithError(its, names.origin);
    Py_XDECREF(its);
    return origin == Py_None ? NULL : origin;
}

int
has_origin(PyObject *tensor)
{
    return origin_of(tensor) != NULL || PyErr_Occurred() != NULL;
}

int
is_square(PyObject *tensor)
{
    PyObject *origin = origin_of(tensor);
    int is_known = origin != NULL && PyTuple_Check(origin) && PyTuple_GET_SIZE(origin) > 0;
    return PyErr_Occurred() != NULL || (is_known && PyTuple_GET_ITEM(origin, 0) == origins.square);
}

static PyObject *
remembering(PyObject *made, PyObject *kind, PyObject *x)
{
    PyObject *found = PyObject_CallFunctionObjArgs(origins.remember, made, kind, x, NULL);
    Py_DECREF(made);
    return found;
}

PyObject *
as_square(PyObject *made, PyObject *x)
{
    return remembering(made, origins.square, x);
}

PyObject *
as_wider(PyObject *made, PyObject *x)
{
    return remembering(made, origins.wider, x);
}

/* attach_origins(what makes a tensor remember its origin, wider, square: kinds of origins) */
PyObject *
attach_origins(PyObject *module, PyObject *args)
{
    PyObject *remember, *wider, *square;
    if (!PyArg_ParseTuple(args, "OUU:attach_origins", &remember, &wider, &square))
        return NULL;
    Py_XSETREF(origins.remember, Py_NewRef(remember));
    Py_XSETREF(origins.wider, Py_NewRef(wider));
    Py_XSETREF(origins.square, Py_NewRef(square));
    Py_RETURN_NONE;
}
