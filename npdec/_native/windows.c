/* Where the elements of plain arrays on the host lie, and the windows through which they are read and written: what
 * `npdec._array.elements` says in Python of an array that has its memory alone. */
#include "native.h"

const Py_ssize_t SIZES[KINDS] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 4, 8, 8, 16};

PyTypeObject *elements_type;
static PyObject *taken[KINDS]; /* by dtype: what `taken_by` says */
static PyObject *dtypes[KINDS];
static PyObject *strided;     /* torch.strided */
static PyObject *is_wrapped;  /* whether a tensor stands for another within torch.func */
static PyObject *taken_by;    /* of a dtype: what arrays of it take */

PyObject *
make_elements(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *address, *shape, *strides;
    const char *letter;
    if (!PyArg_ParseTuple(args, "O!sO!O!:Elements", &PyLong_Type, &address, &letter, &PyTuple_Type, &shape,
                          &PyTuple_Type, &strides))
        return NULL;
    int kind = kind_of_letter(letter);
    void *memory = kind < 0 ? NULL : PyLong_AsVoidPtr(address);
    if (memory == NULL) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "there are no elements at address 0");
        return NULL;
    }
    Py_ssize_t rank = PyTuple_GET_SIZE(shape);
    if (rank > MOST_AXES || PyTuple_GET_SIZE(strides) != rank) {
        PyErr_Format(PyExc_ValueError, "%zd axes have %zd strides; at most %d are taken", rank,
                     PyTuple_GET_SIZE(strides), MOST_AXES);
        return NULL;
    }
    Elements *self = (Elements *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->memory = memory;
    self->kind = kind;
    self->rank = (int)rank;
    self->itemsize = SIZES[kind];
    for (Py_ssize_t axis = 0; axis < rank; axis++) {
        self->shape[axis] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, axis));
        Py_ssize_t stride = PyLong_AsSsize_t(PyTuple_GET_ITEM(strides, axis));
        self->strides[axis] = self->shape[axis] > 1 ? stride * SIZES[kind] : 0;
    }
    if (PyErr_Occurred())
        Py_CLEAR(self);
    return (PyObject *)self;
}

/* What a method gives as an integer, -1 for an error. */
static Py_ssize_t
integer_by(PyObject *object, PyObject *word)
{
    PyObject *found = PyObject_CallMethodNoArgs(object, word);
    Py_ssize_t number = found == NULL ? -1 : PyLong_AsSsize_t(found);
    Py_XDECREF(found);
    return number;
}

/* The shape and strides of a tensor; the elements that its memory goes over, these included, -1 for an error. */
static Py_ssize_t
measure(PyObject *tensor, Elements *elements)
{
    PyObject *shape = PyObject_GetAttr(tensor, words.shape);
    PyObject *strides = shape == NULL ? NULL : PyObject_CallMethodNoArgs(tensor, words.stride);
    Py_ssize_t reach = -1, rank = -1;
    if (strides != NULL && PyTuple_Check(shape) && PyTuple_Check(strides)) /* a mode of torch's may say anything */
        rank = PyTuple_GET_SIZE(shape);
    if (rank >= 0 && rank <= MOST_AXES && PyTuple_GET_SIZE(strides) == rank) {
        elements->rank = (int)rank;
        reach = 1;
        for (Py_ssize_t axis = 0; axis < rank; axis++) {
            Py_ssize_t size = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, axis));
            Py_ssize_t stride = PyLong_AsSsize_t(PyTuple_GET_ITEM(strides, axis));
            elements->shape[axis] = size;
            elements->strides[axis] = size > 1 ? stride * elements->itemsize : 0; /* of one any stride may be told */
            reach = size && reach ? reach + (size - 1) * stride : 0;
        }
        if (PyErr_Occurred())
            reach = -1;
    }
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    return reach;
}

/* Whether so many elements of a tensor's lie in memory that torch has not freed. */
static int
is_there(PyObject *tensor, Py_ssize_t reach, Py_ssize_t itemsize)
{
    PyObject *storage = PyObject_CallMethodNoArgs(tensor, words.untyped_storage);
    Py_ssize_t offset = storage == NULL ? -1 : integer_by(tensor, words.storage_offset);
    Py_ssize_t size = offset < 0 ? -1 : integer_by(storage, words.nbytes);
    Py_XDECREF(storage);
    return offset >= 0 && (offset + reach) * itemsize <= size;
}

