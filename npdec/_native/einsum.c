/* `np.einsum` of two arrays of few floats, summed over one label that both have: torch makes matrices of them, and adds the
 * products of small ones one after the other. Whatever takes other steps is left to it. */
#include "few.h"

#define LOOPED 400 /* products of a matrix, from which on torch asks the BLAS */

typedef struct {
    const char *memory;
    Py_ssize_t strides[MOST_AXES];
    char labels[MOST_AXES + 1];
    int rank;
} Term;

/* The labels up to a comma, the arrow or the end; NULL where there are other signs, or a label twice. */
static const char *
read_labels(const char *text, char *labels, int *rank)
{
    *rank = 0;
    for (; *text != '\0' && *text != ',' && *text != '-'; text++) {
        int is_letter = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z');
        if (*text == ' ')
            continue;
        if (!is_letter || *rank == MOST_AXES || memchr(labels, *text, (size_t)*rank) != NULL)
            return NULL;
        labels[(*rank)++] = *text;
    }
    labels[*rank] = '\0';
    return text;
}

/* Labels that occur once, in their order. */
static int
implied(const Term *terms, int count, char *labels)
{
    int rank = 0;
    for (int label = 'A'; label <= 'z' && rank <= MOST_AXES; label++) {
        int found = 0;
        for (int i = 0; i < count; i++)
            found += strchr(terms[i].labels, label) != NULL;
        if (found == 1 && rank < MOST_AXES)
            labels[rank] = (char)label;
        rank += found == 1;
    }
    if (rank > MOST_AXES)
        return -1;
    labels[rank] = '\0';
    return rank;
}

/* The terms and the labels of the result; -1 where they are not as is computed here. All lengths are above 1. */
static int
read_terms(const char *text, PyObject *const *operands, int count, int kind, Term *terms, char *out, Py_ssize_t *sizes)
{
    int rank;
    for (int i = 0; i < count; i++) {
        Elements here;
        const Elements *of;
        Term *term = &terms[i];
        if ((text = read_labels(text, term->labels, &term->rank)) == NULL || (i + 1 < count && *text++ != ',')
            || !elements_of(operands[i], &here, &of) || of->rank != term->rank || of->kind != kind)
            return -1;
        term->memory = of->memory;
        for (int axis = 0; axis < of->rank; axis++) {
            Py_ssize_t *size = &sizes[(int)term->labels[axis]];
            term->strides[axis] = of->strides[axis];
            if (of->shape[axis] < 2 || (*size != 0 && *size != of->shape[axis]))
                return -1;
            *size = of->shape[axis];
        }
    }
    if (*text == '\0')
        return implied(terms, count, out);
    if (text[0] != '-' || text[1] != '>' || (text = read_labels(text + 2, out, &rank)) == NULL || *text != '\0')
        return -1;
    for (int axis = 0; axis < rank; axis++)
        if (sizes[(int)out[axis]] == 0)
            return -1;
    return rank;
}

static Py_ssize_t
stride_of(const Term *term, char label)
{
    const char *found = strchr(term->labels, label);
    return found == NULL ? 0 : term->strides[found - term->labels];
}

/* What is summed, and the loops over what is left, first to last in memory. */
typedef struct {
    char kept[MOST_AXES + 1], summed;
    int rank;
    Py_ssize_t size, products;
} Plan;

/* 0 where torch takes another step. */
static int
is_planned(const Term *a, const Term *b, const char *out, const Py_ssize_t *sizes, Plan *plan)
{
    plan->rank = plan->summed = 0;
    plan->size = plan->products = 1;
    for (int i = 0; i < 2; i++)
        for (const char *label = (i ? b : a)->labels; *label; label++) {
            int is_both = strchr((i ? a : b)->labels, *label) != NULL;
            if (strchr(out, *label) != NULL)
                continue;
            if (!is_both || (plan->summed && plan->summed != *label))
                return 0;
            plan->summed = *label;
        }
    for (int which = 0; which < 3; which++) /* of both, of the first, of the second */
        for (const char *label = out; *label; label++) {
            int in_a = strchr(a->labels, *label) != NULL, in_b = strchr(b->labels, *label) != NULL;
            if (in_a != (which != 2) || in_b != (which != 1))
                continue;
            plan->kept[plan->rank++] = *label;
            plan->size = product(plan->size, sizes[(int)*label]);
            if (which)
                plan->products = product(plan->products, sizes[(int)*label]);
        }
    plan->kept[plan->rank] = '\0';
    plan->products = product(plan->products, sizes[(int)plan->summed]);
    return plan->summed && plan->products < LOOPED && are_few(plan->size);
}

