/* Calls of functions of torch with a few complex numbers that carry something: values and residuals are what torch makes
 * of them, contributions are found in memory. `npdec._law.complex_of_few` does the same in Python, for the same cases. */
#include "few_complex.h"
#include "few_numbers.h"
#include "lazy.h"
#include <math.h>

#define LARGEST 0x1p60 /* Python's numbers that are taken */

static struct {
    PyObject *laws[COMPLEX_LAWS]; /* in Python */
    Py_ssize_t member;            /* where a row has its law */
    ComplexLimits single, twice;
} known;

/* --- what lies in memory ------------------------------------------------------------------------------------------ */

static int
is_complex(const Array *at)
{
    return at->code == OF_COMPLEX && (at->bits == 128 || at->bits == 64);
}

/* The elements of an array of few, in row-major order; of a view that stands for the conjugates, these. */
static void
read_all(const Array *at, Py_ssize_t count, int is_turned, Py_complex *to)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        Py_ssize_t place = 0, rest = i;
        for (int axis = at->rank; axis-- > 0; rest /= at->shape[axis])
            place += rest % at->shape[axis] * at->strides[axis];
        to[i].imag = 0;
        if (at->code == OF_BOOL)
            to[i].real = ((unsigned char *)at->elements)[place] != 0;
        else if (at->code == OF_FLOAT)
            to[i].real = at->bits == 64 ? ((double *)at->elements)[place] : ((float *)at->elements)[place];
        else if (at->bits == 128)
            to[i] = (Py_complex){((double *)at->elements)[2 * place], ((double *)at->elements)[2 * place + 1]};
        else
            to[i] = (Py_complex){((float *)at->elements)[2 * place], ((float *)at->elements)[2 * place + 1]};
        if (is_turned)
            to[i].imag = -to[i].imag;
    }
}

/* Read the elements of a tensor on the host that nobody differentiates; 0 of another. */
static int
read_tensor_at(PyObject *tensor, const Array *at, Py_ssize_t count, Py_complex *to)
{
    if (!is_on_host(at) || !is_readable(tensor))
        return 0;
    read_all(at, count, at->code == OF_COMPLEX && is_true_by(tensor, words.is_conj), to);
    return !PyErr_Occurred();
}

/* --- operands ----------------------------------------------------------------------------------------------------- */

static int
is_python_number(PyObject *x, Py_complex *found)
{
    if (PyComplex_CheckExact(x))
        *found = ((PyComplexObject *)x)->cval;
    else if (PyFloat_CheckExact(x) || PyLong_CheckExact(x) || PyBool_Check(x))
        *found = (Py_complex){PyFloat_AsDouble(x), 0};
    else
        return 0;
    return !PyErr_Occurred() && -LARGEST <= found->real && found->real <= LARGEST;
}

/* Take an operand, of which parts are held then; 0 where it is none of few. */
static int
taken(PyObject *x, ComplexOperand *its)
{
    its->carries = its->is_number = 0;
    its->value = its->residual = x;
    if (is_python_number(x, &its->x[0])) {
        its->is_number = 1;
        its->r[0] = its->x[0];
        return 1;
    }
    if (Py_IS_TYPE(x, arrays.tensor)) {
        Py_ssize_t count = look_at_any(x, &its->at) && is_complex(&its->at) ? elements_in(&its->at) : 0;
        return count > 0 && count <= HANDFUL && read_tensor_at(x, &its->at, count, its->x)
            && read_tensor_at(x, &its->at, count, its->r);
    }
    if (!Py_IS_TYPE(x, given.type) || !parts_of_any(x, &its->parts, OR_COMPLEX))
        return 0;
    const Parts *parts = &its->parts;
    Py_ssize_t count = elements_in(&parts->value_at), all = elements_in(&parts->components_at);
    its->carries = 1;
    its->at = parts->value_at;
    its->value = parts->value;
    its->residual = parts->residual;
    return is_complex(&its->at) && count <= HANDFUL && all <= MOST_PARTS && parts->components_at.shape[0] <= HANDFUL
        && read_tensor_at(parts->value, &parts->value_at, count, its->x)
        && read_tensor_at(parts->residual, &parts->residual_at, count, its->r)
        && read_tensor_at(parts->components, &parts->components_at, all, its->components);
}

static void
let_operands_go(ComplexCall *call, int count)
{
    for (int i = 0; i < count; i++)
        if (call->of[i].carries)
            let_parts_go(&call->of[i].parts);
}

