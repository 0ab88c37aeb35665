/* Functions in reverse mode that are affine in their first argument, beside constants: convolutions, means of windows,
 * normalisation by given statistics, losses of logarithms. Each is called with what is on the graph, and with the
 * residual, of which one example stands for those that are equal. What is done is said in
 * npdec/_law/ordinary_reverse.py and npdec/_law/reverse_forms.py, where other arguments are. */
#include "reverse.h"

/* What a form is told: how many of the first axes it looks at one by one; which argument has to be False, or -1; whether
 * the next argument has as many axes as the first one; and whether tensors beside may be indices. */
typedef struct {
    long lead, never, is_weighted, or_indices;
} Told;

static int
are_options(PyObject *item)
{
    if (PyTuple_CheckExact(item) || PyList_CheckExact(item)) {
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(item); i++)
            if (!PyLong_CheckExact(PySequence_Fast_GET_ITEM(item, i)))
                return 0;
        return 1;
    }
    return item == Py_None || PyLong_CheckExact(item) || PyFloat_CheckExact(item) || PyBool_Check(item)
        || PyUnicode_CheckExact(item);
}

/* An argument without its graph; NULL, maybe with an error, where it is neither a constant nor an option. */
static PyObject *
beside(PyObject *item, const Reversed *x, const Told *told, int is_next)
{
    Array at;
    if (are_options(item))
        return is_next && told->is_weighted ? NULL : Py_NewRef(item);
    if (!(Py_IS_TYPE(item, arrays.tensor) || Py_IS_TYPE(item, given.parameter)) || !look_at_any(item, &at)
        || is_true_by(item, words.is_inference))
        return NULL;
    int is_like = at.code == OF_FLOAT && at.bits == x->value_at.bits;
    int is_index = at.code == OF_INTEGER || at.code == OF_UNSIGNED || at.code == OF_BOOL;
    if (!(is_like || (is_index && told->or_indices)) || (is_next && told->is_weighted && at.rank != x->value_at.rank))
        return NULL;
    return is_true_of(item, names.requires_grad) ? PyObject_CallMethodNoArgs(item, names.detach) : Py_NewRef(item);
}

/* The residual, of equal examples one; of a function of all of them in memory of its own. */
static PyObject *
residual_for(const Reversed *x, long lead)
{
    if (lead > 0)
        return row_of(x, (int)lead);
    PyObject *residual = residual_in(x);
    if (residual == NULL || !has_equal(&x->residual_at))
        return Py_XNewRef(residual);
    PyObject *value = value_in(x), *made = value == NULL ? NULL : PyObject_CallOneArg(given.empty_like, value);
    PyObject *done = made == NULL ? NULL : PyObject_CallMethod(made, "copy_", "O", residual);
    Py_XDECREF(made);
    return done;
}

/* func(x, constants and options) */
PyObject *
affine(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Reversed x;
    PyObject *kept[MOST_GIVEN] = {NULL}, *carrier = NULL, *row = NULL, *low = NULL;
    PyObject *const *its = ((PyTupleObject *)form->rest)->ob_item;
    const Told told = {PyLong_AsLong(its[0]), PyLong_AsLong(its[1]), its[2] == Py_True, its[3] == Py_True};
    Py_ssize_t held = 1;
    if (count < 1 || count > MOST_GIVEN || !is_in_reverse(args[0])
        || (told.never > 0 && (count <= told.never || args[told.never] != Py_False)) || !reversed_of(args[0], &x))
        return left_to_python();
    if (x.value_at.rank > 1)
        for (; held < count && (kept[held] = beside(args[held], &x, &told, held == 1)) != NULL; held++)
            ;
    if (x.value_at.rank > 1 && held == count && (carrier = call(func, x.on_graph, kept + 1, count - 1)) != NULL
        && Py_IS_TYPE(carrier, arrays.tensor) && (row = residual_for(&x, told.lead)) != NULL)
        low = call(func, row, kept + 1, count - 1);
    Py_XDECREF(row);
    for (Py_ssize_t i = 1; i < held; i++)
        Py_XDECREF(kept[i]);
    PyObject *made = made_of_rows(carrier, low, &x);
    let_reversed_go(&x);
    return made;
}
