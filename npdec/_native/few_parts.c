/* Arithmetic of decomposed tensors of few elements, in memory: `loops.c` has it to the bit as torch has it, and torch's
 * call takes longer. */
#include "decomposed.h"
#include "lazy.h"
#include <math.h>

typedef struct {
    const Loops *add, *subtract, *multiply, *divide, *negative, *positive;
} Arithmetic;

static const Arithmetic *
arithmetic(void)
{
    static Arithmetic found;
    if (found.add == NULL) {
        found.subtract = loops_of("subtract");
        found.multiply = loops_of("multiply");
        found.divide = loops_of("divide");
        found.negative = loops_of("negative");
        found.positive = loops_of("positive");
        found.add = loops_of("add");
    }
    return &found;
}

/* Whether a function of the elements gives memory by rows: its strides are those of a new tensor, of axes of one element
 * too, or there are no such axes, and its elements lie in this order, perhaps with others in between. */
static int
lies_on_host(const Array *at)
{
    int64_t expected = 1, least = 1;
    int is_new = 1, is_in_order = 1;
    for (int axis = at->rank; axis-- > 0; expected *= at->shape[axis], least = at->strides[axis] * at->shape[axis]) {
        is_new &= at->strides[axis] == expected;
        is_in_order &= at->shape[axis] > 1 && at->strides[axis] >= least;
    }
    return expected > 0 && (is_new || is_in_order) && is_on_host(at); /* nothing has no memory */
}

int
are_plain_numbers(const Parts *x)
{
    return is_readable(x->value) && is_readable(x->residual) && is_readable(x->components)
        && is_off(asked.is_inference) && !is_profiled() && !is_followed() && !PyErr_Occurred();
}

/* Whether what is computed of x here is what torch would give: of plain numbers that nobody differentiates. */
int
few_is_open(const Parts *x)
{
    return x->components_at.code == OF_FLOAT && elements_in(&x->components_at) <= FEW_COMPONENTS && lies_on_host(&x->value_at)
        && lies_on_host(&x->residual_at) && lies_on_host(&x->components_at) && are_plain_numbers(x);
}

double
few_element_of(const Array *at, Py_ssize_t i)
{
    Py_ssize_t place = 0;
    if (at->rank == 1)
        place = i * at->strides[0];
    else
        for (int axis = at->rank; axis-- > 0; i /= at->shape[axis])
            place += i % at->shape[axis] * at->strides[axis];
    return at->bits == 64 ? ((double *)at->elements)[place] : ((float *)at->elements)[place];
}

PyObject *
few_tensor_of(const double *numbers, const Array *like, Py_ssize_t count)
{
    char *memory;
    PyObject *tensor = tensor_by_rows(like->bits == 64 ? FLOAT64 : FLOAT32, like, count, &memory);
    for (Py_ssize_t i = 0; tensor != NULL && i < count; i++)
        if (like->bits == 64)
            ((double *)memory)[i] = numbers[i];
        else
            ((float *)memory)[i] = (float)numbers[i];
    return tensor;
}

/* What a loop reads: an array of fewer axes is repeated along the others, and a number along all of them. */
typedef struct {
    const char *elements;
    const Array *at; /* NULL of a number */
} Operand;

static Py_ssize_t
stride_of(const Operand *operand, int axis, int rank)
{
    int own = operand->at == NULL ? -1 : axis - (rank - operand->at->rank);
    return own < 0 ? 0 : operand->at->strides[own];
}

/* From which axis on elements of an operand follow each other, or are one. */
static int
runs_from(const Operand *operand, const Array *like)
{
    int axis = like->rank;
    int64_t expected = 1;
    while (axis > 0 && (operand->at == NULL || stride_of(operand, axis - 1, like->rank) == expected))
        expected *= like->shape[--axis];
    return axis;
}

/* A loop over the axes before `last`, each of which is one call for the others, of `count` elements. */
static char *
looped(Inner *inner, char *to, const Array *like, int axis, int last, Py_ssize_t count, Operand a, Operand b)
{
    Py_ssize_t size = like->bits / 8;
    if (axis == last) {
        Py_ssize_t by[3] = {size, a.at == NULL ? 0 : size, b.at == NULL ? 0 : size};
        inner(to, a.elements, b.elements, count, by);
        return to + count * size;
    }
    Py_ssize_t first = stride_of(&a, axis, like->rank) * size, second = stride_of(&b, axis, like->rank) * size;
    for (int64_t i = 0; i < like->shape[axis]; i++, a.elements += first, b.elements += second)
        to = looped(inner, to, like, axis + 1, last, count, a, b);
    return to;
}

static PyObject *
computed(const Loops *loops, const Array *like, Operand a, Operand b)
{
    int kind = like->bits == 64 ? FLOAT64 : FLOAT32;
    Py_ssize_t count = 1;
    char *memory;
    int last = Py_MAX(runs_from(&a, like), runs_from(&b, like));
    for (int axis = last; axis < like->rank; axis++)
        count *= like->shape[axis];
    PyObject *tensor = tensor_by_rows(kind, like, elements_in(like), &memory);
    if (tensor != NULL)
        looped(loops->of[kind], memory, like, 0, last, count, a, b);
    return tensor;
}

