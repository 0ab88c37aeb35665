/* Arrays of few elements beside each other, beside constants and beside numbers: the larger of two, selections by a
 * condition, and whatever Python finds the weights of. `npdec._law.ordinary_choices` and `npdec._law.ordinary_smooth` have
 * the same of more. */
#include "few_numbers.h"
#include <math.h>

#define MOST_SIDES 3
#define MOST_LISTED 64

/* A decomposed tensor, a constant one, or a number of Python's. */
typedef struct {
    Parts parts;
    Array at;                   /* of no number */
    PyObject *value, *residual; /* borrowed */
    double number;
    int carries, is_number;
} Side;

/* The sides of a call, one of which has axes, and one of which carries something. */
typedef struct {
    Side of[MOST_SIDES];
    int count, bits;            /* of the dtype of those that are no conditions */
    const Array *like;          /* in the shape of the result */
    Py_ssize_t size;
} Sides;

static int
is_side(PyObject *x, int is_condition, Side *its)
{
    its->carries = its->is_number = 0;
    its->value = its->residual = x;
    if (!is_condition && (PyFloat_CheckExact(x) || PyLong_CheckExact(x))) {
        its->is_number = 1;
        its->number = PyFloat_AsDouble(x);
        return !PyErr_Occurred() && fabs(its->number) < 0x1p53;
    }
    if (Py_IS_TYPE(x, arrays.tensor))
        return look_at_any(x, &its->at) && is_on_host(&its->at) && is_readable(x)
            && (is_condition ? its->at.code == OF_BOOL
                             : its->at.code == OF_FLOAT && (its->at.bits == 64 || its->at.bits == 32));
    if (!Py_IS_TYPE(x, given.type) || !parts_of_any(x, &its->parts, is_condition ? OR_CONDITIONS : 0))
        return 0;
    its->carries = 1;
    its->at = its->parts.value_at;
    its->value = its->parts.value;
    its->residual = its->parts.residual;
    return (its->at.code == OF_BOOL) == is_condition && few_is_open(&its->parts);
}

static void
let_sides_go(Sides *sides)
{
    for (int i = 0; i < sides->count; i++)
        if (sides->of[i].carries)
            let_parts_go(&sides->of[i].parts);
}

/* Whether all have one shape, or no axes, and one dtype; a condition only the shape. */
static int
fit(Sides *sides)
{
    int some = 0;
    sides->like = NULL;
    sides->bits = 0;
    for (int i = 0; i < sides->count; i++) {
        const Side *its = &sides->of[i];
        some |= its->carries;
        if (its->is_number)
            continue;
        int bits = its->at.code == OF_FLOAT ? its->at.bits : its->carries ? its->parts.components_at.bits : 0;
        if (bits != 0 && sides->bits != 0 && bits != sides->bits)
            return 0;
        sides->bits = bits != 0 ? bits : sides->bits;
        if (its->at.rank == 0)
            continue;
        if (sides->like != NULL && !are_alike(sides->like, &its->at))
            return 0;
        sides->like = &its->at;
    }
    sides->size = sides->like == NULL ? 0 : elements_in(sides->like);
    return some && sides->bits != 0 && sides->size > 0 && sides->size <= HANDFUL;
}

/* Whether arguments, of which so many of the first are conditions, are sides; then they are held. */
static int
are_sides(PyObject *const *args, int count, int conditions, Sides *sides)
{
    int are_taken = !is_traced() && !is_observed();
    for (sides->count = 0; are_taken && sides->count < count; sides->count++)
        are_taken = is_side(args[sides->count], sides->count < conditions, &sides->of[sides->count]);
    if (are_taken && fit(sides))
        return 1;
    let_sides_go(sides);
    left_to_python();
    return 0;
}

/* Whether there are so few components that Python's numbers have them as well, which round once (`npdec._law.of_few`). */
static int
have_few_components(const Sides *sides)
{
    for (int i = 0; i < sides->count; i++)
        if (sides->of[i].carries && elements_in(&sides->of[i].parts.components_at) > MOST_LISTED)
            return 0;
    return 1;
}

static double
number_at_place(const Array *at, Py_ssize_t i)
{
    if (at->code != OF_BOOL)
        return few_element_of(at, at->rank == 0 ? 0 : i);
    Py_ssize_t place = 0;
    for (int axis = at->rank; axis-- > 0; i /= at->shape[axis])
        place += i % at->shape[axis] * at->strides[axis];
    return ((unsigned char *)at->elements)[place] != 0;
}

/* The number of a side at an element, at the value or at the residual. */
static double
end(const Side *its, int is_residual, Py_ssize_t i)
{
    if (its->is_number)
        return its->number;
    return number_at_place(is_residual && its->carries ? &its->parts.residual_at : &its->at, i);
}

