/* Writes into plain arrays: of an array or a number where slices say, and by operators in place. What
 * `npdec._array.ordinary_writes` and the operators say in Python, where one call of torch's is all of it. */
#include "native.h"

static PyObject *transformed, *tangents, *level, *transform;

int
is_followed(void)
{
    PyObject *found = PyDict_GetItemWithError(tangents, level);
    if (found == NULL || !PyLong_CheckExact(found) || PyLong_AsLong(found) >= 0)
        return 1;
    return !is_off(transformed);
}

int
is_transformed(void)
{
    return !is_off(transformed);
}

int
is_free(PyObject *array)
{
    PyObject *reason = SLOT(array, arrays.of_reason), *family = SLOT(array, arrays.of_family), *found = NULL;
    if ((reason != NULL && reason != Py_None) || family == NULL)
        return 0;
    if (family != Py_None) {
        PyObject *mirrors = SLOT(family, families.of_mirrors);
        if (mirrors == NULL || !PyList_CheckExact(mirrors) || PyList_GET_SIZE(mirrors) != 0
            || SLOT(family, families.of_origin) != Py_None || SLOT(family, families.of_mixed) != Py_False)
            return 0;
    }
    if (PyContextVar_Get(transform, NULL, &found) < 0 || found == NULL)
        return 0;
    int is_set = found != Py_None;
    Py_DECREF(found);
    return !is_set && !is_followed();
}

PyObject *
written_tensor(PyObject *array)
{
    PyObject *tensor = tensor_of(array);
    return tensor != NULL && !is_true_of(tensor, words.requires_grad) ? tensor : NULL;
}

int
can_write(PyObject *array)
{
    return Py_IS_TYPE(array, arrays.type) && is_free(array);
}

int
tell(PyObject *array)
{
    if (SLOT(array, arrays.of_elements) == NULL)
        return tell_of_write(SLOT(array, arrays.of_tensor));
    written(array);
    return 0;
}

static PyObject *
storage_of(PyObject *tensor)
{
    PyObject *found = PyObject_CallMethodNoArgs(tensor, words.untyped_storage);
    PyObject *its = found == NULL ? NULL : PyObject_GetAttr(found, words.cdata);
    Py_XDECREF(found);
    return its;
}

int
are_apart(PyObject *a, PyObject *b)
{
    PyObject *one = storage_of(a), *other = one == NULL ? NULL : storage_of(b);
    int apart = other != NULL && PyObject_RichCompareBool(one, other, Py_NE) == 1;
    Py_XDECREF(one);
    Py_XDECREF(other);
    return apart;
}

/* Whether two tensors have an equal property, found by a method or attribute. */
static int
are_equal(PyObject *a, PyObject *b, PyObject *word, int is_method)
{
    PyObject *one = is_method ? PyObject_CallMethodNoArgs(a, word) : PyObject_GetAttr(a, word);
    PyObject *other = one == NULL ? NULL : is_method ? PyObject_CallMethodNoArgs(b, word) : PyObject_GetAttr(b, word);
    int equal = other != NULL && PyObject_RichCompareBool(one, other, Py_EQ) == 1;
    Py_XDECREF(one);
    Py_XDECREF(other);
    return equal;
}

/* Whether the elements that a key chooses of a tensor are just those of another tensor. */
static int
is_part(PyObject *tensor, PyObject *key, PyObject *other)
{
    PyObject *part = PyObject_GetItem(tensor, key);
    int is = part != NULL && are_equal(part, other, words.data_ptr, 1) && are_equal(part, other, words.shape, 0)
        && are_equal(part, other, words.stride, 1);
    Py_XDECREF(part);
    return is;
}

/* 1 where it is written, 0 where that is left to Python, -1 where an error was raised. */
int
write_part(PyObject *array, PyObject *key, PyObject *value)
{
    PyObject *tensor = written_tensor(array), *dtype = SLOT(array, arrays.of_dtype), *given = NULL;
    if (tensor == NULL || !names_part(tensor, key) || is_in_mode() || !is_free(array))
        return left_to_python(), PyErr_Occurred() ? -1 : 0;
    if (Py_IS_TYPE(value, arrays.type)) {
        given = SLOT(value, arrays.of_dtype) == dtype ? Py_XNewRef(written_tensor(value)) : NULL;
        if (given != NULL && !are_apart(tensor, given)) {
            if (is_part(tensor, key, given)) { /* x[key] += y, which has written the view */
                Py_DECREF(given);
                return 1;
            }
            Py_SETREF(given, PyObject_CallMethodNoArgs(given, words.clone));
        }
    }
    else {
        int kind = kind_of_type(Py_TYPE(value));
        if (kind == FLOAT64 || kind == INT64)
            value = number_of(value, kind);
        if (value != NULL && (PyFloat_CheckExact(value) || PyLong_CheckExact(value)) && !is_watching()
            && is_true_of(tensor, words.is_cpu))
            given = Py_XNewRef(kept_number(value, dtype));
    }
    if (given == NULL)
        return left_to_python(), PyErr_Occurred() ? -1 : 0;
    Py_INCREF(tensor);
    int failed = PyObject_SetItem(tensor, key, given);
    Py_DECREF(tensor);
    Py_DECREF(given);
    left_to_python(); /* torch looks at shapes first: nothing was written */
    return PyErr_Occurred() ? -1 : !failed;
}

PyObject *
attach_writes(PyObject *module, PyObject *args)
{
    PyObject *namespace, *whether, *variable;
    if (!PyArg_ParseTuple(args, "O!OO!:attach_writes", &PyDict_Type, &namespace, &whether, &PyContextVar_Type,
                          &variable))
        return NULL;
    Py_XSETREF(tangents, Py_NewRef(namespace));
    Py_XSETREF(transformed, Py_NewRef(whether));
    Py_XSETREF(transform, Py_NewRef(variable));
    Py_XSETREF(level, PyUnicode_InternFromString("_current_level"));
    Py_RETURN_NONE;
}
