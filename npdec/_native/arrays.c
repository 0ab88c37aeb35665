/* New arrays over tensors of torch's: of results, and views of other arrays. */
#include "native.h"

#include <math.h>

struct arrays arrays;
struct families families;
struct words words;
static PyObject *modes, *in_mode;
static PyObject *keeps, *kept; /* {type: {dtype: how great a number is taken}}, {dtype: {number: tensor}} */

/* Whether something, which is stolen, is True. */
static int
is_true(PyObject *found)
{
    int is = found == Py_True;
    Py_XDECREF(found);
    return is;
}

int
is_true_of(PyObject *tensor, PyObject *word)
{
    return is_true(PyObject_GetAttr(tensor, word));
}

int
is_true_by(PyObject *tensor, PyObject *word)
{
    return is_true(PyObject_CallMethodNoArgs(tensor, word));
}

int
is_in_mode(void)
{
    return PyDict_GetItemWithError(modes, in_mode) != Py_False;
}

PyObject *
array_of(PyObject *tensor, PyObject *dtype)
{
    PyObject *array = arrays.type->tp_alloc(arrays.type, 0);
    if (array == NULL) {
        Py_DECREF(tensor);
        return NULL;
    }
    SLOT(array, arrays.of_tensor) = tensor;
    SLOT(array, arrays.of_dtype) = Py_NewRef(dtype);
    SLOT(array, arrays.of_family) = Py_NewRef(Py_None);
    return array;
}

PyObject *
left_to_python(void)
{
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception))
        PyErr_Clear();
    return NULL;
}

PyObject *
or_none(PyObject *found)
{
    return found != NULL || PyErr_Occurred() ? found : Py_NewRef(Py_None);
}

static int
is_bound(PyObject *bound)
{
    Py_ssize_t index;
    return bound == Py_None || PyLong_CheckExact(bound) || as_index(bound, &index);
}

#define MOST_ITEMS 32 /* of longer keys Python says how many axes there may be */

int
kind_of_key(PyObject *key, int backwards)
{
    Py_ssize_t index;
    if (PyLong_CheckExact(key) || (backwards && as_index(key, &index))) /* torch is given no scalars */
        return 2;
    if (key == Py_Ellipsis || key == Py_None)
        return 1;
    if (PySlice_Check(key)) {
        PySliceObject *slice = (PySliceObject *)key;
        PyObject *step = slice->step;
        if (!is_bound(slice->start) || !is_bound(slice->stop))
            return 0; /* its `__index__` would be asked here, and in Python again */
        if (step == Py_None)
            return 1;
        Py_ssize_t by = PyLong_CheckExact(step) ? PyLong_AsSsize_t(step) : 0;
        return PyErr_Occurred() ? (PyErr_Clear(), 0) : by > 0 || (by < 0 && backwards);
    }
    if (!PyTuple_CheckExact(key) || PyTuple_GET_SIZE(key) > MOST_ITEMS)
        return 0;
    int found = 2, dots = 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(key); i++) {
        PyObject *item = PyTuple_GET_ITEM(key, i);
        int kind = PyTuple_CheckExact(item) ? 0 : kind_of_key(item, backwards);
        dots += item == Py_Ellipsis;
        if (kind == 0 || dots > 1)
            return 0;
        if (kind == 1)
            found = 1;
    }
    return PyTuple_GET_SIZE(key) ? found : 0;
}

/* How many axes a key of integers names. */
static long
named_axes(PyObject *key)
{
    return PyTuple_CheckExact(key) ? (long)PyTuple_GET_SIZE(key) : 1;
}

long
rank_of(PyObject *tensor)
{
    PyObject *count = PyObject_CallMethodNoArgs(tensor, words.dim);
    long rank = count == NULL ? 0 : PyLong_AsLong(count);
    Py_XDECREF(count);
    return rank;
}

/* Whether an array is known to have more axes than a key of integers names: its window says how many. */
static int
has_more_axes(PyObject *array, PyObject *key)
{
    PyObject *window = SLOT(array, arrays.of_window), *rank = window == NULL ? NULL : PyTuple_GET_ITEM(window, 5);
    return rank != NULL && PyLong_CheckExact(rank) && PyLong_AsLong(rank) > named_axes(key);
}

int
names_part(PyObject *tensor, PyObject *key)
{
    int kind = kind_of_key(key, 0);
    return kind == 1 || (kind == 2 && rank_of(tensor) > named_axes(key));
}

int
join(PyObject *family, PyObject *array)
{
    PyObject *known = PyWeakref_NewRef(array, NULL);
    int failed = known == NULL ? -1 : PyList_Append(family, known);
    Py_XDECREF(known);
    return failed;
}

