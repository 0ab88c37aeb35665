/* Calls of ufuncs with plain arrays, and the operators that stand for them: what `npdec._normalizer.sources` says in
 * Python of arrays of one dtype that torch computes itself, and of a Python number beside one. */
#include "few.h"

typedef struct {
    PyObject *function;
    PyObject *torch;   /* the function of tensors */
    PyObject *dtypes;  /* a set: those of arrays */
    PyObject *many;    /* a set: those in which many elements are computed elsewhere */
    PyObject *result;  /* the dtype of the result, None for that of the operands, False for what the tensor has */
    PyObject *numbers; /* {type: set}: the dtypes of arrays beside a Python number */
    int is_bare;       /* 1 where torch is given that number, no tensor of it */
    PyObject *hosts;   /* {type: dtype}: the scalars that are taken as their numbers */
    PyObject *devices; /* its `used` is not False where a number may be of another device */
    PyObject *apart;   /* of an operator in place a set: the dtypes that it computes otherwise than torch; else NULL */
    PyObject *wrap;    /* what makes a result of no axes, or of another kind, of a tensor */
    Py_ssize_t most;   /* from how many elements on they are many */
    int skipped;       /* 1 where the ufunc itself is the first argument */
    int reduces;       /* 1 where the result may have no axes, whatever the operands have */
    const Loops *few;  /* what computes few elements, or NULL */
    int is_turned;     /* 1 of a reflected operator */
    int is_power;      /* 1 where that computes squares alone */
    PyObject *keep;    /* makes what computes one double in memory that is kept, or NULL */
    PyObject *compute; /* that, once it is made: who calls it is alone with the memory while `is_taken` */
    double *at;
    int is_taken;
} Call;

#define PLACES 1024
static Call calls[PLACES];
static int count;
static PyObject *used;

static Call *
place_of(PyObject *function)
{
    size_t at = ((size_t)function >> 4) % PLACES;
    while (calls[at].function != NULL && calls[at].function != function)
        at = (at + 1) % PLACES;
    return &calls[at];
}

/* Whether torch computes it, of arrays of a dtype: not where there are so many elements that others are asked. */
static int
is_for_torch(const Call *call, PyObject *tensor, PyObject *dtype)
{
    if (call->many == NULL || PySet_Contains(call->many, dtype) == 0)
        return 1;
    PyObject *found = PyObject_CallMethodNoArgs(tensor, words.numel);
    Py_ssize_t size = found == NULL ? call->most : PyLong_AsSsize_t(found);
    Py_XDECREF(found);
    return size < call->most;
}

