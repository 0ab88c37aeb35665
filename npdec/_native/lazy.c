/* Lazy arrays: their elements lie in memory, and no tensor has been made of them yet.
 *
 * To make a tensor takes longer than what is computed of a few numbers. So a result of few elements, and a view of an
 * array whose tensor nobody else holds, is known here only by where its elements lie. When Python asks for its tensor
 * it gets one, and so do all arrays over the same memory. While an array is lazy it carries nothing, and nobody but
 * the functions of this module can reach its memory.
 */
#include "lazy.h"

const Exchange *exchange;
struct asked asked;

/* --- memory ------------------------------------------------------------------------------------------------------- */

static void
free_managed(Managed *managed)
{
    free_block((struct block *)managed);
}

void
let_go(struct memory *memory)
{
    if (--memory->references > 0)
        return;
    free_block(memory->block);
    Py_XDECREF(memory->tensor);
    Py_XDECREF(memory->family);
    PyMem_Free(memory);
}

/* Elements of an array, which is borrowed; NULL with an error. */
Elements *
elements_over(struct memory *memory, PyObject *array, const Elements *like)
{
    Elements *elements = new_elements(like);
    if (elements == NULL)
        return NULL;
    elements->of = memory;
    elements->array = array;
    elements->next = memory->first;
    if (elements->next != NULL)
        elements->next->before = elements;
    memory->first = elements;
    memory->references++;
    return elements;
}

void
leave(Elements *elements)
{
    struct memory *memory = elements->of;
    if (memory == NULL)
        return;
    if (elements->before != NULL)
        elements->before->next = elements->next;
    else
        memory->first = elements->next;
    if (elements->next != NULL)
        elements->next->before = elements->before;
    elements->of = NULL;
    elements->next = elements->before = NULL;
    let_go(memory);
}

void
free_elements(Elements *elements)
{
    PyTypeObject *type = Py_TYPE(elements);
    leave(elements);
    Py_CLEAR(elements->seen);
    type->tp_free(elements);
    Py_DECREF(type);
}

/* To collect garbage runs Python, which may settle the arrays that are looked at: not while something is made here. */
static PyObject *
new_array(void)
{
    int collects = PyGC_Disable();
    PyObject *array = arrays.type->tp_alloc(arrays.type, 0);
    if (collects)
        PyGC_Enable();
    return array;
}

/* A tensor that frees what it is made of in the end. Where there is none, that stays the caller's: torch may have begun
 * one, and ended it. */
static PyObject *
new_tensor(Managed *managed)
{
    void *tensor = NULL;
    managed->free = NULL;
    int collects = PyGC_Disable();
    int failed = exchange->to_tensor(managed, &tensor);
    if (collects)
        PyGC_Enable();
    if (failed)
        return NULL;
    managed->free = free_managed;
    return tensor;
}

static PyObject *
lazy_array(struct memory *memory, const Elements *like)
{
    PyObject *array = new_array();
    Elements *elements = array == NULL ? NULL : elements_over(memory, array, like);
    if (elements == NULL) {
        Py_XDECREF(array);
        return NULL;
    }
    SLOT(array, arrays.of_elements) = (PyObject *)elements;
    SLOT(array, arrays.of_dtype) = Py_NewRef(dtype_of_kind(like->kind));
    SLOT(array, arrays.of_family) = Py_NewRef(Py_None);
    return array;
}

