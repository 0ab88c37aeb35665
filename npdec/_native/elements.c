/* `x[key]` and `x[key] = number`, where the key names one element of a plain array on the host whose memory nobody else
 * knows: what `npdec._array.elements` says in Python of a window, for the same cases. */
#include "native.h"
#include <math.h>

#define OFTEN 32 /* after so many elements an array becomes lazy, if it can */

static PyObject *increment_version, *not_yet;
static Py_ssize_t unshared;                           /* references to a tensor that only its array and window hold */

/* --- the element that a key names --------------------------------------------------------------------------------- */

int
as_index(PyObject *key, Py_ssize_t *index)
{
    if (!PyLong_CheckExact(key)) {
        int kind = kind_of_type(Py_TYPE(key));
        key = IS_WHOLE(kind) ? number_of(key, kind) : NULL;
        if (key == NULL || !PyLong_Check(key))
            return 0;
    }
    *index = PyLong_AsSsize_t(key);
    return *index != -1 || !PyErr_Occurred() || (PyErr_Clear(), 0);
}

static char *
place_of(const Elements *elements, PyObject *key)
{
    char *place = elements->memory;
    int of_many = PyTuple_CheckExact(key);
    if (elements->rank != (of_many ? PyTuple_GET_SIZE(key) : 1))
        return NULL;
    for (int axis = 0; axis < elements->rank; axis++) {
        Py_ssize_t index, size = elements->shape[axis];
        if (!as_index(of_many ? PyTuple_GET_ITEM(key, axis) : key, &index))
            return NULL;
        if (index < 0)
            index += size;
        if (index < 0 || index >= size)
            return NULL; /* IndexError, in NumPy's words */
        place += index * elements->strides[axis];
    }
    return place;
}

static PyObject *
read_number(PyObject *self, PyObject *key)
{
    char *place = place_of((Elements *)self, key);
    if (place != NULL)
        return number_at((Elements *)self, place);
    PyErr_Format(PyExc_IndexError, "%R names no element", key);
    return NULL;
}

static int
write_number(PyObject *self, PyObject *key, PyObject *number)
{
    const Elements *elements = (Elements *)self;
    Element element;
    char *place = place_of(elements, key);
    if (place == NULL)
        PyErr_Format(PyExc_IndexError, "%R names no element", key);
    else if (number == NULL || !as_element(elements->kind, number, &element))
        PyErr_Format(PyExc_ValueError, "%R is no number of the dtype", number);
    else
        memcpy(place, &element, (size_t)elements->itemsize);
    return PyErr_Occurred() ? -1 : 0;
}

static PyType_Slot elements_slots[] = {
    {Py_tp_new, make_elements}, {Py_tp_dealloc, free_elements}, {Py_mp_subscript, read_number},
    {Py_mp_ass_subscript, write_number}, {0, NULL}};
PyType_Spec elements_spec = {"npdec._native._calls.Elements", sizeof(Elements), 0, Py_TPFLAGS_DEFAULT, elements_slots};

/* A reference to the window of an array, a tuple as `npdec._array.elements` makes it, if it is open: NULL if not. Its
 * elements are given too. (A mode of torch's is asked for the address, and may do anything.) */
static PyObject *
open_window(PyObject *array, Elements **elements)
{
    PyObject *window = SLOT(array, arrays.of_window), *tensor = SLOT(array, arrays.of_tensor);
    if (window == NULL || tensor == NULL || !Py_IS_TYPE(tensor, arrays.tensor))
        return NULL; /* it carries something */
    if (PyTuple_GET_ITEM(window, 0) != tensor || Py_REFCNT(tensor) != unshared)
        return NULL;
    PyObject *found = PyTuple_GET_ITEM(window, 3);
    if (!Py_IS_TYPE(found, elements_type) || is_in_mode())
        return NULL;
    *elements = (Elements *)found;
    Py_INCREF(window);
    PyObject *address = PyObject_CallNoArgs(PyTuple_GET_ITEM(window, 1));
    void *memory = address == NULL ? NULL : PyLong_AsVoidPtr(address);
    Py_XDECREF(address);
    if (memory == (*elements)->memory) {
        if (++(*elements)->uses % OFTEN)
            return window;
        Py_DECREF(window);
        hold(array); /* of a lazy array elements are read sooner */
        return NULL;
    }
    Py_DECREF(window); /* it has other memory now */
    return left_to_python();
}