/* What is made of both ends: by torch's function, in the dtype and the shape. */
static int
are_ends(const Sides *sides, PyObject *value, PyObject *residual)
{
    PyObject *const ends[2] = {value, residual};
    Array at;
    for (int i = 0; i < 2; i++)
        if (ends[i] == NULL || !Py_IS_TYPE(ends[i], arrays.tensor) || !look_at_any(ends[i], &at) || at.code != OF_FLOAT
            || at.bits != sides->bits || !are_alike(&at, sides->like) || !is_readable(ends[i]))
            return 0;
    return 1;
}

/* How the components of the sides are added up: each times its weight, rounded at each step as torch does; in double
 * precision; or by weights of 0 and 1, of which 0 takes nothing. */
enum { AT_EACH_STEP, IN_THE_END, EITHER };

/* The sums, and the labels of all: how many there are, or -1 where that is Python's. */
static Py_ssize_t
added_up(const Sides *sides, double (*weights)[HANDFUL], int how, double *sums, PyObject **labels)
{
    Py_ssize_t places[FEW_COMPONENTS], known = 0, size = sides->size, all = 0;
    char touched[FEW_COMPONENTS] = {0};
    int are_others = 0, are_apart = 1; /* whether the labels are not the same, and none is in common */
    *labels = NULL;
    for (int i = 0; i < sides->count; i++) {
        const Side *its = &sides->of[i];
        if (!its->carries)
            continue;
        const Array *at = &its->parts.components_at;
        if (!few_places(labels, its->parts.labels, FEW_COMPONENTS / size, places)
            || PyTuple_GET_SIZE(*labels) > FEW_COMPONENTS / size) {
            Py_CLEAR(*labels);
            return -1;
        }
        all += at->shape[0];
        are_others |= known > 0 && (known != PyTuple_GET_SIZE(*labels) || at->shape[0] != known);
        are_apart &= its->at.rank == sides->like->rank;
        for (; known < PyTuple_GET_SIZE(*labels); known++)
            for (Py_ssize_t j = 0; j < size; j++)
                sums[known * size + j] = 0;
        for (Py_ssize_t row = 0; row < at->shape[0]; row++) {
            are_others |= places[row] != row;
            for (Py_ssize_t j = 0; j < size; j++) {
                double weight = how == AT_EACH_STEP ? to_bits(sides->bits, weights[i][j]) : weights[i][j];
                if (how == EITHER && weight == 0)
                    continue;
                Py_ssize_t to = places[row] * size + j;
                double component = few_element_of(at, its->at.rank == 0 ? row : row * size + j), term = component * weight;
                if (how == AT_EACH_STEP)
                    term = to_bits(sides->bits, term);
                sums[to] = !touched[to] ? term : how == AT_EACH_STEP ? to_bits(sides->bits, sums[to] + term) : sums[to] + term;
                touched[to] = 1;
            }
        }
    }
    are_apart &= all == known;
    for (Py_ssize_t i = 0; how == AT_EACH_STEP && are_others && !are_apart && i < known * size; i++)
        sums[i] += 0.0; /* as torch adds nothing: zeros lose their sign */
    return known;
}

/* The result of two ends and the weights of the sides; the ends are stolen, and may be NULL. */
static PyObject *
weighted(const Sides *sides, double (*weights)[HANDFUL], int how, PyObject *value, PyObject *residual)
{
    double sums[FEW_COMPONENTS];
    Parts labelled = {.labels = NULL};
    PyObject *components = NULL;
    Py_ssize_t rows = are_ends(sides, value, residual) ? added_up(sides, weights, how, sums, &labelled.labels) : -1;
    if (rows > 0) {
        int64_t shape[MOST_AXES + 1] = {rows};
        for (int axis = 0; axis < sides->like->rank; axis++)
            shape[axis + 1] = sides->like->shape[axis];
        const Array like = {.rank = sides->like->rank + 1, .shape = shape, .bits = sides->bits};
        components = few_tensor_of(sums, &like, rows * sides->size);
    }
    PyObject *made = assembled(value, residual, components, &labelled);
    Py_XDECREF(labelled.labels);
    return made;
}