PyObject *
family_of(PyObject *array)
{
    PyObject *family = SLOT(array, arrays.of_family);
    if (family != Py_None)
        return family != NULL && Py_IS_TYPE(family, families.type) ? family : NULL;
    family = PyObject_CallNoArgs((PyObject *)families.type);
    if (family == NULL || join(family, array) < 0) {
        Py_XDECREF(family);
        return left_to_python();
    }
    if (SLOT(array, arrays.of_family) == Py_None)
        Py_SETREF(SLOT(array, arrays.of_family), Py_NewRef(family));
    Py_DECREF(family); /* another thread may have made one meanwhile */
    family = SLOT(array, arrays.of_family);
    return family != NULL && Py_IS_TYPE(family, families.type) ? family : NULL;
}

/* Whether a view of an array can just join its family: else Python prunes that, or looks what stands for what. */
static int
can_join(PyObject *family)
{
    PyObject *limit = family == NULL ? NULL : SLOT(family, families.of_limit);
    if (limit == NULL || !PyLong_CheckExact(limit))
        return 0;
    if (PyLong_AsSsize_t(limit) < 0 && SLOT(family, families.of_origin) == Py_None)
        limit = SLOT(family, families.of_most); /* one of its arrays is read-only */
    return PyLong_CheckExact(limit) && PyList_GET_SIZE(family) < PyLong_AsSsize_t(limit);
}

PyObject *
view_of(PyObject *array, PyObject *seen)
{
    PyObject *family = family_of(array);
    if (!can_join(family)) {
        Py_DECREF(seen);
        return left_to_python();
    }
    Py_INCREF(family); /* what is made next may collect garbage, and so run Python */
    PyObject *view = array_of(seen, SLOT(array, arrays.of_dtype));
    if (view == NULL || join(family, view) < 0)
        Py_CLEAR(view);
    else {
        Py_SETREF(SLOT(view, arrays.of_family), Py_NewRef(family));
        /* Of a read-only array views are read-only. */
        SLOT(view, arrays.of_reason) = Py_XNewRef(SLOT(array, arrays.of_reason));
    }
    Py_DECREF(family);
    return view;
}

static int
has_no_elements(PyObject *tensor)
{
    int rank = 0, is_empty = 0;
    const int64 *shape = tensor == NULL ? NULL : shape_in_torch(tensor, &rank);
    for (int axis = 0; shape != NULL && axis < rank; axis++)
        is_empty |= shape[axis] == 0;
    left_to_python();
    return is_empty;
}

/* Give a view the array whose memory another one has, if that is not to be had of its tensor; 0, and no view, with an
 * error. */
static int
has_exporter_of(PyObject *view, PyObject *array)
{
    PyObject *its = PyObject_GetAttrString(array, "_exporter");
    if (its == NULL && PyErr_ExceptionMatches(PyExc_AttributeError))
        return PyErr_Clear(), 1;
    int failed = its == NULL || PyObject_SetAttrString(view, "_exporter", its) < 0;
    Py_XDECREF(its);
    if (failed)
        Py_DECREF(view);
    return !failed;
}

PyObject *
part_of(PyObject *array, PyObject *key)
{
    PyObject *tensor = tensor_of(array);
    int kind = tensor == NULL ? 0 : kind_of_key(key, 0);
    if (kind == 0 || (kind == 2 && !has_more_axes(array, key)) || !can_join(family_of(array)))
        return left_to_python();
    Py_INCREF(tensor);
    PyObject *seen = PyObject_GetItem(tensor, key);
    Py_DECREF(tensor);
    if (seen == NULL || (kind == 2 && rank_of(seen) <= 0)) {
        Py_XDECREF(seen);
        return left_to_python();
    }
    PyObject *view = view_of(array, seen);
    return view == NULL || !has_no_elements(tensor_of(array)) || has_exporter_of(view, array) ? view : NULL;
}

PyObject *
kept_number(PyObject *number, PyObject *dtype)
{
    PyObject *limits = PyDict_GetItemWithError(keeps, (PyObject *)Py_TYPE(number));
    PyObject *greatest = limits == NULL ? NULL : PyDict_GetItemWithError(limits, dtype);
    PyObject *known = greatest == NULL ? NULL : PyDict_GetItemWithError(kept, dtype);
    if (known == NULL)
        return NULL;
    double most = PyLong_AsDouble(greatest), size;
    if (PyFloat_Check(number)) {
        size = PyFloat_AS_DOUBLE(number);
        if (size == 0 && signbit(size))
            return NULL; /* the zero that is kept is the other one */
    }
    else {
        int beyond;
        size = (double)PyLong_AsLongLongAndOverflow(number, &beyond);
        if (beyond)
            return NULL;
    }
    return fabs(size) < most ? PyDict_GetItemWithError(known, number) : NULL;
}

