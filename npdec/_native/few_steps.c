/* Functions of few elements that move across jumps alone, and comparisons: the components of an element that moves have
 * its jump in proportion, as `npdec._law.of_few` shares it. */
#include "few_pairs.h"
#include <math.h>

#define ROUNDINGS 32 /* between a step and the sum of its components */

int
few_share(double jump, double step, double total, double gross, double size, Py_ssize_t count, int bits, double *share)
{
    const Range *range = few_range(bits);
    double digits = fmax(1 / given.steep, sqrt(range->eps)), rounding = ROUNDINGS * range->eps;
    if (!(gross < INFINITY))
        return 0;
    int is_known = fabs(step - total) <= rounding * gross && fabs(total) > digits * gross
                && !(size >= 0 && count == 1 && !(fabs(total) > rounding * size));
    *share = jump != 0 && is_known ? jump / total : 0;
    if (jump != 0)
        return range->least <= fabs(*share) && fabs(*share) <= range->greatest * range->eps
            && fabs(*share) * gross < range->greatest;
    return is_known || size < 0 || gross == 0;
}

static int
is_boolean(const Array *at)
{
    return at->code == OF_BOOL;
}

static double
element(const Array *at, Py_ssize_t i)
{
    if (!is_boolean(at))
        return few_element_of(at, i);
    Py_ssize_t place = 0;
    for (int axis = at->rank; axis-- > 0; i /= at->shape[axis])
        place += i % at->shape[axis] * at->strides[axis];
    return ((unsigned char *)at->elements)[place];
}

/* Look at what a function has made of an end: booleans or numbers of the dtype, in the shape, on the host. */
static int
is_made(PyObject *made, const Array *like, Array *at)
{
    return made != NULL && Py_IS_TYPE(made, arrays.tensor) && look_at_any(made, at) && are_alike(at, like)
        && (is_boolean(at) || is_of_one_dtype(at, like)) && is_on_host(at) && is_readable(made);
}

/* The result under labels, as a condition if it is one; the parts are stolen. */
static PyObject *
finished(PyObject *value, PyObject *residual, PyObject *components, const Parts *labelled, int is_condition)
{
    PyObject *made = assembled(value, residual, components, labelled);
    if (made != NULL && is_condition && PyObject_SetAttr(made, names.discrete, Py_True) < 0)
        Py_CLEAR(made);
    return made;
}

/* Multiply the components, rows of sums, with what each element has of its jump; 0 where Python is to look at one. */
static int
are_shared(double *sums, Py_ssize_t rows, Py_ssize_t size, const double *jumps, const double *steps, const double *sizes,
           const Array *like)
{
    int moves = sizes != NULL;
    for (Py_ssize_t i = 0; i < size && !moves; i++)
        moves = jumps[i] != 0;
    for (Py_ssize_t i = 0; i < size; i++) {
        double total = 0, gross = 0, share = 0;
        for (Py_ssize_t row = 0; row < rows; row++) {
            total += sums[row * size + i];
            gross += fabs(sums[row * size + i]);
        }
        double ends = sizes == NULL ? -1 : sizes[i];
        if (moves && !few_share(jumps[i], steps[i], total, gross, ends, rows, like->bits, &share))
            return 0;
        if (like->bits == 32 && like->rank > 0)
            share = (float)share;
        for (Py_ssize_t row = 0; row < rows; row++)
            sums[row * size + i] = moves ? sums[row * size + i] * share : 0;
    }
    return 1;
}

static int
are_numbers(PyObject *const *args, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++)
        if (!PyFloat_CheckExact(args[i]) && !PyLong_CheckExact(args[i]))
            return 0;
    return 1;
}