static Operand
operand(const Array *at)
{
    return (Operand){at->elements, at};
}

static PyObject *
of_array(const Loops *loops, const Array *a)
{
    return computed(loops, a, operand(a), operand(a));
}

/* The second one may have fewer axes. */
static PyObject *
of_arrays(const Loops *loops, const Array *a, const Array *b)
{
    return computed(loops, a, operand(a), operand(b));
}

PyObject *
few_operation(int which, const Array *like, const Array *a, const Array *b)
{
    const Arithmetic *its = arithmetic();
    const Loops *const loops[] = {its->add, its->subtract, its->multiply, its->divide};
    return computed(loops[which], like, operand(a), operand(b));
}

static PyObject *
of_number(const Loops *loops, const Array *a, double number, int is_first)
{
    Element held;
    Operand b = {(const char *)&held, NULL};
    if (a->bits == 64)
        held.float64 = number;
    else
        held.float32 = (float)number;
    return is_first ? computed(loops, a, b, operand(a)) : computed(loops, a, operand(a), b);
}

static PyObject *
copied(const Array *array)
{
    return of_array(arithmetic()->positive, array);
}

PyObject *
few_negative(const Parts *x)
{
    if (!few_is_open(x))
        return NULL;
    const Loops *loops = arithmetic()->negative;
    PyObject *value = of_array(loops, &x->value_at), *residual = of_array(loops, &x->residual_at);
    return assembled(value, residual, of_array(loops, &x->components_at), x);
}

PyObject *
few_copy_of(const Parts *x)
{
    if (!few_is_open(x))
        return NULL;
    PyObject *value = copied(&x->value_at), *residual = copied(&x->residual_at);
    return assembled(value, residual, copied(&x->components_at), x);
}

/* The components that one term has of a sum or difference. */
static PyObject *
of_term(const Parts *x, int traits)
{
    const Array *at = &x->components_at;
    return traits & SUBTRACTS_FROM ? of_array(arithmetic()->negative, at) : copied(at);
}

PyObject *
few_moved(const Parts *x, double number, int traits)
{
    if (!few_is_open(x))
        return NULL;
    const Loops *loops = traits & (SUBTRACTS | SUBTRACTS_FROM) ? arithmetic()->subtract : arithmetic()->add;
    int is_first = traits & SUBTRACTS_FROM;
    PyObject *value = of_number(loops, &x->value_at, number, is_first);
    PyObject *residual = of_number(loops, &x->residual_at, number, is_first);
    return assembled(value, residual, of_term(x, traits), x);
}

PyObject *
few_scaled(const Parts *x, double number, int is_divided)
{
    if (!few_is_open(x))
        return NULL;
    const Loops *loops = is_divided ? arithmetic()->divide : arithmetic()->multiply;
    PyObject *value = of_number(loops, &x->value_at, number, 0);
    PyObject *residual = of_number(loops, &x->residual_at, number, 0);
    return assembled(value, residual, of_number(loops, &x->components_at, number, 0), x);
}

static PyObject *
between(const Array *a, const Array *b, int traits)
{
    const Arithmetic *known = arithmetic();
    return traits & SUBTRACTS_FROM ? of_arrays(known->subtract, b, a)
                                   : of_arrays(traits & SUBTRACTS ? known->subtract : known->add, a, b);
}

PyObject *
few_beside(const Parts *x, PyObject *tensor, const Array *other, int traits)
{
    if (!lies_on_host(other) || !is_readable(tensor) || !few_is_open(x))
        return NULL;
    PyObject *value = between(&x->value_at, other, traits), *residual = between(&x->residual_at, other, traits);
    return assembled(value, residual, of_term(x, traits), x);
}

PyObject *
few_sum(const Parts *x, const Parts *y, int traits)
{
    if (!few_is_open(x) || !few_is_open(y))
        return NULL;
    PyObject *value = between(&x->value_at, &y->value_at, traits);
    PyObject *residual = between(&x->residual_at, &y->residual_at, traits);
    return assembled(value, residual, between(&x->components_at, &y->components_at, traits), x);
}

PyObject *
few_times(const Parts *x, PyObject *tensor, const Array *other)
{
    if (!lies_on_host(other) || !is_readable(tensor) || !few_is_open(x))
        return NULL;
    const Loops *loops = arithmetic()->multiply;
    PyObject *value = of_arrays(loops, &x->value_at, other), *residual = of_arrays(loops, &x->residual_at, other);
    return assembled(value, residual, of_arrays(loops, &x->components_at, other), x);
}

