/* What lazy arrays share, for those files that make and end it (lazy.c, holding.c). */
#ifndef NPDEC_LAZY_H
#define NPDEC_LAZY_H

#include "dlpack.h"
#include "native.h"

/* What several lazy arrays look at. */
struct memory {
    Py_ssize_t references;  /* of elements */
    struct block *block;    /* where it lies, until a tensor owns that; else NULL */
    PyObject *tensor;       /* the one over all of it, or NULL */
    PyObject *family;       /* of the arrays over it, where there was one before; else NULL */
    Elements *first;        /* those that look at it */
    int is_written;         /* after the tensor was made */
    int is_lent;            /* the tensor, or a view of it, to a function that may keep it for a gradient */
};

/* What a tensor is made of. Memory that is npdec's until then follows, at a multiple of 64 bytes as torch has it. */
struct block {
    Managed managed;
    int64_t shape[MOST_AXES], strides[MOST_AXES];
    size_t size;  /* in bytes, with the memory */
};
#define ALIGNMENT 64
struct block *new_block(size_t size);                 /* NULL where there is none, without an error */
void free_block(struct block *block);                 /* or NULL; Python's lock is not needed */

/* What torch is asked, and npdec. */
extern struct asked {
    PyObject *use_count, *increment_version, *functions, *is_inference, *is_transformed, *is_grad, *is_traced,
        *ordinarily, *reverse, *stand, *profiler, *is_profiled, *settler, *zero;
} asked;
extern const Exchange *exchange;

/* A tensor of so many elements in the shape of another one, by rows, and where they are to be written. */
PyObject *tensor_by_rows(int kind, const Array *like, Py_ssize_t size, char **memory);
Elements *elements_over(struct memory *memory, PyObject *array, const Elements *like); /* NULL with an error */
void let_go(struct memory *memory);
void leave(Elements *elements);                       /* the memory that they are over */
int forwards(const Elements *part, Elements *found);  /* parts.c: how its axes run */
PyObject *copy_for_torch(PyObject *array);            /* of one whose axes run backwards: torch has no such strides */
int make_tensor(struct memory *memory, int kind);     /* over a memory, of which that is from then on */
int is_ordinary(const struct memory *memory);         /* no mode, transform or `no_grad` sees a tensor that is made now */

#endif
