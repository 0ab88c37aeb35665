/* Smooth functions of two decomposed numbers, or of one beside a constant: the function itself of the value and of the
 * residual, and the mean gradients between them (means.c). `npdec._law.ordinary_smooth` has the same in Python. */
#include "few_numbers.h"
#include "means.h"
#include <math.h>

#define LONGEST 0x1p40 /* `npdec._law.of_few` */

static struct {
    double wanted, rounding, digits; /* `npdec._law.means_of_few`, of single and double precision */
} limits[2];
static double kept;

/* One end of the function, in the dtype; 0 where it is none of that dtype on the host. */
static int
end_of(PyObject *func, PyObject *const *args, const Number *numbers, int is_residual, int bits, double *end)
{
    PyObject *ends[3] = {NULL};
    Array at;
    for (int i = 0; i < 2; i++)
        ends[i + 1] = !numbers[i].carries ? args[i] : is_residual ? numbers[i].parts.residual : numbers[i].parts.value;
    PyObject *made = PyObject_Vectorcall(func, ends + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    int is_made = made != NULL && Py_IS_TYPE(made, arrays.tensor) && look_at_any(made, &at) && at.rank == 0
               && at.code == OF_FLOAT && at.bits == bits && is_on_host(&at) && is_readable(made);
    if (is_made)
        *end = bits == 64 ? *(double *)at.elements : *(float *)at.elements;
    Py_XDECREF(made);
    return is_made && isfinite(*end);
}

/* Whether means are complete, and nothing has to be said of them. */
static int
are_complete(int bits, const Number *x, const Number *y, double fx, double fr, const double *means)
{
    double by_x = means[0] * (x->x - x->r), by_y = means[1] * (y->x - y->r), gross = fabs(by_x) + fabs(by_y);
    double a = fabs(fx), b = fabs(fr);
    int which = bits == 64;
    return fabs(fx - fr - by_x - by_y) <= fmax(limits[which].wanted * fmax(a, b), limits[which].rounding * gross)
        && fabs(means[0]) <= given.steep && fabs(means[1]) <= given.steep && gross <= limits[which].digits * (a + b);
}

/* The slope between close numbers, whose secant has lost digits. */
static int
slope_of_close(int which, double x, double r, double constant, int is_turned, double fx, double fr, double *slope)
{
    double means[2], step = x - r;
    if (which != MEAN_POWER) {
        if (!(is_turned ? means_of(which, constant, x, constant, r, fx, fr, means)
                        : means_of(which, x, constant, r, constant, fx, fr, means)))
            return 0;
        *slope = means[is_turned];
    }
    else
        *slope = is_turned ? pow(constant, r) * expm1(step * log(constant)) / step
                           : pow(r, constant) * expm1(constant * log1p(step / r)) / step;
    return isfinite(*slope);
}

/* The slope of one number of the function, as `npdec._law.means_of_few` has it of each of a few; 0 where Python is to say. */
static int
slope_beside_constant(int which, int bits, double x, double r, double constant, int is_turned, double fx, double fr,
                      double *slope)
{
    const Range *range = few_range(bits);
    double step = x - r, change = fx - fr, found;
    int is_whole = which == MEAN_POWER && !is_turned && (constant == 2 || constant == 3 || constant == 4);
    if (!isfinite(change) || !isfinite(step))
        return 0;
    if (is_whole) {
        *slope = constant == 2 ? x + r : constant == 3 ? x * (x + r) + r * r : (x + r) * (x * x + r * r);
        return fabs(*slope) <= range->greatest;
    }
    if (which == MEAN_POWER && !is_turned && constant == 0)
        return *slope = 0, fx == 1 && fr == 1;
    if (step == 0)
        return 0;
    *slope = change / step;
    if (which == MEAN_NEXT)
        return fabs(step) < LONGEST && fabs(*slope) <= range->most;
    if (!(range->tiny + fx * fr <= kept * change * change)) {
        if (!slope_of_close(which, x, r, constant, is_turned, fx, fr, &found))
            return 0;
        if (fabs(found - *slope) <= 16 * range->eps * (fabs(fx) + fabs(fr)) / fabs(step))
            *slope = found;
        if (*slope == 0 && change == 0)
            return 1;
    }
    return range->least <= fabs(*slope) && fabs(*slope) <= range->most;
}

static int
moves(const Number *x)
{
    for (Py_ssize_t i = 0; i < x->parts.components_at.shape[0]; i++)
        if (few_element_of(&x->parts.components_at, i) != 0)
            return 1;
    return 0;
}

/* smooth_numbers(which, function, a, b), of decomposed numbers, one of which may be a constant: what the function gives,
 * or None. */
PyObject *
smooth_numbers(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Number numbers[2];
    double fx, fr, weights[2] = {0, 0};
    PyObject *made = NULL;
    if (count != 4 || !PyLong_CheckExact(args[0]) || kept == 0 || !is_usual_rule()
        || !are_numbers(args + 2, 2, 0, numbers))
        return or_none(left_to_python());
    int which = (int)PyLong_AsLong(args[0]), bits = bits_of(numbers, 2);
    const Number *x = &numbers[0], *y = &numbers[1];
    int are_both = x->carries && y->carries, is_known = 0;
    if (bits != 0 && end_of(args[1], args + 2, numbers, 0, bits, &fx) && end_of(args[1], args + 2, numbers, 1, bits, &fr)) {
        if (!are_both) {
            const Number *one = x->carries ? x : y, *constant = x->carries ? y : x;
            is_known = slope_beside_constant(which, bits, one->x, one->r, constant->x, y->carries, fx, fr,
                                             &weights[y->carries])
                    || (one->x == one->r && fx == fr && !moves(one));
        }
        else if (which == MEAN_POWER && y->x == y->r && !moves(y)) /* which may be of a negative base */
            is_known = slope_beside_constant(which, bits, x->x, x->r, y->x, 0, fx, fr, &weights[0]);
        else
            is_known = means_of(which, x->x, y->x, x->r, y->r, fx, fr, weights)
                    && are_complete(bits, x, y, fx, fr, weights);
    }
    if (is_known)
        made = number_by_weights(fx, fr, numbers, 2, weights, ADD_ALL, bits);
    let_numbers_go(numbers, 2);
    return or_none(made == NULL ? left_to_python() : made);
}

/* --- beside a few constants --------------------------------------------------------------------------------------- */

/* An end of the function: in the dtype and the shape, on the host. */
static int
is_end(PyObject *made, const Array *like, Array *at)
{
    return made != NULL && Py_IS_TYPE(made, arrays.tensor) && look_at_any(made, at) && are_alike(at, like)
        && is_of_one_dtype(at, like) && is_on_host(at) && is_readable(made);
}

/* smooth_beside(which, function, a, b): of a few decomposed numbers, or one, beside a few constants, or one; or None. */
PyObject *
smooth_beside(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Parts x;
    Array constants, after, before;
    double sums[FEW_COMPONENTS], slopes[HANDFUL];
    PyObject *ends[2] = {NULL, NULL}, *components = NULL, *made = NULL;
    if (count != 4 || !PyLong_CheckExact(args[0]) || kept == 0 || is_traced() || is_observed() || !is_usual_rule())
        return or_none(left_to_python());
    int which = (int)PyLong_AsLong(args[0]), is_turned = !Py_IS_TYPE(args[2], given.type);
    PyObject *other = args[is_turned ? 2 : 3];
    if (!Py_IS_TYPE(other, arrays.tensor) || !look_at_any(other, &constants)
        || !is_on_host(&constants) || !is_readable(other) || !parts_of(args[is_turned ? 3 : 2], &x))
        return or_none(left_to_python());
    const Array *like = x.value_at.rank == 0 ? &constants : &x.value_at;
    Py_ssize_t size = elements_in(like), rows = x.components_at.shape[0];
    int is_open = is_of_one_dtype(&constants, &x.value_at) && size > 0 && size <= HANDFUL && rows * size <= FEW_COMPONENTS
               && (constants.rank == 0 || are_alike(like, &constants)) && like->rank < MOST_AXES && few_is_open(&x);
    for (int i = 0; i < 2 && is_open; i++) {
        PyObject *its[3] = {NULL, other, other};
        its[is_turned ? 2 : 1] = i ? x.residual : x.value;
        ends[i] = PyObject_Vectorcall(args[1], its + 1, 2 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
        is_open = ends[i] != NULL;
    }
    is_open = is_open && is_end(ends[0], like, &after) && is_end(ends[1], like, &before);
    int bits = x.value_at.bits;
    for (Py_ssize_t i = 0; i < size && is_open; i++) {
        Py_ssize_t at = x.value_at.rank == 0 ? 0 : i, beside = constants.rank == 0 ? 0 : i;
        is_open = slope_beside_constant(which, bits, few_element_of(&x.value_at, at), few_element_of(&x.residual_at, at),
                                        few_element_of(&constants, beside), is_turned, few_element_of(&after, i),
                                        few_element_of(&before, i), &slopes[i]);
    }
    if (is_open) {
        int64_t shape[MOST_AXES + 1] = {rows};
        const Array of_all = {.rank = like->rank + 1, .shape = shape, .bits = bits};
        memcpy(shape + 1, like->shape, sizeof(*shape) * (size_t)like->rank);
        for (Py_ssize_t i = 0; i < rows * size; i++)
            sums[i] = few_element_of(&x.components_at, x.value_at.rank == 0 ? i / size : i)
                    * to_bits(bits, slopes[i % size]);
        if ((components = few_tensor_of(sums, &of_all, rows * size)) != NULL)
            made = assembled(Py_NewRef(ends[0]), Py_NewRef(ends[1]), components, &x);
    }
    Py_XDECREF(ends[0]);
    Py_XDECREF(ends[1]);
    let_parts_go(&x);
    return or_none(made == NULL ? left_to_python() : made);
}

/* mean_power(x, y, r, s), of floats: the mean gradients of x ** y on its path from r ** s; None where they are not known
 * here. */
PyObject *
mean_power(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    double given_to_it[4], means[2];
    if (count != 4)
        return or_none(left_to_python());
    for (int i = 0; i < 4; i++) {
        given_to_it[i] = PyFloat_AsDouble(args[i]);
        if (PyErr_Occurred())
            return NULL;
    }
    if (!means_of(MEAN_POWER, given_to_it[0], given_to_it[1], given_to_it[2], given_to_it[3], 0, 0, means))
        return or_none(left_to_python());
    return Py_BuildValue("(dd)", means[0], means[1]);
}

/* attach_means(kept, limits of single and of double precision, 10, 12 and 16 nodes with their weights) */
PyObject *
attach_means(PyObject *module, PyObject *args)
{
    PyObject *levels[3];
    if (!PyArg_ParseTuple(args, "d(ddd)(ddd)O!O!O!:attach_means", &kept, &limits[0].wanted, &limits[0].rounding,
                          &limits[0].digits, &limits[1].wanted, &limits[1].rounding, &limits[1].digits, &PyTuple_Type,
                          &levels[0], &PyTuple_Type, &levels[1], &PyTuple_Type, &levels[2])
        || !set_mean_nodes(levels))
        return NULL;
    Py_RETURN_NONE;
}
