/* Ufuncs, operators and writes of few elements, where `loops.c` has what they compute. */
#include "products.h"

/* --- what is computed --------------------------------------------------------------------------------------------- */

/* A new array of a shape: its axes lie in memory as those of elements do that fill theirs; NULL where that is Python's. */
static PyObject *
new_like(Elements *made, const Elements *of)
{
    if (is_in_order(of))
        return new_lazy(made);
    return lie_dense(of, made->itemsize, made->strides) ? new_lazy_laid(made, size_of(of) * made->itemsize) : NULL;
}

/* Whether torch orders the axes of a result of this shape as this operand's, which comes first, whatever the others are. */
static int
leads(const Elements *first, const Elements *made)
{
    int axis = 0;
    if (first->rank != made->rank)
        return 0;
    while (axis < made->rank && made->shape[axis] > 1 && first->shape[axis] == made->shape[axis] && first->strides[axis] > 0)
        axis++;
    return axis == made->rank;
}

/* Whether two operands have the same axes in the same order, or one has none. */
static int
lie_alike(const Operand *a, const Operand *b)
{
    if (a->given != NULL || a->at->rank == 0 || b->given != NULL || b->at->rank == 0)
        return 1;
    int are_so = a->at->rank == b->at->rank;
    for (int axis = 0; are_so && axis < a->at->rank; axis++)
        are_so = a->at->shape[axis] == b->at->shape[axis]
              && a->at->strides[axis] / a->at->itemsize == b->at->strides[axis] / b->at->itemsize;
    return are_so;
}

PyObject *
few_of_one(const Loops *loops, PyObject *x)
{
    Operand a;
    Elements made;
    if (is_watching() || !taken(x, &a) || loops->of[a.kind] == NULL || !are_few(size_of(a.at)) || is_seen_by_torch())
        return left_to_python();
    Py_ssize_t by[3][MOST_AXES] = {{0}};
    made.rank = a.at->rank;
    made.kind = loops->result == SAME ? a.kind : loops->result;
    made.itemsize = SIZES[made.kind];
    for (int axis = 0; axis < made.rank; axis++) {
        if ((made.shape[axis] = a.at->shape[axis]) == 0)
            return NULL;
        by[1][axis] = a.at->strides[axis];
    }
    if (made.rank == 0)
        return NULL;
    PyObject *result = new_like(&made, a.at);
    if (result != NULL) {
        memcpy(by[0], made.strides, sizeof(made.strides));
        over(loops->of[a.kind], made.rank, made.shape, made.memory, a.at->memory, a.at->memory, by);
    }
    return result;
}

/* Whether torch says what a ufunc of two floats gives: the larger and the smaller of zeros of both signs. */
static int
is_open(const Loops *loops, int kind, int rank, const Py_ssize_t *shape, const char *a, const char *b,
        Py_ssize_t (*by)[MOST_AXES])
{
    char found = 0;
    if (!IS_REAL(kind) || loops->unless[kind == FLOAT64] == NULL)
        return 0;
    memset(by[0], 0, sizeof(by[0]));
    over(loops->unless[kind == FLOAT64], rank, shape, &found, a, b, by);
    return found;
}

/* The kind in which a ufunc computes, its operands brought to it; -1 where that is Python's. */
static int
kind_for(const Loops *loops, Operand *a, Operand *b)
{
    int kind = kind_of_both(a->kind, b->kind);
    if (kind >= 0 && kind <= UINT64 && loops->is_quotient)
        kind = FLOAT64;
    if (kind < 0 || loops->of[kind] == NULL)
        return -1;
    if (kind == UINT64 && (a->kind >= KINDS || b->kind >= KINDS) && strncmp(loops->name, "logical_", 8) == 0)
        return -1; /* NumPy refuses numbers beyond int64 here */
    if (loops->is_product && IS_COMPLEX(kind) && (IS_COMPLEX(a->kind) || a->kind == COMPLEX)
        && (IS_COMPLEX(b->kind) || b->kind == COMPLEX))
        return -1;
    if (loops->result == BOOL && IS_REAL(kind) && !IS_REAL(a->kind) && !IS_REAL(b->kind) && a->kind < KINDS
        && b->kind < KINDS)
        return -1; /* NumPy compares integers of all dtypes as they are */
    if (!is_brought(a, kind) || !is_brought(b, kind))
        return -1;
    return kind;
}

