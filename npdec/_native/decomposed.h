/* What the files about decomposed tensors share (decomposed.c, forms.c, linear.c). */
#ifndef NPDEC_DECOMPOSED_H
#define NPDEC_DECOMPOSED_H

#include "dlpack.h"
#include "native.h"

/* Names of attributes and methods, interned. */
extern struct names {
    PyObject *value, *residual, *components, *labels, *reverse, *discrete, *kept, *origin, *views, *class,
        *requires_grad, *is_view, *shape, *expand, *detach, *neg, *clone, *reshape, *permute, *contiguous,
        *mT, *view, *writes, *name;
} names;

/* What `attach_decomposed` was given. */
extern struct given {
    PyTypeObject *type, *parameter;           /* of decomposed tensors, and of a module's */
    PyObject *rows, *not_implemented;         /* {function of torch: what is known of it} */
    Py_ssize_t of_short, of_limit;            /* where a row has its form, and a list of views its limit */
    Py_ssize_t many;                          /* so many components are no few */
    double even[2];                           /* of single and double precision: how even the ends of a divisor are */
    double steep;                             /* factors up to this size are moderate */
    PyObject *negatives;                      /* the set of functions that are the negative */
    PyObject *link, *rows_of, *is_moderate, *residual_of, *narrowed, *matmul, *plan, *of_no_class, *part, *enable_grad,
        *merged, *empty_like, *link_lazily;                        /* functions */
} given;

extern PyObject *usual_attributes;            /* of an ordinary tensor, with None for its parts */

/* An ordinary decomposed tensor: its parts, which are held, and where their elements lie. */
typedef struct {
    PyObject *of, *value, *residual, *components, *labels;
    Array value_at, residual_at, components_at;
    int has_equal_rows;                       /* whether elements of the residual are one in memory */
} Parts;

int parts_of(PyObject *tensor, Parts *parts); /* 0, without an error, where it is no ordinary one: nothing is held */
enum { OR_CONDITIONS = 1, OR_INTEGERS, OR_COMPLEX };
int parts_of_any(PyObject *tensor, Parts *parts, int or_others); /* the same; if told so, of these as well */
void let_parts_go(Parts *parts);
int is_followed_by_torch(void);               /* a mode, or a trace, is told of all calls: those are to be Python's */
int is_observed(void);                        /* that, or somebody looks on, or a context changes the law */
int is_plain(PyObject *tensor, const Parts *beside, Array *at); /* a tensor or parameter of the dtype of another one */
int is_on_host(const Array *at);               /* whether its elements are to be read at their addresses */
int is_readable(PyObject *tensor);            /* and are the numbers that lie there, which nobody differentiates */
int is_moderate(PyObject *factor, const Array *at);
int is_no_small_divisor(const Array *at);     /* neither so small that something has to be said, nor infinite */
PyObject *rows_of(const Parts *x);            /* the residual, one of the rows that are equal */
int look_at_any(PyObject *tensor, Array *at); /* 0, without an error, where its elements do not lie in memory */
int are_alike(const Array *a, const Array *b); /* whether they have one shape */
Py_ssize_t elements_in(const Array *array);
int is_of_one_dtype(const Array *a, const Array *b);
int has_equal(const Array *array);            /* whether several elements are one in memory, by a stride of zero */

int differs(PyObject *variable, PyObject *usual); /* whether a variable has another value than the usual one */
int is_on(PyObject *function);                /* whether a function without arguments says True */
int is_by_rows(const Array *array);           /* whether its elements follow each other */
PyObject *carrying(PyObject *value);          /* a tensor of the class over the memory of a value */
int set_parts(PyObject *made, PyObject *value, PyObject *residual, PyObject *components, PyObject *labels);
/* The decomposed tensor of three parts, which are held by nobody else and fit together; they are stolen. */
PyObject *assembled(PyObject *value, PyObject *residual, PyObject *components, const Parts *x);
/* The decomposed tensor of three parts, which are stolen and may be NULL for errors; `link`: it may be a view of x. */
PyObject *built(PyObject *value, PyObject *residual, PyObject *components, const Parts *x, int link);

