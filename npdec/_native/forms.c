/* Calls of functions of torch with decomposed tensors, where they are ordinary ones: what `npdec._rules.direct` and
 * `DecomposedTensor.__torch_function__` say in Python. The form of a function, which its row in the registry has, may
 * be one that C answers (linear.c, arithmetic.c, matrices.c); others are called as Python calls them. */
#include "decomposed.h"
#include <structmember.h> /* T_PYSSIZET, before 3.12 */

#define MOST_FORMS 1024
static Form forms[MOST_FORMS];
#define MOST_PLANS 4096
static PyObject *plans;   /* {(function, how many arguments have a place, names): whether those follow them} */
static PyObject *general; /* what answers a call that has no form, or whose form is not open */

/* --- forms -------------------------------------------------------------------------------------------------------- */

Form *
form_of(PyObject *function)
{
    size_t at = ((size_t)function >> 4) % MOST_FORMS;
    while (forms[at].function != NULL && forms[at].function != function)
        at = (at + 1) % MOST_FORMS;
    return &forms[at];
}

/* form(function of torch, its arguments) */
static PyObject *
call_form(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *keywords)
{
    if (PyVectorcall_NARGS(nargsf) == 2 && keywords == NULL && PyTuple_CheckExact(args[1]) && !is_traced()
        && !is_observed()) { /* from 3.12 on, calls of Python come here too */
        const Form *form = form_of(function);
        PyObject *found = form->answer(form, args[0], ((PyTupleObject *)args[1])->ob_item, PyTuple_GET_SIZE(args[1]));
        if (found == NULL)
            left_to_python();
        if (found != NULL || PyErr_Occurred())
            return found;
    }
    return go_on(function, args, nargsf, keywords);
}

/* answer(form, function of torch, its arguments): what the form in C makes of it, or None; until 3.12 calls by Python do
 * not come here. */
PyObject *
answer(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyObject *found = NULL;
    if (count == 3 && PyTuple_CheckExact(args[2]) && !is_traced() && !is_observed()) {
        const Form *form = form_of(args[0]);
        if (form->function != NULL)
            found = form->answer(form, args[1], ((PyTupleObject *)args[2])->ob_item, PyTuple_GET_SIZE(args[2]));
        if (found == given.not_implemented)
            Py_CLEAR(found);
    }
    return or_none(found == NULL ? left_to_python() : found);
}

PyObject *
attach_form(PyObject *module, PyObject *args)
{
    static const struct {
        const char *name;
        Answer *answer;
    } answers[] = {{"itself", itself}, {"unless training", unless_training}, {"each", each}, {"of_one", of_one}, {"like another", like_another}, {"filled", filled}, {"clone", cloned}, {"contiguous", contiguous},
                   {"detached", detached}, {"joined", joined}, {"or square", or_square},
                   {"unless near", unless_near}, {"unless square", unless_square}, {"added", added}, {"scaled", scaled}, {"divided", divided},
                   {"matmul", matmul}, {"layer", layer}, {"pointwise", pointwise},
                   {"sigmoid", sigmoid}, {"tanh", hyperbolic}, {"power", power}, {"written over", written_over}, {"cast", cast}, {"stepped", stepped},
                   {"compared", compared}, {"masked", mask_selected}, {"softened", softened}, {"normalised", normalised},
                   {"also", also}, {"led", led}, {"measured", measured}, {"log summed", log_summed}, {"larger", larger}, {"turned", turned}, {"chosen", chosen}, {"lost", lost}, {"affine", affine}};
    static const char *const kinds[] = {"by rule",    "of axes",  "of a key", "reshaped", "squeezed",
                                        "unsqueezed", "permuted", "swapped",  "reduced"};
    static int count;
    PyObject *function, *batch, *rest;
    const char *name, *kind;
    Form form = {0};
    if (!PyArg_ParseTuple(args, "OsilOsiiO!:attach_form", &function, &name, &form.traits, &form.all_traits, &batch,
                          &kind, &form.first, &form.last, &PyTuple_Type, &rest))
        return NULL;
    for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++)
        if (strcmp(answers[i].name, name) == 0)
            form.answer = answers[i].answer;
    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
        if (strcmp(kinds[i], kind) == 0)
            form.kind = (int)i;
    if (form.answer == NULL || form.last > MOST_GIVEN)
        return PyErr_Format(PyExc_ValueError, "attach_form: no form %s of %d arguments", name, form.last);
    if (count >= MOST_FORMS / 2)
        Py_RETURN_NONE; /* this one is Python's */
    if (stand_before(function, call_form) < 0)
        return NULL;
    count++;
    const Form *inner = form_of(batch);
    form.inner = inner->function == NULL ? NULL : inner;
    form.function = Py_NewRef(function);
    form.batch = Py_NewRef(batch);
    form.rest = Py_NewRef(rest);
    *form_of(function) = form;
    Py_RETURN_NONE;
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

