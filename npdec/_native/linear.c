/* The forms of linear functions: of value, residual and components by the function itself, each once. They are those of
 * `npdec._law.ordinary_linear` and `npdec._law.ordinary`; NULL, without an error, leaves a call to these. */
#include "reverse.h"

/* The parts of an ordinary tensor, or of one of complex numbers. */
static int
parts_of_linear(PyObject *tensor, Parts *parts)
{
    return parts_of_any(tensor, parts, OR_COMPLEX);
}

PyObject *
rows_of(const Parts *x)
{
    return x->has_equal_rows ? PyObject_CallOneArg(given.rows_of, x->of) : Py_NewRef(x->residual);
}

/* The function of all parts beside the same arguments, which stand behind them. */
static PyObject *
of_parts(PyObject *func, const Parts *x, PyObject *const *rest, Py_ssize_t count, int link)
{
    PyObject *row = rows_of(x), *residual = NULL, *components = NULL;
    PyObject *value = row == NULL ? NULL : call(func, x->value, rest, count);
    if (value != NULL)
        residual = call(func, row, rest, count);
    if (residual != NULL)
        components = call(func, x->components, rest, count);
    Py_XDECREF(row);
    return built(value, residual, components, x, link);
}

PyObject *
each(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Parts x;
    if (count != 1)
        return NULL;
    if (!parts_of_linear(args[0], &x))
        return reversed_each(func, args, (form->traits & FRESH) || PySet_Contains(given.negatives, func) > 0);
    PyObject *made = PySet_Contains(given.negatives, func) > 0 ? few_negative(&x) : NULL;
    if (made == NULL && !PyErr_Occurred())
        made = of_parts(func, &x, NULL, 0, !(form->traits & FRESH));
    let_parts_go(&x);
    return made;
}

/* What torch gives back as it was given: `+x`, and dropout where nothing is dropped. */
PyObject *
itself(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Parts x;
    if (count != 1 || !parts_of(args[0], &x))
        return NULL;
    let_parts_go(&x);
    return Py_NewRef(args[0]);
}

PyObject *
unless_training(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    int is_new = count == 3 || (count == 4 && args[3] == Py_False);
    double share = is_new && PyFloat_CheckExact(args[1]) ? PyFloat_AS_DOUBLE(args[1]) : -1;
    return share >= 0 && share <= 1 && args[2] == Py_False && Py_IS_TYPE(args[0], given.type) ? Py_NewRef(args[0]) : NULL;
}

PyObject *
cloned(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Parts x;
    if (count != 1)
        return NULL;
    if (!parts_of_linear(args[0], &x))
        return reversed_each(func, args, 1);
    PyObject *made = few_copy_of(&x);
    if (made == NULL && !PyErr_Occurred())
        made = of_parts(func, &x, NULL, 0, 0);
    let_parts_go(&x);
    return made;
}

/* What lies in memory by rows is the tensor itself. */
PyObject *
contiguous(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Parts x;
    Array at;
    if (count != 1)
        return NULL;
    if (!parts_of_linear(args[0], &x))
        return is_in_reverse(args[0]) && look_at_any(args[0], &at) && !is_by_rows(&at) ? reversed_each(func, args, 1)
                                                                                       : left_to_python();
    int is_so = is_by_rows(&x.value_at) && is_by_rows(&x.residual_at) && is_by_rows(&x.components_at);
    let_parts_go(&x);
    return is_so ? Py_NewRef(args[0]) : NULL;
}

PyObject *
detached(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Parts x;
    PyObject *made = NULL;
    if (count != 1 || !parts_of_linear(args[0], &x))
        return NULL;
    if (!is_true_of(x.components, names.requires_grad) && !is_true_of(x.residual, names.requires_grad)) {
        PyObject *value = PyObject_CallMethodNoArgs(x.value, names.detach);
        made = built(value, Py_NewRef(x.residual), Py_NewRef(x.components), &x, 1);
    }
    let_parts_go(&x);
    return made;
}

