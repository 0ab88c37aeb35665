/* How arrays that have a tensor become lazy, and lazy ones get theirs: where elements lie, and who knows of it. */
#include "lazy.h"

/* References to the tensor that a view's tensor is a view of, if nobody else holds it: Python's, and torch's own. */
static Py_ssize_t of_base, of_base_in_torch;

/* --- what is looked at -------------------------------------------------------------------------------------------- */

int
is_profiled(void)
{
    return PyDict_GetItemWithError(asked.profiler, asked.is_profiled) != Py_False;
}

int
is_seen_by_torch(void)
{
    if (is_in_mode() || is_profiled())
        return 1;
    return !is_off(asked.functions) || !is_off(asked.is_transformed) || !is_off(asked.is_traced);
}

const int64 *
shape_in_torch(PyObject *tensor, int *rank)
{
    Array array;
    if (exchange == NULL || exchange->look_at(tensor, &array) != 0)
        return NULL;
    *rank = array.rank;
    return (const int64 *)array.shape;
}

/* Where the elements of a plain tensor on the host lie, few or any number; 0 where they are none, or carry more. */
int
look_at_tensor(PyObject *tensor, PyObject *dtype, int is_any, Elements *found)
{
    Array array;
    found->kind = kind_of_dtype(dtype);
    if (found->kind < 0 || exchange == NULL || exchange->look_at(tensor, &array) != 0)
        return 0;
    if (array.device != ON_HOST || array.rank > MOST_AXES || array.elements == NULL || array.offset
        || array.bits != (found->kind == BOOL ? 8 : 8 * SIZES[found->kind]) || array.lanes != 1)
        return 0;
    Py_ssize_t size = 1;
    for (int axis = 0; axis < array.rank; axis++)
        size = product(size, array.shape[axis]);
    if (size == 0 || (!is_any && !are_few(size)) || is_true_of(tensor, words.requires_grad))
        return 0;
    if (IS_COMPLEX(found->kind) ? is_true_by(tensor, words.is_conj)
                                : IS_REAL(found->kind) && is_true_by(tensor, words.is_neg))
        return 0;
    found->memory = array.elements;
    found->rank = array.rank;
    found->itemsize = SIZES[found->kind];
    for (int axis = 0; axis < array.rank; axis++) {
        found->shape[axis] = array.shape[axis];
        found->strides[axis] = array.strides[axis] * found->itemsize;
    }
    return (uintptr_t)found->memory % (uintptr_t)found->itemsize == 0 && !is_followed();
}

int
elements_of(PyObject *array, Elements *here, const Elements **found)
{
    PyObject *known = SLOT(array, arrays.of_elements), *tensor = SLOT(array, arrays.of_tensor);
    if (known != NULL) {
        *found = (Elements *)known;
        return 1;
    }
    *found = here;
    return tensor != NULL && Py_IS_TYPE(tensor, arrays.tensor)
        && (look_at_tensor(tensor, SLOT(array, arrays.of_dtype), 0, here) || (left_to_python(), 0));
}

/* Whether of the arrays over a memory this one alone lives, and nothing stands for parts of it. */
static int
lives_alone(PyObject *family, PyObject *array)
{
    if (family == Py_None)
        return 1;
    if (family == NULL || !Py_IS_TYPE(family, families.type) || PyList_GET_SIZE(family) > 64)
        return 0;
    PyObject *mirrors = SLOT(family, families.of_mirrors);
    if (mirrors == NULL || !PyList_CheckExact(mirrors) || PyList_GET_SIZE(mirrors) != 0
        || SLOT(family, families.of_origin) != Py_None || SLOT(family, families.of_mixed) != Py_False)
        return 0;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(family); i++) {
        PyObject *known = PyList_GET_ITEM(family, i), *one = NULL;
#if PY_VERSION_HEX >= 0x030D0000
        if (PyWeakref_GetRef(known, &one) < 0)
            return PyErr_Clear(), 0;
        Py_XDECREF(one);
#else
        one = PyWeakref_CheckRef(known) ? PyWeakref_GET_OBJECT(known) : array + 1;
        one = one == Py_None ? NULL : one;
#endif
        if (one != NULL && one != array)
            return 0;
    }
    return 1;
}