/* The function of all sides at one end. */
static PyObject *
called(PyObject *func, const Sides *sides, int is_residual)
{
    PyObject *args[MOST_SIDES + 1] = {NULL};
    for (int i = 0; i < sides->count; i++)
        args[i + 1] = is_residual ? sides->of[i].residual : sides->of[i].value;
    return PyObject_Vectorcall(func, args + 1, (size_t)sides->count | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
}

/* larger_of_arrays(sign, function, a, b): the maximum (sign 1) or minimum (-1), by the function; or None. */
PyObject *
larger_of_arrays(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Sides sides;
    double weights[MOST_SIDES][HANDFUL], shares[2];
    if (count != 4 || !PyLong_CheckExact(args[0]) || !are_sides(args + 2, 2, 0, &sides))
        return or_none(left_to_python());
    const Side *x = &sides.of[0], *y = &sides.of[1];
    int sign = PyLong_AsLong(args[0]) > 0 ? 1 : -1;
    int are_known = have_few_components(&sides) && !x->is_number && !y->is_number;
    for (Py_ssize_t i = 0; i < sides.size && are_known; i++) {
        are_known = leading_shares_of(sign, end(x, 0, i), end(y, 0, i), end(x, 1, i), end(y, 1, i), shares);
        weights[0][i] = shares[0];
        weights[1][i] = shares[1];
    }
    PyObject *value = are_known ? called(args[1], &sides, 0) : NULL;
    PyObject *residual = value == NULL ? NULL : called(args[1], &sides, 1);
    PyObject *made = are_known ? weighted(&sides, weights, AT_EACH_STEP, value, residual) : NULL;
    let_sides_go(&sides);
    return or_none(made == NULL ? left_to_python() : made);
}

/* chosen_of_arrays(function, condition, a, b): a where the condition is true and b elsewhere, by the function; or None. */
PyObject *
chosen_of_arrays(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Sides sides;
    double weights[MOST_SIDES][HANDFUL], high = 0, low = 0;
    if (count != 4 || !are_sides(args + 1, 3, 1, &sides))
        return or_none(left_to_python());
    const Side *condition = &sides.of[0], *a = &sides.of[1], *b = &sides.of[2];
    for (Py_ssize_t i = 0; i < sides.size; i++) {
        int at = end(condition, 0, i) != 0, before = end(condition, 1, i) != 0;
        double first = (end(a, 0, i) + end(a, 1, i)) / 2, second = (end(b, 0, i) + end(b, 1, i)) / 2;
        weights[0][i] = (at || before ? first : 0) - (at && before ? 0 : second);
        weights[1][i] = (at + before) / 2.0;
        weights[2][i] = 1 - weights[1][i];
        high += first * first;
        low += second * second;
    }
    int is_open = condition->at.rank > 0 && !(a->is_number && b->is_number) && have_few_components(&sides)
               && (!condition->carries || (sqrt(high) < 0.999 * given.steep && sqrt(low) < 0.999 * given.steep));
    PyObject *value = is_open ? called(args[0], &sides, 0) : NULL;
    PyObject *residual = value == NULL ? NULL : called(args[0], &sides, 1);
    PyObject *made = is_open ? weighted(&sides, weights, condition->carries ? IN_THE_END : EITHER, value, residual) : NULL;
    let_sides_go(&sides);
    return or_none(made == NULL ? left_to_python() : made);
}

/* ends_of_two(a, b): the numbers of a and of b at the value and then at the residual, four lists; or None. */
PyObject *
ends_of_two(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Sides sides;
    PyObject *lists[4] = {NULL}, *found = NULL;
    if (count != 2 || !are_sides(args, 2, 0, &sides))
        return or_none(left_to_python());
    int is_made = 1;
    for (int of = 0; of < 4 && is_made; of++) {
        is_made = (lists[of] = PyList_New(sides.size)) != NULL;
        for (Py_ssize_t i = 0; i < sides.size && is_made; i++) {
            PyObject *number = PyFloat_FromDouble(end(&sides.of[of % 2], of / 2, i));
            if ((is_made = number != NULL))
                PyList_SET_ITEM(lists[of], i, number);
        }
    }
    if (is_made)
        found = PyTuple_Pack(4, lists[0], lists[1], lists[2], lists[3]);
    for (int of = 0; of < 4; of++)
        Py_XDECREF(lists[of]);
    let_sides_go(&sides);
    return or_none(found == NULL ? left_to_python() : found);
}

/* weighted_arrays(value, residual, a, b, weights of a, weights of b): what has of the components of each its weight at
 * each element, two lists of floats; or None. */
PyObject *
weighted_arrays(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Sides sides;
    double weights[MOST_SIDES][HANDFUL];
    if (count != 6 || !PyList_CheckExact(args[4]) || !PyList_CheckExact(args[5]) || !are_sides(args + 2, 2, 0, &sides))
        return or_none(left_to_python());
    int are_given = PyList_GET_SIZE(args[4]) == sides.size && PyList_GET_SIZE(args[5]) == sides.size;
    for (int of = 0; of < 2; of++)
        for (Py_ssize_t i = 0; i < sides.size && are_given; i++) {
            PyObject *weight = PyList_GET_ITEM(args[4 + of], i);
            are_given = PyFloat_CheckExact(weight);
            weights[of][i] = are_given ? PyFloat_AS_DOUBLE(weight) : 0;
        }
    PyObject *made = are_given ? weighted(&sides, weights, AT_EACH_STEP, Py_NewRef(args[0]), Py_NewRef(args[1])) : NULL;
    let_sides_go(&sides);
    return or_none(made == NULL ? left_to_python() : made);
}