int
close_window(PyObject *array)
{
    PyObject *window = SLOT(array, arrays.of_window), *tensor = SLOT(array, arrays.of_tensor);
    if (window == NULL || PyTuple_GET_ITEM(window, 0) != tensor || Py_REFCNT(tensor) != unshared)
        return 0;
    Py_CLEAR(SLOT(array, arrays.of_window));
    return 1;
}

/* Whether a key is of integers alone. */
static int
is_of_integers(PyObject *key)
{
    int many = PyTuple_CheckExact(key);
    for (Py_ssize_t i = 0; i < (many ? PyTuple_GET_SIZE(key) : 1); i++) {
        PyObject *item = many ? PyTuple_GET_ITEM(key, i) : key;
        if (!PyLong_CheckExact(item) && !IS_WHOLE(kind_of_type(Py_TYPE(item))))
            return 0;
    }
    return 1;
}

/* Whether an array has no window yet, of whose axes a key names all: then its elements are looked at anew. */
static int
is_unread(PyObject *array, PyObject *key)
{
    PyObject *window = SLOT(array, arrays.of_window), *tensor = SLOT(array, arrays.of_tensor);
    if (window != NULL && PyTuple_GET_ITEM(window, 5) != Py_None)
        return 0;
    return tensor != NULL && Py_IS_TYPE(tensor, arrays.tensor)
        && rank_of(tensor) == (PyTuple_CheckExact(key) ? (long)PyTuple_GET_SIZE(key) : 1);
}

static PyObject *
read_element(PyObject *array, PyObject *key)
{
    Elements *elements, now;
    PyObject *window = open_window(array, &elements);
    if (SLOT(array, arrays.of_elements) != NULL)
        return NULL;
    if (window == NULL && !PyErr_Occurred() && is_unread(array, key)) {
        if (!is_seen_by_torch() && hold(array))
            window = Py_NewRef(not_yet), elements = (Elements *)SLOT(array, arrays.of_elements);
        else if (!PyErr_Occurred() && open_simply(array))
            window = open_window(array, &elements);
        else if (!PyErr_Occurred() && SLOT(array, arrays.of_window) == NULL && look_at(array, &now))
            window = Py_NewRef(not_yet), elements = &now;
    }
    char *place = window == NULL ? NULL : place_of(elements, key);
    PyObject *found = place == NULL ? left_to_python() : scalar_at(elements, place);
    if (found != NULL && window == not_yet && SLOT(array, arrays.of_elements) == NULL) /* it opens the second time */
        Py_XSETREF(SLOT(array, arrays.of_window), Py_NewRef(window));
    Py_XDECREF(window);
    return found;
}

/* Whether a key of indices and slices forwards chooses a part that has no elements. */
static int
empty_by(const Elements *whole, PyObject *key, Elements *part)
{
    int many = PyTuple_CheckExact(key), is_empty = 0;
    Py_ssize_t count = many ? PyTuple_GET_SIZE(key) : 1;
    *part = (Elements){.kind = whole->kind, .itemsize = whole->itemsize, .rank = 0};
    for (int axis = 0; axis < whole->rank; axis++) {
        PyObject *item = axis >= count ? NULL : many ? PyTuple_GET_ITEM(key, axis) : key;
        Py_ssize_t start, step = 1, index, length = whole->shape[axis];
        if (item != NULL && PySlice_Check(item)) {
            if ((length = sliced(item, length, &start, &step)) < 0)
                return 0;
            step = length == 0 ? 1 : step;
        }
        else if (item != NULL) {
            if (!as_index(item, &index) || index < -length || index >= length)
                return 0;
            continue;
        }
        if (step < 0 || whole->strides[axis] < 0 || (step > 1 && whole->strides[axis] > PY_SSIZE_T_MAX / step))
            return 0;
        is_empty |= length == 0;
        part->shape[part->rank] = length;
        part->strides[part->rank++] = whole->strides[axis] * step;
    }
    return is_empty && count <= whole->rank;
}