/* How often torch holds a tensor: its views do, and graphs in which it is kept. */
static Py_ssize_t
in_torch(PyObject *tensor)
{
    PyObject *count = PyObject_CallMethodNoArgs(tensor, words.use_count);
    Py_ssize_t found = count == NULL ? PY_SSIZE_T_MAX : PyLong_AsSsize_t(count);
    Py_XDECREF(count);
    return found;
}

int
holds_alone(PyObject *tensor)
{
    Py_ssize_t of_weak = Py_TYPE(tensor)->tp_weaklistoffset; /* where its weak references are, to be had again by */
    if (Py_REFCNT(tensor) != 1 || (of_weak != 0 && SLOT(tensor, of_weak) != NULL))
        return 0;
    PyObject *base = PyObject_GetAttr(tensor, words.base);
    if (base == NULL)
        return 0;
    int is_view = base != Py_None;
    int is_held = is_view && (Py_REFCNT(base) > of_base || in_torch(base) > of_base_in_torch);
    Py_DECREF(base);
    PyObject *storage = is_held ? NULL : PyObject_CallMethodNoArgs(tensor, words.untyped_storage);
    PyObject *address = storage == NULL ? NULL : PyObject_GetAttr(storage, words.cdata);
    PyObject *count = address == NULL ? NULL : PyObject_CallOneArg(asked.use_count, address);
    int is = count != NULL && PyLong_AsLong(count) <= 2 + is_view; /* the tensors, and what `storage` is */
    Py_XDECREF(storage);
    Py_XDECREF(address);
    Py_XDECREF(count);
    return is;
}

static int
hold_now(PyObject *array)
{
    PyObject *tensor = SLOT(array, arrays.of_tensor), *family = SLOT(array, arrays.of_family);
    Elements found;
    if (tensor == NULL || !Py_IS_TYPE(tensor, arrays.tensor) || !lives_alone(family, array)
        || (!holds_alone(tensor) && !(close_window(array) && holds_alone(tensor)))
        || !look_at_tensor(tensor, SLOT(array, arrays.of_dtype), 1, &found)
        || is_true_by(tensor, words.is_inference))
        return left_to_python(), 0;
    struct memory *memory = PyMem_Calloc(1, sizeof(struct memory));
    if (memory == NULL)
        return 0;
    found.is_whole = 1;
    memory->references = 1;
    memory->tensor = Py_NewRef(tensor);
    memory->family = family == Py_None ? NULL : Py_NewRef(family);
    Elements *elements = elements_over(memory, array, &found);
    let_go(memory);
    SLOT(array, arrays.of_elements) = (PyObject *)elements;
    return elements != NULL || (left_to_python(), 0);
}

static int
may_hold(PyObject *array)
{
    PyObject *tensor = SLOT(array, arrays.of_tensor);
    return SLOT(array, arrays.of_elements) != NULL
        || (tensor != NULL && (Py_REFCNT(tensor) == 1 || SLOT(array, arrays.of_window) != NULL));
}

int
hold(PyObject *array)
{
    if (SLOT(array, arrays.of_elements) != NULL)
        return 1;
    if (!may_hold(array))
        return 0;
    int collects = PyGC_Disable(); /* that runs Python, which may take views */
    int is_held = hold_now(array);
    if (collects)
        PyGC_Enable();
    return is_held;
}

const Elements *
lazily_held(PyObject *array)
{
    if (!Py_IS_TYPE(array, arrays.type) || is_traced() || !may_hold(array) || is_seen_by_torch() || !hold(array))
        return NULL;
    return (const Elements *)SLOT(array, arrays.of_elements);
}

int
gives_scalars(PyObject *array)
{
    const Elements *elements = (const Elements *)SLOT(array, arrays.of_elements);
    return SLOT(array, arrays.of_family) != Py_None || (elements != NULL && !elements->is_whole);
}

void
written(PyObject *array)
{
    struct memory *memory = ((Elements *)SLOT(array, arrays.of_elements))->of;
    memory->is_written = 1;
    if (memory->is_lent) {
        memory->is_lent = memory->is_written = 0;
        if (tell_of_write(memory->tensor) < 0)
            PyErr_WriteUnraisable(array);
    }
}

/* --- the slots of arrays, as Python has them ---------------------------------------------------------------------- */