int
kind_of_dtype(PyObject *dtype)
{
    for (int kind = KINDS; kind-- > 0;) /* the floats come first */
        if (dtypes[kind] == dtype)
            return kind;
    return -1;
}

PyObject *
dtype_of_kind(int kind)
{
    return dtypes[kind];
}

Elements *
new_elements(const Elements *like)
{
    Elements *elements = (Elements *)elements_type->tp_alloc(elements_type, 0);
    if (elements != NULL) {
        PyObject head = elements->ob_base;
        memcpy((void *)elements, (const void *)like, offsetof(Elements, of));
        elements->ob_base = head;
    }
    return elements;
}

int
look_at(PyObject *array, Elements *elements)
{
    PyObject *tensor = written_tensor(array), *dtype = SLOT(array, arrays.of_dtype);
    elements->kind = tensor == NULL ? -1 : kind_of_dtype(dtype);
    if (elements->kind < 0 || !is_true_of(tensor, words.is_cpu) || is_in_mode() || is_followed())
        return 0;
    elements->itemsize = SIZES[elements->kind];
    PyObject *layout = PyObject_GetAttr(tensor, words.layout), *wrapped;
    Py_XDECREF(layout);
    if (layout != strided || is_true_by(tensor, words.is_neg) || is_true_by(tensor, words.is_inference)
        || (IS_COMPLEX(elements->kind) && is_true_by(tensor, words.is_conj)))
        return 0;
    wrapped = PyObject_CallOneArg(is_wrapped, tensor);
    Py_XDECREF(wrapped);
    Py_ssize_t reach = wrapped == Py_False ? measure(tensor, elements) : 0;
    if (reach <= 0 || !is_there(tensor, reach, elements->itemsize))
        return 0;
    PyObject *address = PyObject_CallMethodNoArgs(tensor, words.data_ptr);
    elements->memory = address == NULL ? NULL : PyLong_AsVoidPtr(address);
    Py_XDECREF(address);
    return elements->memory != NULL && !PyErr_Occurred();
}

static PyObject *
taken_in(int kind)
{
    if (taken[kind] == NULL)
        taken[kind] = PyObject_CallOneArg(taken_by, dtypes[kind]);
    return taken[kind];
}

int
open_simply(PyObject *array)
{
    PyObject *tensor = SLOT(array, arrays.of_tensor);
    Elements found;
    if (SLOT(array, arrays.of_family) != Py_None || !holds_alone(tensor) || !look_at(array, &found)
        || family_of(array) == NULL)
        return 0;
    PyObject *reason = SLOT(array, arrays.of_reason), *data_ptr = PyObject_GetAttr(tensor, words.data_ptr);
    PyObject *taken = reason == NULL || reason == Py_None ? Py_XNewRef(taken_in(found.kind)) : PyDict_New();
    Elements *elements = new_elements(&found);
    PyObject *window = NULL;
    if (data_ptr != NULL && taken != NULL && elements != NULL) {
        window = Py_BuildValue("OONOOi(O(O))", tensor, data_ptr, PyLong_FromVoidPtr(found.memory), elements,
                               type_of_kind(found.kind), found.rank, taken, tensor);
    }
    Py_XDECREF(data_ptr);
    Py_XDECREF(taken);
    Py_XDECREF(elements);
    if (window == NULL)
        return 0;
    Py_XSETREF(SLOT(array, arrays.of_window), window);
    return 1;
}

PyObject *
attach_windows(PyObject *module, PyObject *args)
{
    PyObject *letters, *dtype, *letter, *found[3];
    PyTypeObject *elements;
    Py_ssize_t at = 0;
    if (!PyArg_ParseTuple(args, "O!O!OOO:attach_windows", &PyType_Type, &elements, &PyDict_Type, &letters, &found[0],
                          &found[1], &found[2]))
        return NULL;
    while (PyDict_Next(letters, &at, &dtype, &letter)) {
        const char *name = PyUnicode_AsUTF8(letter);
        int kind = name == NULL ? -1 : kind_of_letter(name);
        if (kind < 0)
            return NULL;
        Py_XSETREF(dtypes[kind], Py_NewRef(dtype));
    }
    Py_XSETREF(elements_type, (PyTypeObject *)Py_NewRef(elements));
    Py_XSETREF(strided, Py_NewRef(found[0]));
    Py_XSETREF(is_wrapped, Py_NewRef(found[1]));
    Py_XSETREF(taken_by, Py_NewRef(found[2]));
    return Py_NewRef(Py_None);
}
