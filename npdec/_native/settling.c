/* Lazy arrays get their tensors, all over a memory at once: views of the one over all of it, and where axes run backwards
 * copies that stand for views. */
#include "lazy.h"

/* The tensor of a view, by the strides of torch, which are in elements. */
static PyObject *
seen_by(struct memory *memory, const Elements *elements)
{
    Array all;
    if (exchange->look_at(memory->tensor, &all) != 0)
        return NULL;
    PyObject *shape = PyTuple_New(elements->rank), *strides = PyTuple_New(elements->rank), *seen = NULL;
    PyObject *start = PyObject_CallMethodNoArgs(memory->tensor, words.storage_offset);
    Py_ssize_t offset = start == NULL ? 0 : PyLong_AsSsize_t(start);
    offset += (elements->memory - (char *)all.elements) / elements->itemsize;
    if (shape != NULL && strides != NULL && start != NULL) {
        for (int axis = 0; axis < elements->rank; axis++) {
            PyTuple_SET_ITEM(shape, axis, PyLong_FromSsize_t(elements->shape[axis]));
            PyTuple_SET_ITEM(strides, axis, PyLong_FromSsize_t(elements->strides[axis] / elements->itemsize));
        }
        PyObject *place = PyErr_Occurred() ? NULL : PyLong_FromSsize_t(offset);
        if (place != NULL)
            seen = PyObject_CallMethodObjArgs(memory->tensor, words.as_strided, shape, strides, place, NULL);
        Py_XDECREF(place);
    }
    Py_XDECREF(shape);
    Py_XDECREF(strides);
    Py_XDECREF(start);
    return seen;
}

/* The same of a lazy array, which keeps it: its elements as they lie `forward`. */
static PyObject *
view_by(struct memory *memory, Elements *elements, const Elements *forward)
{
    if (elements->seen == NULL) {
        PyObject *seen = seen_by(memory, forward);
        if (elements->seen != NULL) /* another thread has made it meanwhile */
            Py_XDECREF(seen);
        else
            elements->seen = seen;
    }
    return Py_XNewRef(elements->seen);
}

/* The family of the arrays over a memory, which begins with the one that has all of it, dead or alive. */
static PyObject *
family_over(struct memory *memory)
{
    if (memory->family == NULL) {
        PyObject *dtype = PyObject_GetAttr(memory->tensor, words.dtype);
        PyObject *gone = dtype == NULL ? NULL : array_of(Py_NewRef(memory->tensor), dtype);
        for (Elements *one = memory->first; one != NULL; one = one->next)
            if (one->is_whole && Py_REFCNT(one->array) > 0)
                Py_XSETREF(gone, Py_NewRef(one->array));
        PyObject *family = gone == NULL ? NULL : family_of(gone);
        if (memory->family == NULL) /* which another thread may have found meanwhile */
            memory->family = Py_XNewRef(family);
        Py_XDECREF(dtype);
        Py_XDECREF(gone);
    }
    return memory->family;
}

/* The axes, by a bit each, as Python lists them. */
static PyObject *
listed(int axes)
{
    PyObject *found = PyList_New(0);
    for (long axis = 0; found != NULL && axis < MOST_AXES; axis++) {
        PyObject *one = axes >> axis & 1 ? PyLong_FromLong(axis) : NULL;
        if (one != NULL && PyList_Append(found, one) < 0)
            Py_CLEAR(found);
        Py_XDECREF(one);
    }
    return found;
}

/* An array over a part of a memory, of its family. */
static PyObject *
member_over(struct memory *memory, const Elements *part)
{
    PyObject *tensor = seen_by(memory, part), *family = tensor == NULL ? NULL : family_over(memory);
    if (family == NULL) {
        Py_XDECREF(tensor);
        return NULL;
    }
    PyObject *array = array_of(tensor, dtype_of_kind(part->kind));
    if (array != NULL && join(family, array) < 0)
        Py_CLEAR(array);
    else if (array != NULL)
        Py_XSETREF(SLOT(array, arrays.of_family), Py_NewRef(family));
    return array;
}