/* The part, or the element, that a key chooses of an array that is lazy or can be; NULL where that is Python's. */
static PyObject *
read_part(PyObject *array, PyObject *key)
{
    Elements part;
    const Elements *elements = (const Elements *)SLOT(array, arrays.of_elements);
    const char *place = elements == NULL || is_in_mode() ? NULL : place_of(elements, key);
    if (place != NULL)
        return scalar_at(elements, place);
    int kind = kind_of_key(key, 1);
    if ((kind == 0 && !is_of_integers(key)) || is_seen_by_torch() || !hold(array))
        return NULL;
    elements = (const Elements *)SLOT(array, arrays.of_elements);
    if (part_by(elements, key, &part) == 1)
        return lazy_view(array, &part);
    return empty_by(elements, key, &part) ? empty_view(array, &part) : NULL;
}

/* What a key chooses that does not name one element, or NULL. */
static PyObject *
chosen(PyObject *array, PyObject *key)
{
    return Py_IS_TYPE(key, arrays.type) ? few_chosen(array, key)
         : is_column(array, key)        ? few_column(array, key)
         : has_arrays(key)              ? few_picked(array, key)
                                        : read_part(array, key);
}

static PyObject *
getitem(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *names)
{
    if (PyVectorcall_NARGS(nargsf) == 2 && names == NULL && Py_IS_TYPE(args[0], arrays.type) && !is_traced()) {
        PyObject *key = args[1], *found = NULL;
        int has_tensor = SLOT(args[0], arrays.of_elements) == NULL;
        if (has_tensor && is_of_integers(key))
            found = read_element(args[0], key);
        if (found == NULL && !PyErr_Occurred())
            found = chosen(args[0], key);
        if (found == NULL && !PyErr_Occurred() && (key = ready_key(args[0], key)) != NULL) {
            found = chosen(args[0], key);
            Py_DECREF(key);
        }
        if (found == NULL && !PyErr_Occurred())
            found = part_of(args[0], args[1]);
        if (found != NULL || PyErr_Occurred())
            return found;
    }
    return go_on(function, args, nargsf, names);
}

/* Whether writes to the arrays of a family concern no other memory, and none of them is read-only. */
static int
is_alone(PyObject *family)
{
    if (family == NULL || !Py_IS_TYPE(family, families.type))
        return 0;
    PyObject *limit = SLOT(family, families.of_limit), *mirrors = SLOT(family, families.of_mirrors);
    if (limit == NULL || mirrors == NULL || SLOT(family, families.of_mixed) != Py_False)
        return 0;
    return PyLong_CheckExact(limit) && PyLong_AsLong(limit) >= 0 && PyList_CheckExact(mirrors)
        && PyList_GET_SIZE(mirrors) == 0;
}

/* Whether an array takes numbers: of one that is read-only the table is empty. */
static int
takes(PyObject *taken)
{
    return PyDict_CheckExact(taken) && PyDict_GET_SIZE(taken) > 0;
}

/* 1 where the number is written, 0 where that is left to Python, -1 where an error was raised. */
static int
write_into(PyObject *window, const Elements *elements, PyObject *key, PyObject *value)
{
    Element element;
    char *place = place_of(elements, key);
    PyObject *more = PyTuple_GET_ITEM(window, 6);
    int is = place == NULL ? 0 : takes(PyTuple_GET_ITEM(more, 0)) && taken_as(elements->kind, value, &element);
    if (is <= 0)
        return is;
    PyObject *own = PyTuple_GET_ITEM(more, 1); /* autograd is told by the version of the tensor */
    PyObject *done = PyObject_CallOneArg(increment_version, own);
    if (done == NULL)
        return -1;
    Py_DECREF(done);
    memcpy(place, &element, (size_t)elements->itemsize);
    return 1;
}