/* Where the memory of a block begins. */
static char *
memory_in(struct block *block)
{
    return (char *)(((uintptr_t)(block + 1) + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
}

PyObject *
new_lazy(Elements *whole)
{
    Py_ssize_t size = whole->itemsize;
    for (int axis = whole->rank; axis-- > 0; size *= whole->shape[axis])
        whole->strides[axis] = size;
    return new_lazy_laid(whole, size);
}

PyObject *
new_lazy_laid(Elements *whole, Py_ssize_t size)
{
    whole->is_whole = 1;
    struct block *block = new_block(sizeof(struct block) + ALIGNMENT + (size_t)size);
    struct memory *memory = block == NULL ? NULL : PyMem_Calloc(1, sizeof(struct memory));
    if (memory == NULL) {
        free_block(block);
        return PyErr_NoMemory();
    }
    whole->memory = memory_in(block);
    memory->block = block;
    for (int axis = 0; axis < whole->rank; axis++) {
        block->shape[axis] = whole->shape[axis];
        block->strides[axis] = whole->strides[axis] / whole->itemsize;
    }
    block->managed.array.rank = whole->rank;
    memory->references = 1;
    PyObject *array = lazy_array(memory, whole);
    let_go(memory);
    return array;
}

PyObject *
lazy_view(PyObject *array, const Elements *part)
{
    Elements *whole = (Elements *)SLOT(array, arrays.of_elements);
    PyObject *view = lazy_array(whole->of, part);
    if (view != NULL) /* of a read-only array views are read-only */
        SLOT(view, arrays.of_reason) = Py_XNewRef(SLOT(array, arrays.of_reason));
    return view;
}

/* --- tensors ------------------------------------------------------------------------------------------------------ */

static void
describe(Managed *managed, int kind, int rank, char *elements, int64_t *shape, int64_t *strides)
{
    static const unsigned char codes[KINDS] = {
        [BOOL] = OF_BOOL, [UINT8] = OF_UNSIGNED, [UINT16] = OF_UNSIGNED, [UINT32] = OF_UNSIGNED, [UINT64] = OF_UNSIGNED,
        [FLOAT16] = OF_FLOAT, [FLOAT32] = OF_FLOAT, [FLOAT64] = OF_FLOAT, [COMPLEX64] = OF_COMPLEX,
        [COMPLEX128] = OF_COMPLEX};
    memset(managed, 0, sizeof(Managed));
    managed->major = 1;
    managed->array.elements = elements;
    managed->array.device = ON_HOST;
    managed->array.rank = rank;
    managed->array.code = codes[kind];
    managed->array.bits = (unsigned char)(8 * SIZES[kind]);
    managed->array.lanes = 1;
    managed->array.shape = shape;
    managed->array.strides = strides;
}

PyObject *
tensor_by_rows(int kind, const Array *like, Py_ssize_t size, char **memory)
{
    struct block *block = new_block(sizeof(struct block) + ALIGNMENT + (size_t)(size * SIZES[kind]));
    if (block == NULL)
        return PyErr_NoMemory();
    int64_t stride = 1;
    for (int axis = like->rank; axis-- > 0; stride *= like->shape[axis]) {
        block->shape[axis] = like->shape[axis];
        block->strides[axis] = stride;
    }
    *memory = memory_in(block);
    describe(&block->managed, kind, like->rank, *memory, block->shape, block->strides);
    PyObject *tensor = new_tensor(&block->managed);
    if (tensor == NULL)
        free_block(block);
    return tensor;
}

/* Make the tensor over a memory, of which that is from then on. */
int
make_tensor(struct memory *memory, int kind)
{
    struct block *block = memory->block;
    char *elements = memory_in(block);
    describe(&block->managed, kind, block->managed.array.rank, elements, block->shape, block->strides);
    PyObject *tensor = new_tensor(&block->managed);
    if (tensor == NULL)
        return -1;
    memory->block = NULL;
    memory->tensor = tensor;
    return 0;
}

/* Whether a call without arguments gives False, or 0. */
int
is_off(PyObject *function)
{
    PyObject *found;
    if (PyCFunction_CheckExact(function) && PyCFunction_GET_FLAGS(function) == METH_NOARGS)
        found = PyCFunction_GET_FUNCTION(function)(PyCFunction_GET_SELF(function), NULL);
    else
        found = PyObject_CallNoArgs(function);
    Py_XDECREF(found);
    return found == Py_False || found == asked.zero;
}

int
is_ordinary(const struct memory *memory)
{
    if (!is_off(asked.is_inference))
        return 0;
    int is_one = memory->first != NULL && memory->first->is_whole && memory->first->next == NULL;
    return is_one
        || (!is_in_mode() && is_off(asked.functions) && is_off(asked.is_transformed) && !is_off(asked.is_grad));
}

PyObject *
copy_for_torch(PyObject *array)
{
    PyObject *copy = copied_as(array, -1, AS_THEY_LIE);
    if (copy == NULL) /* there are too many elements: its own tensor stands for the view */
        return PyErr_Occurred() ? NULL : Py_XNewRef(tensor_of(array));
    PyObject *tensor = Py_XNewRef(tensor_of(copy));
    Py_DECREF(copy);
    return tensor;
}

PyObject *
read_tensor(PyObject *array, Reading *reading, int is_seen)
{
    Elements *elements = (Elements *)SLOT(array, arrays.of_elements), forward;
    PyObject *tensor;
    reading->memory = NULL;
    if (elements == NULL || is_seen)
        return Py_XNewRef(tensor_of(array));
    if (!elements->is_whole && forwards(elements, &forward))
        return copy_for_torch(array);
    struct memory *memory = elements->of;
    if (elements->is_whole) {
        if (memory->tensor == NULL && (!is_ordinary(memory) || make_tensor(memory, elements->kind) < 0))
            return Py_XNewRef(tensor_of(array));
        tensor = Py_NewRef(memory->tensor);
    }
    else {
        struct block *loan = new_block(sizeof(struct block));
        if (loan == NULL)
            return PyErr_NoMemory();
        for (int axis = 0; axis < elements->rank; axis++) {
            loan->shape[axis] = elements->shape[axis];
            loan->strides[axis] = forward.strides[axis] / elements->itemsize;
        }
        describe(&loan->managed, elements->kind, elements->rank, forward.memory, loan->shape, loan->strides);
        tensor = new_tensor(&loan->managed);
        if (tensor == NULL) {
            free_block(loan);
            return NULL;
        }
    }
    memory->references++;
    reading->memory = memory;
    reading->lent = elements->memory;
    return tensor;
}

PyObject *
empty_array(const Elements *part)
{
    struct block *block = new_block(sizeof(struct block) + ALIGNMENT);
    if (block == NULL)
        return PyErr_NoMemory();
    for (int axis = 0; axis < part->rank; axis++) {
        block->shape[axis] = part->shape[axis];
        block->strides[axis] = part->strides[axis] / part->itemsize;
    }
    describe(&block->managed, part->kind, part->rank, memory_in(block), block->shape, block->strides);
    PyObject *tensor = new_tensor(&block->managed);
    if (tensor == NULL) {
        free_block(block);
        return NULL;
    }
    return array_of(tensor, dtype_of_kind(part->kind));
}

PyObject *
empty_view(PyObject *array, const Elements *part)
{
    PyObject *view = empty_array(part);
    if (view != NULL) {
        SLOT(view, arrays.of_reason) = Py_XNewRef(SLOT(array, arrays.of_reason));
        if (PyObject_SetAttrString(view, "_exporter", array) < 0)
            Py_CLEAR(view);
    }
    return view;
}

int
has_read(Reading *reading, PyObject *result)
{
    Array found;
    if (reading->memory == NULL)
        return 1;
    int is_apart = result == NULL || !Py_IS_TYPE(result, arrays.tensor)
                || (exchange->look_at(result, &found) == 0 && found.elements != reading->lent);
    let_go(reading->memory);
    return is_apart && !PyErr_Occurred();
}

PyObject *
tensor_of(PyObject *array)
{
    if (SLOT(array, arrays.of_elements) != NULL && settle(array) < 0)
        return NULL;
    PyObject *tensor = SLOT(array, arrays.of_tensor);
    return tensor != NULL && Py_IS_TYPE(tensor, arrays.tensor) ? tensor : NULL;
}

int
tell_of_write(PyObject *tensor)
{
    int collects = PyGC_Disable(); /* that may settle what is about to be read */
    PyObject *one = PyTuple_Pack(1, tensor);
    PyObject *done = one == NULL ? NULL : PyObject_CallOneArg(asked.increment_version, one);
    Py_XDECREF(one);
    if (collects)
        PyGC_Enable();
    Py_XDECREF(done);
    return done == NULL ? -1 : 0;
}
