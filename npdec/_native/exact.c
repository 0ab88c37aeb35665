/* What NumPy computes of few elements where its result is exact: it sees their memory, and what it makes is copied into
 * lazy arrays. `npdec._impl._by_numpy` has the same of many. */
#include "few.h"

static PyTypeObject *ndarray;     /* NumPy's class of arrays, NULL where it is not installed */
static PyTypeObject *generic;     /* and of scalars */
static PyObject *of_kind[KINDS];  /* its dtypes */
static PyObject *types[KINDS];    /* its classes of scalars */
static PyTypeObject *lent_type;
static PyObject *word_dtype, *word_item;

/* The memory of an array, which lives as long as NumPy looks at it. It is not written. */
typedef struct {
    PyObject_HEAD
    PyObject *array;
    char *memory;
    Py_ssize_t length;
} Lent;

static int
lend(PyObject *self, Py_buffer *buffer, int flags)
{
    return PyBuffer_FillInfo(buffer, self, ((Lent *)self)->memory, ((Lent *)self)->length, 1, flags);
}

static void
free_lent(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(((Lent *)self)->array);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyType_Slot lent_slots[] = {{Py_tp_dealloc, free_lent}, {Py_bf_getbuffer, lend}, {0, NULL}};
static PyType_Spec lent_spec = {"npdec._native._calls.Lent", sizeof(Lent), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, lent_slots};

/* --- what NumPy is given ------------------------------------------------------------------------------------------ */

static PyObject *
sizes(const Py_ssize_t *numbers, int count)
{
    PyObject *made = PyTuple_New(count);
    for (int i = 0; made != NULL && i < count; i++) {
        PyObject *number = PyLong_FromSsize_t(numbers[i]);
        if (number == NULL)
            Py_CLEAR(made);
        else
            PyTuple_SET_ITEM(made, i, number);
    }
    return made;
}

/* NumPy's array over the elements of one; NULL, maybe without an error, where that is Python's. */
static PyObject *
seen_by_numpy(PyObject *array)
{
    Elements here;
    const Elements *of;
    if (!elements_of(array, &here, &of) || !are_few(size_of(of)))
        return NULL;
    Py_ssize_t length = of->itemsize, size = of->itemsize, before = 0;
    int is_row = 1;
    for (int axis = of->rank; axis-- > 0; size *= of->shape[axis]) {
        Py_ssize_t reach = (of->shape[axis] - 1) * of->strides[axis];
        length += reach < 0 ? -reach : reach;
        before -= reach < 0 ? reach : 0;
        is_row &= of->shape[axis] == 1 || of->strides[axis] == size;
    }
    Lent *lent = (Lent *)lent_type->tp_alloc(lent_type, 0);
    if (lent == NULL)
        return NULL;
    lent->array = Py_NewRef(array);
    lent->memory = of->memory - before;
    lent->length = length;
    PyObject *shape = sizes(of->shape, of->rank), *strides = is_row ? NULL : sizes(of->strides, of->rank), *made = NULL;
    PyObject *offset = is_row ? NULL : PyLong_FromSsize_t(before);
    PyObject *args[6] = {NULL, shape, of_kind[of->kind], (PyObject *)lent, offset, strides};
    if (shape != NULL && (is_row || (strides != NULL && offset != NULL)))
        made = PyObject_Vectorcall((PyObject *)ndarray, args + 1, (is_row ? 3 : 5) | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                   NULL);
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    Py_XDECREF(offset);
    Py_DECREF(lent);
    return made;
}

/* A list or a tuple of what a function makes of each item; NULL where it makes nothing of one. */
static PyObject *
each(PyObject *items, PyObject *(*function)(PyObject *))
{
    int is_list = PyList_CheckExact(items);
    Py_ssize_t count = PySequence_Fast_GET_SIZE(items);
    PyObject *made = is_list ? PyList_New(count) : PyTuple_New(count);
    for (Py_ssize_t i = 0; made != NULL && i < count; i++) {
        PyObject *item = function(PySequence_Fast_GET_ITEM(items, i));
        if (item == NULL)
            Py_CLEAR(made);
        else if (is_list)
            PyList_SET_ITEM(made, i, item);
        else
            PyTuple_SET_ITEM(made, i, item);
    }
    return made;
}

/* An argument as NumPy takes it: an array, a number or text of Python's, or a sequence of such; NULL for others. */
static PyObject *
as_numpy_takes(PyObject *x)
{
    if (Py_IS_TYPE(x, arrays.type))
        return seen_by_numpy(x);
    if (x == Py_None || PyLong_CheckExact(x) || PyFloat_CheckExact(x) || PyBool_Check(x) || PyUnicode_CheckExact(x)
        || PySlice_Check(x))
        return Py_NewRef(x);
    int kind = kind_of_type(Py_TYPE(x));
    if (kind >= 0)
        return number_of(x, kind) == NULL ? NULL : PyObject_CallOneArg(types[kind], number_of(x, kind));
    return PyList_CheckExact(x) || PyTuple_CheckExact(x) ? each(x, as_numpy_takes) : NULL;
}

/* --- what it gives ------------------------------------------------------------------------------------------------ */

static int
kind_by_numpy(PyObject *dtype)
{
    for (int kind = KINDS; kind-- > 0;)
        if (of_kind[kind] == dtype)
            return kind;
    return -1;
}

/* A lazy array of what NumPy made; NULL, maybe without an error, where that is Python's. */
static PyObject *
taken_over(PyObject *x)
{
    Elements made;
    Py_buffer buffer;
    PyObject *dtype = PyObject_GetAttr(x, word_dtype);
    made.kind = dtype == NULL ? -1 : kind_by_numpy(dtype);
    Py_XDECREF(dtype);
    if (made.kind < 0 || PyObject_GetBuffer(x, &buffer, PyBUF_STRIDES) < 0)
        return NULL;
    PyObject *found = NULL;
    made.rank = buffer.ndim;
    made.itemsize = SIZES[made.kind];
    if (buffer.ndim > 0 && buffer.ndim <= MOST_AXES && buffer.len > 0 && are_few(buffer.len / made.itemsize)) {
        memcpy(made.shape, buffer.shape, (size_t)buffer.ndim * sizeof(Py_ssize_t));
        memcpy(made.strides, buffer.strides, (size_t)buffer.ndim * sizeof(Py_ssize_t));
        if (PyBuffer_IsContiguous(&buffer, 'A')) { /* other orders of axes are Python's */
            found = new_lazy_laid(&made, buffer.len);
            if (found != NULL)
                memcpy(made.memory, buffer.buf, (size_t)buffer.len);
        }
    }
    PyBuffer_Release(&buffer);
    return found;
}

static PyObject *
from_numpy(PyObject *x)
{
    if (Py_IS_TYPE(x, ndarray))
        return taken_over(x);
    if (PyBool_Check(x) || PyLong_CheckExact(x))
        return Py_NewRef(x);
    if (PyList_CheckExact(x) || PyTuple_CheckExact(x))
        return each(x, from_numpy);
    PyObject *dtype = PyObject_GetAttr(x, word_dtype); /* a scalar */
    int kind = dtype == NULL ? -1 : kind_by_numpy(dtype);
    Py_XDECREF(dtype);
    return kind < 0 ? NULL : scalar_of(kind, PyObject_CallMethodNoArgs(x, word_item));
}

/* `few_from_numpy(x)`: the same of an array or a scalar that is NumPy's, in memory of its own; or None. */
PyObject *
few_from_numpy(PyObject *module, PyObject *x)
{
    int is_open = ndarray != NULL && !is_traced() && !is_elsewhere() && !is_seen_by_torch();
    PyObject *found = !is_open ? NULL : Py_IS_TYPE(x, ndarray) ? taken_over(x)
                    : PyObject_TypeCheck(x, generic) ? from_numpy(x) : NULL;
    return or_none(found == NULL ? left_to_python() : found);
}

#define MOST_TAKEN 8

/* `few_by_numpy(function, *arguments)`: what NumPy's function makes of few elements, or None. One of the arguments is an
 * array. */
PyObject *
few_by_numpy(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyObject *taken[MOST_TAKEN + 1] = {NULL}, *found = NULL;
    Py_ssize_t at = 1;
    if (ndarray == NULL || count < 2 || count > MOST_TAKEN || is_traced() || is_watching() || is_elsewhere()
        || is_seen_by_torch())
        return or_none(left_to_python());
    while (at < count && (taken[at] = as_numpy_takes(args[at])) != NULL)
        at++;
    PyObject *made = at < count ? NULL : PyObject_Vectorcall(args[0], taken + 1, (size_t)(count - 1), NULL);
    if (made != NULL)
        found = from_numpy(made);
    Py_XDECREF(made);
    for (Py_ssize_t i = 1; i < at; i++)
        Py_DECREF(taken[i]);
    return or_none(found == NULL ? left_to_python() : found);
}

/* `attach_numpy(class of arrays, of scalars, {letter: dtype})`, of NumPy. */
PyObject *
attach_numpy(PyObject *module, PyObject *args)
{
    PyObject *type, *scalar, *dtypes, *letter, *dtype;
    Py_ssize_t at = 0;
    if (!PyArg_ParseTuple(args, "O!O!O!:attach_numpy", &PyType_Type, &type, &PyType_Type, &scalar, &PyDict_Type,
                          &dtypes))
        return NULL;
    while (PyDict_Next(dtypes, &at, &letter, &dtype)) {
        const char *one = PyUnicode_AsUTF8(letter);
        int kind = one == NULL ? -1 : kind_of_letter(one);
        if (kind < 0)
            return NULL;
        Py_XSETREF(of_kind[kind], Py_NewRef(dtype));
        Py_XSETREF(types[kind], PyObject_GetAttrString(dtype, "type"));
    }
    for (int kind = 0; kind < KINDS; kind++)
        if (of_kind[kind] == NULL || types[kind] == NULL)
            return PyErr_Format(PyExc_ValueError, "dtype %d is not there", kind);
    word_dtype = PyUnicode_InternFromString("dtype");
    word_item = PyUnicode_InternFromString("item");
    lent_type = (PyTypeObject *)PyType_FromSpec(&lent_spec);
    if (word_dtype == NULL || word_item == NULL || lent_type == NULL)
        return NULL;
    Py_XSETREF(generic, (PyTypeObject *)Py_NewRef(scalar));
    Py_XSETREF(ndarray, (PyTypeObject *)Py_NewRef(type));
    Py_RETURN_NONE;
}
