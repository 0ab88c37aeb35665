/* Decomposed numbers, without axes, beside each other and beside constants: taken out of their tensors, and made of
 * what was computed. `npdec._law.ordinary_numbers` does the same in Python. */
#include "few_numbers.h"
#include "tensors.h"
#include <math.h>

#define WHOLE 9007199254740992.0 /* up to which integers are floats */

void
let_numbers_go(Number *numbers, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++)
        if (numbers[i].carries)
            let_parts_go(&numbers[i].parts);
}

static double
end_at(const Array *at)
{
    return at->code == OF_BOOL ? *(unsigned char *)at->elements != 0
         : at->bits == 64 ? *(double *)at->elements : *(float *)at->elements;
}

int
is_constant_number(PyObject *given_to_it, int is_condition, Number *number)
{
    Array at;
    number->carries = 0;
    number->parts.value_at.bits = 0;
    if (!is_condition && PyFloat_CheckExact(given_to_it))
        number->x = PyFloat_AS_DOUBLE(given_to_it);
    else if (!is_condition && PyLong_CheckExact(given_to_it)) {
        number->x = PyLong_AsDouble(given_to_it);
        if (PyErr_Occurred() || !(fabs(number->x) < WHOLE))
            return 0;
    }
    else if (Py_IS_TYPE(given_to_it, arrays.tensor) && look_at_any(given_to_it, &at) && at.rank == 0
             && is_on_host(&at) && is_readable(given_to_it)
             && (is_condition ? at.code == OF_BOOL : at.code == OF_FLOAT && (at.bits == 64 || at.bits == 32))) {
        number->x = end_at(&at);
        number->parts.value_at = at; /* for its dtype */
    }
    else
        return 0;
    number->r = number->x;
    return 1;
}

static int
is_carrying(PyObject *tensor, int is_condition, Number *number)
{
    Parts *its = &number->parts;
    if (!parts_of_any(tensor, its, is_condition ? OR_CONDITIONS : 0))
        return 0;
    Py_ssize_t count = its->value_at.rank == 0 ? its->components_at.shape[0] : 0;
    if (count < 1 || count > HANDFUL || (its->value_at.code == OF_BOOL) != is_condition || !few_is_open(its)) {
        let_parts_go(its);
        return 0;
    }
    number->x = end_at(&its->value_at);
    number->r = end_at(&its->residual_at);
    number->carries = 1;
    return 1;
}

int
is_condition(PyObject *tensor, Number *number)
{
    number->carries = 0;
    return Py_IS_TYPE(tensor, given.type) ? is_carrying(tensor, 1, number) : is_constant_number(tensor, 1, number);
}

int
bits_of(const Number *numbers, Py_ssize_t count)
{
    int bits = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        const Array *at = &numbers[i].parts.value_at;
        if (at->bits == 0 || at->code == OF_BOOL)
            continue;
        if (bits != 0 && bits != at->bits)
            return 0;
        bits = at->bits;
    }
    return bits;
}

int
are_numbers(PyObject *const *args, Py_ssize_t count, int conditions, Number *numbers)
{
    int some = 0, are_taken = !is_traced() && !is_observed();
    Py_ssize_t i = 0;
    for (; i < count && are_taken; i++) {
        numbers[i].carries = 0;
        are_taken = Py_IS_TYPE(args[i], given.type) ? is_carrying(args[i], i < conditions, &numbers[i])
                                                    : is_constant_number(args[i], i < conditions, &numbers[i]);
        some |= are_taken && numbers[i].carries;
    }
    if (are_taken && some)
        return 1;
    let_numbers_go(numbers, i);
    left_to_python();
    return 0;
}

double
to_bits(int bits, double number)
{
    return bits == 64 ? number : (float)number;
}

int
jump_shared(const Parts *x, const double *column, Py_ssize_t count, double jump, double step, double size, int bits,
            double *found)
{
    double total = 0, gross = 0;
    for (Py_ssize_t i = 0; i < count; i++) {
        double number = column == NULL ? few_element_of(&x->components_at, i) : column[i];
        total += number;
        gross += fabs(number);
    }
    return few_share(jump, step, total, gross, size, count, bits, found);
}

int
jump_of(const Number *x, double jump, double size, int bits, double *found)
{
    return jump_shared(&x->parts, NULL, x->parts.components_at.shape[0], jump, x->x - x->r, size, bits, found);
}

Py_ssize_t
total_of(const Number *numbers, Py_ssize_t count, const double *weights, int are_left_out, double *sums,
         PyObject **labels)
{
    Py_ssize_t places[HANDFUL], known = 0;
    *labels = NULL;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!numbers[i].carries)
            continue;
        const Array *at = &numbers[i].parts.components_at;
        int is_first = *labels == NULL;
        if (!few_places(labels, numbers[i].parts.labels, MOST_NUMBERS * HANDFUL, places)) {
            Py_CLEAR(*labels);
            left_to_python();
            return -1;
        }
        for (; known < PyTuple_GET_SIZE(*labels); known++)
            sums[known] = 0;
        if (are_left_out && weights[i] == 0)
            continue;
        for (Py_ssize_t row = 0; row < at->shape[0]; row++) {
            double its = few_element_of(at, row) * weights[i];
            sums[places[row]] = is_first ? its : sums[places[row]] + its;
        }
    }
    return known;
}

PyObject *
number_made(double value, double residual, int is_condition, const double *sums, Py_ssize_t count, int bits,
            PyObject *labels)
{
    int64_t shape[1] = {count};
    Array of_one = {.rank = 0, .bits = bits}, of_all = {.rank = 1, .shape = shape, .bits = bits};
    PyObject *ends[2] = {NULL, NULL}, *components = few_tensor_of(sums, &of_all, count), *made = NULL;
    const double numbers[2] = {value, residual};
    for (int i = 0; i < 2 && components != NULL; i++) {
        char *memory;
        ends[i] = is_condition ? tensor_by_rows(BOOL, &of_one, 1, &memory) : few_tensor_of(&numbers[i], &of_one, 1);
        if (ends[i] == NULL)
            Py_CLEAR(components);
        else if (is_condition)
            *(unsigned char *)memory = numbers[i] != 0;
    }
    if (components != NULL && (made = carrying(ends[0])) != NULL
        && (set_parts(made, ends[0], ends[1], components, labels) < 0
            || (is_condition && PyObject_SetAttr(made, names.discrete, Py_True) < 0)))
        Py_CLEAR(made);
    Py_XDECREF(ends[0]);
    Py_XDECREF(ends[1]);
    Py_XDECREF(components);
    Py_DECREF(labels);
    return made;
}

PyObject *
number_by_weights(double value, double residual, const Number *numbers, Py_ssize_t count, const double *weights,
                  int are_left_out, int bits)
{
    double sums[MOST_NUMBERS * HANDFUL];
    PyObject *labels;
    Py_ssize_t all = total_of(numbers, count, weights, are_left_out, sums, &labels);
    return all < 0 ? NULL : number_made(value, residual, 0, sums, all, bits, labels);
}
