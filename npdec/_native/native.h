/* What the files of this folder share. */
#ifndef NPDEC_NATIVE_H
#define NPDEC_NATIVE_H
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>

/* Counts the changes of what `attach_...` take, as `npdec/_native/__init__.py` does. */
#define INTERFACE 27

/* The dtypes that a Python number holds. */
enum kind { BOOL, INT8, INT16, INT32, INT64, UINT8, UINT16, UINT32, UINT64, FLOAT16, FLOAT32, FLOAT64, COMPLEX64,
            COMPLEX128, KINDS };

/* Numbers, as C has them. */
typedef signed char int8;
typedef short int16;
typedef int int32;
typedef long long int64;
typedef unsigned char uint8;
typedef unsigned short uint16;
typedef unsigned int uint32;
typedef unsigned long long uint64;
typedef struct {
    float real, imag;
} complex64;
typedef struct {
    double real, imag;
} complex128;

#define IS_WHOLE(kind) ((kind) >= INT8 && (kind) <= UINT64)
#define IS_REAL(kind) ((kind) >= FLOAT16 && (kind) <= FLOAT64)
#define IS_COMPLEX(kind) ((kind) >= COMPLEX64)

#define SLOT(object, offset) (*(PyObject **)((char *)(object) + (offset)))

/* scalars.c */
int kind_of_type(PyTypeObject *type);                 /* the kind of a class of scalars, or -1 */
int kind_of_letter(const char *letter);               /* of a dtype's letter, or -1 with ValueError */
PyTypeObject *type_of_kind(int kind);
PyObject *number_of(PyObject *scalar, int kind);      /* borrowed; NULL, without an error, where a scalar has none */
PyObject *float64_of(double number);
PyObject *scalar_of(int kind, PyObject *number);      /* steals the number, and takes NULL for an error */
extern PyObject *bools[2];                            /* np.False_ and np.True_ */
int as_double(PyObject *number, double *found);       /* nearest to a float or an integer; 0 where there is none */
int rounded(int kind, double *number);                /* to a dtype; 0 where a finite one leaves its range */
int in_range(int kind, PyObject *number);             /* whether an integer is one of the dtype's */
int is_watching(void);                                /* whether somebody looks for floating-point errors */

/* arrays.c */
extern struct arrays {
    PyTypeObject *type, *tensor;                      /* of arrays, and of tensors that carry nothing */
    Py_ssize_t of_tensor, of_dtype, of_family, of_window, of_reason, of_elements; /* the slots of arrays */
} arrays;
extern struct families {                              /* those of arrays over one memory */
    PyTypeObject *type;
    Py_ssize_t of_limit, of_most, of_origin, of_mirrors, of_mixed;
} families;
extern struct words {                                 /* attributes of torch's tensors, interned */
    PyObject *dim, *t, *numel, *dtype, *is_cpu, *requires_grad, *is_contiguous, *untyped_storage, *cdata, *data_ptr,
        *shape, *stride, *clone, *layout, *is_neg, *is_conj, *is_inference, *storage_offset, *nbytes, *base,
        *item, *as_strided, *use_count;
} words;
int is_true_of(PyObject *tensor, PyObject *word);     /* whether an attribute is True; 0 for an error, too */
int is_true_by(PyObject *tensor, PyObject *word);     /* the same of a method */
int is_followed(void);                                /* whether torch.func or a tangent follows; 1 for an error */
int is_transformed(void);                             /* whether torch.func runs the code; 1 for an error */
int is_in_mode(void);                                 /* whether a mode of torch looks at all that is computed */
PyObject *array_of(PyObject *tensor, PyObject *dtype); /* a new array that has axes; steals the tensor */
int join(PyObject *family, PyObject *array);          /* add it to those over one memory; 0, or -1 with an error */
PyObject *family_of(PyObject *array);                 /* made if there is none, borrowed; NULL where that is Python's */
PyObject *view_of(PyObject *array, PyObject *seen);   /* over a tensor, which is stolen; as the next */
int kind_of_key(PyObject *key, int backwards);        /* 1: it gives a view, 2: perhaps an element, 0: another */
PyObject *part_of(PyObject *array, PyObject *key);    /* the view that a key chooses, or NULL without an error */
PyObject *kept_number(PyObject *number, PyObject *dtype); /* the tensor that is kept of it, borrowed, or NULL */
long rank_of(PyObject *tensor);                       /* 0 or less for an error, too */
int names_part(PyObject *tensor, PyObject *key);      /* whether a key names more than one element; 0 for other keys */
PyObject *or_none(PyObject *found);                    /* None for NULL without an error */
PyObject *left_to_python(void);                       /* NULL, with no error but an interrupt: Python meets it again */

