/* Matrices that have a diagonal, and diagonals that matrices have, of few elements. */
#include "few.h"

/* Where a diagonal begins in a matrix, and how long it is: 0 where there is none. */
static Py_ssize_t
diagonal_of(const Elements *matrix, long k, Py_ssize_t *begin)
{
    Py_ssize_t rows = matrix->shape[0], columns = matrix->shape[1], row = k < 0 ? -k : 0, column = k > 0 ? k : 0;
    *begin = row * matrix->strides[0] + column * matrix->strides[1];
    if (row >= rows || column >= columns)
        return 0;
    return rows - row < columns - column ? rows - row : columns - column;
}

#define FAR 100000 /* diagonals beyond any matrix of few elements */

static int
is_near(PyObject *number, long *found)
{
    *found = PyLong_CheckExact(number) ? PyLong_AsLong(number) : FAR;
    PyErr_Clear(); /* where it is beyond all longs it is -1, and too far is what matters */
    return *found > -FAR && *found < FAR && (*found != -1 || PyObject_IsTrue(number));
}

/* A matrix of zeros. */
static PyObject *
empty_matrix(Elements *made, int kind, long rows, long columns)
{
    *made = (Elements){.kind = kind, .itemsize = SIZES[kind], .rank = 2};
    made->shape[0] = rows;
    made->shape[1] = columns;
    PyObject *matrix = are_few(product(rows, columns)) ? new_lazy(made) : NULL;
    if (matrix != NULL)
        memset(made->memory, 0, (size_t)(rows * columns * made->itemsize));
    return matrix;
}

/* `np.eye(N, M, k, dtype)`, or None. */
PyObject *
few_eye(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    Elements made;
    Element one;
    long rows, columns, k;
    Py_ssize_t begin;
    int is_known = count == 4 && is_near(args[0], &rows) && is_near(args[1] == Py_None ? args[0] : args[1], &columns)
                && is_near(args[2], &k) && rows > 0 && columns > 0;
    int kind = !is_known ? -1 : args[3] == (PyObject *)&PyFloat_Type ? FLOAT64 : kind_meant(args[3]);
    if (kind < 0 || kind == FLOAT16 || is_elsewhere() || is_traced() || is_seen_by_torch())
        return or_none(left_to_python());
    PyObject *number = PyLong_FromLong(1), *matrix = number == NULL ? NULL : empty_matrix(&made, kind, rows, columns);
    if (matrix != NULL && !as_element(kind, kind == BOOL ? Py_True : number, &one))
        Py_CLEAR(matrix);
    if (matrix != NULL) {
        Py_ssize_t length = diagonal_of(&made, k, &begin);
        for (Py_ssize_t i = 0; i < length; i++, begin += made.strides[0] + made.strides[1])
            memcpy(made.memory + begin, &one, (size_t)made.itemsize);
    }
    Py_XDECREF(number);
    return or_none(matrix == NULL ? left_to_python() : matrix);
}

/* `np.diag(v, k)` and `np.diagonal(v, k)`, or None: the matrix of a vector, if that is asked for, or the diagonal of a
 * matrix, which is read-only for a reason. */
static PyObject *
diagonal(PyObject *array, PyObject *place, PyObject *reason, int of_vectors)
{
    Elements made;
    long k;
    Py_ssize_t begin;
    const Elements *of = is_near(place, &k) ? lazily_held(array) : NULL;
    if (of == NULL)
        return NULL;
    if (of->rank == 2) {
        Elements part = {.memory = of->memory, .kind = of->kind, .itemsize = of->itemsize, .rank = 1};
        part.shape[0] = diagonal_of(of, k, &begin);
        part.strides[0] = of->strides[0] + of->strides[1];
        part.memory += begin;
        PyObject *view = part.shape[0] == 0 ? NULL : lazy_view(array, &part);
        if (view != NULL)
            Py_XSETREF(SLOT(view, arrays.of_reason), Py_NewRef(reason));
        return view;
    }
    long length = (k < 0 ? -k : k) + (long)of->shape[0];
    if (of->rank != 1 || !of_vectors || of->shape[0] == 0 || length >= FAR)
        return NULL;
    PyObject *matrix = empty_matrix(&made, of->kind, length, length);
    if (matrix == NULL)
        return NULL;
    diagonal_of(&made, k, &begin);
    for (Py_ssize_t i = 0; i < of->shape[0]; i++, begin += made.strides[0] + made.strides[1])
        memcpy(made.memory + begin, of->memory + i * of->strides[0], (size_t)made.itemsize);
    return matrix;
}

PyObject *
few_diag(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyObject *found = count == 3 ? diagonal(args[0], args[1], args[2], 1) : NULL;
    return or_none(found == NULL ? left_to_python() : found);
}

PyObject *
few_diagonal(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    PyObject *found = count == 3 ? diagonal(args[0], args[1], args[2], 0) : NULL;
    return or_none(found == NULL ? left_to_python() : found);
}