/* A function of the first argument that moves across jumps alone, beside numbers. */
PyObject *
stepped(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Parts x;
    Array after, before;
    double sums[FEW_COMPONENTS], jumps[FEW_COMPONENTS], steps[FEW_COMPONENTS], sizes[FEW_COMPONENTS];
    PyObject *value = NULL, *residual = NULL, *components = NULL, *made = NULL;
    if (count < 1 || !are_numbers(args + 1, count - 1) || !parts_of(args[0], &x))
        return NULL;
    Py_ssize_t size = elements_in(&x.value_at), rows = x.components_at.shape[0];
    if (few_is_open(&x) && are_steps_usual() && (value = call(func, x.value, args + 1, count - 1)) != NULL)
        residual = call(func, x.residual, args + 1, count - 1);
    if (is_made(value, &x.value_at, &after) && is_made(residual, &x.value_at, &before) && after.code == before.code) {
        for (Py_ssize_t i = 0; i < size; i++) {
            double a = few_element_of(&x.value_at, i), r = few_element_of(&x.residual_at, i);
            jumps[i] = element(&after, i) - element(&before, i);
            steps[i] = a - r;
            sizes[i] = fabs(a) + fabs(r);
        }
        for (Py_ssize_t i = 0; i < rows * size; i++)
            sums[i] = few_element_of(&x.components_at, i);
        if (are_shared(sums, rows, size, jumps, steps, is_boolean(&after) ? NULL : sizes, &x.value_at))
            components = few_tensor_of(sums, &x.components_at, rows * size);
        if (components != NULL)
            made = finished(Py_NewRef(value), Py_NewRef(residual), components, &x, is_boolean(&after));
    }
    Py_XDECREF(value);
    Py_XDECREF(residual);
    let_parts_go(&x);
    return made;
}

/* stepped_beside(value, residual, number): what has of a decomposed number the jump of each element of a result beside a
 * few constants, numbers or conditions; or None. */
PyObject *
stepped_beside(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Parts x;
    Array after, before;
    double sums[FEW_COMPONENTS], jumps[FEW_COMPONENTS], steps[FEW_COMPONENTS], sizes[FEW_COMPONENTS];
    PyObject *components = NULL, *made = NULL;
    if (count != 3 || is_traced() || is_observed() || !Py_IS_TYPE(args[0], arrays.tensor)
        || !look_at_any(args[0], &after) || !parts_of(args[2], &x))
        return or_none(left_to_python());
    Py_ssize_t size = elements_in(&after), rows = x.components_at.shape[0];
    int is_open = x.value_at.rank == 0 && after.rank > 0 && size > 0 && size * rows <= FEW_COMPONENTS && few_is_open(&x)
               && are_steps_usual() && is_made(args[0], &after, &after) && is_made(args[1], &after, &before)
               && after.code == before.code && (is_boolean(&after) || after.bits == x.value_at.bits);
    if (is_open) {
        Array like = after;
        int bits = like.bits = x.value_at.bits;
        double a = few_element_of(&x.value_at, 0), r = few_element_of(&x.residual_at, 0);
        int64_t shape[MOST_AXES + 1] = {rows};
        const Array of_all = {.rank = after.rank + 1, .shape = shape, .bits = bits};
        for (int axis = 0; axis < after.rank; axis++)
            shape[axis + 1] = after.shape[axis];
        for (Py_ssize_t i = 0; i < size; i++) {
            jumps[i] = element(&after, i) - element(&before, i);
            steps[i] = a - r;
            sizes[i] = fabs(a) + fabs(r);
        }
        for (Py_ssize_t i = 0; i < rows * size; i++)
            sums[i] = few_element_of(&x.components_at, i / size);
        if (are_shared(sums, rows, size, jumps, steps, is_boolean(&after) ? NULL : sizes, &like))
            components = few_tensor_of(sums, &of_all, rows * size);
        if (components != NULL)
            made = finished(Py_NewRef(args[0]), Py_NewRef(args[1]), components, &x, is_boolean(&after));
    }
    let_parts_go(&x);
    return or_none(made == NULL ? left_to_python() : made);
}

/* --- comparisons -------------------------------------------------------------------------------------------------- */

static PyObject *
of_two(PyObject *func, PyObject *const *args)
{
    Pair pair;
    Array after, before;
    double sums[FEW_COMPONENTS], jumps[FEW_COMPONENTS], steps[FEW_COMPONENTS];
    PyObject *value = NULL, *residual = NULL, *components = NULL, *made = NULL;
    if (!is_pair(args[0], args[1], &pair))
        return NULL;
    const Array *like = &pair.like->value_at;
    if (like->rank > 0 && (value = PyObject_CallFunctionObjArgs(func, pair.x.value, pair.y.value, NULL)) != NULL)
        residual = PyObject_CallFunctionObjArgs(func, pair.x.residual, pair.y.residual, NULL);
    if (is_made(value, like, &after) && is_made(residual, like, &before) && is_boolean(&after) && is_boolean(&before)) {
        double one[FEW_COMPONENTS], less[FEW_COMPONENTS];
        for (Py_ssize_t i = 0; i < pair.size; i++) {
            Ends ends = ends_of(&pair, i);
            jumps[i] = element(&after, i) - element(&before, i);
            steps[i] = (ends.a - ends.b) - (ends.r - ends.t);
            one[i] = 1;
            less[i] = -1;
        }
        add_both(&pair, one, less, sums);
        if (are_shared(sums, pair.count, pair.size, jumps, steps, NULL, like))
            components = components_of(&pair, sums);
        if (components != NULL)
            made = finished(Py_NewRef(value), Py_NewRef(residual), components, &pair.labelled, 1);
    }
    Py_XDECREF(value);
    Py_XDECREF(residual);
    let_pair_go(&pair);
    return made;
}

