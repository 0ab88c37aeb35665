/* Decomposed tensors, the ordinary ones: what they are made of, and how one is made of what was computed.
 *
 * `npdec._law.ordinary` says in Python what an ordinary tensor is, and which functions of torch answer a call with
 * one. The forms here make the same calls of torch, and what they leave out is the time between these. */
#include "decomposed.h"
#include "lazy.h"
#include <math.h>

struct names names;
struct given given;
static PyObject *watched, *checked, *graph_wanted; /* variables of contexts */
static PyObject *follows_forward, *is_asked;
PyObject *usual_attributes;

#define MOST_LOOKED_AT 1024 /* elements of a factor: of more, torch tells sooner whether they are moderate */

/* --- what is looked at -------------------------------------------------------------------------------------------- */

int
differs(PyObject *variable, PyObject *usual)
{
    PyObject *found;
    if (variable == NULL || PyContextVar_Get(variable, usual, &found) < 0) /* NULL until something is decomposed */
        return 1;
    Py_XDECREF(found);
    return found != usual;
}

int
is_on(PyObject *function)
{
    PyObject *found = PyObject_CallNoArgs(function);
    Py_XDECREF(found);
    return found == Py_True;
}

int
is_followed_by_torch(void)
{
    return is_in_mode() || !is_off(asked.functions) || !is_off(asked.is_traced);
}

int
is_observed(void)
{
    return differs(watched, Py_None) || differs(checked, Py_None) || differs(graph_wanted, Py_False)
        || !is_off(asked.is_transformed) || (!is_on(follows_forward) && is_off(asked.is_inference)) || !is_on(is_asked)
        || is_followed_by_torch();
}

int
look_at_any(PyObject *tensor, Array *at)
{
    if (exchange->look_at(tensor, at) == 0)
        return at->rank <= MOST_AXES && at->lanes == 1;
    left_to_python();
    return 0;
}

Py_ssize_t
elements_in(const Array *array)
{
    Py_ssize_t size = 1;
    for (int axis = 0; axis < array->rank; axis++)
        size *= array->shape[axis];
    return size;
}

int
are_alike(const Array *a, const Array *b)
{
    if (a->rank != b->rank)
        return 0;
    for (int axis = 0; axis < a->rank; axis++)
        if (a->shape[axis] != b->shape[axis])
            return 0;
    return 1;
}

int
has_equal(const Array *array)
{
    for (int axis = 0; axis < array->rank; axis++)
        if (array->strides[axis] == 0)
            return 1;
    return 0;
}

int
is_by_rows(const Array *array)
{
    Py_ssize_t expected = 1;
    for (int axis = array->rank - 1; axis >= 0; axis--) {
        if (array->strides[axis] != expected && array->shape[axis] != 1)
            return 0;
        expected *= array->shape[axis];
    }
    return expected > 0;
}

int
is_of_one_dtype(const Array *a, const Array *b)
{
    return a->code == b->code && a->bits == b->bits;
}

/* --- parts -------------------------------------------------------------------------------------------------------- */

void
let_parts_go(Parts *parts)
{
    Py_XDECREF(parts->value);
    Py_XDECREF(parts->residual);
    Py_XDECREF(parts->components);
    Py_XDECREF(parts->labels);
}

/* Whether an attribute is what it is of ordinary tensors; None is what the class has. */
static int
is_usual(PyObject *attributes, PyObject *name, PyObject *usual)
{
    PyObject *found = PyDict_GetItemWithError(attributes, name);
    return found == usual || (found == NULL && usual == Py_None && !PyErr_Occurred());
}

static PyObject *
held(PyObject *attributes, PyObject *name)
{
    return Py_XNewRef(PyDict_GetItemWithError(attributes, name));
}

/* Whether it is of the shape of a value, with as many components in front. */
static int
are_components_of(const Array *components, const Array *value, Py_ssize_t count)
{
    if (components->rank != value->rank + 1 || components->shape[0] != count)
        return 0;
    for (int axis = 0; axis < value->rank; axis++)
        if (components->shape[axis + 1] != value->shape[axis])
            return 0;
    return 1;
}

/* Attributes may have been set, so what is read in memory is looked at. The value may be a condition, if that
 * is asked for, or 64-bit integers as well; or complex numbers. */