/* Whether all tensors are of one dtype, and one carries something. */
static int
are_alike_in_dtype(ComplexCall *call)
{
    int bits = 0, some = 0;
    for (int i = 0; i < call->operands; i++) {
        const ComplexOperand *its = &call->of[i];
        some |= its->carries;
        if (its->is_number)
            continue;
        if (bits != 0 && bits != its->at.bits)
            return 0;
        bits = its->at.bits;
    }
    call->limits = bits == 128 ? &known.twice : &known.single;
    return some;
}

/* Repeat an operand without axes at each element; 0 of one in another shape. */
static int
is_spread(ComplexOperand *its, const Array *like, Py_ssize_t count)
{
    if (!its->is_number && are_alike(&its->at, like))
        return 1;
    if (!its->is_number && its->at.rank != 0)
        return 0;
    Py_ssize_t rows = its->carries ? its->parts.components_at.shape[0] : 0;
    if (rows * count > MOST_PARTS)
        return 0;
    for (Py_ssize_t row = rows; row-- > 0;)
        for (Py_ssize_t i = 0; i < count; i++)
            its->components[row * count + i] = its->components[row];
    for (Py_ssize_t i = count; i-- > 0;) {
        its->x[i] = its->x[0];
        its->r[i] = its->r[0];
    }
    return 1;
}

/* Bring the components of both under the labels of both, which are made; 0 where these are many. */
static int
are_under_one(ComplexCall *call, PyObject **labels)
{
    *labels = NULL;
    Py_ssize_t places[HANDFUL];
    for (int i = 0; i < call->operands; i++) {
        ComplexOperand *its = &call->of[i];
        if (!its->carries)
            continue;
        Py_ssize_t before = *labels == NULL ? 0 : PyTuple_GET_SIZE(*labels), own = its->parts.components_at.shape[0];
        if (!few_places(labels, its->parts.labels, HANDFUL, places))
            return 0;
        Py_ssize_t rows = PyTuple_GET_SIZE(*labels), size = call->count * (Py_ssize_t)sizeof(Py_complex);
        if (rows * call->count > MOST_PARTS)
            return 0;
        Py_complex made[MOST_PARTS] = {{0, 0}};
        for (Py_ssize_t row = 0; row < own; row++)
            memcpy(made + places[row] * call->count, its->components + row * call->count, (size_t)size);
        memcpy(its->components, made, (size_t)(rows * size));
        if (i == 1 && call->of[0].carries)
            for (Py_ssize_t at = before * call->count; at < rows * call->count; at++)
                call->of[0].components[at] = (Py_complex){0, 0};
        call->rows = rows;
    }
    return 1;
}

/* --- the result --------------------------------------------------------------------------------------------------- */

static void
put(char *memory, int bits, Py_ssize_t i, double number)
{
    if (bits == 64)
        ((double *)memory)[i] = number;
    else
        ((float *)memory)[i] = (float)number;
}

/* The components of the result: of what is real, or a condition, the real part of the product is contributed. */
static PyObject *
components_of(int law, const ComplexCall *call, Py_complex (*weights)[HANDFUL], const Array *value)
{
    int64_t shape[MOST_AXES + 1] = {call->rows};
    for (int axis = 0; axis < value->rank; axis++)
        shape[axis + 1] = value->shape[axis];
    const Array like = {.rank = value->rank + 1, .shape = shape};
    int is_whole = value->code == OF_COMPLEX, bits = call->limits == &known.twice ? 64 : 32;
    int kind = bits == 64 ? (is_whole ? COMPLEX128 : FLOAT64) : is_whole ? COMPLEX64 : FLOAT32;
    char *memory;
    PyObject *tensor = tensor_by_rows(kind, &like, call->rows * call->count, &memory);
    for (Py_ssize_t at = 0; tensor != NULL && at < call->rows * call->count; at++) {
        Py_complex sum = {0, 0};
        double crossing = 0;
        int is_first = 1;
        for (int i = 0; i < call->operands; i++) {
            if (!call->of[i].carries)
                continue;
            Py_complex its = call->of[i].components[at];
            int is_less = (law == COMPLEX_DIFFERENCE && i == 1) || (law == COMPLEX_LESSENED && i == 0);
            Py_complex weight = weights[i][at % call->count];
            if (law >= COMPLEX_MAXIMUM) {
                crossing = i == 0 ? its.real : is_first ? -its.real : crossing - its.real;
                weight.imag = 0;
            }
            its = law > COMPLEX_LESSENED ? _Py_c_prod(its, weight) : is_less ? _Py_c_neg(its) : its;
            sum = is_first ? its : _Py_c_sum(sum, its);
            is_first = 0;
        }
        if (law >= COMPLEX_MAXIMUM && weights[0][at % call->count].imag != 0)
            sum.imag += weights[0][at % call->count].imag * crossing;
        if (is_whole) {
            put(memory, bits, 2 * at, sum.real);
            put(memory, bits, 2 * at + 1, sum.imag);
        }
        else
            put(memory, bits, at, sum.real);
    }
    return tensor;
}