/* writes.c */
int is_free(PyObject *array);                         /* whether a write into its memory is all; 0 for an error, too */
int can_write(PyObject *array);                       /* the same, where its elements are plain numbers on the host */
int tell(PyObject *array);                            /* says that it is written now; 0, or -1 with an error */
PyObject *written_tensor(PyObject *array);            /* its tensor, if it has no graph, borrowed, or NULL */
int are_apart(PyObject *a, PyObject *b);              /* whether two tensors have memory of their own each */
int write_part(PyObject *array, PyObject *key, PyObject *value);

/* windows.c */
#define MOST_AXES 8 /* of arrays with more, elements are Python's */
typedef struct elements {
    PyObject_HEAD
    char *memory;
    int kind, rank, is_whole;                         /* of a lazy array: whether it has all of its memory */
    int uses;                                         /* of a window: how often it was found open */
    Py_ssize_t itemsize, shape[MOST_AXES], strides[MOST_AXES]; /* the strides in bytes */
    struct memory *of;                                /* what a lazy array shares with others; else NULL */
    PyObject *array;                                  /* the lazy array, which holds these elements */
    PyObject *seen;                                   /* of a lazy array: the view that torch has read it by, or NULL */
    struct elements *next, *before;
} Elements;
extern PyTypeObject *elements_type;
extern const Py_ssize_t SIZES[KINDS];
int kind_of_dtype(PyObject *dtype);                   /* or -1 */
PyObject *dtype_of_kind(int kind);                    /* borrowed */
Elements *new_elements(const Elements *like);
PyObject *scalar_at(const Elements *elements, const char *place); /* the scalar of the element there */
PyObject *make_elements(PyTypeObject *type, PyObject *args, PyObject *keywords);
int look_at(PyObject *array, Elements *elements);     /* where they lie now; 0 where not just in memory */
int open_simply(PyObject *array);                     /* open the window of one that has its memory alone; 0 if not */

/* lazy.c */
PyObject *new_lazy(Elements *whole);                  /* a lazy array of a shape and kind; the rest is filled in */
PyObject *new_lazy_laid(Elements *whole, Py_ssize_t size); /* the same, with strides, of so many bytes */
PyObject *lazy_view(PyObject *array, const Elements *part); /* of a lazy array */
PyObject *empty_array(const Elements *part);          /* which has no elements, and a tensor */
PyObject *empty_view(PyObject *array, const Elements *part); /* the same, which has no elements, and a tensor */
int settle(PyObject *array);                          /* make the tensors of a lazy array and all over its memory */
PyObject *tensor_of(PyObject *array);                 /* borrowed, if it carries nothing; else NULL */
PyObject *lent_tensor(PyObject *array);               /* to be read: a lazy array stays lazy; NULL with an error */
PyObject *viewed_tensor(PyObject *array);             /* of which views are made; lazy unless an axis runs backwards */
/* The view of a lazy array that looks at what a view of that tensor does, read-only where a reason is given. NULL, and
 * the array settled, where it is none, or another's memory. */