static int
are_parts(Parts *parts, int or_others)
{
    if (parts->value == NULL || !Py_IS_TYPE(parts->value, arrays.tensor) || parts->residual == NULL
        || !Py_IS_TYPE(parts->residual, arrays.tensor) || parts->components == NULL
        || !Py_IS_TYPE(parts->components, arrays.tensor) || parts->labels == NULL
        || !PyTuple_CheckExact(parts->labels) || PyTuple_GET_SIZE(parts->labels) >= given.many)
        return 0;
    const Array *value = &parts->value_at;
    if (!look_at_any(parts->value, &parts->value_at) || !look_at_any(parts->residual, &parts->residual_at)
        || !look_at_any(parts->components, &parts->components_at))
        return 0;
    const Array *components = &parts->components_at;
    int bits = components->code == OF_FLOAT ? components->bits
             : components->code == OF_COMPLEX && or_others == OR_COMPLEX ? components->bits / 2 : 0;
    return elements_in(value) > 0 && (bits == 64 || bits == 32)
        && (is_of_one_dtype(value, components) || (or_others == OR_CONDITIONS && value->code == OF_BOOL)
            || (or_others == OR_INTEGERS && value->code == OF_BOOL)
            || (or_others == OR_INTEGERS && value->code == OF_INTEGER && value->bits == 64))
        && is_of_one_dtype(value, &parts->residual_at) && are_alike(value, &parts->residual_at)
        && are_components_of(components, value, PyTuple_GET_SIZE(parts->labels));
}

/* The part of a tensor that a key of dots chooses, of no class, with its graph. */
static PyObject *
plain_over(PyObject *tensor)
{
    PyObject *key = PyTuple_Pack(2, tensor, Py_Ellipsis), *none = key == NULL ? NULL : PyTuple_New(0), *made = NULL;
    int is_grad = is_on(asked.is_grad);
    PyObject *set = none == NULL || is_grad ? NULL : PyObject_CallOneArg(given.enable_grad, Py_True);
    if (none != NULL && (is_grad || set != NULL))
        made = PyObject_CallFunctionObjArgs(given.of_no_class, given.part, none, key, NULL);
    PyObject *reset = set == NULL ? NULL : PyObject_CallOneArg(given.enable_grad, Py_False);
    if (set != NULL && reset == NULL)
        Py_CLEAR(made);
    Py_XDECREF(reset);
    Py_XDECREF(set);
    Py_XDECREF(none);
    Py_XDECREF(key);
    return made;
}

/* The plain tensor over the memory of a decomposed one. What views are made of makes it when it is asked for: here, if
 * torch makes it as it would have been made at once, or else by the attribute. */
static PyObject *
value_of(PyObject *tensor, PyObject *attributes)
{
    PyObject *value = held(attributes, names.value);
    if (value != NULL || PyErr_Occurred())
        return value;
    if (!is_off(asked.is_inference) || is_in_mode() || !is_off(asked.functions) || !is_off(asked.is_transformed))
        return PyObject_GetAttr(tensor, names.value);
    value = plain_over(tensor);
    if (value != NULL && PyDict_SetItem(attributes, names.value, value) < 0)
        Py_CLEAR(value);
    return value;
}

int
parts_of_any(PyObject *tensor, Parts *parts, int or_others)
{
    PyObject *its = Py_IS_TYPE(tensor, given.type) ? PyObject_GenericGetDict(tensor, NULL) : NULL;
    if (its == NULL || !is_usual(its, names.reverse, Py_False) || !is_usual(its, names.kept, Py_None)
        || !is_ordinary_origin(PyDict_GetItemWithError(its, names.origin)) || PyErr_Occurred()) {
        Py_XDECREF(its);
        return left_to_python(), 0;
    }
    parts->of = tensor;
    parts->value = value_of(tensor, its);
    parts->residual = held(its, names.residual);
    parts->components = held(its, names.components);
    parts->labels = held(its, names.labels);
    Py_DECREF(its);
    if (!are_parts(parts, or_others)) {
        let_parts_go(parts);
        return left_to_python(), 0;
    }
    parts->has_equal_rows = has_equal(&parts->residual_at);
    return 1;
}

int
parts_of(PyObject *tensor, Parts *parts)
{
    return parts_of_any(tensor, parts, 0);
}

int
is_plain(PyObject *tensor, const Parts *beside, Array *at)
{
    return (Py_IS_TYPE(tensor, arrays.tensor) || Py_IS_TYPE(tensor, given.parameter)) && look_at_any(tensor, at)
        && is_of_one_dtype(at, &beside->value_at);
}

/* Of what torch knows to be zero, and of a storage that was emptied, there are no elements in memory. */
int
is_on_host(const Array *at)
{
    return at->device == ON_HOST && at->offset == 0 && at->elements != NULL;
}

int
is_readable(PyObject *tensor)
{
    return !is_true_of(tensor, names.requires_grad) && !is_true_by(tensor, words.is_neg) && !PyErr_Occurred();
}