static PyObject *
of_two(const Loops *loops, Operand *a, Operand *b)
{
    Elements made, like;
    int is_turned = 0;
    for (int i = 0; i < 2; i++) {
        const Operand *operand = i ? b : a;
        if (operand->given == NULL && !are_few(size_of(operand->at)))
            return NULL;
        if (operand->given == NULL && !is_in_order(operand->at)) {
            memcpy((void *)&like, (const void *)operand->at, offsetof(Elements, of));
            is_turned = 1;
        }
    }
    int follows = is_turned && !lie_alike(a, b); /* the first operand, if any */
    if (follows && a->given != NULL)
        return NULL;
    if (follows)
        memcpy((void *)&like, (const void *)a->at, offsetof(Elements, of));
    int kind = kind_for(loops, a, b);
    if (kind < 0)
        return loops->is_product && !follows ? complex_products(a, b) : left_to_python();
    const Elements *longer = a->at->rank >= b->at->rank ? a->at : b->at, *other = longer == a->at ? b->at : a->at;
    int more = longer->rank - other->rank;
    Py_ssize_t size = 1, by[3][MOST_AXES];
    for (int axis = 0; axis < longer->rank; axis++) {
        Py_ssize_t one = longer->shape[axis], beside = axis < more ? 1 : other->shape[axis - more];
        made.shape[axis] = one == 1 ? beside : one;
        size = product(size, made.shape[axis]);
    }
    if (!are_few(size) || (loops->most && IS_REAL(kind) && size > loops->most))
        return NULL;
    made.rank = longer->rank;
    if (follows && !leads(&like, &made))
        return NULL;
    if (made.rank == 0 || size == 0 || !spread(a->at, made.rank, made.shape, by[1])
        || !spread(b->at, made.rank, made.shape, by[2]))
        return NULL;
    if (is_open(loops, kind, made.rank, made.shape, a->at->memory, b->at->memory, by))
        return NULL;
    made.kind = loops->result == SAME ? kind : loops->result;
    made.itemsize = SIZES[made.kind];
    PyObject *result = is_turned ? new_like(&made, &like) : new_lazy(&made);
    if (result != NULL) {
        memcpy(by[0], made.strides, sizeof(made.strides));
        over(loops->of[kind], made.rank, made.shape, made.memory, a->at->memory, b->at->memory, by);
    }
    return result;
}

/* Whether an operand is a number, or an array without axes of which results are scalars. */
static int
is_as_scalar(const Operand *operand, PyObject *given)
{
    if (!Py_IS_TYPE(given, arrays.type))
        return operand->given != NULL || operand->at->rank == 0;
    return operand->at->rank == 0 && gives_scalars(given);
}

/* What a ufunc makes of two numbers: a scalar. */
static PyObject *
scalar_of_two(const Loops *loops, Operand *a, Operand *b)
{
    Py_ssize_t by[3][MOST_AXES] = {{0}};
    Element element;
    int kind = kind_for(loops, a, b);
    if (kind < 0 || is_open(loops, kind, 0, NULL, a->at->memory, b->at->memory, by))
        return NULL;
    Elements made = {.kind = loops->result == SAME ? kind : loops->result, .memory = (char *)&element};
    made.itemsize = SIZES[made.kind];
    over(loops->of[kind], 0, NULL, made.memory, a->at->memory, b->at->memory, by);
    return scalar_at(&made, made.memory);
}

PyObject *
few_of_two(const Loops *loops, PyObject *x, PyObject *y, int is_turned)
{
    Operand operands[2];
    operands[0].copy = operands[1].copy = NULL;
    if (is_watching() || !taken(x, &operands[is_turned]) || !taken(y, &operands[!is_turned]) || is_seen_by_torch())
        return left_to_python();
    int are_numbers = is_as_scalar(&operands[is_turned], x) && is_as_scalar(&operands[!is_turned], y);
    PyObject *found = (are_numbers ? scalar_of_two : of_two)(loops, &operands[0], &operands[1]);
    forget(operands, 2);
    return found;
}

/* A ufunc, by name, of all pairs of two vectors. */
PyObject *
few_outer(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    const char *name = count == 3 ? PyUnicode_AsUTF8(args[0]) : NULL;
    const Loops *loops = name == NULL || is_traced() ? NULL : loops_of(name);
    Operand a, b;
    Elements rows;
    a.copy = b.copy = NULL;
    if (loops == NULL || is_watching() || !Py_IS_TYPE(args[1], arrays.type) || !Py_IS_TYPE(args[2], arrays.type)
        || !taken(args[1], &a) || !taken(args[2], &b) || a.at->rank != 1 || b.at->rank != 1
        || !are_few(product(a.at->shape[0], b.at->shape[0])) || is_seen_by_torch())
        return or_none(left_to_python());
    memcpy((void *)&rows, (const void *)a.at, offsetof(Elements, of));
    rows.rank = 2;
    rows.shape[1] = 1;
    rows.strides[1] = rows.itemsize;
    a.at = &rows;
    PyObject *found = of_two(loops, &a, &b);
    forget(&a, 1);
    forget(&b, 1);
    return or_none(found == NULL ? left_to_python() : found);
}

