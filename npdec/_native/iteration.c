/* Going through the elements of a vector, or the rows of an array, whose memory is looked at anew for each: what
 * `npdec._array.element_iteration` says in Python. */
#include "native.h"

/* `tensor` is NULL where the array was lazy. */
typedef struct {
    PyObject_HEAD
    PyObject *array, *tensor, *data_ptr;
    Elements *elements;
    Py_ssize_t at;
} Iterator;

static PyObject *
make_iterator(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *array, *elements;
    if (!PyArg_ParseTuple(args, "OO!:Iterator", &array, elements_type, &elements))
        return NULL;
    if (!Py_IS_TYPE(array, arrays.type) || ((Elements *)elements)->rank != 1) {
        PyErr_SetString(PyExc_TypeError, "an array of one axis and its elements are expected");
        return NULL;
    }
    PyObject *tensor = SLOT(array, arrays.of_tensor), *data_ptr = PyObject_GetAttr(tensor, words.data_ptr);
    Iterator *self = data_ptr == NULL ? NULL : (Iterator *)type->tp_alloc(type, 0);
    if (self == NULL) {
        Py_XDECREF(data_ptr);
        return NULL;
    }
    self->array = Py_NewRef(array);
    self->tensor = Py_NewRef(tensor);
    self->data_ptr = data_ptr;
    self->elements = (Elements *)Py_NewRef(elements);
    return (PyObject *)self;
}

/* What goes through a lazy array, or one that can be; None where that is Python's. */
PyObject *
few_iterated(PyObject *module, PyObject *array)
{
    const Elements *elements = lazily_held(array);
    if (elements == NULL)
        return or_none(left_to_python());
    if (elements->rank == 0)
        Py_RETURN_NONE;
    Iterator *self = (Iterator *)iterator_type->tp_alloc(iterator_type, 0);
    if (self != NULL) {
        self->array = Py_NewRef(array);
        self->elements = (Elements *)Py_NewRef(elements);
    }
    return (PyObject *)self;
}

/* The row of a lazy array. */
static PyObject *
row_at(const Iterator *self, Py_ssize_t at)
{
    const Elements *all = self->elements;
    Elements row = {.memory = all->memory + at * all->strides[0], .kind = all->kind, .itemsize = all->itemsize,
                    .rank = all->rank - 1};
    memcpy(row.shape, all->shape + 1, sizeof(row.shape) - sizeof(*row.shape));
    memcpy(row.strides, all->strides + 1, sizeof(row.strides) - sizeof(*row.strides));
    return lazy_view(self->array, &row);
}

static void
free_iterator(Iterator *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(self->array);
    Py_XDECREF(self->tensor);
    Py_XDECREF(self->data_ptr);
    Py_XDECREF(self->elements);
    type->tp_free(self);
    Py_DECREF(type);
}

/* Whether the elements lie where they lay, and are nothing but numbers. */
static int
are_there(const Iterator *self)
{
    PyObject *tensor = self->tensor;
    if (SLOT(self->array, arrays.of_tensor) != tensor || !Py_IS_TYPE(tensor, arrays.tensor) || is_in_mode()
        || is_true_of(tensor, words.requires_grad))
        return 0;
    PyObject *address = PyObject_CallNoArgs(self->data_ptr);
    void *memory = address == NULL ? NULL : PyLong_AsVoidPtr(address);
    Py_XDECREF(address);
    return memory == self->elements->memory;
}

static PyObject *
next_element(Iterator *self)
{
    const Elements *elements = self->elements;
    if (self->at >= elements->shape[0])
        return NULL;
    Py_ssize_t at = self->at++;
    if (self->tensor == NULL) {
        if (SLOT(self->array, arrays.of_elements) == (PyObject *)elements && !is_in_mode()) {
            if (elements->rank == 1)
                return scalar_at(elements, elements->memory + at * elements->strides[0]);
            if (!is_seen_by_torch())
                return row_at(self, at);
        }
    }
    else if (are_there(self))
        return scalar_at(elements, elements->memory + at * elements->strides[0]);
    if (PyErr_Occurred())
        return NULL;
    PyObject *key = PyLong_FromSsize_t(at), *found = key == NULL ? NULL : PyObject_GetItem(self->array, key);
    Py_XDECREF(key);
    return found;
}

static PyType_Slot iterator_slots[] = {
    {Py_tp_new, make_iterator}, {Py_tp_dealloc, free_iterator}, {Py_tp_iter, PyObject_SelfIter},
    {Py_tp_iternext, next_element}, {0, NULL}};
PyTypeObject *iterator_type;
PyType_Spec iterator_spec = {"npdec._native._calls.Iterator", sizeof(Iterator), 0, Py_TPFLAGS_DEFAULT, iterator_slots};
