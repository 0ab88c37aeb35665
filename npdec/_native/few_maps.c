/* Sums of a few decomposed numbers, each times a constant, that are known beforehand (`npdec._law.maps_of_few`). */
#include "few_numbers.h"
#include "tensors.h"

#define MOST_TENSORS 16
#define MOST_IN 16
#define MOST_OUT 64
#define MOST_LABELS 16

/* The numbers of all tensors one after the other, and their components under all labels; of complex ones both parts. */
typedef struct {
    double x[2 * MOST_IN], r[2 * MOST_IN], components[MOST_LABELS][2 * MOST_IN];
    Py_ssize_t size;
    PyObject *labels;
    Array like; /* for its dtype */
    int parts;
} Given;

static double
real_part_of(const Array *at, Py_ssize_t i, int part)
{
    if (at->code == OF_FLOAT)
        return few_element_of(at, i);
    Py_ssize_t place = 0;
    for (int axis = at->rank; axis-- > 0; i /= at->shape[axis])
        place += i % at->shape[axis] * at->strides[axis];
    return at->bits == 128 ? ((double *)at->elements)[2 * place + part] : ((float *)at->elements)[2 * place + part];
}

/* Whether the parts of a tensor are plain numbers on the host, and no conjugates stand for them. */
static int
is_open(const Parts *x)
{
    if (x->value_at.code == OF_FLOAT)
        return few_is_open(x);
    return x->value_at.code == OF_COMPLEX && is_on_host(&x->value_at) && is_on_host(&x->residual_at)
        && is_on_host(&x->components_at) && are_plain_numbers(x) && !is_true_by(x->value, words.is_conj)
        && !is_true_by(x->residual, words.is_conj) && !is_true_by(x->components, words.is_conj);
}

static int
are_taken(PyObject *tensors, Given *all)
{
    Py_ssize_t places[MOST_LABELS];
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tensors); i++) {
        Parts x;
        if (!parts_of_any(PyTuple_GET_ITEM(tensors, i), &x, OR_COMPLEX))
            return 0;
        Py_ssize_t size = elements_in(&x.value_at), rows = x.components_at.shape[0];
        int is_taken = is_by_rows(&x.value_at) && all->size + size <= MOST_IN && rows > 0 && rows <= MOST_LABELS
                    && is_open(&x) && (all->parts == 0 || is_of_one_dtype(&all->like, &x.value_at))
                    && few_places(&all->labels, x.labels, MOST_LABELS, places);
        all->like = x.value_at;
        all->parts = x.value_at.code == OF_COMPLEX ? 2 : 1;
        for (Py_ssize_t j = 0; j < size && is_taken; j++)
            for (int part = 0; part < all->parts; part++) {
                Py_ssize_t to = all->parts * (all->size + j) + part;
                all->x[to] = real_part_of(&x.value_at, j, part);
                all->r[to] = real_part_of(&x.residual_at, j, part);
                for (Py_ssize_t row = 0; row < rows; row++)
                    all->components[places[row]][to] = real_part_of(&x.components_at, row * size + j, part);
            }
        all->size += size;
        let_parts_go(&x);
        if (!is_taken)
            return 0;
    }
    return all->size > 0;
}

/* The sums of each part. */
static void
put_sums(const Given *all, const double *numbers, const double *constants, const int *starts, const int *places,
         const double *weights, Py_ssize_t size, int moves, double *to)
{
    for (Py_ssize_t i = 0; i < size; i++)
        for (int part = 0; part < all->parts; part++) {
            double sum = constants == NULL || part > 0 ? 0 : constants[i];
            for (int k = starts[i]; k < starts[i + 1]; k++) {
                double number = numbers[all->parts * places[k] + part];
                sum = moves ? number : sum + number * weights[k]; /* what is moved may be infinite, or NaN */
            }
            to[all->parts * i + part] = sum;
        }
}

static PyObject *
as_tensor(const Given *all, const double *numbers, const Array *shaped, Py_ssize_t count)
{
    char *memory;
    int is_double = all->like.bits == 64 * all->parts;
    int kind = all->parts == 2 ? (is_double ? COMPLEX128 : COMPLEX64) : is_double ? FLOAT64 : FLOAT32;
    PyObject *tensor = tensor_by_rows(kind, shaped, count, &memory);
    for (Py_ssize_t i = 0; tensor != NULL && i < all->parts * count; i++)
        if (is_double)
            ((double *)memory)[i] = numbers[i];
        else
            ((float *)memory)[i] = (float)numbers[i];
    return tensor;
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

/* few_mapped(shape, constants, starts, places, weights, moves, tensors, value, residual): the decomposed tensor; both
 * ends are None where they are among the numbers, or constant. None where Python is to find it. */
PyObject *
few_mapped(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Given all;
    double sums[MOST_LABELS * 2 * MOST_OUT], numbers[2][2 * MOST_OUT];
    int64_t shape[MOST_AXES + 1];
    memset(&all, 0, sizeof(all));
    if (count != 9 || !PyTuple_CheckExact(args[0]) || !PyTuple_CheckExact(args[6])
        || PyTuple_GET_SIZE(args[0]) >= MOST_AXES || PyTuple_GET_SIZE(args[6]) > MOST_TENSORS || is_traced() || is_observed())
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
        Array of_all = {.rank = (int)rank + 1, .shape = shape, .bits = all.like.bits, .code = all.like.code};
        Array of_one = {.rank = (int)rank, .shape = shape + 1, .bits = all.like.bits, .code = all.like.code};
        shape[0] = rows;
        for (Py_ssize_t i = 0; i < rank; i++)
            shape[i + 1] = PyLong_AsLongLong(PyTuple_GET_ITEM(args[0], i));
        for (Py_ssize_t row = 0; row < rows; row++)
            put_sums(&all, all.components[row], NULL, starts, places, weights, size, moves,
                     sums + row * size * all.parts);
        PyObject *ends[2] = {args[7], args[8]};
        if (moves) {
            put_sums(&all, all.x, constants, starts, places, weights, size, 1, numbers[0]);
            put_sums(&all, all.r, constants, starts, places, weights, size, 1, numbers[1]);
            made = made_of_parts(as_tensor(&all, numbers[0], &of_one, size), as_tensor(&all, numbers[1], &of_one, size),
                                 as_tensor(&all, sums, &of_all, rows * size), all.labels);
        }
        else if (is_end(ends[0], &of_one) && is_end(ends[1], &of_one) && !is_true_by(ends[0], words.is_conj)
                 && !is_true_by(ends[1], words.is_conj))
            made = made_of_parts(Py_NewRef(ends[0]), Py_NewRef(ends[1]), as_tensor(&all, sums, &of_all, rows * size),
                                 all.labels);
    }
    Py_XDECREF(all.labels);
    return or_none(made == NULL ? left_to_python() : made);
}