/* --- functions that take one more leading axis -------------------------------------------------------------------- */

/* Whether a key is of integers and slices, so that it gives a view. */
static int
is_basic(PyObject *key)
{
    int many = PyTuple_CheckExact(key);
    PyObject *const *items = many ? PySequence_Fast_ITEMS(key) : &key;
    for (Py_ssize_t i = 0; i < (many ? PyTuple_GET_SIZE(key) : 1); i++)
        if (!PyLong_CheckExact(items[i]) && !PySlice_Check(items[i]) && items[i] != Py_None && items[i] != Py_Ellipsis)
            return 0;
    return 1;
}

/* Few elements that are taken at indices; NULL where they are to be taken by torch. */
static PyObject *
few_of(const Form *form, const Parts *x, PyObject *const *args, Py_ssize_t count)
{
    if (form->traits & INDEXES)
        return few_taken(x, args[1]);
    if (!(form->traits & SELECTS))
        return NULL;
    return form->kind == OF_AXES && form->first == 0 && count == 3 ? few_selected(x, args[1], args[2]) : NULL;
}

/* The function of the residual, of which elements may be one in memory. */
static PyObject *
of_residual(const Form *form, PyObject *func, const Parts *x, PyObject *value, PyObject *const *rest, Py_ssize_t count)
{
    if (!x->has_equal_rows)
        return call(func, x->residual, rest, count);
    PyObject *more = PyTuple_New(count), *traits = PyLong_FromLong(form->all_traits), *made = NULL;
    for (Py_ssize_t i = 0; more != NULL && i < count; i++)
        PyTuple_SET_ITEM(more, i, Py_NewRef(rest[i]));
    if (more != NULL && traits != NULL)
        made = PyObject_CallFunctionObjArgs(given.residual_of, func, x->of, more, value, traits, NULL);
    Py_XDECREF(traits);
    Py_XDECREF(more);
    if (made == Py_None)
        Py_CLEAR(made);
    return made;
}

/* The tensors of the items of three tuples, which are stolen. */
static PyObject *
built_of_each(PyObject *values, PyObject *residuals, PyObject *components, const Parts *x, int link)
{
    PyObject *made = NULL;
    if (residuals != NULL && components != NULL && PyTuple_Check(residuals) && PyTuple_Check(components)
        && PyTuple_GET_SIZE(residuals) == PyTuple_GET_SIZE(values)
        && PyTuple_GET_SIZE(components) == PyTuple_GET_SIZE(values))
        made = PyTuple_New(PyTuple_GET_SIZE(values));
    for (Py_ssize_t i = 0; made != NULL && i < PyTuple_GET_SIZE(values); i++) {
        PyObject *one = built(Py_NewRef(PyTuple_GET_ITEM(values, i)), Py_NewRef(PyTuple_GET_ITEM(residuals, i)),
                              Py_NewRef(PyTuple_GET_ITEM(components, i)), x, link);
        if (one == NULL)
            Py_CLEAR(made);
        else
            PyTuple_SET_ITEM(made, i, one);
    }
    Py_DECREF(values);
    Py_XDECREF(residuals);
    Py_XDECREF(components);
    return made;
}