/* forms.c */
typedef struct form Form;
typedef PyObject *Answer(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count);
struct form {
    PyObject *function;                       /* in Python, before which it stands */
    Answer *answer;
    int traits, first, last;                  /* of a function of axes: which of its arguments are axes */
    long all_traits;                          /* as the registry has them */
    PyObject *batch, *rest;                   /* the rule for one more leading axis; what missing arguments are */
    int kind;                                 /* of that rule */
    const Form *inner;                        /* of one that watches: the form that it hands on to, or NULL */
};
Form *form_of(PyObject *function);             /* by the function in Python; one that has none has no `function` */
#define MOST_GIVEN 8 /* arguments of a function */
#define HANDFUL 16   /* elements of a value, or components: `npdec._decomposed.size_limits` */
#define FEW_COMPONENTS 1024/* elements of components */
enum { FRESH = 1, SUBTRACTS = 2, SUBTRACTS_FROM = 4, INDEXES = 8, PIECEWISE = 16, COARSE = 32, SELECTS = 64 };
enum { BY_RULE, OF_AXES, OF_KEY, RESHAPED, SQUEEZED, UNSQUEEZED, PERMUTED, SWAPPED, REDUCED };

/* leading_axes.c */
PyObject *call(PyObject *func, PyObject *first, PyObject *const *rest, Py_ssize_t count); /* func(first, *rest) */
PyObject *with_axes(const Parts *x, int rank); /* the components, as those of a value with so many axes at least */
/* The items of a list or tuple that is the only argument, or else the arguments; -1 with an error. They are those of
 * `held` then, or NULL: a list may be another one while something is made. */
Py_ssize_t unpacked(PyObject *const **items, Py_ssize_t count, PyObject **held);
/* The function of the components, beside the arguments that stand behind them; `value` is what it makes of the value. */
PyObject *of_components(const Form *form, PyObject *func, const Parts *x, PyObject *value, PyObject *const *rest,
                        Py_ssize_t count);

/* origins.c */
int is_ordinary_origin(PyObject *origin);     /* whether ordinary tensors may have it, or none */
PyObject *origin_of(PyObject *tensor);        /* borrowed; NULL where it has none, and for an error */
int has_origin(PyObject *tensor);             /* whether it is known to be something of another one; 1 for an error */
int is_square(PyObject *tensor);              /* whether that is a square; 1 for an error */
PyObject *as_square(PyObject *made, PyObject *x); /* a tensor that is told that it is the square of x */
PyObject *as_wider(PyObject *made, PyObject *x); /* or x in a wider dtype */

/* few_parts.c: what is computed in memory, of few elements; NULL, without an error, where that is torch's */
PyObject *few_negative(const Parts *x);
PyObject *few_copy_of(const Parts *x);
PyObject *few_moved(const Parts *x, double number, int traits);   /* x + number, x - number or number - x */
PyObject *few_scaled(const Parts *x, double number, int is_divided);
/* A sum or difference, and a product, of x and a constant tensor of its shape. */
PyObject *few_beside(const Parts *x, PyObject *tensor, const Array *other, int traits);
PyObject *few_times(const Parts *x, PyObject *tensor, const Array *other);
PyObject *few_sum(const Parts *x, const Parts *y, int traits);
int few_is_open(const Parts *x);
double few_element_of(const Array *at, Py_ssize_t i); /* by its place in row-major order; of a number the only one */
PyObject *few_tensor_of(const double *numbers, const Array *like, Py_ssize_t count);
enum { FEW_SUM, FEW_DIFFERENCE, FEW_PRODUCT, FEW_QUOTIENT };
PyObject *few_operation(int which, const Array *like, const Array *a, const Array *b);

/* few_taken.c: x[key], of a key with indices, and x.index_select(axis, indices) */
PyObject *few_taken(const Parts *x, PyObject *key);
PyObject *few_selected(const Parts *x, PyObject *axis, PyObject *indices);