/* Give a lazy array of which axes run backwards a copy of what they are forwards, for which it stands from then on. */
static int
settle_backwards(struct memory *memory, Elements *elements, const Elements *forward, int turned)
{
    PyObject *array = elements->array, *axes = listed(turned), *source = member_over(memory, forward), *done = NULL;
    PyObject *tensor = axes == NULL || source == NULL ? NULL
                     : PyObject_CallFunctionObjArgs(asked.reverse, SLOT(source, arrays.of_tensor), axes, NULL);
    if (tensor != NULL && SLOT(array, arrays.of_tensor) == NULL) {
        SLOT(array, arrays.of_tensor) = Py_NewRef(tensor);
        if (SLOT(array, arrays.of_elements) == (PyObject *)elements)
            Py_CLEAR(SLOT(array, arrays.of_elements));
        done = PyObject_CallFunctionObjArgs(asked.stand, source, array, axes, NULL);
        if (done != NULL && memory->is_written)
            tell_of_write(tensor);
    }
    int failed = tensor == NULL || PyErr_Occurred() != NULL;
    Py_XDECREF(done);
    Py_XDECREF(tensor);
    Py_XDECREF(source);
    Py_XDECREF(axes);
    if (failed && !PyErr_Occurred())
        PyErr_NoMemory();
    return failed ? -1 : 0;
}

/* Give a lazy array its tensor; 0, or -1 with an error. Other threads may do the same meanwhile. */
static int
settle_one(struct memory *memory, Elements *elements)
{
    PyObject *array = elements->array, *tensor = NULL;
    Elements forward;
    if (Py_REFCNT(array) == 0) { /* its end has begun */
        leave(elements);
        return 0;
    }
    Py_INCREF(array);
    Py_INCREF(elements);
    int is_whole = elements->is_whole, turned = is_whole ? 0 : forwards(elements, &forward);
    if (SLOT(array, arrays.of_tensor) == NULL && turned) {
        if (settle_backwards(memory, elements, &forward, turned) < 0) {
            Py_DECREF(elements);
            Py_DECREF(array);
            return -1;
        }
    }
    else if (SLOT(array, arrays.of_tensor) == NULL) {
        tensor = is_whole ? Py_NewRef(memory->tensor) : view_by(memory, elements, &forward);
        PyObject *family = tensor == NULL || is_whole ? NULL : family_over(memory);
        if (tensor == NULL || (!is_whole && family == NULL)) {
            Py_XDECREF(tensor);
            Py_DECREF(elements);
            Py_DECREF(array);
            return PyErr_Occurred() ? -1 : (PyErr_NoMemory(), -1);
        }
        if (SLOT(array, arrays.of_tensor) == NULL) {
            SLOT(array, arrays.of_tensor) = Py_NewRef(tensor);
            if (family != NULL && join(family, array) == 0)
                Py_SETREF(SLOT(array, arrays.of_family), Py_NewRef(family));
            PyObject *reason = SLOT(array, arrays.of_reason);
            if (family != NULL && reason != NULL && reason != Py_None) { /* `memory.freeze`: views of it are read-only */
                PyObject *least = PyLong_FromLong(-1);
                if (least != NULL && PyObject_SetAttrString(family, "frozen", Py_True) == 0)
                    PyObject_SetAttrString(family, "limit", least);
                Py_XDECREF(least);
            }
        }
        Py_DECREF(tensor);
    }
    if (SLOT(array, arrays.of_elements) == (PyObject *)elements)
        Py_CLEAR(SLOT(array, arrays.of_elements));
    leave(elements);
    Py_DECREF(elements);
    Py_DECREF(array);
    return PyErr_Occurred() ? -1 : 0;
}

static int settle_now(struct memory *memory, int kind);

int
settle(PyObject *array)
{
    Elements *elements = (Elements *)SLOT(array, arrays.of_elements);
    if (elements == NULL)
        return 0;
    if (is_ordinary(elements->of))
        return settle_now(elements->of, elements->kind);
    if (PyErr_Occurred())
        return -1;
    PyObject *done = PyObject_CallFunctionObjArgs(asked.ordinarily, asked.settler, array, NULL);
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}