/* A view of a plain array over a tensor in its dtype, or None: `npdec._array.memory.seen`. */
PyObject *
view(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2)
        return PyErr_Format(PyExc_TypeError, "view() takes an array and a tensor, not %zd arguments", count);
    PyObject *made = lazy_view_by(module, args, count);
    if (made != Py_None)
        return made;
    int is_array = arrays.type != NULL && Py_IS_TYPE(args[0], arrays.type);
    made = is_array ? view_of(args[0], Py_NewRef(args[1])) : NULL;
    return made != NULL || PyErr_Occurred() ? made : Py_NewRef(Py_None);
}

/* The same of a lazy array, which stays lazy; with a reason it is read-only for that. */
PyObject *
lazy_view_by(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2 && count != 3)
        return PyErr_Format(PyExc_TypeError, "lazy_view() takes an array, a tensor and a reason, not %zd arguments", count);
    if (arrays.type == NULL || !Py_IS_TYPE(args[0], arrays.type) || SLOT(args[0], arrays.of_elements) == NULL
        || !Py_IS_TYPE(args[1], arrays.tensor))
        return Py_NewRef(Py_None);
    PyObject *made = lazily_seen(args[0], args[1], count == 3 ? args[2] : NULL);
    return made != NULL || PyErr_Occurred() ? made : Py_NewRef(Py_None);
}

static const struct {
    PyObject **word;
    const char *name;
} WORDS[] = {
    {&words.dim, "dim"}, {&words.t, "t"}, {&words.numel, "numel"}, {&words.dtype, "dtype"}, {&words.is_cpu, "is_cpu"},
    {&words.requires_grad, "requires_grad"}, {&words.is_contiguous, "is_contiguous"}, {&words.shape, "shape"},
    {&words.untyped_storage, "untyped_storage"}, {&words.cdata, "_cdata"}, {&words.data_ptr, "data_ptr"},
    {&words.stride, "stride"}, {&words.clone, "clone"}, {&words.layout, "layout"}, {&words.is_neg, "is_neg"},
    {&words.is_conj, "is_conj"}, {&words.is_inference, "is_inference"}, {&words.nbytes, "nbytes"},
    {&words.storage_offset, "storage_offset"}, {&words.base, "_base"}, {&words.item, "item"},
    {&words.as_strided, "as_strided"}, {&words.use_count, "_use_count"}};

PyObject *
attach_arrays(PyObject *module, PyObject *args)
{
    PyTypeObject *array, *tensor, *family;
    PyObject *slots[10], *namespace, *functions, *greatest, *numbers;
    Py_ssize_t *const offsets[10] = {
        &arrays.of_tensor, &arrays.of_dtype, &arrays.of_family, &arrays.of_window, &arrays.of_reason,
        &families.of_limit, &families.of_most, &families.of_origin, &families.of_mirrors, &families.of_mixed};
    if (!PyArg_ParseTuple(args, "O!O!(OOOOO)O!(OOOOO)O!O!O!O!:attach_arrays", &PyType_Type, &array, &PyType_Type,
                          &tensor, &slots[0], &slots[1], &slots[2], &slots[3], &slots[4], &PyType_Type, &family,
                          &slots[5], &slots[6], &slots[7], &slots[8], &slots[9], &PyDict_Type, &namespace,
                          &PyTuple_Type, &functions, &PyDict_Type, &greatest, &PyDict_Type, &numbers))
        return NULL;
    for (int i = 0; i < 10; i++)
        if ((*offsets[i] = offset_of(slots[i])) < 0)
            return NULL;
    Py_XSETREF(arrays.type, (PyTypeObject *)Py_NewRef(array));
    Py_XSETREF(arrays.tensor, (PyTypeObject *)Py_NewRef(tensor));
    Py_XSETREF(families.type, (PyTypeObject *)Py_NewRef(family));
    Py_XSETREF(modes, Py_NewRef(namespace));
    Py_XSETREF(in_mode, PyUnicode_InternFromString("_is_in_torch_dispatch_mode"));
    Py_XSETREF(keeps, Py_NewRef(greatest));
    Py_XSETREF(kept, Py_NewRef(numbers));
    for (size_t i = 0; i < sizeof(WORDS) / sizeof(*WORDS); i++)
        Py_XSETREF(*WORDS[i].word, PyUnicode_InternFromString(WORDS[i].name));
    if (attach_properties(functions) < 0)
        return NULL;
    Py_RETURN_NONE;
}
