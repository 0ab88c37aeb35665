/* What the files of this folder share. */
#ifndef NPDEC_NATIVE_H
#define NPDEC_NATIVE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Counts the changes of what `attach_...` take, as `npdec/_native/__init__.py` does. */
#define INTERFACE 2

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
extern PyObject *bools[2];                            /* np.False_ and np.True_ */
int as_double(PyObject *number, double *found);       /* nearest to a float or an integer; 0 where there is none */
int rounded(int kind, double *number);                /* to a dtype; 0 where a finite one leaves its range */
int in_range(int kind, PyObject *number);             /* whether an integer is one of the dtype's */
int is_watching(void);                                /* whether somebody looks for floating-point errors */
PyObject *scalar_from(PyObject *module, PyObject *tensor);
PyObject *attach_scalars(PyObject *module, PyObject *args);

/* operators.c */
PyObject *attach_operator(PyObject *module, PyObject *args);

/* arrays.c */
extern struct arrays {
    PyTypeObject *type, *tensor;                      /* of arrays, and of tensors that carry nothing */
    Py_ssize_t of_tensor, of_dtype, of_family, of_window, of_reason; /* the slots of arrays */
} arrays;
extern struct families {                              /* those of arrays over one memory */
    PyTypeObject *type;
    Py_ssize_t of_limit, of_most, of_origin, of_mirrors, of_mixed;
} families;
extern struct words {                                 /* attributes of torch's tensors, interned */
    PyObject *dim, *t, *numel, *dtype, *is_cpu, *requires_grad, *is_contiguous, *untyped_storage, *cdata, *data_ptr,
        *shape, *stride, *clone, *layout, *is_neg, *is_conj, *is_inference, *storage_offset, *nbytes, *base,
        *item;
} words;
int is_true_of(PyObject *tensor, PyObject *word);     /* whether an attribute is True; 0 for an error, too */
int is_true_by(PyObject *tensor, PyObject *word);     /* the same of a method */
int is_followed(void);                                /* whether torch.func or a tangent follows; 1 for an error */
int is_in_mode(void);                                 /* whether a mode of torch looks at all that is computed */
PyObject *array_of(PyObject *tensor, PyObject *dtype); /* a new array that has axes; steals the tensor */
PyObject *family_of(PyObject *array);                 /* made if there is none, borrowed; NULL where that is Python's */
PyObject *view_of(PyObject *array, PyObject *seen);   /* over a tensor, which is stolen; as the next */
int kind_of_key(PyObject *key);                       /* 1: it gives a view, 2: perhaps an element, 0: another */
PyObject *part_of(PyObject *array, PyObject *key);    /* the view that a key chooses, or NULL without an error */
PyObject *kept_number(PyObject *number, PyObject *dtype); /* the tensor that is kept of it, borrowed, or NULL */
long rank_of(PyObject *tensor);                       /* 0 or less for an error, too */
int names_part(PyObject *tensor, PyObject *key);      /* whether a key names more than one element; 0 for other keys */
PyObject *left_to_python(void);                       /* NULL, with no error but an interrupt: Python meets it again */
PyObject *view(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *attach_arrays(PyObject *module, PyObject *args);

/* writes.c */
int is_free(PyObject *array);                         /* whether a write into its tensor is all; 0 for an error, too */
PyObject *written_tensor(PyObject *array);            /* its tensor, if it has no graph, borrowed, or NULL */
int are_apart(PyObject *a, PyObject *b);              /* whether two tensors have memory of their own each */
int write_part(PyObject *array, PyObject *key, PyObject *value);
PyObject *attach_writes(PyObject *module, PyObject *args);

/* calls.c */
PyObject *attach_call(PyObject *module, PyObject *args);

/* windows.c */
#define MOST_AXES 8 /* of arrays with more, elements are Python's */
typedef struct {
    PyObject_HEAD
    char *memory;
    int kind, rank;
    Py_ssize_t itemsize, shape[MOST_AXES], strides[MOST_AXES]; /* the strides in bytes */
} Elements;
extern PyTypeObject *elements_type;
int kind_of_dtype(PyObject *dtype);                   /* or -1 */
PyObject *make_elements(PyTypeObject *type, PyObject *args, PyObject *keywords);
int look_at(PyObject *array, Elements *elements);     /* where they lie now; 0 where not just in memory */
int open_simply(PyObject *array);                     /* open the window of one that has its memory alone; 0 if not */
PyObject *attach_windows(PyObject *module, PyObject *args);

/* iteration.c */
extern PyType_Spec iterator_spec;

/* elements.c */
PyObject *number_at(const Elements *elements, const char *place); /* the Python number that lies there */
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