PyObject *
of_one(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Parts x;
    for (Py_ssize_t i = 1; i < count; i++)
        if (Py_IS_TYPE(args[i], given.type))
            return NULL;
    int indexes = form->traits & INDEXES, is_view = indexes && count == 2 && is_basic(args[1]);
    if (count == 0 || count > MOST_GIVEN || (indexes && count != 2))
        return NULL;
    if (!parts_of_linear(args[0], &x))
        return indexes && !is_view ? NULL : reversed_of_one(form, func, args, count);
    PyObject *taken = is_view ? NULL : few_of(form, &x, args, count);
    if (taken != NULL || PyErr_Occurred() || (indexes && !is_view && !Py_IS_TYPE(args[1], arrays.tensor))) {
        let_parts_go(&x);
        return taken;
    }
    PyObject *const *rest = args + 1;
    PyObject *residual = NULL, *components = NULL, *value = call(func, x.value, rest, --count);
    if (value != NULL)
        residual = of_residual(form, func, &x, value, rest, count);
    if (residual != NULL)
        components = of_components(form, func, &x, value, rest, count);
    int link = !(form->traits & FRESH), are_several = value != NULL && PyTuple_Check(value);
    PyObject *made = are_several ? built_of_each(value, residual, components, &x, link)
                                 : built(value, residual, components, &x, link);
    let_parts_go(&x);
    return made;
}

/* The same function of the shape of another tensor. */
PyObject *
like_another(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2 || form->inner == NULL
        || !(Py_IS_TYPE(args[1], arrays.tensor) || Py_IS_TYPE(args[1], given.type)))
        return NULL;
    PyObject *shape = PyObject_GetAttr(args[1], names.shape), *changed[2] = {args[0], shape};
    PyObject *made = shape == NULL ? NULL
                   : form->inner->answer(form->inner, PyTuple_GET_ITEM(form->rest, 0), changed, 2);
    Py_XDECREF(shape);
    return made;
}

/* A number put where a mask says, `masked_fill(x, mask, number)`, or at places along an axis, `index_fill(x, axis,
 * places, number)`: it is no component's. */
PyObject *
filled(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Parts x;
    Array at;
    PyObject *number = args[count - 1], *where = args[count - 2], *axis = NULL, *zero = PyLong_FromLong(0);
    int is_open = (count == 3 || (count == 4 && PyLong_CheckExact(args[1]))) && Py_IS_TYPE(where, arrays.tensor)
               && (PyLong_CheckExact(number) || PyFloat_CheckExact(number) || PyBool_Check(number))
               && parts_of(args[0], &x);
    if (!is_open || zero == NULL) {
        Py_XDECREF(zero);
        return NULL;
    }
    PyObject *value = NULL, *residual = NULL, *components = NULL;
    int is_mask = count == 3, is_known = look_at_any(where, &at) && at.rank <= x.value_at.rank;
    if (is_mask)
        is_known &= at.code == OF_BOOL;
    else {
        Py_ssize_t place = PyLong_AsSsize_t(args[1]);
        is_known &= x.value_at.rank > 0 && at.code == OF_INTEGER && at.bits == 64 && !PyErr_Occurred();
        axis = is_known ? PyLong_FromSsize_t(place < 0 ? place : place + 1) : NULL;
    }
    if (is_known && (value = call(func, x.value, args + 1, count - 1)) != NULL)
        residual = call(func, x.residual, args + 1, count - 1);
    PyObject *rest[] = {is_mask ? where : axis, is_mask ? zero : where, zero};
    if (residual != NULL && rest[0] != NULL)
        components = call(func, x.components, rest, count - 1);
    PyObject *made = built(value, residual, components, &x, 0);
    Py_XDECREF(axis);
    Py_DECREF(zero);
    let_parts_go(&x);
    return made;
}

/* --- several tensors ---------------------------------------------------------------------------------------------- */