PyObject *lazily_seen(PyObject *array, PyObject *tensor, PyObject *reason);
typedef struct {
    struct memory *memory;
    char *lent;
} Reading;
/* The same, to be read only while a function of torch runs; `is_seen`: whether that follows. */
PyObject *read_tensor(PyObject *array, Reading *reading, int is_seen);
int has_read(Reading *reading, PyObject *result); /* 0 where the result looks at what was lent */
int tell_of_write(PyObject *tensor);                  /* for autograd; 0, or -1 with an error */
int is_off(PyObject *function);                       /* whether a call without arguments gives False, or 0 */
int is_profiled(void);                                /* whether torch's profiler follows; 1 for an error */
int is_seen_by_torch(void);                           /* whether a mode, a transform or the profiler follows */
int elements_of(PyObject *array, Elements *here, const Elements **found); /* where few lie; 0 where that is Python's */
int hold(PyObject *array);                            /* make an array lazy that has a tensor for itself; 0 where not */
const Elements *lazily_held(PyObject *array);         /* it is lazy then; NULL, maybe with an error, for Python */
int look_at_tensor(PyObject *tensor, PyObject *dtype, int is_any, Elements *found);
const int64 *shape_in_torch(PyObject *tensor, int *rank); /* NULL, maybe with an error, where torch does not say */
int gives_scalars(PyObject *array);                   /* whether what is made of it without axes is a scalar: of a view */
void written(PyObject *array);                        /* says that a lazy array was */
void free_elements(Elements *elements);
int holds_alone(PyObject *tensor);                    /* whether nobody but an array holds it, or looks at its memory */

/* Of numbers that follow each other compilers compute several at once: more where the processor can. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define BY_PROCESSOR __attribute__((target_clones("avx2", "default")))
#else
#define BY_PROCESSOR
#endif

/* loops.c */
#define SAME -1
typedef void Inner(char *to, const char *a, const char *b, Py_ssize_t count, const Py_ssize_t *strides);
typedef struct {
    const char *name;
    int result;                                       /* its kind, or SAME */
    Inner *of[KINDS];
    Inner *unless[2];                                 /* of floats and doubles: marks where torch decides, or NULL */
    int is_product;                                   /* 1: of complex numbers by real ones, of two torch decides */
    int is_quotient;                                  /* 1: of integers it is computed in float64 */
    Py_ssize_t most;                                  /* of more floats torch is sooner; 0 where that is never so */
} Loops;
const Loops *loops_of(const char *name);              /* NULL where there are none */

/* few.c */
Py_ssize_t product(Py_ssize_t a, Py_ssize_t b);       /* of sizes; no more than is computed here */
int are_few(Py_ssize_t size);                         /* so few elements that torch computes them in one thread */
PyObject *few_of_one(const Loops *loops, PyObject *x);
PyObject *few_of_two(const Loops *loops, PyObject *x, PyObject *y, int is_turned);
PyObject *few_of_scalars(const Loops *loops, PyObject *x, PyObject *y);
PyObject *few_of_scalar(const Loops *loops, PyObject *x); /* the same of one */
PyObject *few_in_place(const Loops *loops, PyObject *x, PyObject *y);
PyObject *few_into(const Loops *loops, PyObject *x, PyObject *y, PyObject *out); /* y is NULL for a ufunc of one */
int few_written(PyObject *array, const Elements *to, PyObject *value); /* 1: it is done, 0: that is Python's */

int is_in_order(const Elements *elements);            /* whether the axes of a result would be in theirs */
int lie_dense(const Elements *of, Py_ssize_t itemsize, Py_ssize_t *strides); /* in another order, that of a copy */

/* creation.c */
int kind_of_number(PyObject *item);

/* The kind that is meant by a class of numbers, a dtype, its name, or None; -1, and maybe an error, for others. */
int kind_meant(PyObject *dtype);
int is_elsewhere(void);                               /* whether new arrays may be of another device */

/* copies.c */
enum layout { AS_THEY_LIE, BY_ROWS, BY_COLUMNS, IN_ONE_AXIS };
PyObject *copied_as(PyObject *array, int kind, int layout);
PyObject *laid_as(PyObject *array, int kind, int layout);
PyObject *stacked(PyObject *items);                   /* a list of arrays of one dtype, along a new axis; or NULL */