/* The sum of the squares of few numbers on the host, and the least of their magnitudes; 0 of others. */
static int
sizes_of(const Array *at, double *squares, double *least)
{
    if (!is_on_host(at) || elements_in(at) > MOST_LOOKED_AT)
        return 0;
    Py_ssize_t count = elements_in(at), is_in_order = is_by_rows(at);
    *squares = 0;
    *least = INFINITY;
    for (Py_ssize_t i = 0; i < count; i++) {
        double number = !is_in_order ? few_element_of(at, i)
                      : at->bits == 64 ? ((double *)at->elements)[i] : ((float *)at->elements)[i];
        *squares += number * number;
        *least = fmin(*least, fabs(number));
    }
    return 1;
}

int
is_moderate(PyObject *factor, const Array *at)
{
    double squares, least;
    /* Python adds up in single precision, and may find another sum: what is close to the limit is told there. */
    if (sizes_of(at, &squares, &least) && sqrt(squares) < 0.999 * given.steep)
        return 1;
    PyObject *found = PyObject_CallOneArg(given.is_moderate, factor);
    Py_XDECREF(found);
    return found == Py_True || (left_to_python(), 0);
}

int
is_no_small_divisor(const Array *at)
{
    double squares, least;
    return sizes_of(at, &squares, &least) && least >= 1 / given.steep && squares < INFINITY;
}

/* --- what is given by Python -------------------------------------------------------------------------------------- */

PyObject *
attach_decomposed(PyObject *module, PyObject *args)
{
    static const struct {
        PyObject **word;
        const char *text;
    } texts[] = {
        {&names.value, "value"}, {&names.residual, "residual"}, {&names.components, "components"},
        {&names.labels, "labels"}, {&names.reverse, "reverse"}, {&names.discrete, "discrete"}, {&names.kept, "kept"},
        {&names.origin, "origin"}, {&names.views, "views"}, {&names.class, "__class__"},
        {&names.requires_grad, "requires_grad"}, {&names.is_view, "_is_view"}, {&names.shape, "shape"},
        {&names.expand, "expand"}, {&names.detach, "detach"}, {&names.neg, "neg"},
        {&names.clone, "clone"}, {&names.reshape, "reshape"}, {&names.permute, "permute"},
        {&names.contiguous, "contiguous"}, {&names.mT, "mT"}, {&names.view, "view"},
        {&names.writes, "writes"}, {&names.name, "__name__"}};
    PyObject *variables[3], *told[2], *member, *limit, *functions[11];
    PyObject **const kept[11] = {&given.link, &given.rows_of, &given.is_moderate, &given.residual_of, &given.narrowed,
                                &given.matmul, &given.plan, &given.of_no_class,
                                &given.part, &given.enable_grad, &given.merged};
    if (!PyArg_ParseTuple(args, "O!O!O!OO(OOO)(OO)nd(dd)O(OOOOOOOOOOO):attach_decomposed", &PyType_Type, &given.type,
                          &PyType_Type, &given.parameter, &PyDict_Type, &given.rows, &member, &limit, &variables[0],
                          &variables[1], &variables[2], &told[0], &told[1], &given.many, &given.steep,
                          &given.even[0], &given.even[1], &given.negatives, &functions[0], &functions[1], &functions[2],
                          &functions[3], &functions[4], &functions[5], &functions[6], &functions[7], &functions[8],
                          &functions[9], &functions[10]))
        return NULL;
    given.of_short = offset_of(member);
    given.of_limit = given.of_short < 0 ? -1 : offset_of(limit);
    if (given.of_limit < 0)
        return NULL;
    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        if ((*texts[i].word = PyUnicode_InternFromString(texts[i].text)) == NULL)
            return NULL;
    Py_XSETREF(usual_attributes,
               Py_BuildValue("{OOOOOOOOOOOO}", names.components, Py_None, names.labels, Py_None, names.residual, Py_None,
                             names.reverse, Py_False, names.discrete, Py_False, names.origin, Py_None));
    if (usual_attributes == NULL)
        return NULL;
    for (int i = 0; i < 11; i++)
        *kept[i] = Py_NewRef(functions[i]);
    watched = Py_NewRef(variables[0]);
    checked = Py_NewRef(variables[1]);
    graph_wanted = Py_NewRef(variables[2]);
    follows_forward = Py_NewRef(told[0]);
    is_asked = Py_NewRef(told[1]);
    given.not_implemented = Py_NewRef(Py_NotImplemented);
    Py_INCREF(given.negatives);
    Py_INCREF(given.type);
    Py_INCREF(given.parameter);
    Py_INCREF(given.rows);
    Py_RETURN_NONE;
}