static PyObject *
get_slot(PyObject *array, void *which)
{
    if (SLOT(array, arrays.of_elements) != NULL && settle(array) < 0)
        return NULL;
    PyObject *found = SLOT(array, *(Py_ssize_t *)which);
    if (found == NULL)
        PyErr_SetString(PyExc_AttributeError, which == &arrays.of_tensor ? "_t" : "_m");
    return Py_XNewRef(found);
}

static int
set_slot(PyObject *array, PyObject *value, void *which)
{
    if (SLOT(array, arrays.of_elements) != NULL && settle(array) < 0)
        return -1;
    Py_ssize_t offset = *(Py_ssize_t *)which;
    if (value == NULL && SLOT(array, offset) == NULL) {
        PyErr_SetString(PyExc_AttributeError, which == &arrays.of_tensor ? "_t" : "_m");
        return -1;
    }
    Py_XSETREF(SLOT(array, offset), Py_XNewRef(value));
    return 0;
}

static PyObject *
get_lent(PyObject *array, void *which)
{
    return SLOT(array, arrays.of_elements) == NULL ? get_slot(array, &arrays.of_tensor) : lent_tensor(array);
}

static PyObject *
get_viewed(PyObject *array, void *which)
{
    return SLOT(array, arrays.of_elements) == NULL ? get_slot(array, &arrays.of_tensor) : viewed_tensor(array);
}

static PyGetSetDef slots[] = {
    {"_t", get_slot, set_slot, "The tensor, which a lazy array gets when it is asked for.", &arrays.of_tensor},
    {"_m", get_slot, set_slot, "The arrays over the same memory, or None.", &arrays.of_family},
    {"_lent", get_lent, NULL, "The tensor, to be read: an array stays lazy, and what is made of it has memory of its own.",
     NULL},
    {"_viewed", get_viewed, NULL, "The tensor, to make views of: an array stays lazy, unless it runs backwards.", NULL}};

/* Whether torch's interface is of the version that is used here. */
PyObject *
is_known(PyObject *module, PyObject *capsule)
{
    const Exchange *found = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    if (found == NULL)
        return NULL;
    return PyBool_FromLong(found->major == 1 && found->to_tensor != NULL && found->look_at != NULL);
}

PyObject *
attach_lazy(PyObject *module, PyObject *args)
{
    PyObject *capsule, *member, *view, *namespace, *calls[10];
    PyObject **const kept[10] = {
        &asked.use_count, &asked.increment_version, &asked.functions, &asked.is_inference, &asked.is_transformed,
        &asked.is_grad, &asked.is_traced, &asked.ordinarily, &asked.reverse, &asked.stand};
    PyTypeObject *owner;
    if (!PyArg_ParseTuple(args, "OOO!OO!(OOOOOOOOOO):attach_lazy", &capsule, &member, &PyType_Type, &owner, &view,
                          &PyDict_Type, &namespace, &calls[0], &calls[1], &calls[2], &calls[3], &calls[4], &calls[5],
                          &calls[6], &calls[7], &calls[8], &calls[9]))
        return NULL;
    const Exchange *found = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    if (found == NULL || (arrays.of_elements = offset_of(member)) < 0)
        return NULL;
    PyObject *base = PyObject_GetAttr(view, words.base);
    if (base == NULL)
        return NULL;
    of_base = Py_REFCNT(base);
    of_base_in_torch = in_torch(base);
    Py_DECREF(base);
    for (int i = 0; i < 10; i++)
        Py_XSETREF(*kept[i], Py_NewRef(calls[i]));
    Py_XSETREF(asked.profiler, Py_NewRef(namespace));
    Py_XSETREF(asked.is_profiled, PyUnicode_InternFromString("_is_profiler_enabled"));
    Py_XSETREF(asked.settler, PyObject_GetAttrString(module, "settled"));
    Py_XSETREF(asked.zero, PyLong_FromLong(0));
    if (asked.settler == NULL)
        return NULL;
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
        PyObject *slot = PyDescr_NewGetSet(owner, &slots[i]);
        int failed = slot == NULL ? -1 : PyObject_SetAttrString((PyObject *)owner, slots[i].name, slot);
        Py_XDECREF(slot);
        if (failed < 0)
            return NULL;
    }
    exchange = found;
    Py_RETURN_NONE;
}
