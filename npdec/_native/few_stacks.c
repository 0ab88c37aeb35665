/* Numbers in a row: a vector of decomposed numbers and constants. `npdec._law.ordinary_joined` makes the same in Python. */
#include "few_numbers.h"

#define MOST_IN_ROW HANDFUL

static int
is_stack(PyObject *func)
{
    PyObject *name = PyObject_GetAttr(func, names.name);
    int is_so = name != NULL && PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, "stack") == 0;
    Py_XDECREF(name);
    return is_so && !PyErr_Occurred();
}

/* A decomposed number, or a plain tensor without axes; then it is held. */
static int
is_in_row(PyObject *x, Number *number)
{
    if (!Py_IS_TYPE(x, given.type))
        return Py_IS_TYPE(x, arrays.tensor) && is_constant_number(x, 0, number);
    Parts *its = &number->parts;
    if (!parts_of(x, its))
        return 0;
    number->carries = 1;
    if (its->value_at.rank != 0 || !few_is_open(its))
        return 0;
    number->x = few_element_of(&its->value_at, 0);
    number->r = few_element_of(&its->residual_at, 0);
    return 1;
}

/* The components of all, each in its column; the labels of all are made. NULL where that is Python's. */
static PyObject *
columns(const Number *numbers, Py_ssize_t count, int bits, PyObject **labels)
{
    Py_ssize_t places[FEW_COMPONENTS], known = 0, most = FEW_COMPONENTS / count;
    double rows[FEW_COMPONENTS];
    for (Py_ssize_t i = 0; i < count; i++) {
        if (!numbers[i].carries)
            continue;
        const Array *at = &numbers[i].parts.components_at;
        if (!few_places(labels, numbers[i].parts.labels, most, places) || PyTuple_GET_SIZE(*labels) > most)
            return NULL;
        for (; known < PyTuple_GET_SIZE(*labels); known++)
            for (Py_ssize_t j = 0; j < count; j++)
                rows[known * count + j] = 0;
        for (Py_ssize_t row = 0; row < at->shape[0]; row++)
            rows[places[row] * count + i] = few_element_of(at, row);
    }
    int64_t shape[2] = {known, count};
    const Array like = {.rank = 2, .shape = shape, .bits = bits};
    return few_tensor_of(rows, &like, known * count);
}

PyObject *
few_stacked_numbers(PyObject *func, PyObject *const *tensors, Py_ssize_t count, long dim)
{
    Number numbers[MOST_IN_ROW];
    double ends[2][MOST_IN_ROW];
    Parts labelled = {.labels = NULL};
    PyObject *made = NULL;
    Py_ssize_t held = 0;
    int are_open = count > 0 && count <= MOST_IN_ROW && (dim == 0 || dim == -1) && is_stack(func), some = 0;
    for (; are_open && held < count; held++) {
        numbers[held].carries = 0;
        are_open = is_in_row(tensors[held], &numbers[held]);
        some |= numbers[held].carries;
        ends[0][held] = numbers[held].x;
        ends[1][held] = numbers[held].r;
    }
    int bits = are_open && some ? bits_of(numbers, count) : 0;
    PyObject *components = bits == 0 ? NULL : columns(numbers, count, bits, &labelled.labels);
    if (components != NULL) {
        int64_t shape[1] = {count};
        const Array like = {.rank = 1, .shape = shape, .bits = bits};
        PyObject *value = few_tensor_of(ends[0], &like, count);
        made = assembled(value, value == NULL ? NULL : few_tensor_of(ends[1], &like, count), components, &labelled);
    }
    Py_XDECREF(labelled.labels);
    let_numbers_go(numbers, held);
    return made;
}

/* few_numbers(x): the elements of a decomposed tensor of a few, each as a decomposed number, or None. */
PyObject *
few_numbers(PyObject *module, PyObject *tensor)
{
    Parts x;
    if (!Py_IS_TYPE(tensor, given.type) || is_traced() || is_observed() || !parts_of(tensor, &x))
        return or_none(left_to_python());
    Py_ssize_t size = elements_in(&x.value_at), rows = x.components_at.shape[0], i = 0;
    double column[FEW_COMPONENTS];
    PyObject *made = few_is_open(&x) && size <= HANDFUL && rows <= FEW_COMPONENTS ? PyTuple_New(size) : NULL;
    for (; made != NULL && i < size; i++) {
        for (Py_ssize_t row = 0; row < rows; row++)
            column[row] = few_element_of(&x.components_at, row * size + i);
        PyObject *number = number_made(few_element_of(&x.value_at, i), few_element_of(&x.residual_at, i), 0, column, rows,
                                       x.value_at.bits, Py_NewRef(x.labels));
        if (number == NULL)
            Py_CLEAR(made);
        else
            PyTuple_SET_ITEM(made, i, number);
    }
    let_parts_go(&x);
    return or_none(made == NULL ? left_to_python() : made);
}