/* views.c */
/* The shape that an int is, or a tuple of ints, of which one may be -1 where its place is asked for: the product of the
 * others, which is no more than is computed here; 0 where it is another, or empty, which is Python's. */
Py_ssize_t read_shape(PyObject *shape, int *open, Elements *made);

/* choice.c */
PyObject *few_chosen(PyObject *array, PyObject *key); /* what an array of indices or a mask chooses, or NULL */
int is_column(PyObject *array, PyObject *key);        /* whether it is such a vector and None, of a vector */
PyObject *few_column(PyObject *array, PyObject *key); /* what that chooses, with another axis; or NULL */
int few_put(PyObject *array, PyObject *key, PyObject *value); /* writes there: 1 where that is done, 0 where not */

/* keys.c */
/* A key with arrays of int64 for its other indices: a reference, NULL where there are none, or that is Python's. */
PyObject *ready_key(PyObject *array, PyObject *key);

/* decomposed.c, forms.c */
extern PyType_Spec method_spec;

/* picking.c */
int has_arrays(PyObject *key);                        /* whether it is a tuple with an array in it */
PyObject *few_picked(PyObject *array, PyObject *key); /* what a tuple with arrays of indices in it chooses, or NULL */
int few_put_picked(PyObject *array, PyObject *key, PyObject *value); /* 1 where that is done, 0 where not */
int few_at_picked(const Loops *loops, PyObject *array, PyObject *key, PyObject *value); /* the same of a ufunc */

/* parts.c */
int sliced(PyObject *slice, Py_ssize_t size, Py_ssize_t *start, Py_ssize_t *step); /* its length, or -1 for Python */
int part_by(const Elements *whole, PyObject *key, Elements *part); /* 1: a view, 2: an element, 0: that is Python's */

/* iteration.c */
extern PyType_Spec iterator_spec;
extern PyTypeObject *iterator_type;

/* numbers.c */
/* One element, as C has it. In memory it may lie at any address: of what `np.frombuffer` looks at, at odd ones. */
typedef union {
    signed char int8;
    short int16;
    int int32;
    long long int64;
    unsigned char uint8;
    unsigned short uint16;
    unsigned int uint32;
    unsigned long long uint64;
    char float16[2];
    float float32, complex64[2];
    double float64, complex128[2];
} Element;
int as_element(int kind, PyObject *number, Element *at); /* 0, without an error, where the dtype has none for it */
int taken_as(int kind, PyObject *value, Element *at);  /* as an array takes a number; 0 where Python says it */
PyObject *number_at(const Elements *elements, const char *place); /* the Python number that lies there */

/* properties.c */
int attach_properties(PyObject *functions);              /* -1, with an error, or 0 */

/* elements.c */
int as_index(PyObject *key, Py_ssize_t *index);       /* of an int or an integer scalar; 0 where it is neither */
int close_window(PyObject *array);                    /* if it alone holds the tensor beside its array; 0 if not */
extern PyType_Spec elements_spec;

/* slopes.c */
PyObject *smooth_numbers(PyObject *, PyObject *const *, Py_ssize_t), *mean_power(PyObject *, PyObject *const *, Py_ssize_t),
    *jumps_of_arrays(PyObject *, PyObject *const *, Py_ssize_t), *over_zero(PyObject *, PyObject *const *, Py_ssize_t),
    *divided_by_zero(PyObject *, PyObject *const *, Py_ssize_t),
    *smooth_beside(PyObject *, PyObject *const *, Py_ssize_t), *few_mapped(PyObject *, PyObject *const *, Py_ssize_t),
    *few_numbers(PyObject *, PyObject *);
PyObject *numbers_as(PyObject *, PyObject *const *, Py_ssize_t), *complex_chosen(PyObject *, PyObject *const *, Py_ssize_t);

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

#include "functions.h"

#endif
