/* `x[key]` and `x[key] = number`, where the key names one element of a plain array on the host whose memory nobody else
 * knows: what `npdec._array.elements` says in Python of a window, for the same cases. */
#include "native.h"
#include <math.h>

static PyTypeObject *family_type;
static Py_ssize_t of_limit, of_mirrors, of_mixed;     /* slots of families */
static PyObject *increment_version, *not_yet;
static Py_ssize_t unshared;                           /* references to a tensor that only its array and window hold */

/* --- the numbers in memory ---------------------------------------------------------------------------------------- */

#define READ(type) (*(const type *)at)

PyObject *
number_at(int kind, const char *at)
{
    switch (kind) {
    case BOOL: return Py_NewRef(READ(char) ? Py_True : Py_False);
    case INT8: return PyLong_FromLong(READ(signed char));
    case INT16: return PyLong_FromLong(READ(short));
    case INT32: return PyLong_FromLong(READ(int));
    case INT64: return PyLong_FromLongLong(READ(long long));
    case UINT8: return PyLong_FromLong(READ(unsigned char));
    case UINT16: return PyLong_FromLong(READ(unsigned short));
    case UINT32: return PyLong_FromUnsignedLong(READ(unsigned int));
    case UINT64: return PyLong_FromUnsignedLongLong(READ(unsigned long long));
    case FLOAT16: return PyFloat_FromDouble(PyFloat_Unpack2(at, PY_LITTLE_ENDIAN));
    case FLOAT32: return PyFloat_FromDouble(READ(float));
    case FLOAT64: return PyFloat_FromDouble(READ(double));
    case COMPLEX64: return PyComplex_FromDoubles(((const float *)at)[0], ((const float *)at)[1]);
    default: return PyComplex_FromDoubles(((const double *)at)[0], ((const double *)at)[1]);
    }
}

/* A number as it lies in memory; 0, without an error, where the dtype has none for it. */
static int
as_bytes(int kind, PyObject *number, char *at)
{
    if (kind == BOOL) {
        int found = PyObject_IsTrue(number);
        *at = found > 0;
        return found >= 0 || (PyErr_Clear(), 0);
    }
    if (IS_WHOLE(kind)) {
        if (!PyLong_Check(number))
            return 0;
        if (kind == UINT64) {
            *(unsigned long long *)at = PyLong_AsUnsignedLongLong(number);
            return !PyErr_Occurred() || (PyErr_Clear(), 0);
        }
        int beyond;
        long long found = PyLong_AsLongLongAndOverflow(number, &beyond);
        if (beyond)
            return 0;
        switch (kind) {
        case INT8: *(signed char *)at = (signed char)found; return found == (signed char)found;
        case INT16: *(short *)at = (short)found; return found == (short)found;
        case INT32: *(int *)at = (int)found; return found == (int)found;
        case UINT8: *(unsigned char *)at = (unsigned char)found; return found == (unsigned char)found;
        case UINT16: *(unsigned short *)at = (unsigned short)found; return found == (unsigned short)found;
        case UINT32: *(unsigned int *)at = (unsigned int)found; return found == (unsigned int)found;
        default: *(long long *)at = found; return 1;
        }
    }
    if (IS_COMPLEX(kind)) {
        Py_complex found = PyComplex_AsCComplex(number);
        if (found.real == -1.0 && PyErr_Occurred())
            return PyErr_Clear(), 0;
        if (kind == COMPLEX64) {
            ((float *)at)[0] = (float)found.real;
            ((float *)at)[1] = (float)found.imag;
        }
        else {
            ((double *)at)[0] = found.real;
            ((double *)at)[1] = found.imag;
        }
        return 1;
    }
    double found = PyFloat_AsDouble(number);
    if (found == -1.0 && PyErr_Occurred())
        return PyErr_Clear(), 0;
    if (kind == FLOAT16)
        return PyFloat_Pack2(found, at, PY_LITTLE_ENDIAN) == 0 || (PyErr_Clear(), 0);
    if (kind == FLOAT32)
        *(float *)at = (float)found;
    else
        *(double *)at = found;
    return 1;
}

/* --- the element that a key names --------------------------------------------------------------------------------- */

/* The index that a Python int or an integer scalar is; 0 where it is neither. */
static inline int
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
        return number_at(((Elements *)self)->kind, place);
    PyErr_Format(PyExc_IndexError, "%R names no element", key);
    return NULL;
}

static int
write_number(PyObject *self, PyObject *key, PyObject *number)
{
    const Elements *elements = (Elements *)self;
    char bytes[16], *place = place_of(elements, key);
    if (place == NULL)
        PyErr_Format(PyExc_IndexError, "%R names no element", key);
    else if (number == NULL || !as_bytes(elements->kind, number, bytes))
        PyErr_Format(PyExc_ValueError, "%R is no number of the dtype", number);
    else
        memcpy(place, bytes, (size_t)elements->itemsize);
    return PyErr_Occurred() ? -1 : 0;
}

static PyType_Slot elements_slots[] = {
    {Py_tp_new, make_elements}, {Py_mp_subscript, read_number}, {Py_mp_ass_subscript, write_number}, {0, NULL}};
PyType_Spec elements_spec = {"npdec._native._calls.Elements", sizeof(Elements), 0, Py_TPFLAGS_DEFAULT, elements_slots};

