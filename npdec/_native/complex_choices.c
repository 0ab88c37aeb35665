/* One of two complex numbers by a condition, as `npdec._law.ordinary_choices` has it of real ones. */
#include "complex_numbers.h"
#include "few_numbers.h"
#include "lazy.h"

/* Put the components of a part, each times its weight, into sums under the labels of all, which may become more. */
static int
add_weighted(PyObject **labels, PyObject *own, const Py_complex *components, Py_ssize_t rows, Py_complex weight,
             Py_complex *sums)
{
    Py_ssize_t places[HANDFUL], before = *labels == NULL ? 0 : PyTuple_GET_SIZE(*labels);
    if (rows > HANDFUL || !few_places(labels, own, HANDFUL, places))
        return 0;
    for (Py_ssize_t row = before; row < PyTuple_GET_SIZE(*labels); row++)
        sums[row] = real(0);
    for (Py_ssize_t row = 0; row < rows && !is_zero(weight); row++) /* what has no weight may be anything */
        sums[places[row]] = plus(sums[places[row]], times(components[row], weight));
    return 1;
}

static PyObject *
tensor_with(const Py_complex *numbers, Py_ssize_t count, int is_double, int rank)
{
    char *memory;
    int64_t shape[1] = {count};
    const Array like = {.rank = rank, .shape = shape};
    PyObject *tensor = tensor_by_rows(is_double ? COMPLEX128 : COMPLEX64, &like, count, &memory);
    for (Py_ssize_t i = 0; tensor != NULL && i < count; i++) {
        if (is_double)
            ((Py_complex *)memory)[i] = numbers[i];
        else {
            ((float *)memory)[2 * i] = (float)numbers[i].real;
            ((float *)memory)[2 * i + 1] = (float)numbers[i].imag;
        }
    }
    return tensor;
}

PyObject *
complex_choice(const Number *condition, ComplexOperand *of, int is_double)
{
    int at = condition->x != 0, before = condition->r != 0, is_open = 1;
    const ComplexOperand *a = &of[0], *b = &of[1];
    Py_complex high = over(plus(a->x[0], a->r[0]), real(2)), low = over(plus(b->x[0], b->r[0]), real(2));
    Py_complex gain = minus(at || before ? high : real(0), at && before ? real(0) : low);
    Py_complex sums[HANDFUL], steps[HANDFUL];
    double share = (at + before) / 2.0;
    Parts labelled = {.labels = NULL};
    if (condition->carries && !(size(high) <= given.steep && size(low) <= given.steep))
        return NULL;
    if (condition->carries) {
        const Array *its = &condition->parts.components_at;
        for (Py_ssize_t row = 0; row < its->shape[0]; row++)
            steps[row] = real(few_element_of(its, row));
        is_open = add_weighted(&labelled.labels, condition->parts.labels, steps, its->shape[0], gain, sums);
    }
    for (int i = 0; i < 2 && is_open; i++)
        if (of[i].carries)
            is_open = add_weighted(&labelled.labels, of[i].parts.labels, of[i].components,
                                   of[i].parts.components_at.shape[0], real(i ? 1 - share : share), sums);
    PyObject *made = NULL, *components = NULL;
    if (is_open && labelled.labels != NULL)
        components = tensor_with(sums, PyTuple_GET_SIZE(labelled.labels), is_double, 1);
    if (components != NULL)
        made = assembled(tensor_with(at ? a->x : b->x, 1, is_double, 0),
                         tensor_with(before ? a->r : b->r, 1, is_double, 0), components, &labelled);
    Py_XDECREF(labelled.labels);
    return made;
}
