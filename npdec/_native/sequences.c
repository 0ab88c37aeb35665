/* `np.convolve` and `np.correlate` of few floats, as `npdec._impl._convolve` has them: a product with all windows. */
#include "few.h"

#include <math.h>

#define MOST_PRODUCTS ((Py_ssize_t)1 << 16)

static double
float_at(const Elements *of, Py_ssize_t i)
{
    const char *at = of->memory + i * of->strides[0];
    return of->kind == FLOAT64 ? *(const double *)at : *(const float *)at;
}

/* A sequence between zeros, or backwards, in memory of its own. */
static PyObject *
laid_out(const Elements *of, Py_ssize_t before, Py_ssize_t after, int is_turned, Elements *made)
{
    Py_ssize_t count = of->shape[0], size = of->itemsize;
    *made = (Elements){.kind = of->kind, .itemsize = of->itemsize, .rank = 1};
    made->shape[0] = before + count + after;
    PyObject *array = new_lazy(made);
    if (array == NULL)
        return NULL;
    memset(made->memory, 0, (size_t)(made->shape[0] * size));
    for (Py_ssize_t i = 0; i < count; i++)
        memcpy(made->memory + (before + (is_turned ? count - 1 - i : i)) * size, of->memory + i * of->strides[0],
               (size_t)size);
    return array;
}

/* How many zeros stand before and behind the sequence; 0 for other modes. */
static int
zeros_for(PyObject *mode, Py_ssize_t count, Py_ssize_t *before, Py_ssize_t *after)
{
    int is_full = PyUnicode_CompareWithASCIIString(mode, "full") == 0;
    *before = *after = 0;
    if (is_full || PyUnicode_CompareWithASCIIString(mode, "same") == 0) {
        *before = is_full ? count - 1 : count / 2;
        *after = is_full ? count - 1 : count - 1 - *before;
        return 1;
    }
    return PyUnicode_CompareWithASCIIString(mode, "valid") == 0;
}

static PyObject *
correlated(const Elements *a, const Elements *v, PyObject *mode, int is_turned)
{
    Py_ssize_t n = v->shape[0], before, after;
    if (!zeros_for(mode, n, &before, &after))
        return NULL;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!isfinite(float_at(v, i)))
            return NULL; /* beside the zeros it would give nan */
    Py_ssize_t length = a->shape[0] + before + after - n + 1;
    if (length > MOST_PRODUCTS / n || !are_few(length * n))
        return NULL;
    Elements whole, factors;
    PyObject *all = laid_out(a, before, after, 0, &whole), *windows = NULL, *found = NULL;
    PyObject *factor = all == NULL ? NULL : laid_out(v, 0, 0, is_turned, &factors);
    if (factor != NULL) {
        whole.rank = 2;
        whole.is_whole = 0;
        whole.shape[0] = length;
        whole.shape[1] = n;
        whole.strides[1] = whole.strides[0];
        windows = lazy_view(all, &whole);
    }
    if (windows != NULL)
        found = PyNumber_MatrixMultiply(windows, factor);
    Py_XDECREF(all);
    Py_XDECREF(factor);
    Py_XDECREF(windows);
    return found;
}

/* `few_correlate(a, v, mode, whether v is turned)` of two vectors of floats, or None. */
PyObject *
few_correlate(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Elements here[2];
    const Elements *of[2];
    if (count != 4 || is_traced() || is_watching() || !PyUnicode_CheckExact(args[2]))
        return or_none(left_to_python());
    for (int i = 0; i < 2; i++)
        if (!Py_IS_TYPE(args[i], arrays.type) || !elements_of(args[i], &here[i], &of[i]) || of[i]->rank != 1
            || (of[i]->kind != FLOAT32 && of[i]->kind != FLOAT64))
            return or_none(left_to_python());
    int is_turned = args[3] == Py_True, is_shorter = of[0]->shape[0] < of[1]->shape[0];
    if (of[0]->kind != of[1]->kind || (is_shorter && !is_turned) || is_seen_by_torch())
        return or_none(left_to_python());
    PyObject *found = correlated(of[is_shorter], of[!is_shorter], args[2], is_turned);
    return or_none(found == NULL ? left_to_python() : found);
}