/* In another dtype; NULL, without an error, where a number leaves its range. */
static PyObject *
in_bits(const Array *from, int bits)
{
    char *memory;
    Py_ssize_t count = elements_in(from), i = 0;
    PyObject *tensor = tensor_by_rows(bits == 64 ? FLOAT64 : FLOAT32, from, count, &memory);
    for (; tensor != NULL && i < count; i++) {
        double number = few_element_of(from, i);
        if (bits == 64)
            ((double *)memory)[i] = number;
        else if (!isinf(((float *)memory)[i] = (float)number) || isinf(number))
            continue;
        else
            break;
    }
    if (i < count)
        Py_CLEAR(tensor);
    return tensor;
}

/* A cast by the function itself of the value, and of the other parts to the dtype that this has then. */
PyObject *
cast(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    Parts x;
    Array at;
    PyObject *value = NULL, *residual = NULL, *components = NULL, *made = NULL;
    if (count < 1 || !parts_of(args[0], &x))
        return NULL;
    if (few_is_open(&x) && (value = call(func, x.value, args + 1, count - 1)) != NULL && value != x.value
        && Py_IS_TYPE(value, arrays.tensor) && look_at_any(value, &at) && at.code == OF_FLOAT
        && at.bits == 96 - x.value_at.bits && at.lanes == 1 && is_on_host(&at) && is_readable(value)
        && (residual = in_bits(&x.residual_at, at.bits)) != NULL)
        components = in_bits(&x.components_at, at.bits);
    if (value == x.value)
        made = Py_NewRef(args[0]); /* as torch gives a tensor that is of the dtype */
    if (components != NULL) {
        made = assembled(Py_NewRef(value), Py_NewRef(residual), Py_NewRef(components), &x);
        made = made != NULL && at.bits == 64 ? as_wider(made, args[0]) : made;
    }
    Py_XDECREF(value);
    Py_XDECREF(residual);
    Py_XDECREF(components);
    let_parts_go(&x);
    return made;
}

/* --- elements ----------------------------------------------------------------------------------------------------- */

/* How far behind the first element the one at a key lies, in elements; -1 where that has none, or is no key of one. */
static Py_ssize_t
place_of(const Array *at, int first, PyObject *key)
{
    Py_ssize_t place = 0;
    if (!is_on_host(at))
        return -1;
    for (int axis = first; axis < at->rank; axis++) {
        PyObject *item = PyTuple_GET_ITEM(key, axis - first);
        Py_ssize_t index = PyLong_CheckExact(item) ? PyLong_AsSsize_t(item) : PY_SSIZE_T_MAX;
        if (index == -1 && PyErr_Occurred()) /* one that C has no number for */
            return -1;
        index += index < 0 ? at->shape[axis] : 0;
        if (index < 0 || index >= at->shape[axis])
            return -1;
        place += index * at->strides[axis];
    }
    return place;
}

static PyObject *
number_from(const Array *at, Py_ssize_t place, const Array *like, Py_ssize_t count)
{
    char *memory;
    Py_ssize_t size = at->bits / 8, stride = count > 1 ? at->strides[0] * size : 0;
    int kind = at->code == OF_COMPLEX ? (at->bits == 128 ? COMPLEX128 : COMPLEX64) : at->bits == 64 ? FLOAT64 : FLOAT32;
    PyObject *tensor = tensor_by_rows(kind, like, count, &memory);
    for (Py_ssize_t i = 0; tensor != NULL && i < count; i++)
        memcpy(memory + i * size, (char *)at->elements + place * size + i * stride, (size_t)size);
    return tensor;
}

/* Whether complex numbers in memory are the conjugates of those that are meant. */
static int
stands_for_conjugates(const Parts *x)
{
    return x->value_at.code == OF_COMPLEX && (is_true_by(x->value, words.is_conj) || is_true_by(x->residual, words.is_conj)
                                              || is_true_by(x->components, words.is_conj));
}

PyObject *
few_element(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Parts x;
    PyObject *made = NULL;
    if (count != 2 || !PyTuple_CheckExact(args[1]) || is_traced() || is_observed()
        || !parts_of_any(args[0], &x, OR_COMPLEX))
        return or_none(left_to_python());
    Py_ssize_t many = x.components_at.shape[0];
    if (PyTuple_GET_SIZE(args[1]) == x.value_at.rank && many > 0 && many <= FEW_COMPONENTS && are_plain_numbers(&x)
        && !stands_for_conjugates(&x)) {
        Py_ssize_t at = place_of(&x.value_at, 0, args[1]), of_residual = place_of(&x.residual_at, 0, args[1]);
        Py_ssize_t of_components = place_of(&x.components_at, 1, args[1]);
        Array number = {.rank = 0}, row = {.rank = 1, .shape = x.components_at.shape};
        if (at >= 0 && of_residual >= 0 && of_components >= 0) {
            PyObject *value = number_from(&x.value_at, at, &number, 1);
            PyObject *residual = number_from(&x.residual_at, of_residual, &number, 1);
            made = assembled(value, residual, number_from(&x.components_at, of_components, &row, many), &x);
        }
    }
    let_parts_go(&x);
    return or_none(made == NULL ? left_to_python() : made);
}