/* The form in C of a function of torch, which holds while nothing in Python is asked; NULL where it has none. */
static const Form *
form_for(PyObject *func)
{
    PyObject *row = PyDict_GetItemWithError(given.rows, func);
    PyObject *function = row == NULL ? NULL : SLOT(row, given.of_short);
    const Form *form = function == NULL || function == Py_None ? NULL : form_of(function);
    return form == NULL || form->function == NULL ? NULL : form;
}

/* The answer of a function's form; NULL, without an error, where it has none, or that is not open. */
static PyObject *
answered(PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    PyObject *row = PyDict_GetItemWithError(given.rows, func), *found = NULL;
    PyObject *function = row == NULL ? NULL : SLOT(row, given.of_short);
    if (function == NULL || is_observed())
        return NULL;
    Py_INCREF(row); /* what is asked now may be Python's, and register another row */
    Py_INCREF(function);
    found = few_complex_call(row, func, args, count);
    Py_DECREF(row);
    if (found != NULL || PyErr_Occurred() || function == Py_None) {
        Py_DECREF(function);
        return found;
    }
    const Form *form = form_of(function);
    if (form->function != NULL && (found = form->answer(form, func, args, count)) == NULL)
        left_to_python();
    PyObject *all = found == NULL && !PyErr_Occurred() ? PyTuple_New(count) : NULL;
    for (Py_ssize_t i = 0; all != NULL && i < count; i++)
        PyTuple_SET_ITEM(all, i, Py_NewRef(args[i]));
    if (all != NULL) {
        PyObject *given_to_it[3] = {NULL, func, all};
        vectorcallfunc call = form->function == NULL ? PyObject_Vectorcall : go_on;
        found = call(function, given_to_it + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
        Py_DECREF(all);
    }
    Py_DECREF(function);
    if (found == given.not_implemented)
        Py_CLEAR(found);
    return found;
}

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *function, *of, *own; /* in Python; the function of torch; and its method, which asks no form */
    PyObject *weak;
} Method;

/* Whether the arguments that are given by these names follow those that have a place, in this order. */
static int
follow(PyObject *func, Py_ssize_t count, PyObject *keywords)
{
    PyObject *key = Py_BuildValue("(OnO)", func, count, keywords), *found = NULL, *number;
    if (key != NULL && (found = Py_XNewRef(PyDict_GetItemWithError(plans, key))) == NULL && !PyErr_Occurred()) {
        number = PyLong_FromSsize_t(count);
        found = number == NULL ? NULL : PyObject_CallFunctionObjArgs(given.plan, func, number, keywords, NULL);
        if (found != NULL && PyDict_GET_SIZE(plans) < MOST_PLANS && PyDict_SetItem(plans, key, found) < 0)
            Py_CLEAR(found);
        Py_XDECREF(number);
    }
    Py_XDECREF(key);
    Py_XDECREF(found);
    const Form *form = found == Py_True ? NULL : form_for(func);
    return found == Py_True || (form != NULL && is_with_alpha(form, count, keywords));
}

/* A method of a decomposed tensor. */
static PyObject *
call_method(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *keywords)
{
    Method *method = (Method *)self;
    Py_ssize_t count = PyVectorcall_NARGS(nargsf), many = keywords == NULL ? 0 : PyTuple_GET_SIZE(keywords);
    PyObject *function = method->function;
    if (count > 0 && Py_IS_TYPE(args[0], given.type) && !is_traced()
        && (many == 0 || follow(method->of, count, keywords))) {
        PyObject *found = answered(method->of, args, count + many);
        if (found == NULL)
            left_to_python();
        if (found != NULL || PyErr_Occurred())
            return found;
        function = method->own; /* the one in Python would ask the form again */
    }
    return PyObject_Vectorcall(function, args, nargsf, keywords);
}

static PyObject *
bound(PyObject *self, PyObject *owner, PyObject *type)
{
    return owner == NULL || owner == Py_None ? Py_NewRef(self) : PyMethod_New(self, owner);
}

/* What is asked of a method is asked of its function, which says in Python what it does; so is the module, which the
 * class here has as well. */
static PyObject *
attribute(PyObject *self, PyObject *name)
{
    int is_module = PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "__module__") == 0;
    PyObject *found = is_module ? NULL : PyObject_GenericGetAttr(self, name);
    if (found == NULL && (is_module || PyErr_ExceptionMatches(PyExc_AttributeError))) {
        PyErr_Clear();
        found = PyObject_GetAttr(((Method *)self)->function, name);
    }
    return found;
}