PyObject *
few_of_scalars(const Loops *loops, PyObject *x, PyObject *y)
{
    Operand a = {.copy = NULL}, b = {.copy = NULL};
    Elements found = {.kind = -1};
    Element element;
    Py_ssize_t by[3][MOST_AXES] = {{0}};
    if (is_watching() || !taken(x, &a) || !taken(y, &b) || a.kind >= KINDS || b.kind >= KINDS)
        return left_to_python(); /* one of them has a dtype */
    int kind = kind_for(loops, &a, &b);
    if (kind < 0 || is_seen_by_torch())
        return left_to_python();
    if (is_open(loops, kind, 0, NULL, a.at->memory, b.at->memory, by))
        return NULL;
    over(loops->of[kind], 0, NULL, (char *)&element, a.at->memory, b.at->memory, by);
    found.kind = loops->result == SAME ? kind : loops->result;
    found.itemsize = SIZES[found.kind];
    return scalar_at(&found, (char *)&element);
}

PyObject *
few_of_scalar(const Loops *loops, PyObject *x)
{
    Operand a = {.copy = NULL};
    Element element;
    Elements found = {.kind = FLOAT64, .itemsize = sizeof(double)};
    Py_ssize_t by[3][MOST_AXES] = {{0}};
    const char *place = (const char *)&element;
    if (PyFloat_CheckExact(x))
        element.float64 = PyFloat_AS_DOUBLE(x);
    else if (kind_of_type(Py_TYPE(x)) < 0 || !taken(x, &a) || a.kind >= KINDS || !in_kind(&a, a.kind))
        return left_to_python();
    else {
        found.kind = a.kind;
        place = a.at->memory;
    }
    Inner *inner = loops->of[found.kind];
    if (inner == NULL || is_watching() || is_seen_by_torch())
        return left_to_python();
    over(inner, 0, NULL, (char *)&element, place, place, by);
    found.kind = loops->result == SAME ? found.kind : loops->result;
    found.itemsize = SIZES[found.kind];
    return scalar_at(&found, (const char *)&element);
}

/* The greatest or the least of few numbers; None for many, and for zeros of both signs, of which torch says one. */
static PyObject *
extreme(PyObject *array, const char *name)
{
    Operand a = {.copy = NULL};
    Element found;
    Elements one = {.kind = -1};
    Py_ssize_t by[3][MOST_AXES] = {{0}};
    const Loops *loops = loops_of(name);
    if (!Py_IS_TYPE(array, arrays.type) || is_watching() || !taken(array, &a) || a.kind == BOOL || size_of(a.at) > 64
        || size_of(a.at) == 0 || loops->of[a.kind] == NULL || is_seen_by_torch())
        return or_none(left_to_python());
    one.kind = a.kind;
    one.itemsize = SIZES[a.kind];
    memcpy(&found, a.at->memory, (size_t)one.itemsize);
    for (int axis = 0; axis < a.at->rank; axis++)
        by[1][axis] = a.at->strides[axis];
    over(loops->of[a.kind], a.at->rank, a.at->shape, (char *)&found, a.at->memory, (char *)&found, by);
    if (is_open(loops, a.kind, a.at->rank, a.at->shape, a.at->memory, (char *)&found, by))
        Py_RETURN_NONE;
    return scalar_at(&one, (char *)&found);
}

PyObject *
few_max(PyObject *module, PyObject *array)
{
    return extreme(array, "maximum");
}

PyObject *
few_min(PyObject *module, PyObject *array)
{
    return extreme(array, "minimum");
}

/* --- what is written ---------------------------------------------------------------------------------------------- */

/* The addresses between which elements lie. */
static void
reach(const Elements *elements, const char **first, const char **end)
{
    *first = elements->memory;
    *end = *first + elements->itemsize;
    for (int axis = 0; axis < elements->rank; axis++)
        *(elements->strides[axis] < 0 ? first : end) += (elements->shape[axis] - 1) * elements->strides[axis];
}