/* Decomposed tensors under the same labels, joined along an axis. */
PyObject *
joined(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    PyObject *const *tensors = args, *lists[3] = {NULL}, *made = NULL, *items;
    if (count < 1 || count > 2 || !(PyTuple_CheckExact(args[0]) || PyList_CheckExact(args[0])))
        return NULL;
    long dim = count == 2 && PyLong_CheckExact(args[1]) ? PyLong_AsLong(args[1]) : 0;
    if ((count == 2 && !PyLong_CheckExact(args[1])) || (dim == -1 && PyErr_Occurred()))
        return NULL;
    Py_ssize_t many = unpacked(&tensors, 1, &items), held = 0;
    Parts parts[MOST_GIVEN];
    Array first;
    if (many > 0 && (Py_IS_TYPE(tensors[0], given.type) || Py_IS_TYPE(tensors[0], arrays.tensor))
        && look_at_any(tensors[0], &first) && first.rank == 0
        && (made = few_stacked_numbers(func, tensors, many, dim)) != NULL) {
        Py_XDECREF(items);
        return made;
    }
    for (; many <= MOST_GIVEN && held < many; held++)
        if (!parts_of_linear(tensors[held], &parts[held]))
            break;
    int are_ordinary = held == many && many > 0;
    int is_reverse = 0;
    for (Py_ssize_t i = 0; held == 0 && i < many; i++)
        is_reverse |= is_in_reverse(tensors[i]);
    if (is_reverse) {
        PyObject *axis = PyLong_FromLong(dim);
        made = axis == NULL ? NULL : reversed_joined(func, tensors, many, axis);
        Py_XDECREF(axis);
    }
    for (Py_ssize_t i = 1; are_ordinary && i < many; i++)
        are_ordinary = parts[i].labels == parts[0].labels && parts[i].value_at.rank == parts[0].value_at.rank
                    && is_of_one_dtype(&parts[i].value_at, &parts[0].value_at);
    for (int i = 0; are_ordinary && i < 3; i++)
        are_ordinary = (lists[i] = PyTuple_New(many)) != NULL;
    if (are_ordinary) {
        for (Py_ssize_t i = 0; i < many; i++) {
            PyTuple_SET_ITEM(lists[0], i, Py_NewRef(parts[i].value));
            PyTuple_SET_ITEM(lists[1], i, Py_NewRef(parts[i].residual));
            PyTuple_SET_ITEM(lists[2], i, Py_NewRef(parts[i].components));
        }
        PyObject *axis = PyLong_FromLong(dim), *front = PyLong_FromLong(dim >= 0 ? dim + 1 : dim);
        PyObject *value = NULL, *residual = NULL, *components = NULL;
        if (axis != NULL && front != NULL)
            value = call(func, lists[0], &axis, 1);
        if (value != NULL)
            residual = call(func, lists[1], &axis, 1);
        if (residual != NULL)
            components = call(func, lists[2], &front, 1);
        Py_XDECREF(front);
        Py_XDECREF(axis);
        made = built(value, residual, components, &parts[0], 0);
    }
    for (int i = 0; i < 3; i++)
        Py_XDECREF(lists[i]);
    while (held > 0)
        let_parts_go(&parts[--held]);
    Py_XDECREF(items);
    return made;
}

/* --- forms that watch what another one is called with ------------------------------------------------------------- */

/* Whether what is known of the arguments has to be looked at nowhere but in a mean, and where a square is made. */
static int
are_far(PyObject *const *args, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++)
        if (!is_ordinary_origin(origin_of(args[i])) || PyErr_Occurred())
            return 0;
    return 1;
}

PyObject *
unless_near(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    int is_open = form->inner != NULL && count > 0 && are_far(args, count);
    return is_open ? form->inner->answer(form->inner, func, args, count) : NULL;
}

/* That, and behind it the form of tensors in reverse mode. */
PyObject *
also(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    PyObject *made = unless_near(form, func, args, count);
    if (made != NULL || left_to_python() != NULL || PyErr_Occurred())
        return made;
    const Form *behind = PyTuple_GET_SIZE(form->rest) == 1 ? form_of(PyTuple_GET_ITEM(form->rest, 0)) : NULL;
    return behind == NULL || behind->function == NULL ? NULL : behind->answer(behind, func, args, count);
}

PyObject *
unless_square(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    return count > 0 && !is_square(args[0]) ? unless_near(form, func, args, count) : NULL;
}

PyObject *
or_square(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    PyObject *made = unless_near(form, func, args, count);
    return made != NULL && args[0] == args[count - 1] ? as_square(made, args[0]) : made;
}