static PyObject *
shown(PyObject *self)
{
    return PyObject_Repr(((Method *)self)->function);
}

/* As functions are pickled and copied: by name. */
static PyObject *
reduced(PyObject *self, PyObject *unused)
{
    return PyObject_GetAttrString(((Method *)self)->function, "__qualname__");
}

static int
visit(Method *self, visitproc visit, void *arg)
{
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(self->function);
    Py_VISIT(self->of);
    Py_VISIT(self->own);
    return 0;
}

static int
clear(Method *self)
{
    Py_CLEAR(self->function);
    Py_CLEAR(self->of);
    Py_CLEAR(self->own);
    return 0;
}

static void
free_method(Method *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    if (self->weak != NULL)
        PyObject_ClearWeakRefs((PyObject *)self);
    clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *
make_method(PyTypeObject *type, PyObject *args, PyObject *keywords)
{
    PyObject *function, *of, *own;
    if (!PyArg_ParseTuple(args, "OOO:Method", &function, &of, &own))
        return NULL;
    Method *method = (Method *)type->tp_alloc(type, 0);
    if (method != NULL) {
        method->call = call_method;
        method->function = Py_NewRef(function);
        method->of = Py_NewRef(of);
        method->own = Py_NewRef(own);
    }
    return (PyObject *)method;
}

static PyObject *
wrapped(PyObject *self, void *closure)
{
    return Py_NewRef(((Method *)self)->function);
}

static PyMemberDef members[] = {{"__vectorcalloffset__", T_PYSSIZET, offsetof(Method, call), READONLY, NULL},
                                {"__weaklistoffset__", T_PYSSIZET, offsetof(Method, weak), READONLY, NULL}, {NULL}};
static PyMethodDef method_methods[] = {{"__reduce__", reduced, METH_NOARGS, "Its name."}, {NULL, NULL, 0, NULL}};
static PyObject *
its_text(PyObject *self, void *closure)
{
    return PyObject_GetAttrString(((Method *)self)->function, "__doc__");
}

static PyGetSetDef properties[] = {
    {"__wrapped__", wrapped, NULL, "The function in Python.", NULL}, {"__doc__", its_text, NULL, NULL, NULL}, {NULL}};
static PyType_Slot method_slots[] = {
    {Py_tp_new, make_method}, {Py_tp_dealloc, free_method}, {Py_tp_traverse, visit}, {Py_tp_clear, clear},
    {Py_tp_call, PyVectorcall_Call}, {Py_tp_descr_get, bound}, {Py_tp_getattro, attribute}, {Py_tp_members, members},
    {Py_tp_getset, properties}, {Py_tp_methods, method_methods}, {Py_tp_repr, shown}, {0, NULL}};
PyType_Spec method_spec = {
    "npdec._native._calls.Method", sizeof(Method), 0,
    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR, method_slots};

/* Whether torch's tensors, decomposed ones and parameters are all that a call was found by. */
static int
are_known(PyObject *types)
{
    if (!PyTuple_CheckExact(types))
        return 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(types); i++) {
        PyObject *type = PyTuple_GET_ITEM(types, i);
        if (type != (PyObject *)given.type && type != (PyObject *)given.parameter && type != (PyObject *)arrays.tensor)
            return 0;
    }
    return 1;
}

/* Whether an option of a function of torch in C says what is so without it: that there is no dtype, that nothing is
 * written to, that a target is no logarithm. */
static int
says_nothing(PyObject *name, PyObject *item)
{
    if (!PyUnicode_CheckExact(name))
        return 0;
    if (item == Py_None)
        return PyUnicode_CompareWithASCIIString(name, "dtype") == 0
            || PyUnicode_CompareWithASCIIString(name, "out") == 0;
    return item == Py_False && PyUnicode_CompareWithASCIIString(name, "log_target") == 0;
}

/* Names and values of options, in tuples; of a function of torch in C without those that say nothing. */
static int
given_by_name(PyObject *func, PyObject *options, PyObject **names_to, PyObject **values_to)
{
    PyObject *name, *item;
    Py_ssize_t at = 0, count = 0;
    int is_in_python = PyFunction_Check(func);
    *names_to = PyTuple_New(PyDict_GET_SIZE(options));
    *values_to = PyTuple_New(PyDict_GET_SIZE(options));
    if (*names_to == NULL || *values_to == NULL)
        return 0;
    while (PyDict_Next(options, &at, &name, &item)) {
        if (!is_in_python && says_nothing(name, item))
            continue;
        PyTuple_SET_ITEM(*names_to, count, Py_NewRef(name));
        PyTuple_SET_ITEM(*values_to, count++, Py_NewRef(item));
    }
    return count == PyDict_GET_SIZE(options)
        || (_PyTuple_Resize(names_to, count) == 0 && _PyTuple_Resize(values_to, count) == 0);
}