/* Whether a constant is no number beyond the integers that floats are: torch may compare those as what they are. */
static int
is_small(PyObject *constant)
{
    int is_number = PyFloat_CheckExact(constant) || PyLong_CheckExact(constant);
    double number = is_number ? PyFloat_AsDouble(constant) : 0;
    return !PyErr_Occurred() && !(fabs(number) > 0x1p53);
}

/* The numbers of a constant beside each element, and the shape of the result, which is that of the constant beside a
 * number; 0 where it is none, and where both are numbers: those are of few_choices.c. */
static int
is_constant_beside(PyObject *constant, const Parts *x, Array *like, double *numbers)
{
    *like = x->value_at;
    if (x->value_at.rank > 0)
        return elements_in(like) <= FEW_COMPONENTS && few_constant(constant, x, numbers, elements_in(like));
    if (!is_plain(constant, x, like) || like->rank == 0 || !is_on_host(like) || !is_readable(constant))
        return 0;
    Py_ssize_t size = elements_in(like);
    if (size < 1 || size * x->components_at.shape[0] > FEW_COMPONENTS)
        return 0;
    for (Py_ssize_t i = 0; i < size; i++)
        numbers[i] = few_element_of(like, i);
    return 1;
}

/* A comparison: a step of the difference of the two sides. */
PyObject *
compared(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Parts x;
    Array after, before, like;
    double sums[FEW_COMPONENTS], jumps[FEW_COMPONENTS], steps[FEW_COMPONENTS], numbers[FEW_COMPONENTS];
    PyObject *value = NULL, *residual = NULL, *components = NULL, *made = NULL;
    if (count != 2 || !are_steps_usual())
        return NULL;
    int is_turned = !Py_IS_TYPE(args[0], given.type);
    if (!is_turned && Py_IS_TYPE(args[1], given.type))
        return of_two(func, args);
    if (!parts_of(args[is_turned], &x))
        return NULL;
    PyObject *constant = args[!is_turned];
    Py_ssize_t size = 0, rows = x.components_at.shape[0];
    if (few_is_open(&x) && is_small(constant) && is_constant_beside(constant, &x, &like, numbers)) {
        size = elements_in(&like);
        value = PyObject_CallFunctionObjArgs(func, is_turned ? constant : x.value, is_turned ? x.value : constant, NULL);
        if (value != NULL)
            residual = PyObject_CallFunctionObjArgs(func, is_turned ? constant : x.residual,
                                                    is_turned ? x.residual : constant, NULL);
    }
    if (is_made(value, &like, &after) && is_made(residual, &like, &before) && is_boolean(&after)
        && is_boolean(&before)) {
        int64_t shape[MOST_AXES + 1] = {rows};
        const Array of_all = {.rank = like.rank + 1, .shape = shape, .bits = like.bits};
        for (int axis = 0; axis < like.rank; axis++)
            shape[axis + 1] = like.shape[axis];
        for (Py_ssize_t i = 0; i < size; i++) {
            jumps[i] = element(&after, i) - element(&before, i);
            steps[i] = (few_element_of(&x.value_at, i) - numbers[i]) - (few_element_of(&x.residual_at, i) - numbers[i]);
        }
        for (Py_ssize_t i = 0; i < rows * size; i++)
            sums[i] = few_element_of(&x.components_at, x.value_at.rank == 0 ? i / size : i);
        if (are_shared(sums, rows, size, jumps, steps, NULL, &like))
            components = few_tensor_of(sums, &of_all, rows * size);
        if (components != NULL)
            made = finished(Py_NewRef(value), Py_NewRef(residual), components, &x, 1);
    }
    Py_XDECREF(value);
    Py_XDECREF(residual);
    let_parts_go(&x);
    return made;
}
