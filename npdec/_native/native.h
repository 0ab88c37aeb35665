/* What the files of this folder share. */
#ifndef NPDEC_NATIVE_H
#define NPDEC_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* The dtypes that a Python number holds. */
enum kind { BOOL, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, FLOAT16, FLOAT32, FLOAT64, COMPLEX64,
            COMPLEX128, KINDS };

#define IS_WHOLE(kind) ((kind) >= INT8 && (kind) <= UINT64)
#define IS_REAL(kind) ((kind) >= FLOAT16 && (kind) <= FLOAT64)
#define IS_COMPLEX(kind) ((kind) >= COMPLEX64)

#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

/* scalars.c */
int kind_of_type(PyTypeObject *type);                 /* the kind of a class of scalars, or -1 */
int kind_of_letter(const char *letter);               /* of a dtype's letter, or -1 with ValueError */
PyTypeObject *type_of_kind(int kind);
PyObject *number_of(PyObject *scalar, int kind);      /* borrowed; NULL, without an error, where a scalar has none */
PyObject *scalar_of(int kind, PyObject *number);      /* steals the number, and takes NULL for an error */
int is_watching(void);                                /* whether somebody looks for floating-point errors */
PyObject *attach_scalars(PyObject *module, PyObject *args);
PyObject *attach_operator(PyObject *module, PyObject *args);

/* arrays.c */
extern struct arrays {
    PyTypeObject *type, *tensor;                      /* of arrays, and of tensors that carry nothing */
    Py_ssize_t of_tensor, of_dtype, of_family, of_window; /* the slots of arrays */
} arrays;
int is_in_mode(void);                                 /* whether a mode of torch looks at all that is computed */
PyObject *array_of(PyObject *tensor, PyObject *dtype); /* a new array that has axes; steals the tensor */
PyObject *view_of(PyObject *array, PyObject *seen);   /* a view of an array over a tensor, which is stolen; as the next */
PyObject *part_of(PyObject *array, PyObject *key);    /* the view that a key chooses, or NULL without an error */
int has_axes(PyObject *tensor);                       /* 0 for an error, too */
PyObject *left_to_python(void);                       /* NULL, with no error but an interrupt: Python meets it again */
PyObject *attach_arrays(PyObject *module, PyObject *args);

/* calls.c */
PyObject *attach_call(PyObject *module, PyObject *args);

/* elements.c */
PyObject *attach_elements(PyObject *module, PyObject *args);
PyObject *references(PyObject *module, PyObject *sample);
extern PyType_Spec elements_spec;

/* module.c */
Py_ssize_t offset_of(PyObject *member);               /* where a slot lies in an instance, or -1 with TypeError */
int stand_before(PyObject *function, vectorcallfunc ordinary); /* 0, or -1 with TypeError */
PyObject *go_on(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *names); /* to what Python says */

/* Whether a debugger, a profiler or `np.debug` is told of this thread's calls: then all of them are Python's. */
static inline int
is_traced(void)
{
    PyThreadState *thread = PyThreadState_Get();
    return thread->c_profilefunc != NULL || thread->c_tracefunc != NULL;
}

#endif