/* What torch computes of two operands. */
static PyObject *
computed(const Call *call, PyObject *a, PyObject *b)
{
    PyObject *operands[3] = {NULL, Py_NewRef(a), Py_NewRef(b)};
    PyObject *found = PyObject_Vectorcall(call->torch, operands + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    Py_DECREF(a);
    Py_DECREF(b);
    return found;
}

/* The array of a result, which is stolen, of an array in a dtype. */
static PyObject *
wrapped(const Call *call, PyObject *of, PyObject *dtype, PyObject *result)
{
    if (result == NULL)
        return left_to_python();
    if (result == Py_None) {
        Py_DECREF(result);
        return NULL; /* it is for Python */
    }
    int is_tensor = Py_IS_TYPE(result, arrays.tensor);
    if (!is_tensor || ((call->reduces || gives_scalars(of)) && rank_of(result) <= 0)) {
        PyObject *found = PyErr_Occurred() ? NULL : is_tensor ? scalar_from(NULL, result) : Py_NewRef(Py_None);
        if (found == Py_None)
            Py_SETREF(found, PyObject_CallOneArg(call->wrap, result));
        Py_DECREF(result);
        return found;
    }
    if (call->result == Py_None)
        return array_of(result, dtype);
    if (call->result != Py_False)
        return array_of(result, call->result);
    PyObject *its = PyObject_GetAttr(result, words.dtype);
    if (its == NULL) {
        Py_DECREF(result);
        return NULL;
    }
    PyObject *found = array_of(result, its);
    Py_DECREF(its);
    return found;
}

static PyObject *
of_one(const Call *call, PyObject *x)
{
    PyObject *dtype = Py_IS_TYPE(x, arrays.type) ? SLOT(x, arrays.of_dtype) : NULL, *found = NULL;
    if (dtype == NULL || PySet_Contains(call->dtypes, dtype) <= 0)
        return left_to_python();
    Reading reading;
    PyObject *tensor = read_tensor(x, &reading, SLOT(x, arrays.of_elements) != NULL && is_seen_by_torch());
    if (tensor == NULL)
        return left_to_python();
    if (is_for_torch(call, tensor, dtype))
        found = PyObject_CallOneArg(call->torch, tensor);
    if (!has_read(&reading, found))
        Py_CLEAR(found);
    Py_DECREF(tensor);
    return wrapped(call, x, dtype, found);
}

/* What torch computes of one double, a scalar or a Python number: `npdec._normalizer.number_calls` says the same. */
static PyObject *
of_number(Call *call, PyObject *x)
{
    int kind = PyFloat_CheckExact(x) ? FLOAT64 : kind_of_type(Py_TYPE(x));
    PyObject *number = kind != FLOAT64 ? NULL : PyFloat_CheckExact(x) ? x : number_of(x, kind);
    if (number == NULL || !PyFloat_Check(number) || call->keep == NULL || call->is_taken || is_watching()
        || (number == x && call->devices != NULL && is_true_of(call->devices, used)) || is_seen_by_torch())
        return left_to_python();
    if (call->compute == NULL) {
        PyObject *address = NULL, *made = PyObject_CallNoArgs(call->keep);
        if (made == NULL || !PyArg_ParseTuple(made, "OO", &call->compute, &address)) {
            Py_XDECREF(made);
            return NULL;
        }
        Py_INCREF(call->compute);
        call->at = PyLong_AsVoidPtr(address);
        Py_DECREF(made);
    }
    Elements found = {.kind = FLOAT64, .itemsize = sizeof(double)};
    call->is_taken = 1;
    *call->at = PyFloat_AS_DOUBLE(number);
    PyObject *done = PyObject_CallNoArgs(call->compute), *scalar = NULL;
    if (done != NULL)
        scalar = scalar_at(&found, (const char *)call->at);
    call->is_taken = 0;
    Py_XDECREF(done);
    return done == NULL ? left_to_python() : scalar;
}

/* As `read_tensor`, of an operand beside another one. Where that has a graph, this one may be kept for its gradient. */
static PyObject *
read_beside(PyObject *array, PyObject *other, Reading *reading, int is_seen)
{
    PyObject *tensor = SLOT(other, arrays.of_elements) == NULL ? SLOT(other, arrays.of_tensor) : NULL;
    reading->memory = NULL;
    if (tensor != NULL && SLOT(array, arrays.of_elements) != NULL && is_true_of(tensor, words.requires_grad))
        return Py_XNewRef(tensor_of(array));
    return PyErr_Occurred() ? NULL : read_tensor(array, reading, is_seen);
}

static PyObject *
of_two(const Call *call, PyObject *x, PyObject *y)
{
    PyObject *dtype = SLOT(x, arrays.of_dtype), *found = NULL;
    if (dtype != SLOT(y, arrays.of_dtype) || PySet_Contains(call->dtypes, dtype) <= 0)
        return left_to_python();
    Reading readings[2];
    int is_lazy = SLOT(x, arrays.of_elements) != NULL || SLOT(y, arrays.of_elements) != NULL;
    int is_seen = is_lazy && is_seen_by_torch();
    PyObject *a = read_beside(x, y, &readings[0], is_seen);
    PyObject *b = a == NULL ? NULL : read_beside(y, x, &readings[1], is_seen);
    if (b != NULL) {
        if (is_for_torch(call, a, dtype))
            found = computed(call, a, b);
        if (!has_read(&readings[0], found) | !has_read(&readings[1], found))
            Py_CLEAR(found);
        Py_DECREF(b);
    }
    else if (a != NULL)
        has_read(&readings[0], NULL);
    Py_XDECREF(a);
    return b == NULL ? left_to_python() : wrapped(call, x, dtype, found);
}

/* The number that a call gives torch beside an array of a dtype, borrowed; NULL, maybe with an error, for Python. */
static PyObject *
taken_beside(const Call *call, PyObject *other, PyObject *dtype)
{
    PyObject *number = other;
    if (PyFloat_CheckExact(other) || PyLong_CheckExact(other)) {
        PyObject *dtypes = PyDict_GetItemWithError(call->numbers, (PyObject *)Py_TYPE(other));
        if (dtypes == NULL || PySet_Contains(dtypes, dtype) <= 0)
            return NULL;
        if (call->is_bare) {
            int beyond = 0;
            if (PyLong_CheckExact(other))
                PyLong_AsLongLongAndOverflow(other, &beyond);
            return beyond || (PyFloat_CheckExact(other) && PyFloat_AS_DOUBLE(other) > 9e18) ? NULL : other;
        }
    }
    else {
        int kind = kind_of_type(Py_TYPE(other));
        if (kind < 0 || PyDict_GetItemWithError(call->hosts, (PyObject *)Py_TYPE(other)) != dtype
            || PySet_Contains(call->dtypes, dtype) <= 0)
            return NULL;
        number = number_of(other, kind);
        if (number == NULL || (!PyFloat_CheckExact(number) && !PyLong_CheckExact(number)))
            return NULL;
    }
    if (call->devices != NULL && is_true_of(call->devices, used))
        return NULL;
    PyObject *taken = kept_number(number, dtype);
    if (taken == NULL && number != other && call->devices == NULL && !PyErr_Occurred())
        taken = number; /* operators keep no scalars, which come in great number */
    return taken;
}

static PyObject *
beside(const Call *call, PyObject *x, PyObject *other, int turned)
{
    PyObject *dtype = SLOT(x, arrays.of_dtype), *found = NULL;
    PyObject *taken = call->numbers == NULL || is_in_mode() ? NULL : taken_beside(call, other, dtype);
    if (taken == NULL)
        return left_to_python();
    Py_INCREF(taken);
    Reading reading;
    PyObject *tensor = read_tensor(x, &reading, SLOT(x, arrays.of_elements) != NULL && is_seen_by_torch());
    if (tensor != NULL && is_for_torch(call, tensor, dtype) && is_true_of(tensor, words.is_cpu))
        found = turned ? computed(call, taken, tensor) : computed(call, tensor, taken);
    Py_DECREF(taken);
    if (!has_read(&reading, found))
        Py_CLEAR(found);
    Py_XDECREF(tensor);
    return wrapped(call, x, dtype, found);
}

/* An array in double precision where that is what it is taken in beside the other operand; NULL, maybe with an error,
 * where it is not, or in it already. */
static PyObject *
as_doubles(PyObject *x, PyObject *other)
{
    int kind = Py_IS_TYPE(x, arrays.type) ? kind_of_dtype(SLOT(x, arrays.of_dtype)) : -1;
    int is_array = Py_IS_TYPE(other, arrays.type), is_weak = PyFloat_CheckExact(other);
    int beside = is_array ? kind_of_dtype(SLOT(other, arrays.of_dtype)) : is_weak ? FLOAT64 : kind_of_type(Py_TYPE(other));
    if (beside != FLOAT64 || kind < 0 || !(kind == BOOL || IS_WHOLE(kind) || (kind == FLOAT32 && !is_weak)))
        return NULL;
    return copied_as(x, FLOAT64, AS_THEY_LIE);
}

static PyObject *
of_both(const Call *call, PyObject *x, PyObject *y)
{
    int is_first = Py_IS_TYPE(x, arrays.type), is_second = Py_IS_TYPE(y, arrays.type);
    return is_first && is_second ? of_two(call, x, y) : is_first ? beside(call, x, y, 0)
         : is_second ? beside(call, y, x, 1) : NULL;
}

/* The same of operands of two dtypes of which one is float64, in which torch computes. */
static PyObject *
of_doubles(const Call *call, PyObject *x, PyObject *y)
{
    int is_raised = call->is_power && !call->skipped && !call->is_turned && !Py_IS_TYPE(y, arrays.type);
    if (is_raised || is_watching() || PySet_Contains(call->dtypes, dtype_of_kind(FLOAT64)) <= 0)
        return left_to_python(); /* a power of an array by a number is rounded otherwise than by an array */
    PyObject *first = as_doubles(x, y), *second = first != NULL || PyErr_Occurred() ? NULL : as_doubles(y, x), *found = NULL;
    if (first != NULL || second != NULL)
        found = of_both(call, first != NULL ? first : x, second != NULL ? second : y);
    Py_XDECREF(first);
    Py_XDECREF(second);
    return found != NULL ? found : left_to_python();
}

/* The operator in place: the array, which is written, or NULL where that is left to Python. */
static PyObject *
in_place(const Call *call, PyObject *x, PyObject *y)
{
    PyObject *tensor = written_tensor(x), *dtype = SLOT(x, arrays.of_dtype), *given;
    if (tensor == NULL || is_in_mode() || !is_free(x) || !is_for_torch(call, tensor, dtype))
        return left_to_python();
    if (Py_IS_TYPE(y, arrays.type)) {
        given = written_tensor(y);
        if (given == NULL || dtype != SLOT(y, arrays.of_dtype) || PySet_Contains(call->dtypes, dtype) <= 0
            || PySet_Contains(call->apart, dtype) != 0)
            return left_to_python();
        /* What is read may have been written: of dense tensors torch sees that. */
        int dense = is_true_by(tensor, words.is_contiguous) && is_true_by(given, words.is_contiguous);
        if (!dense && !are_apart(tensor, given))
            return left_to_python();
    }
    else {
        PyObject *dtypes = PyDict_GetItemWithError(call->numbers, (PyObject *)Py_TYPE(y));
        int is_number = PyFloat_CheckExact(y) || PyLong_CheckExact(y);
        if (!is_number || dtypes == NULL || PySet_Contains(dtypes, dtype) <= 0
            || !is_true_of(tensor, words.is_cpu) || (given = kept_number(y, dtype)) == NULL)
            return left_to_python();
    }
    PyObject *done = computed(call, tensor, given);
    if (done == NULL)
        return left_to_python(); /* shapes that do not fit, memory that overlaps: nothing was written */
    Py_DECREF(done);
    return Py_NewRef(x);
}

/* --- the functions that these stand before ------------------------------------------------------------------------ */

/* What torch computes in a dtype, written into an array of it and of the shape of the result; NULL where that is
 * Python's. */
static PyObject *
copied_into(const Call *call, PyObject *x, PyObject *y, PyObject *out)
{
    PyObject *like = Py_IS_TYPE(x, arrays.type) ? x : y;
    if (call->result != Py_None || !Py_IS_TYPE(out, arrays.type) || like == NULL || !Py_IS_TYPE(like, arrays.type)
        || SLOT(out, arrays.of_dtype) != SLOT(like, arrays.of_dtype) || !can_write(out))
        return NULL;
    PyObject *made = y == NULL ? of_one(call, x) : of_both(call, x, y);
    return is_filled(out, made) ? Py_NewRef(out) : left_to_python();
}

/* What is written into `out`, which is the only word, of a ufunc of so many operands; NULL where that is Python's. */
static PyObject *
into(const Call *call, PyObject *const *args, size_t nargsf, PyObject *names, int operands)
{
    static PyObject *out;
    if (out == NULL)
        out = PyUnicode_InternFromString("out");
    if (names == NULL || call->skipped != 1 || PyTuple_GET_SIZE(names) != 1
        || PyTuple_GET_ITEM(names, 0) != out || PyVectorcall_NARGS(nargsf) != operands + 1 || is_traced())
        return NULL;
    PyObject *x = args[1], *y = operands == 2 ? args[2] : NULL;
    return call->few == NULL || call->is_power ? copied_into(call, x, y, args[operands + 1])
                                               : few_into(call->few, x, y, args[operands + 1]);
}

static PyObject *
unary(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Call *call = place_of(function);
    if (names != NULL) {
        PyObject *found = into(call, args, nargsf, names, 1);
        if (found != NULL || PyErr_Occurred())
            return found;
    }
    if (PyVectorcall_NARGS(nargsf) == call->skipped + 1 && names == NULL && !is_traced()) {
        PyObject *x = args[call->skipped];
        PyObject *found = call->few == NULL ? NULL : Py_IS_TYPE(x, arrays.type) ? few_of_one(call->few, x)
                        : call->skipped && !(call->devices != NULL && is_true_of(call->devices, used))
                        ? few_of_scalar(call->few, x) : NULL;
        if (found == NULL && !PyErr_Occurred())
            found = Py_IS_TYPE(x, arrays.type) || !call->skipped ? of_one(call, x) : of_number(call, x);
        if (found != NULL || PyErr_Occurred())
            return found;
    }
    return go_on(function, args, nargsf, names);
}

static PyObject *
binary(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *names)
{
    const Call *call = place_of(function);
    if (names != NULL) {
        PyObject *found = into(call, args, nargsf, names, 2);
        if (found != NULL || PyErr_Occurred())
            return found;
    }
    if (PyVectorcall_NARGS(nargsf) == call->skipped + 2 && names == NULL && !is_traced()) {
        PyObject *x = args[call->skipped], *y = args[call->skipped + 1], *found = NULL;
        int is_first = Py_IS_TYPE(x, arrays.type), is_second = Py_IS_TYPE(y, arrays.type);
        if (!is_first && !call->skipped && kind_of_type(Py_TYPE(x)) < 0)
            is_second = 0; /* an operator needs its owner */
        if (call->few != NULL && !call->is_power && call->skipped && !is_first && !is_second)
            found = few_of_scalars(call->few, x, y);
        if (call->few != NULL && (is_first || is_second)) {
            if (call->is_power) /* `x **= 2` is a write, `2 ** x` no square */
                found = is_first && call->apart == NULL && !call->is_turned && PyLong_CheckExact(y)
                     && PyLong_AsLong(y) == 2 ? few_of_one(call->few, x) : NULL;
            else if (call->apart != NULL)
                found = few_in_place(call->few, x, y);
            else
                found = few_of_two(call->few, x, y, call->is_turned);
            if (found == NULL)
                left_to_python();
        }
        if (found != NULL || PyErr_Occurred())
            return found;
        if (call->apart != NULL)
            found = is_first ? in_place(call, x, y) : NULL;
        else if (is_first || is_second) {
            found = of_both(call, x, y);
            if (found == NULL && !PyErr_Occurred())
                found = of_doubles(call, x, y);
        }
        if (found != NULL || PyErr_Occurred())
            return found;
    }
    return go_on(function, args, nargsf, names);
}

/* What a name stands for, kept for good; NULL where there is none. */
static PyObject *
named(PyObject *names, const char *name)
{
    PyObject *found = PyDict_GetItemString(names, name);
    return Py_XNewRef(found);
}

PyObject *
attach_call(PyObject *module, PyObject *args)
{
    PyObject *function, *names;
    int operands, skipped;
    if (!PyArg_ParseTuple(args, "OiiO!:attach_call", &function, &operands, &skipped, &PyDict_Type, &names))
        return NULL;
    if (count >= PLACES / 2) /* npdec was imported several times: this one's are Python's */
        Py_RETURN_NONE;
    if (used == NULL)
        used = PyUnicode_InternFromString("used");
    if (stand_before(function, operands == 1 ? unary : binary) < 0)
        return NULL;
    Call *call = place_of(function);
    count++;
    call->function = Py_NewRef(function);
    call->torch = named(names, "torch");
    call->dtypes = named(names, "dtypes");
    call->many = named(names, "many");
    call->result = named(names, "result");
    call->numbers = named(names, "numbers");
    call->hosts = named(names, "hosts");
    call->devices = named(names, "devices");
    call->apart = named(names, "apart");
    call->wrap = named(names, "wrap");
    call->keep = named(names, "keep");
    PyObject *name = PyDict_GetItemString(names, "few");
    const char *stem = name == NULL || name == Py_None ? NULL : PyUnicode_AsUTF8(name);
    call->is_power = stem != NULL && strcmp(stem, "power") == 0;
    call->few = stem == NULL ? NULL : loops_of(call->is_power ? "square" : stem);
    call->is_turned = PyDict_GetItemString(names, "turned") == Py_True;
    call->is_bare = PyDict_GetItemString(names, "bare") == Py_True;
    call->skipped = skipped;
    call->reduces = PyDict_GetItemString(names, "reduces") != NULL;
    call->most = PyLong_AsSsize_t(PyDict_GetItemString(names, "most"));
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}