/* As `write_into`, of an array. */
static int
write_element(PyObject *array, PyObject *key, PyObject *value)
{
    Elements *elements;
    PyObject *window = open_window(array, &elements);
    if (SLOT(array, arrays.of_elements) != NULL)
        return 0;
    if (window == NULL && !PyErr_Occurred() && is_unread(array, key) && !is_seen_by_torch() && hold(array))
        return 0; /* it is lazy now */
    if (window == NULL && !PyErr_Occurred() && is_unread(array, key) && open_simply(array))
        window = open_window(array, &elements);
    if (window == NULL)
        return left_to_python(), PyErr_Occurred() ? -1 : 0;
    int done = is_alone(SLOT(array, arrays.of_family)) ? write_into(window, elements, key, value) : 0;
    Py_DECREF(window);
    return done;
}

/* As `write_into`, of a lazy array, of which the key may choose a part. */
static int
write_lazy(PyObject *array, PyObject *key, PyObject *value)
{
    Elements part;
    Element element;
    const Elements *elements = (const Elements *)SLOT(array, arrays.of_elements);
    char *place = elements == NULL || is_in_mode() ? NULL : place_of(elements, key);
    if (place != NULL) {
        int is = can_write(array) && taken_as(elements->kind, value, &element);
        if (is > 0 && SLOT(array, arrays.of_elements) != (PyObject *)elements)
            return 0; /* it got its tensor meanwhile */
        if (is > 0) {
            written(array);
            memcpy(place, &element, (size_t)elements->itemsize);
        }
        return is;
    }
    int kind = kind_of_key(key, 1);
    if ((kind == 0 && !is_of_integers(key)) || is_seen_by_torch() || !can_write(array) || !hold(array))
        return 0;
    elements = (const Elements *)SLOT(array, arrays.of_elements);
    return part_by(elements, key, &part) == 1 ? few_written(array, &part, value) : 0;
}

/* As `write_into`, where a key does not name one element. */
static int
put(PyObject *array, PyObject *key, PyObject *value)
{
    if (!Py_IS_TYPE(key, arrays.type))
        return has_arrays(key) ? few_put_picked(array, key, value) : write_lazy(array, key, value);
    int done = few_put(array, key, value);
    if (done || PyErr_Occurred() || SLOT(key, arrays.of_dtype) != dtype_of_kind(INT64))
        return done;
    PyObject *of_first = PyTuple_Pack(1, key); /* of rows, and of tables of indices */
    done = of_first == NULL ? 0 : few_put_picked(array, of_first, value);
    Py_XDECREF(of_first);
    return done;
}

static PyObject *
setitem(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *names)
{
    if (PyVectorcall_NARGS(nargsf) == 3 && names == NULL && Py_IS_TYPE(args[0], arrays.type) && !is_traced()) {
        int done = 0, has_tensor = SLOT(args[0], arrays.of_elements) == NULL;
        PyObject *key;
        if (has_tensor && is_of_integers(args[1]))
            done = write_element(args[0], args[1], args[2]);
        if (!done && !PyErr_Occurred())
            done = put(args[0], args[1], args[2]);
        if (!done && !PyErr_Occurred() && (key = ready_key(args[0], args[1])) != NULL) {
            done = put(args[0], key, args[2]);
            Py_DECREF(key);
        }
        if (!done && !PyErr_Occurred())
            done = write_part(args[0], args[1], args[2]);
        if (done || PyErr_Occurred())
            return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
    }
    return go_on(function, args, nargsf, names);
}

/* --- how they are attached ---------------------------------------------------------------------------------------- */

PyObject *
references(PyObject *module, PyObject *sample)
{
    if (!PyTuple_Check(sample) || PyTuple_GET_SIZE(sample) == 0) {
        PyErr_SetString(PyExc_TypeError, "a tuple that begins with the tensor is expected");
        return NULL;
    }
    return PyLong_FromSsize_t(Py_REFCNT(PyTuple_GET_ITEM(sample, 0)));
}

PyObject *
attach_elements(PyObject *module, PyObject *args)
{
    PyObject *get, *set, *increment, *unopened;
    if (!PyArg_ParseTuple(args, "OOOOn:attach_elements", &get, &set, &increment, &unopened, &unshared))
        return NULL;
    Py_XSETREF(increment_version, Py_NewRef(increment));
    Py_XSETREF(not_yet, Py_NewRef(unopened));
    return stand_before(get, getitem) < 0 || stand_before(set, setitem) < 0 ? NULL : Py_NewRef(Py_None);
}