/* The arguments of a call, with those by name behind them; NULL, without an error, where they do not follow. */
static PyObject *
all_of(PyObject *func, PyObject *args, PyObject *options)
{
    if (options == NULL || options == Py_None || (PyDict_CheckExact(options) && PyDict_GET_SIZE(options) == 0))
        return Py_NewRef(args);
    PyObject *keywords = NULL, *values = NULL, *all = NULL;
    if (PyDict_CheckExact(options) && given_by_name(func, options, &keywords, &values)
        && (PyTuple_GET_SIZE(keywords) == 0 || follow(func, PyTuple_GET_SIZE(args), keywords)))
        all = PySequence_Concat(args, values);
    Py_XDECREF(keywords);
    Py_XDECREF(values);
    return all;
}

/* by_options(function in Python, arguments, options by name): what its form answers that takes them by their places;
 * or None. */
PyObject *
by_options(PyObject *module, PyObject *const *given_to_it, Py_ssize_t count)
{
    if (count != 3 || !PyTuple_CheckExact(given_to_it[1]) || is_traced())
        return or_none(left_to_python());
    PyObject *func = given_to_it[0], *found = NULL;
    const Form *form = form_for(func);
    int is_open = form != NULL && are_by_place(form) && !is_observed();
    PyObject *all = is_open ? all_of(func, given_to_it[1], given_to_it[2]) : NULL;
    if (all != NULL)
        found = form->answer(form, func, PySequence_Fast_ITEMS(all), PyTuple_GET_SIZE(all));
    Py_XDECREF(all);
    return or_none(found == NULL ? left_to_python() : found);
}

/* Whether options are none, or the one that torch.nn.functional hands on: that nothing is written over. */
static int
say_nothing(PyObject *options)
{
    PyObject *name, *item;
    Py_ssize_t at = 0;
    if (options == NULL || options == Py_None)
        return 1;
    if (!PyDict_CheckExact(options) || PyDict_GET_SIZE(options) > 1)
        return 0;
    return !PyDict_Next(options, &at, &name, &item)
        || (item == Py_False && PyUnicode_CheckExact(name) && PyUnicode_CompareWithASCIIString(name, "inplace") == 0);
}

/* DecomposedTensor.__torch_function__(func, types, args=(), kwargs=None), of the class */
static PyObject *
torch_function(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *keywords)
{
    Py_ssize_t count = PyVectorcall_NARGS(nargsf);
    if (keywords == NULL && (count == 4 || count == 5) && args[0] == (PyObject *)given.type
        && PyTuple_CheckExact(args[3]) && are_known(args[2]) && !is_traced()) {
        PyObject *options = count == 5 ? args[4] : NULL, *all = NULL, *found = NULL;
        int is_in_python = PyFunction_Check(args[1]);
        const Form *form = is_in_python ? form_for(args[1]) : NULL;
        if (is_in_python && say_nothing(options)) /* other options of such are Python's: `answer_ordinary` */
            all = Py_NewRef(args[3]);
        else if (!is_in_python || (form != NULL && (form->answer == unless_training || form->answer == normalised
                                                         || form->answer == affine)))
            all = all_of(args[1], args[3], options);
        int is_simple = all == args[3] && (!is_in_python || !is_observed());
        if (all != NULL)
            found = answered(args[1], PySequence_Fast_ITEMS(all), PyTuple_GET_SIZE(all));
        Py_XDECREF(all);
        if (found != NULL)
            return found;
        if (is_simple && !PyErr_Occurred() && !is_followed_by_torch())
            return PyObject_CallFunctionObjArgs(general, args[1], args[3], is_in_python ? options : NULL, NULL);
        left_to_python();
        if (PyErr_Occurred())
            return NULL;
    }
    return go_on(function, args, nargsf, keywords);
}

PyObject *
attach_torch_function(PyObject *module, PyObject *args)
{
    PyObject *function, *answer;
    if (!PyArg_ParseTuple(args, "OO:attach_torch_function", &function, &answer))
        return NULL;
    Py_XSETREF(general, Py_NewRef(answer));
    if (plans == NULL && (plans = PyDict_New()) == NULL)
        return NULL;
    return stand_before(function, torch_function) < 0 ? NULL : Py_NewRef(Py_None);
}