/* How two arrays of one kind lie to each other: 0 apart, 1 the same elements in the same places, 2 otherwise. */
int
overlap(const Elements *a, const Elements *b)
{
    const char *first, *end, *other, *others_end;
    reach(a, &first, &end);
    reach(b, &other, &others_end);
    if (end <= other || others_end <= first)
        return 0;
    if (a->memory != b->memory || a->rank != b->rank || a->itemsize != b->itemsize)
        return 2;
    for (int axis = 0; axis < a->rank; axis++)
        if (a->shape[axis] != b->shape[axis] || (a->shape[axis] > 1 && a->strides[axis] != b->strides[axis]))
            return 2;
    return 1;
}

/* Whether each element has a place for itself, and there are few. */
int
can_be_written(const Elements *to)
{
    Py_ssize_t size = size_of(to);
    for (int axis = 0; axis < to->rank; axis++)
        if (to->shape[axis] > 1 && to->strides[axis] == 0)
            return 0;
    return size > 0 && are_few(size);
}

static PyObject *
into(const Loops *loops, PyObject *x, Operand *a, Operand *b)
{
    Py_ssize_t by[3][MOST_AXES];
    int kind = a->kind;
    if ((b->given == NULL && !are_few(size_of(b->at))) || kind_for(loops, a, b) != kind)
        return left_to_python();
    if (b->given == NULL && overlap(a->at, b->at) == 2 && !copied(b, kind))
        return NULL;
    memcpy(by[0], a->at->strides, sizeof(a->at->strides));
    memcpy(by[1], a->at->strides, sizeof(a->at->strides));
    if (!spread(b->at, a->at->rank, a->at->shape, by[2]) || tell(x) < 0)
        return left_to_python();
    over(loops->of[kind], a->at->rank, a->at->shape, a->at->memory, a->at->memory, b->at->memory, by);
    return Py_NewRef(x);
}

PyObject *
few_in_place(const Loops *loops, PyObject *x, PyObject *y)
{
    Operand operands[2];
    operands[0].copy = operands[1].copy = NULL;
    if (loops->result != SAME || is_watching() || !can_write(x) || !taken(x, &operands[0]) || !taken(y, &operands[1])
        || is_seen_by_torch() || !can_be_written(operands[0].at))
        return left_to_python();
    PyObject *found = into(loops, x, &operands[0], &operands[1]);
    forget(operands, 2);
    return found;
}

static PyObject *
into_out(const Loops *loops, Operand *a, Operand *b, PyObject *out)
{
    Elements here;
    const Elements *to;
    Py_ssize_t by[3][MOST_AXES] = {{0}};
    int kind = b == NULL ? a->kind : kind_for(loops, a, b);
    if (kind < 0 || loops->of[kind] == NULL || !can_write(out) || !elements_of(out, &here, &to) || !can_be_written(to)
        || to->kind != (loops->result == SAME ? kind : loops->result) || to->rank == 0)
        return NULL;
    Operand *const operands[2] = {a, b};
    for (int axis = 0; axis < to->rank; axis++) {
        Py_ssize_t length = 1;
        for (int i = 0; i < (b == NULL ? 1 : 2); i++) {
            const Elements *at = operands[i]->at;
            int own = axis - to->rank + at->rank;
            if (own >= 0 && at->shape[own] != 1)
                length = at->shape[own];
        }
        if (length != to->shape[axis])
            return NULL; /* a result that is spread */
    }
    for (int i = 0; i < (b == NULL ? 1 : 2); i++) {
        Operand *one = operands[i];
        if (one->given == NULL && (!are_few(size_of(one->at)) || (overlap(to, one->at) == 2 && !copied(one, kind))))
            return NULL;
        if (!spread(one->at, to->rank, to->shape, by[1 + i]))
            return NULL;
    }
    const char *second = b == NULL ? a->at->memory : b->at->memory;
    if ((b != NULL && is_open(loops, kind, to->rank, to->shape, a->at->memory, second, by)) || tell(out) < 0)
        return NULL;
    memcpy(by[0], to->strides, sizeof(to->strides));
    over(loops->of[kind], to->rank, to->shape, to->memory, a->at->memory, second, by);
    return Py_NewRef(out);
}

PyObject *
few_into(const Loops *loops, PyObject *x, PyObject *y, PyObject *out)
{
    Operand operands[2];
    operands[0].copy = operands[1].copy = NULL;
    if (is_watching() || !Py_IS_TYPE(out, arrays.type) || !taken(x, &operands[0])
        || (y != NULL && !taken(y, &operands[1]))
        || (y == NULL && operands[0].given != NULL) || is_seen_by_torch())
        return left_to_python();
    PyObject *found = into_out(loops, &operands[0], y == NULL ? NULL : &operands[1], out);
    forget(operands, 2);
    return found != NULL ? found : left_to_python();
}