/* few_pairs.c: the same of two, of one shape or a number and an array, and of a constant over one */
PyObject *few_sum_of_two(PyObject *const *args, int traits);
PyObject *few_product_of_two(PyObject *const *args);
PyObject *few_quotient_of_two(PyObject *const *args);
PyObject *few_over(PyObject *func, PyObject *constant, PyObject *tensor);
/* The places of other labels among these and them, which `labels` are then, no more than `most`; NULL are none. 0 where
 * Python is to say. */
int few_places(PyObject **labels, PyObject *others, Py_ssize_t most, Py_ssize_t *places);
/* The numbers of a constant beside each element; 0 where it is none of the dtype and shape, or without axes. */
int few_constant(PyObject *constant, const Parts *x, double *to, Py_ssize_t size);

/* few_spread.c: the operation of a number and a constant with axes, in the other order if it is turned. */
PyObject *few_spread(int which, const Parts *x, PyObject *tensor, const Array *at, int is_turned);

/* few_complex.c: what a function with this row gives of complex numbers that carry something, or NULL */
PyObject *few_complex_call(PyObject *row, PyObject *func, PyObject *const *args, Py_ssize_t count);

/* few_stacks.c: numbers in a row, or NULL */
PyObject *few_stacked_numbers(PyObject *func, PyObject *const *tensors, Py_ssize_t count, long dim);

/* few_steps.c: what the components of an element, so many of which these are the sum and the sum of magnitudes, are
 * multiplied with where it jumps; 0 where Python is to look at it. `size` is that of the ends of the step, of a function
 * that may move beside its jumps as well, or less than zero. */
int few_share(double jump, double step, double total, double gross, double size, Py_ssize_t count, int bits,
              double *share);

/* Whether nobody differentiates the parts of x, forwards or back, or follows what is made of them; forms are asked
 * where `is_observed` has seen to the rest. */
int are_plain_numbers(const Parts *x);

/* few_slopes.c */
typedef struct {
    double tiny, least, most, greatest, eps;  /* `npdec._law.of_few.RANGE`, eps */
} Range;
const Range *few_range(int bits);
int are_steps_usual(void);                    /* that, and whether all components are there */
int is_usual_rule(void);                      /* whether no context changes the rule of pointwise functions */
/* The components, each multiplied with the slope of its element. Of an array the slopes are numbers of its dtype, as
 * torch would multiply with; those of a number are Python's. */
PyObject *few_multiplied(const Parts *x, const double *slopes, Py_ssize_t size);

/* few_slopes.c, linear.c, arithmetic.c, matrices.c, few_writes.c, few_parts.c, few_steps.c, few_taken.c */
Answer pointwise, sigmoid, hyperbolic, power;
int are_by_place(const Form *form);           /* whether options of a function in Python are read by their places */
/* Whether the keyword that stands behind so many arguments is the factor of the second one. */
int is_with_alpha(const Form *form, Py_ssize_t count, PyObject *keywords);
Answer itself, unless_training, each, of_one, like_another, filled, cloned, contiguous, detached, joined, or_square, unless_near, unless_square, also;
Answer added, scaled, divided;
Answer matmul, layer, written_over, cast, stepped, compared, mask_selected, softened, normalised;
Answer affine; /* reverse_affine.c */
Answer led, measured, log_summed, larger, turned, chosen, lost; /* reverse_rows.c, reverse_larger.c, reverse_choices.c, reverse_lost.c */

/* reverse.c: the same of tensors in reverse mode */
PyObject *reversed_layer(PyObject *func, PyObject *const *args, Py_ssize_t count);
PyObject *reversed_added(PyObject *func, PyObject *const *args, Py_ssize_t count);
PyObject *reversed_scaled(PyObject *func, PyObject *const *args, Py_ssize_t count, int is_divided);
PyObject *reversed_matmul(PyObject *func, PyObject *const *args, Py_ssize_t count);
int is_finite(const Array *at);               /* whether it lies on the host by rows, and is of finite numbers */
PyObject *reversed_each(PyObject *func, PyObject *const *args, int fresh);
PyObject *reversed_joined(PyObject *func, PyObject *const *tensors, Py_ssize_t many, PyObject *axis);
PyObject *reversed_of_one(const Form *form, PyObject *func, PyObject *const *args, Py_ssize_t count);

#endif