/* The sum of two numbers, part by part: to the last bit that of torch's parts, and of NumPy. */
static PyObject *
sum_of_numbers(int law, const ComplexCall *call, const Py_complex *x, const Py_complex *y)
{
    Py_complex found = law == COMPLEX_SUM ? _Py_c_sum(*x, *y) : law == COMPLEX_DIFFERENCE ? _Py_c_diff(*x, *y)
                     : _Py_c_diff(*y, *x);
    int bits = call->limits == &known.twice ? 64 : 32;
    const Array like = {.rank = 0};
    char *memory;
    PyObject *tensor = tensor_by_rows(bits == 64 ? COMPLEX128 : COMPLEX64, &like, 1, &memory);
    if (tensor != NULL) {
        put(memory, bits, 0, found.real);
        put(memory, bits, 1, found.imag);
    }
    return tensor;
}

/* What the function makes of one end. */
static PyObject *
end_of(int law, PyObject *func, const ComplexCall *call, int is_residual)
{
    PyObject *args[3] = {NULL};
    if (law >= COMPLEX_LESS)
        return ordered_end(law, call, call->limits == &known.twice, is_residual);
    int are_numbers = call->operands == 2 && law <= COMPLEX_LESSENED;
    for (int i = 0; i < call->operands; i++) {
        const ComplexOperand *its = &call->of[i];
        args[i + 1] = is_residual ? its->residual : its->value;
        are_numbers &= !its->is_number && its->at.rank == 0;
    }
    if (!are_numbers)
        return PyObject_Vectorcall(func, args + 1, (size_t)call->operands | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    const ComplexOperand *a = &call->of[0], *b = &call->of[1];
    return sum_of_numbers(law, call, is_residual && a->carries ? a->r : a->x, is_residual && b->carries ? b->r : b->x);
}

/* Whether it is what torch makes of complex numbers: those, real ones or conditions, of few elements. */
static int
is_made(PyObject *made, const ComplexCall *call, Array *at, Py_complex *to)
{
    int bits = call->limits == &known.twice ? 64 : 32;
    return made != NULL && Py_IS_TYPE(made, arrays.tensor) && look_at_any(made, at)
        && (at->code == OF_BOOL || (at->code == OF_FLOAT && at->bits == bits) || (is_complex(at) && at->bits == 2 * bits))
        && elements_in(at) > 0 && elements_in(at) <= HANDFUL && read_tensor_at(made, at, elements_in(at), to);
}

static PyObject *
computed(int law, PyObject *func, ComplexCall *call)
{
    Array at, residual_at;
    Py_complex weights[2][HANDFUL];
    Parts labelled = {.labels = NULL};
    PyObject *value = end_of(law, func, call, 0), *residual = NULL, *components = NULL, *made = NULL;
    if (is_made(value, call, &at, call->after) && (residual = end_of(law, func, call, 1)) != NULL
        && is_made(residual, call, &residual_at, call->before) && are_alike(&at, &residual_at)
        && is_of_one_dtype(&at, &residual_at)) {
        call->count = elements_in(&at);
        int are_open = 1;
        for (int i = 0; i < call->operands && are_open; i++)
            are_open = is_spread(&call->of[i], &at, call->count);
        if (are_open && are_under_one(call, &labelled.labels)
            && (law <= COMPLEX_LESSENED ? call->operands == 2 : complex_weights(law, call, weights)))
            components = components_of(law, call, weights, &at);
        if (components != NULL) {
            made = assembled(Py_NewRef(value), Py_NewRef(residual), components, &labelled);
            if (made != NULL && at.code == OF_BOOL && PyObject_SetAttr(made, names.discrete, Py_True) < 0)
                Py_CLEAR(made);
        }
    }
    Py_XDECREF(labelled.labels);
    Py_XDECREF(residual);
    Py_XDECREF(value);
    return made;
}

/* --- calls -------------------------------------------------------------------------------------------------------- */

static PyObject *
answered(int law, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    ComplexCall call;
    PyObject *made = NULL;
    int held = 0, are_taken = count >= 1 && count <= 2 && is_usual_rule();
    call.operands = (int)count;
    while (are_taken && held < count)
        are_taken = taken(args[held], &call.of[held]), held++;
    if (are_taken && are_alike_in_dtype(&call) && is_off(asked.is_inference) && !is_profiled() && !is_followed())
        made = computed(law, func, &call);
    let_operands_go(&call, held);
    return made;
}

static int
law_of(PyObject *object)
{
    int law = 0;
    while (law < COMPLEX_LAWS && known.laws[law] != object)
        law++;
    return law < COMPLEX_LAWS ? law : -1;
}

static int
is_given(PyObject *const *args, Py_ssize_t count)
{
    Array at;
    for (Py_ssize_t i = 0; i < count && i < 2; i++)
        if (Py_IS_TYPE(args[i], given.type) && look_at_any(args[i], &at) && at.code == OF_COMPLEX)
            return 1;
    return 0;
}

PyObject *
few_complex_call(PyObject *row, PyObject *func, PyObject *const *args, Py_ssize_t count)
{
    if (known.laws[0] == NULL || count > 2 || !is_given(args, count))
        return NULL;
    int law = law_of(SLOT(row, known.member));
    return law < 0 ? NULL : answered(law, func, args, count);
}

/* complex_of_few(law, function, operands): what it gives of one or two; or None. */
PyObject *
complex_of_few(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    int law = count == 3 && PyTuple_CheckExact(args[2]) && !is_traced() && !is_observed() ? law_of(args[0]) : -1;
    PyObject *found = law < 0 ? NULL : answered(law, args[1], ((PyTupleObject *)args[2])->ob_item,
                                                PyTuple_GET_SIZE(args[2]));
    return or_none(found == NULL ? left_to_python() : found);
}

/* complex_chosen(condition, a, b): one of two complex numbers, or None. */
PyObject *
complex_chosen(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Number condition;
    ComplexCall call = {.operands = 2};
    PyObject *made = NULL;
    int held = 0, is_known = count == 3 && !is_traced() && !is_observed() && is_usual_rule() && is_off(asked.is_inference)
                             && !is_profiled() && !is_followed() && is_condition(args[0], &condition);
    if (!is_known)
        return or_none(left_to_python());
    while (held < 2 && is_known)
        is_known = taken(args[1 + held], &call.of[held]), held++;
    for (int i = 0; i < 2 && is_known; i++)
        is_known = call.of[i].is_number || call.of[i].at.rank == 0;
    int some = is_known && are_alike_in_dtype(&call);
    if (is_known && (some || condition.carries) && !(call.of[0].is_number && call.of[1].is_number)
        && (!condition.carries || (condition.parts.components_at.bits == 64) == (call.limits == &known.twice)))
        made = complex_choice(&condition, call.of, call.limits == &known.twice);
    let_operands_go(&call, held);
    let_numbers_go(&condition, 1);
    return or_none(made == NULL ? left_to_python() : made);
}

/* attach_complex(laws, in the order of their numbers; slot `few_complex` of rows; and of single and of double precision
 * (eps, tiny, steepest, digits); and 8, 16 and 32 nodes with their weights */
PyObject *
attach_complex(PyObject *module, PyObject *args)
{
    PyObject *laws, *member, *nodes[3];
    ComplexLimits *a = &known.single, *b = &known.twice;
    if (!PyArg_ParseTuple(args, "O!O(dddd)(dddd)O!O!O!:attach_complex", &PyTuple_Type, &laws, &member, &a->eps,
                          &a->tiny, &a->steepest, &a->digits, &b->eps, &b->tiny, &b->steepest, &b->digits,
                          &PyTuple_Type, &nodes[0], &PyTuple_Type, &nodes[1], &PyTuple_Type, &nodes[2])
        || (known.member = offset_of(member)) < 0 || !set_power_nodes(nodes))
        return NULL;
    if (PyTuple_GET_SIZE(laws) != COMPLEX_LAWS)
        return PyErr_Format(PyExc_ValueError, "attach_complex: %zd laws, of which there are %d", PyTuple_GET_SIZE(laws),
                            (int)COMPLEX_LAWS);
    for (int i = 0; i < COMPLEX_LAWS; i++)
        Py_XSETREF(known.laws[i], Py_NewRef(PyTuple_GET_ITEM(laws, i)));
    Py_RETURN_NONE;
}