PyObject *
lent_tensor(PyObject *array)
{
    Elements *elements = (Elements *)SLOT(array, arrays.of_elements), forward;
    struct memory *memory = elements->of;
    int is_made = elements->is_whole ? memory->tensor != NULL : elements->seen != NULL;
    if (is_seen_by_torch()
        || (!is_made && (!is_ordinary(memory) || (memory->tensor == NULL && make_tensor(memory, elements->kind) < 0))))
        return PyErr_Occurred() || settle(array) < 0 ? NULL : Py_XNewRef(SLOT(array, arrays.of_tensor));
    int turned = elements->is_whole ? 0 : forwards(elements, &forward);
    memory->is_lent |= !turned;
    if (elements->is_whole)
        return Py_NewRef(memory->tensor);
    Py_INCREF(array);
    Py_INCREF(elements);
    PyObject *found = turned ? copy_for_torch(array) : view_by(memory, elements, &forward);
    Py_DECREF(elements);
    Py_DECREF(array);
    return found;
}

PyObject *
viewed_tensor(PyObject *array)
{
    Elements *elements = (Elements *)SLOT(array, arrays.of_elements), forward;
    if (!elements->is_whole && forwards(elements, &forward)) /* torch gets a copy, and no view of that is the array's */
        return settle(array) < 0 ? NULL : Py_XNewRef(SLOT(array, arrays.of_tensor));
    return lent_tensor(array);
}

/* Whether a part lies in the memory of a tensor. */
static int
lies_in(PyObject *tensor, const Elements *part)
{
    Array all;
    if (tensor == NULL || exchange->look_at(tensor, &all) != 0)
        return 0;
    int64 last = 0;
    for (int axis = 0; axis < all.rank; axis++)
        last += (all.shape[axis] - 1) * all.strides[axis];
    const char *first = all.elements;
    return part->memory >= first && part->memory <= first + last * part->itemsize;
}

PyObject *
lazily_seen(PyObject *array, PyObject *tensor, PyObject *reason)
{
    Elements *elements = (Elements *)SLOT(array, arrays.of_elements), part;
    PyObject *own = elements->is_whole ? elements->of->tensor : elements->seen;
    if (tensor == own && reason == NULL)
        return Py_NewRef(array);
    PyObject *dtype = PyObject_GetAttr(tensor, words.dtype), *view = NULL;
    int is_lazy = dtype == SLOT(array, arrays.of_dtype) && look_at_tensor(tensor, dtype, 1, &part)
        && lies_in(elements->of->tensor, &part);
    Py_XDECREF(dtype);
    for (int axis = 0; is_lazy && reason == NULL && axis < part.rank; axis++) /* such a view is read-only */
        is_lazy = part.strides[axis] != 0 || part.shape[axis] == 1;
    part.is_whole = 0;
    if (is_lazy && !PyErr_Occurred())
        view = lazy_view(array, &part);
    else {
        left_to_python();
        if (!PyErr_Occurred())
            settle(array);
    }
    if (view != NULL && reason != NULL)
        Py_XSETREF(SLOT(view, arrays.of_reason), Py_NewRef(reason));
    return view;
}

PyObject *
settled(PyObject *module, PyObject *array)
{
    Elements *elements = Py_IS_TYPE(array, arrays.type) ? (Elements *)SLOT(array, arrays.of_elements) : NULL;
    if (elements != NULL && settle_now(elements->of, elements->kind) < 0)
        return NULL;
    Py_RETURN_NONE;
}

static int
settle_now(struct memory *memory, int kind)
{
    int failed = 0;
    memory->references++;
    if (memory->tensor == NULL)
        failed = make_tensor(memory, kind);
    while (!failed && memory->first != NULL)
        failed = settle_one(memory, memory->first);
    if (!failed && memory->is_written) {
        memory->is_written = 0;
        failed = tell_of_write(memory->tensor);
    }
    let_go(memory);
    return failed ? -1 : 0;
}