/* The window of an array, a tuple as `npdec._array.elements` makes it, if it is open: NULL if not. Its elements are
 * given too. */
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
    PyObject *address = PyObject_CallNoArgs(PyTuple_GET_ITEM(window, 1));
    void *memory = address == NULL ? NULL : PyLong_AsVoidPtr(address);
    Py_XDECREF(address);
    return memory == (*elements)->memory ? window : (PyErr_Clear(), NULL); /* else it has other memory now */
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
    if (window == NULL && is_unread(array, key)) {
        if (open_simply(array))
            window = open_window(array, &elements);
        else if (SLOT(array, arrays.of_window) == NULL && look_at(array, &now))
            window = Py_None, elements = &now;
    }
    char *place = window == NULL ? NULL : place_of(elements, key);
    if (place == NULL)
        return left_to_python();
    if (window == Py_None) /* it opens the second time */
        SLOT(array, arrays.of_window) = Py_NewRef(not_yet);
    return scalar_of(elements->kind, number_at(elements->kind, place));
}

static PyObject *
getitem(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *names)
{
    if (PyVectorcall_NARGS(nargsf) == 2 && names == NULL && Py_IS_TYPE(args[0], arrays.type) && !is_traced()) {
        PyObject *key = args[1], *found = is_of_integers(key) ? read_element(args[0], key) : NULL;
        if (found == NULL && !PyErr_Occurred())
            found = part_of(args[0], key);
        if (found != NULL || PyErr_Occurred())
            return found;
    }
    return go_on(function, args, nargsf, names);
}

/* Whether writes to the arrays of a family concern no other memory, and none of them is read-only. */
static int
is_alone(PyObject *family)
{
    if (family == NULL || !Py_IS_TYPE(family, family_type))
        return 0;
    PyObject *limit = SLOT(family, of_limit), *mirrors = SLOT(family, of_mirrors);
    if (limit == NULL || mirrors == NULL || SLOT(family, of_mixed) != Py_False)
        return 0;
    return PyLong_CheckExact(limit) && PyLong_AsLong(limit) >= 0 && PyList_CheckExact(mirrors)
        && PyList_GET_SIZE(mirrors) == 0;
}

/* 1 where the number is written, 0 where that is left to Python, -1 where an error was raised. */
static int
write_element(PyObject *array, PyObject *key, PyObject *value)
{
    Elements *elements;
    char bytes[16];
    PyObject *window = open_window(array, &elements);
    if (window == NULL && is_unread(array, key) && open_simply(array))
        window = open_window(array, &elements);
    if (window == NULL || !is_alone(SLOT(array, arrays.of_family)))
        return 0;
    char *place = place_of(elements, key);
    PyObject *more = PyTuple_GET_ITEM(window, 6), *taken = PyTuple_GET_ITEM(more, 0);
    if (place == NULL || !PyDict_CheckExact(taken))
        return 0;
    int kind = elements->kind;
    PyObject *is_scalar = PyDict_GetItemWithError(taken, (PyObject *)Py_TYPE(value));
    if (is_scalar == NULL)
        return PyErr_Occurred() ? -1 : 0;
    if (is_scalar == Py_True) {
        int of = kind_of_type(Py_TYPE(value));
        value = of < 0 ? NULL : number_of(value, of);
        if (value == NULL)
            return 0;
    }
    if ((kind == FLOAT16 || kind == FLOAT32 || kind == COMPLEX64) && is_watching())
        return 0;
    if (!as_bytes(kind, value, bytes))
        return 0;
    PyObject *own = PyTuple_GET_ITEM(more, 1); /* autograd is told by the version of the tensor */
    PyObject *done = PyObject_CallOneArg(increment_version, own);
    if (done == NULL)
        return -1;
    Py_DECREF(done);
    memcpy(place, bytes, (size_t)elements->itemsize);
    return 1;
}

static PyObject *
setitem(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *names)
{
    if (PyVectorcall_NARGS(nargsf) == 3 && names == NULL && Py_IS_TYPE(args[0], arrays.type) && !is_traced()) {
        int done = is_of_integers(args[1]) ? write_element(args[0], args[1], args[2]) : 0;
        if (!done)
            done = write_part(args[0], args[1], args[2]);
        if (done)
            return done < 0 ? NULL : Py_NewRef(Py_None);
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
    PyObject *get, *set, *slots[3], *increment, *unopened;
    PyTypeObject *family;
    Py_ssize_t *const offsets[3] = {&of_limit, &of_mirrors, &of_mixed};
    if (!PyArg_ParseTuple(args, "OOO!(OOO)OOn:attach_elements", &get, &set, &PyType_Type, &family, &slots[0], &slots[1],
                          &slots[2], &increment, &unopened, &unshared))
        return NULL;
    for (int i = 0; i < 3; i++)
        if ((*offsets[i] = offset_of(slots[i])) < 0)
            return NULL;
    Py_XSETREF(family_type, (PyTypeObject *)Py_NewRef(family));
    Py_XSETREF(increment_version, Py_NewRef(increment));
    Py_XSETREF(not_yet, Py_NewRef(unopened));
    return stand_before(get, getitem) < 0 || stand_before(set, setitem) < 0 ? NULL : Py_NewRef(Py_None);
}
