/* Writes into decomposed tensors of few elements: what was computed is copied over the parts, where nobody else looks at
 * them. */
#include "decomposed.h"

/* Count one more write into a tensor, and tell autograd of it; 0, or -1 with an error, before anything is written. */
static int
count_write(const Parts *x)
{
    PyObject *writes = PyObject_GetAttr(x->of, names.writes), *one = PyLong_FromLong(1), *more = NULL;
    if (writes != NULL && one != NULL)
        more = PyNumber_Add(writes, one);
    int is_told = more != NULL && tell_of_write(x->value) == 0 && tell_of_write(x->residual) == 0
               && tell_of_write(x->components) == 0 && PyObject_SetAttr(x->of, names.writes, more) == 0;
    Py_XDECREF(more);
    Py_XDECREF(one);
    Py_XDECREF(writes);
    return is_told ? 0 : -1;
}

static void
copy_over(const Array *to, const Array *from)
{
    memcpy(to->elements, from->elements, (size_t)elements_in(to) * to->bits / 8);
}

/* Whether one tensor can take the elements of another one, which was just made: both lie by rows, nobody else looks at
 * the parts of the first, and their labels are one. Of inference tensors torch says that they are not to be written. */
static int
can_take(const Parts *x, const Parts *made)
{
    PyObject *views = PyObject_GetAttr(x->of, names.views);
    Py_XDECREF(views);
    int is_inference = is_true_by(x->value, words.is_inference) || is_true_by(x->residual, words.is_inference)
                    || is_true_by(x->components, words.is_inference);
    return views == Py_None && !is_inference && x->labels == made->labels && are_alike(&x->value_at, &made->value_at)
        && is_of_one_dtype(&x->value_at, &made->value_at) && few_is_open(x) && few_is_open(made)
        && is_by_rows(&x->value_at) && is_by_rows(&x->residual_at) && is_by_rows(&x->components_at)
        && is_by_rows(&made->value_at) && is_by_rows(&made->residual_at) && is_by_rows(&made->components_at)
        && x->value_at.elements != made->value_at.elements;
}

/* Whether a tensor has taken the elements of another one. */
static int
is_written(PyObject *tensor, PyObject *from)
{
    Parts x, made;
    int is_done = 0;
    if (has_origin(tensor) || has_origin(from) || !parts_of(tensor, &x))
        return 0;
    if (parts_of(from, &made)) {
        is_done = can_take(&x, &made) && count_write(&x) == 0;
        if (is_done) {
            copy_over(&x.value_at, &made.value_at);
            copy_over(&x.residual_at, &made.residual_at);
            copy_over(&x.components_at, &made.components_at);
        }
        let_parts_go(&made);
    }
    let_parts_go(&x);
    return is_done;
}

/* few_written_over(x, made): x; or None where that is Python's */
PyObject *
few_written_over(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2 || is_traced() || is_observed() || !is_written(args[0], args[1]))
        return or_none(left_to_python());
    return Py_NewRef(args[0]);
}

/* What a method in place does: the form of the function that makes a new tensor, `batch`, and its elements are taken. */
PyObject *
written_over(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    PyObject *row = PyDict_GetItemWithError(given.rows, form->batch), *made = NULL, *found = NULL;
    const Form *inner = row == NULL ? NULL : form_of(SLOT(row, given.of_short));
    if (count > 0 && inner != NULL && inner->function != NULL && !has_origin(args[0]))
        made = inner->answer(inner, form->batch, args, count);
    if (made != NULL && made != args[0] && is_written(args[0], made))
        found = Py_NewRef(args[0]);
    Py_XDECREF(made);
    return found;
}