#define CONTRACT(type) \
    static void contract_##type(const Plan *plan, const Term *x, const Term *y, const Py_ssize_t *sizes, char *memory) \
    { \
        Py_ssize_t at[MOST_AXES] = {0}, by_a[MOST_AXES], by_b[MOST_AXES]; \
        const char *a = x->memory, *b = y->memory; \
        type *to = (type *)memory; \
        for (int axis = 0; axis < plan->rank; axis++) { \
            by_a[axis] = stride_of(x, plan->kept[axis]); \
            by_b[axis] = stride_of(y, plan->kept[axis]); \
        } \
        const Py_ssize_t count = sizes[(int)plan->summed]; \
        const Py_ssize_t next_a = stride_of(x, plan->summed), next_b = stride_of(y, plan->summed); \
        for (Py_ssize_t done = 0; done < plan->size; done++) { \
            type sum = 0; \
            for (Py_ssize_t k = 0; k < count; k++) { \
                const type made = *(const type *)(a + k * next_a) * *(const type *)(b + k * next_b); \
                sum += made; \
            } \
            *to++ = sum; \
            for (int axis = plan->rank; axis-- > 0;) { \
                a += by_a[axis]; \
                b += by_b[axis]; \
                if (++at[axis] < sizes[(int)plan->kept[axis]]) \
                    break; \
                a -= at[axis] * by_a[axis]; \
                b -= at[axis] * by_b[axis]; \
                at[axis] = 0; \
            } \
        } \
    }
CONTRACT(double)
CONTRACT(float)

/* An array of what two terms give; or a scalar. */
static PyObject *
delivered(int kind, const Plan *plan, const Term *a, const Term *b, const Py_ssize_t *sizes)
{
    Elements made = {.kind = kind, .itemsize = SIZES[kind], .rank = plan->rank};
    Element one;
    for (int axis = 0; axis < plan->rank; axis++)
        made.shape[axis] = sizes[(int)plan->kept[axis]];
    PyObject *array = plan->rank == 0 ? NULL : new_lazy(&made);
    if (array == NULL && plan->rank > 0)
        return NULL;
    (kind == FLOAT64 ? contract_double : contract_float)(plan, a, b, sizes, array == NULL ? (char *)&one : made.memory);
    return array == NULL ? scalar_at(&made, (char *)&one) : array;
}

/* Torch exchanges the two so that the last axis of the result comes from the second. */
static int
is_exchanged(const Term *a, const Term *b, const char *out)
{
    for (size_t axis = strlen(out); axis-- > 0;) {
        int in_a = strchr(a->labels, out[axis]) != NULL, in_b = strchr(b->labels, out[axis]) != NULL;
        if (in_a != in_b)
            return in_a;
    }
    return 0;
}

static PyObject *
contracted(const char *text, PyObject *const *operands, int kind)
{
    Py_ssize_t sizes[128] = {0};
    char out[MOST_AXES + 1];
    Term terms[2];
    Plan plan;
    if (read_terms(text, operands, 2, kind, terms, out, sizes) < 0)
        return NULL;
    int first = is_exchanged(&terms[0], &terms[1], out);
    if (!is_planned(&terms[first], &terms[!first], out, sizes, &plan) || strcmp(plan.kept, out) != 0)
        return NULL; /* of results that lie otherwise torch says how */
    return delivered(kind, &plan, &terms[first], &terms[!first], sizes);
}

/* `np.einsum(subscripts, a, b)`, or None. */
PyObject *
few_einsum(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    int is_known = count == 3 && PyUnicode_CheckExact(args[0]) && PyUnicode_IS_ASCII(args[0])
                && Py_IS_TYPE(args[1], arrays.type) && Py_IS_TYPE(args[2], arrays.type)
                && SLOT(args[1], arrays.of_dtype) == SLOT(args[2], arrays.of_dtype);
    int kind = is_known ? kind_of_dtype(SLOT(args[1], arrays.of_dtype)) : -1;
    if ((kind != FLOAT64 && kind != FLOAT32) || is_watching() || is_traced() || is_seen_by_torch())
        return or_none(left_to_python());
    PyObject *found = contracted(PyUnicode_AsUTF8(args[0]), args + 1, kind);
    return or_none(found == NULL ? left_to_python() : found);
}
