/* Sums of a few decomposed numbers, each times a constant, that are known beforehand (`npdec._law.maps_of_few`). */
#include "few_numbers.h"
#include "tensors.h"

#define MOST_TENSORS 16
#define MOST_IN 16
#define MOST_OUT 64
#define MOST_LABELS 16

/* The numbers of all tensors one after the other, and their components under all labels. */
typedef struct {
    double x[MOST_IN], r[MOST_IN], components[MOST_LABELS][MOST_IN];
    Py_ssize_t size;
    PyObject *labels;
    int bits;
} Given;

static int
are_taken(PyObject *tensors, Given *all)
{
    Py_ssize_t places[MOST_LABELS];
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tensors); i++) {
        Parts x;
        if (!parts_of(PyTuple_GET_ITEM(tensors, i), &x))
            return 0;
        Py_ssize_t size = elements_in(&x.value_at), rows = x.components_at.shape[0];
        int is_taken = is_by_rows(&x.value_at) && all->size + size <= MOST_IN && rows > 0 && rows <= MOST_LABELS && few_is_open(&x)
                    && (all->bits == 0 || all->bits == x.value_at.bits)
                    && few_places(&all->labels, x.labels, MOST_LABELS, places);
        all->bits = x.value_at.bits;
        for (Py_ssize_t j = 0; j < size && is_taken; j++) {
            all->x[all->size + j] = few_element_of(&x.value_at, j);
            all->r[all->size + j] = few_element_of(&x.residual_at, j);
            for (Py_ssize_t row = 0; row < rows; row++)
                all->components[places[row]][all->size + j] = few_element_of(&x.components_at, row * size + j);
        }
        all->size += size;
        let_parts_go(&x);
        if (!is_taken)
            return 0;
    }
    return all->size > 0;
}

static double
sum_of(const double *numbers, double constant, const int *places, const double *weights, int from, int to, int moves)
{
    if (moves) /* whatever they are, infinities and NaN */
        return from < to ? numbers[places[from]] : constant;
    for (int i = from; i < to; i++)
        constant += numbers[places[i]] * weights[i];
    return constant;
}

/* An end that was computed: in the dtype and the shape, on the host. */
static int
is_end(PyObject *end, const Array *like)
{
    Array at;
    return Py_IS_TYPE(end, arrays.tensor) && look_at_any(end, &at) && are_alike(&at, like) && is_of_one_dtype(&at, like)
        && is_on_host(&at) && is_readable(end);
}

static PyObject *
made_of_parts(PyObject *value, PyObject *residual, PyObject *components, PyObject *labels)
{
    PyObject *made = value == NULL || residual == NULL || components == NULL ? NULL : carrying(value);
    if (made != NULL && set_parts(made, value, residual, components, labels) < 0)
        Py_CLEAR(made);
    Py_XDECREF(value);
    Py_XDECREF(residual);
    Py_XDECREF(components);
    return made;
}

/* few_mapped(shape, constants, starts, places, weights, moves, tensors, value, residual): the decomposed tensor; both ends
 * are None where they are among the numbers, or constant. None where Python is to find it. */
PyObject *
few_mapped(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Given all;
    double sums[MOST_LABELS * MOST_OUT], numbers[2][MOST_OUT];
    int64_t shape[MOST_AXES + 1];
    memset(&all, 0, sizeof(all));
    if (count != 9 || !PyTuple_CheckExact(args[0]) || !PyTuple_CheckExact(args[6]) || PyTuple_GET_SIZE(args[0]) >= MOST_AXES
        || PyTuple_GET_SIZE(args[6]) > MOST_TENSORS || is_traced() || is_observed())
        return or_none(left_to_python());
    for (int i = 1; i < 5; i++)
        if (!PyBytes_CheckExact(args[i]))
            return or_none(left_to_python());
    const double *constants = (const double *)PyBytes_AS_STRING(args[1]);
    const double *weights = (const double *)PyBytes_AS_STRING(args[4]);
    const int *starts = (const int *)PyBytes_AS_STRING(args[2]), *places = (const int *)PyBytes_AS_STRING(args[3]);
    Py_ssize_t size = PyBytes_GET_SIZE(args[1]) / (Py_ssize_t)sizeof(double), rank = PyTuple_GET_SIZE(args[0]);
    int moves = args[5] == Py_True, is_taken = size > 0 && size <= MOST_OUT && are_taken(args[6], &all);
    PyObject *made = NULL;
    if (is_taken) {
        Py_ssize_t rows = PyTuple_GET_SIZE(all.labels);
        Array of_all = {.rank = (int)rank + 1, .shape = shape, .bits = all.bits, .code = OF_FLOAT};
        Array of_one = {.rank = (int)rank, .shape = shape + 1, .bits = all.bits, .code = OF_FLOAT};
        shape[0] = rows;
        for (Py_ssize_t i = 0; i < rank; i++)
            shape[i + 1] = PyLong_AsLongLong(PyTuple_GET_ITEM(args[0], i));
        for (Py_ssize_t row = 0; row < rows; row++)
            for (Py_ssize_t i = 0; i < size; i++)
                sums[row * size + i] = sum_of(all.components[row], 0, places, weights, starts[i], starts[i + 1], moves);
        for (Py_ssize_t i = 0; i < size && moves; i++) {
            numbers[0][i] = sum_of(all.x, constants[i], places, weights, starts[i], starts[i + 1], 1);
            numbers[1][i] = sum_of(all.r, constants[i], places, weights, starts[i], starts[i + 1], 1);
        }
        if (moves)
            made = made_of_parts(few_tensor_of(numbers[0], &of_one, size), few_tensor_of(numbers[1], &of_one, size),
                                 few_tensor_of(sums, &of_all, rows * size), all.labels);
        else if (is_end(args[7], &of_one) && is_end(args[8], &of_one))
            made = made_of_parts(Py_NewRef(args[7]), Py_NewRef(args[8]), few_tensor_of(sums, &of_all, rows * size),
                                 all.labels);
    }
    Py_XDECREF(all.labels);
    return or_none(made == NULL ? left_to_python() : made);
}
