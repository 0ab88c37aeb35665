/* The ordinary cases of methods that are called most, in C.
 *
 * A method is a function in Python, which says all that it does. Where this module is built, the call of that function
 * is tried here first (PyFunction_SetVectorcall, whose contract is that nothing but the time changes): what is ordinary
 * is answered, everything else goes on to Python. Whoever traces, reads, documents or replaces the function meets
 * Python's alone, and without this module npdec does the same, slower.
 */
#include "native.h"
#include <structmember.h> /* PyMemberDef, before 3.12 */

static vectorcallfunc in_python;

Py_ssize_t
offset_of(PyObject *member)
{
    if (!Py_IS_TYPE(member, &PyMemberDescr_Type)) {
        PyErr_Format(PyExc_TypeError, "a slot of a class is expected, not %R", member);
        return -1;
    }
    return ((PyMemberDescrObject *)member)->d_member->offset;
}

int
stand_before(PyObject *function, vectorcallfunc ordinary)
{
    if (!PyFunction_Check(function)) {
        PyErr_Format(PyExc_TypeError, "a function is expected, not %R", function);
        return -1;
    }
    in_python = ((PyFunctionObject *)function)->vectorcall;
#if PY_VERSION_HEX >= 0x030C0000
    PyFunction_SetVectorcall((PyFunctionObject *)function, ordinary);
#else
    /* 3.11 goes on to the code of a `__getitem__` itself where the version of the function has 16 bits. */
    static uint32_t version = UINT32_MAX;
    ((PyFunctionObject *)function)->vectorcall = ordinary;
    ((PyFunctionObject *)function)->func_version = version--;
#endif
    return 0;
}

PyObject *
go_on(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *names)
{
    return in_python(function, args, nargsf, names);
}

static PyMethodDef methods[] = {
    {"attach_scalars", attach_scalars, METH_VARARGS,
     "attach_scalars({letter: (class, slot of the number, slot of the tensor)}, (False_, True_), namespace with "
     "`watching`)"},
    {"scalar_from", scalar_from, METH_O, "The scalar of a 0-d tensor that is a number on the host, else None."},
    {"view", (PyCFunction)(void (*)(void))view, METH_FASTCALL, "A view of a plain array over a tensor, or None."},
    {"lazy_view", (PyCFunction)(void (*)(void))lazy_view_by, METH_FASTCALL,
     "The view of a lazy array over a view of its tensor, read-only where a reason is given, or None."},
    {"attach_ufuncs", attach_ufuncs, METH_O, "attach_ufuncs({stem: ufunc that operators of scalars are beside arrays})"},
    {"attach_operator", attach_operator, METH_VARARGS,
     "attach_operator(function, stem, reflected, operator of arrays with the operands exchanged, or None)"},
    {"attach_arrays", attach_arrays, METH_VARARGS,
     "attach_arrays(class of arrays, torch.Tensor, slots `_t _d _m _w _ro`, class of families, slots "
     "`limit most origin mirrors mixed` of these, namespace with `_is_in_torch_dispatch_mode`, functions of "
     "`T shape ndim size __len__ nbytes`, "
     "{float or int: {dtype: limit of the numbers that are taken}}, {dtype: {number: tensor}})"},
    {"attach_writes", attach_writes, METH_VARARGS,
     "attach_writes(namespace with `_current_level`, is_transformed, ContextVar of transforms)"},
    {"attach_elements", attach_elements, METH_VARARGS,
     "attach_elements(getitem, setitem, increment_version, what stands for a window that is not open yet, references "
     "of a tensor that only an array and its window hold)"},
    {"attach_windows", attach_windows, METH_VARARGS,
     "attach_windows(Elements, {dtype: letter}, torch.strided, is_wrapped, what arrays of a dtype take)"},
    {"attach_call", attach_call, METH_VARARGS,
     "attach_call(function, number of operands, {name of what the function uses: what that is})"},
    {"is_known", is_known, METH_O, "Whether a capsule of DLPack's C interface is of the version that is used here."},
    {"attach_lazy", attach_lazy, METH_VARARGS,
     "attach_lazy(capsule of DLPack's C interface, slot `_e`, class that has it, a tensor that is a view of another, "
     "namespace with `_is_profiler_enabled`, (use count of a storage, increment_version, number of modes of functions, "
     "is_inference_mode_enabled, is_transformed, is_grad_enabled, is_tracing, what calls a function with none of "
     "these))"},
    {"attach_few", attach_few, METH_VARARGS,
     "attach_few({letters of two dtypes: letter of what they promote to}, says in how many threads torch computes)"},
    {"attach_products", attach_products, METH_O,
     "attach_products(function of mul or div, a dtype's letter, arrays or by or of or scalars, and the bytes of "
     "operands, "
     "which gives those of torch's result)"},
    {"settled", settled, METH_O, "Make the tensor of a lazy array, and of all over the same memory."},
    {"attach_creation", attach_creation, METH_VARARGS, "attach_creation(namespace with `used`, {what is a dtype: the dtype})"},
    {"few_zeros", (PyCFunction)(void (*)(void))few_zeros, METH_FASTCALL, "np.zeros(shape, dtype), or None."},
    {"few_ones", (PyCFunction)(void (*)(void))few_ones, METH_FASTCALL, "np.ones(shape, dtype), or None."},
    {"few_empty", (PyCFunction)(void (*)(void))few_empty, METH_FASTCALL, "np.empty(shape, dtype), or None."},
    {"few_zeros_like", few_zeros_like, METH_O, "np.zeros_like(a), or None."},
    {"few_ones_like", few_ones_like, METH_O, "np.ones_like(a), or None."},
    {"few_empty_like", few_empty_like, METH_O, "np.empty_like(prototype), or None."},
    {"few_copy", few_copy, METH_O, "np.copy(a), or None."},
    {"few_copy_by_rows", few_copy_by_rows, METH_O, "a.copy(), or None."},
    {"few_flatten", few_flatten, METH_O, "a.flatten(), or None."},
    {"few_astype", (PyCFunction)(void (*)(void))few_astype, METH_FASTCALL, "a.astype(dtype, copy), or None."},
    {"few_fill", (PyCFunction)(void (*)(void))few_fill, METH_FASTCALL, "a.fill(number): if it is done."},
    {"few_concatenate", (PyCFunction)(void (*)(void))few_concatenate, METH_FASTCALL,
     "np.concatenate(arrays, axis), or None."},
    {"few_stack", (PyCFunction)(void (*)(void))few_stack, METH_FASTCALL, "np.stack(arrays, axis), or None."},
    {"few_hstack", few_hstack, METH_O, "np.hstack(arrays), or None."},
    {"few_column_stack", few_column_stack, METH_O, "np.column_stack(arrays), or None."},
    {"few_vstack", few_vstack, METH_O, "np.vstack(arrays), or None."},
    {"few_reshape", (PyCFunction)(void (*)(void))few_reshape, METH_FASTCALL, "np.reshape(a, shape), or None."},
    {"few_where", (PyCFunction)(void (*)(void))few_where, METH_FASTCALL, "np.where(condition, x, y), or None."},
    {"few_at", (PyCFunction)(void (*)(void))few_at, METH_FASTCALL, "ufunc.at(a, indices, b), by name: if it is done."},
    {"few_reduceat", (PyCFunction)(void (*)(void))few_reduceat, METH_FASTCALL,
     "ufunc.reduceat(a, indices) of a vector, by name, or None."},
    {"few_ravel", few_ravel, METH_O, "np.ravel(a), or None."},
    {"few_reduced", (PyCFunction)(void (*)(void))few_reduced, METH_FASTCALL,
     "A function, by name, of an array along an axis or None: a scalar or an array, or None."},
    {"few_running", (PyCFunction)(void (*)(void))few_running, METH_FASTCALL,
     "The running sums and so on, by name, of an array along an axis or None, or None."},
    {"few_nonzero", few_nonzero, METH_O, "np.nonzero(a) of a vector or a table, or None."},
    {"few_trace", few_trace, METH_O, "np.trace(a), or None."},
    {"few_take_along_axis", (PyCFunction)(void (*)(void))few_take_along_axis, METH_FASTCALL,
     "np.take_along_axis(a, indices, axis), or None."},
    {"few_put_along_axis", (PyCFunction)(void (*)(void))few_put_along_axis, METH_FASTCALL,
     "np.put_along_axis(a, indices, values, axis): if it is done."},
    {"few_outer", (PyCFunction)(void (*)(void))few_outer, METH_FASTCALL,
     "A ufunc, by name, of all pairs of two vectors, or None."},
    {"few_searchsorted", (PyCFunction)(void (*)(void))few_searchsorted, METH_FASTCALL,
     "np.searchsorted(a, v, side), or None."},
    {"few_correlate", (PyCFunction)(void (*)(void))few_correlate, METH_FASTCALL,
     "few_correlate(a, v, mode, whether v is turned) of two vectors of floats, or None."},
    {"few_strides", few_strides, METH_O, "The strides of a lazy array, in elements, or None."},
    {"few_along", (PyCFunction)(void (*)(void))few_along, METH_FASTCALL,
     "few_along(a, axes or None for each, lengths): a view of these axes, repeated along others, or None."},
    {"few_view_at", (PyCFunction)(void (*)(void))few_view_at, METH_FASTCALL,
     "few_view_at(a, place): the view, without axes, of the element there, or None."},
    {"few_element_at", (PyCFunction)(void (*)(void))few_element_at, METH_FASTCALL,
     "few_element_at(a, place): the scalar at a place that counts elements row by row, or None."},
    {"few_by_numpy", (PyCFunction)(void (*)(void))few_by_numpy, METH_FASTCALL,
     "few_by_numpy(function of NumPy, *arguments): what it makes of few elements, or None."},
    {"few_from_numpy", few_from_numpy, METH_O, "An array of few elements, or a scalar, of NumPy's, in memory of its own; or None."},
    {"attach_numpy", attach_numpy, METH_VARARGS, "attach_numpy(class of arrays, of scalars, {letter: dtype}), of NumPy."},
    {"few_iterated", few_iterated, METH_O, "What goes through the elements or rows of an array, or None."},
    {"few_item", (PyCFunction)(void (*)(void))few_item, METH_FASTCALL, "a.item(index, ...), or None."},
    {"few_array", (PyCFunction)(void (*)(void))few_array, METH_FASTCALL, "np.array(numbers or an array, dtype), or None."},
    {"few_copyto", (PyCFunction)(void (*)(void))few_copyto, METH_FASTCALL, "np.copyto(dst, src, casting, where): if it is done."},
    {"few_putmask", (PyCFunction)(void (*)(void))few_putmask, METH_FASTCALL, "np.putmask(a, mask, number): if it is done."},
    {"few_clip", (PyCFunction)(void (*)(void))few_clip, METH_FASTCALL, "np.clip(a, a_min, a_max, out), or None."},
    {"few_max", few_max, METH_O, "The greatest of few numbers, or None."},
    {"few_min", few_min, METH_O, "The least of few numbers, or None."},
    {"few_arange", (PyCFunction)(void (*)(void))few_arange, METH_FASTCALL, "np.arange(start, stop, step, dtype), or None."},
    {"few_transpose", (PyCFunction)(void (*)(void))few_transpose, METH_FASTCALL, "np.transpose(a, axes), or None."},
    {"few_tobytes", few_tobytes, METH_O, "a.tobytes(), or None."},
    {"few_tolist", few_tolist, METH_O, "a.tolist(), or None."},
    {"few_at_least", (PyCFunction)(void (*)(void))few_at_least, METH_FASTCALL,
     "np.atleast_1d(a) and so on: few_at_least((a,), number of axes), or None."},
    {"few_squeeze", (PyCFunction)(void (*)(void))few_squeeze, METH_FASTCALL, "np.squeeze(a, axis), or None."},
    {"few_einsum", (PyCFunction)(void (*)(void))few_einsum, METH_FASTCALL, "np.einsum(subscripts, a, b), or None."},
    {"few_eye", (PyCFunction)(void (*)(void))few_eye, METH_FASTCALL, "np.eye(N, M, k, dtype), or None."},
    {"few_diag", (PyCFunction)(void (*)(void))few_diag, METH_FASTCALL,
     "np.diag(v, k), read-only for a reason that comes third; or None."},
    {"few_diagonal", (PyCFunction)(void (*)(void))few_diagonal, METH_FASTCALL,
     "np.diagonal(a, offset), read-only for a reason that comes third; or None."},
    {"few_fill_diagonal", (PyCFunction)(void (*)(void))few_fill_diagonal, METH_FASTCALL,
     "np.fill_diagonal(a, number): if it is done."},
    {"few_full", (PyCFunction)(void (*)(void))few_full, METH_FASTCALL, "np.full(shape, value, dtype), or None."},
    {"attach_decomposed", attach_decomposed, METH_VARARGS,
     "attach_decomposed(class of decomposed tensors, of parameters, {function: row}, slot `short` of rows, slot "
     "`limit` of views, (three ContextVars: who looks on, who checks, whether a graph is wanted), (whether forward "
     "mode is on, "
     "whether functions are asked), how many components are no few, the largest moderate factor, (how even the ends of a "
     "divisor are in single precision, in double), {functions that are "
     "the negative}, (link_ordinary, rows_of, is_moderate, the function of a residual of equal rows, narrowed, "
     "torch.matmul, whether arguments by name follow those that have a place, what calls a function while torch asks no "
     "class, the method that chooses a part, what turns gradients on and off, what merges labels))"},
    {"few_element", (PyCFunction)(void (*)(void))few_element, METH_FASTCALL,
     "The element of a decomposed tensor, by an int for each axis, in memory of its own; or None."},
    {"few_written_over", (PyCFunction)(void (*)(void))few_written_over, METH_FASTCALL,
     "few_written_over(x, made): x, into which the elements of another one were written; or None."},
    {"number_in", number_in_parts, METH_O,
     "The value, the residual and the list of the components of a decomposed number, as Python's; or None."},
    {"condition_in", condition_in_parts, METH_O, "The same of a decomposed condition."},
    {"discrete_in", discrete_in_parts, METH_O, "The same of one, or of an integer near zero, as floats."},
    {"number_of", (PyCFunction)(void (*)(void))number_of_parts, METH_FASTCALL,
     "number_of(value, residual, list of the components, labels, dtype of these): the decomposed number, or None."},
    {"numbers_as", (PyCFunction)(void (*)(void))numbers_as, METH_FASTCALL,
     "numbers_as(tensor, dtype): few decomposed booleans, integers or real numbers in that dtype; or None."},
    {"tensor_of", (PyCFunction)(void (*)(void))tensor_of_number, METH_FASTCALL,
     "tensor_of(number, dtype): the tensor without axes, on the host; or None."},
    {"attach_form", attach_form, METH_VARARGS,
     "attach_form(form, name, what it does by bits, traits, rule for one more leading axis, kind of that, first "
     "argument that is an axis, the last, what missing arguments are)"},
    {"by_options", (PyCFunction)(void (*)(void))by_options, METH_FASTCALL,
     "by_options(function in Python, arguments, options by name): what its form gives that takes options; or None."},
    {"attach_torch_function", attach_torch_function, METH_VARARGS,
     "attach_torch_function(function of the class, what answers a call that is not ordinary)"},
    {"references", references, METH_O, "The references to a tensor that is given in a tuple."},
    {"secants", (PyCFunction)(void (*)(void))secants, METH_FASTCALL,
     "secants(x, r, f(x), f(r), to, flags, kept), of tensors: what is said of them, or None."},
    {"slope_at_once", (PyCFunction)(void (*)(void))slope_at_once, METH_FASTCALL,
     "slope_at_once(f, function, traits, x, r), of tensors: the slope, or None."},
    {"attach_slopes", attach_slopes, METH_VARARGS,
     "attach_slopes(finished, least difference of a function in double precision, what makes so many doubles)"},
    {"sums", sums, METH_O, "The sum of magnitudes and the sum of a tensor's elements, or None."},
    {"shares", (PyCFunction)(void (*)(void))shares, METH_FASTCALL,
     "shares(slope, change, to), of tensors: the sum of the magnitudes of the products, and their sum, or None."},
    {"soft_back", (PyCFunction)(void (*)(void))soft_back, METH_FASTCALL,
     "soft_back(x, r, gradients, rule, to), of tensors: whether it is done."},
    {"soft_length", (PyCFunction)(void (*)(void))soft_length, METH_FASTCALL,
     "soft_length(x, r), of tensors: the largest range of the steps of a row, or None."},
    {"loss_slopes", (PyCFunction)(void (*)(void))loss_slopes, METH_FASTCALL,
     "loss_slopes(kind, x, r, target, parameter, factor), of tensors: the slopes times the factor, or None."},
    {"class_slopes", (PyCFunction)(void (*)(void))class_slopes, METH_FASTCALL,
     "class_slopes(means, classes, which is ignored, factor), of tensors: whether it is done."},
    {"margin_slopes", (PyCFunction)(void (*)(void))margin_slopes, METH_FASTCALL,
     "margin_slopes(x, r, classes, margin, factor), of tensors: the slopes times the factor, or None."},
    {"shortest", shortest, METH_O, "shortest(x): the least length of a row of a tensor, or None."},
    {"equal_rows", (PyCFunction)(void (*)(void))equal_rows, METH_FASTCALL,
     "equal_rows(residual, axes, is by rows): one of its rows that are equal, or None."},
    {"attach_close", attach_close, METH_O, "attach_close(closed forms of slopes between close numbers)"},
    {"close_slopes", (PyCFunction)(void (*)(void))close_slopes, METH_FASTCALL,
     "close_slopes(closed form, x, r, f(x), f(r), places, slopes), of tensors: largest and least magnitude, or None."},
    {"set_kept", set_kept, METH_O, "set_kept(kept): what `secants` is given, for reverse mode."},
    {"attach_origins", attach_origins, METH_VARARGS,
     "attach_origins(what makes a tensor remember its origin, the kinds of those that are wider, and of squares)"},
    {"attach_few_slopes", attach_few_slopes, METH_VARARGS,
     "attach_few_slopes(ContextVar of settings, the usual ones, ContextVar of a part of the components, slot `close` of rows, longest step, kept, (tiny, least, "
     "most, greatest, eps) of single precision, the same of double)"},
    {"larger_number", (PyCFunction)(void (*)(void))larger_number, METH_FASTCALL,
     "larger_number(sign, a, b), of decomposed numbers: the maximum or minimum, or None."},
    {"smooth_numbers", (PyCFunction)(void (*)(void))smooth_numbers, METH_FASTCALL,
     "smooth_numbers(which, function, a, b), of decomposed numbers: one, or None."},
    {"few_numbers", few_numbers, METH_O,
     "few_numbers(x): the elements of a decomposed tensor of a few, each as a decomposed number, or None."},
    {"few_mapped", (PyCFunction)(void (*)(void))few_mapped, METH_FASTCALL,
     "few_mapped(shape, constants, starts, places, weights, moves, tensors, value, residual), of decomposed tensors of few "
     "numbers: one, or None."},
    {"smooth_beside", (PyCFunction)(void (*)(void))smooth_beside, METH_FASTCALL,
     "smooth_beside(which, function, a, b), of few decomposed numbers beside constants: what it gives, or None."},
    {"over_zero", (PyCFunction)(void (*)(void))over_zero, METH_FASTCALL,
     "over_zero(a, b), of decomposed numbers: the quotient, and the reciprocals of b if they are to be told, or None."},
    {"divided_by_zero", (PyCFunction)(void (*)(void))divided_by_zero, METH_FASTCALL,
     "divided_by_zero(which, a, b), of decomposed numbers: one, a tuple of two, or None."},
    {"mean_power", (PyCFunction)(void (*)(void))mean_power, METH_FASTCALL,
     "mean_power(x, y, r, s), of floats: the mean gradients of x ** y from r ** s on, or None."},
    {"attach_means", attach_means, METH_VARARGS,
     "attach_means(kept, limits of single and of double precision, 10, 12 and 16 nodes with their weights)"},
    {"compared_numbers", (PyCFunction)(void (*)(void))compared_numbers, METH_FASTCALL,
     "compared_numbers(which, a, b), of decomposed numbers: a condition, or None."},
    {"clamped_number", (PyCFunction)(void (*)(void))clamped_number, METH_FASTCALL,
     "clamped_number(x, low, high), of decomposed numbers: one, or None."},
    {"chosen_number", (PyCFunction)(void (*)(void))chosen_number, METH_FASTCALL,
     "chosen_number(condition, a, b), of decomposed numbers: one, or None."},
    {"weighted_numbers", (PyCFunction)(void (*)(void))weighted_numbers, METH_FASTCALL,
     "weighted_numbers(value, residual, a, b, weight of a, weight of b): a decomposed number, or None."},
    {"stepped_beside", (PyCFunction)(void (*)(void))stepped_beside, METH_FASTCALL,
     "stepped_beside(value, residual, number), of a decomposed number beside constants: what it has of jumps, or None."},
    {"jumps_of_numbers", (PyCFunction)(void (*)(void))jumps_of_numbers, METH_FASTCALL,
     "jumps_of_numbers(which, a, b), of decomposed numbers: one, a tuple of two, or None."},
    {"jumps_of_arrays", (PyCFunction)(void (*)(void))jumps_of_arrays, METH_FASTCALL,
     "jumps_of_arrays(which, a, b), of two decomposed tensors of few elements: one, a tuple of two, or None."},
    {"larger_of_arrays", (PyCFunction)(void (*)(void))larger_of_arrays, METH_FASTCALL,
     "larger_of_arrays(sign, function, a, b): the maximum or minimum, or None."},
    {"chosen_of_arrays", (PyCFunction)(void (*)(void))chosen_of_arrays, METH_FASTCALL,
     "chosen_of_arrays(function, condition, a, b): one of two by a condition, or None."},
    {"ends_of_two", (PyCFunction)(void (*)(void))ends_of_two, METH_FASTCALL,
     "ends_of_two(a, b): the numbers of few elements at value and residual, or None."},
    {"weighted_arrays", (PyCFunction)(void (*)(void))weighted_arrays, METH_FASTCALL,
     "weighted_arrays(value, residual, a, b, weights, weights): by given weights, or None."},
    {"attach_complex", attach_complex, METH_VARARGS,
     "attach_complex(laws, slot of rows, limits of single and of double precision)"},
    {"complex_of_few", (PyCFunction)(void (*)(void))complex_of_few, METH_FASTCALL,
     "complex_of_few(law, function, operands): what it gives of few complex numbers, or None."},
    {"complex_chosen", (PyCFunction)(void (*)(void))complex_chosen, METH_FASTCALL,
     "complex_chosen(condition, a, b), of complex numbers: one of two, or None."},
    {"attach_reverse", attach_reverse, METH_VARARGS,
     "attach_reverse(pointwise, on_graph_of, link, torch.empty_like, with_vjp, ContextVar of a second derivative, "
     "ContextVar of settings, the usual ones)"},
    {"places_of_nan", (PyCFunction)(void (*)(void))places_of_nan, METH_FASTCALL,
     "places_of_nan(x, to), of tensors: whether it is done."},
    {"ends_at", (PyCFunction)(void (*)(void))ends_at, METH_FASTCALL,
     "ends_at(x, r, places, to), of tensors: whether it is done."},
    {"put_secants", (PyCFunction)(void (*)(void))put_secants, METH_FASTCALL,
     "put_secants(ends, values, places, to, kept), of tensors: largest and least magnitude, or None."},
    {"pool_leaders", (PyCFunction)(void (*)(void))pool_leaders, METH_FASTCALL,
     "pool_leaders(x, r, leaders, value, settings), of tensors: how many windows have several leaders, or None."},
    {"pool_shares", (PyCFunction)(void (*)(void))pool_shares, METH_FASTCALL,
     "pool_shares(x, r, leaders, shares, settings), of tensors: whether it is done."},
    {"pool_back", (PyCFunction)(void (*)(void))pool_back, METH_FASTCALL,
     "pool_back(gradients, leaders, shares, to, settings), of tensors: whether it is done."},
    {"jumps", (PyCFunction)(void (*)(void))jumps, METH_FASTCALL,
     "jumps(x, r, by how much x is moved or None, f(x), f(r), to, change or None), of tensors: how many stand still."},
    {"choices", (PyCFunction)(void (*)(void))choices, METH_FASTCALL,
     "choices(c, c at r, a, a at r, b, b at r, value, residual, rise, share), of tensors: whether it is done."},
    {"gate_length", (PyCFunction)(void (*)(void))gate_length, METH_FASTCALL,
     "gate_length(x, r, length of a half), of tensors: the longest step of the second halves, or None."},
    {"gate_means", (PyCFunction)(void (*)(void))gate_means, METH_FASTCALL,
     "gate_means(x, r, length of a half, rule, to), of tensors: whether it is done."},
    {"leading_shares", (PyCFunction)(void (*)(void))leading_shares, METH_FASTCALL,
     "leading_shares(x, r, sign, to, n, by), of tensors: whether it is done."},
    {"mean_directions", (PyCFunction)(void (*)(void))mean_directions, METH_FASTCALL,
     "mean_directions(x, r, centred, factor, to), of tensors: whether it is done."},
    {"mean_inverses", (PyCFunction)(void (*)(void))mean_inverses, METH_FASTCALL,
     "mean_inverses(rr, rd, dd, to, weighted), of tensors: whether it is done."},
    {"pair_directions", (PyCFunction)(void (*)(void))pair_directions, METH_FASTCALL,
     "pair_directions(x, r, to), of tensors: whether it is done."},
    {"power_slopes", (PyCFunction)(void (*)(void))power_slopes, METH_FASTCALL,
     "power_slopes(exponent, x, r, f(x), f(r), to), of tensors: whether it is done."},
    {"products_back", (PyCFunction)(void (*)(void))products_back, METH_FASTCALL,
     "products_back(x, r, rules, gradients or None, to), of tensors: whether it is done."},
    {"inverses_beside", (PyCFunction)(void (*)(void))inverses_beside, METH_FASTCALL,
     "inverses_beside(d, r, r·d, to, weighted), of tensors: whether it is done."},
    {"normal_rows", (PyCFunction)(void (*)(void))normal_rows, METH_FASTCALL,
     "normal_rows(x, r, numbers, m, floor, centred, deepest, flat), of tensors: whether it is done."},
    {"normal_back", (PyCFunction)(void (*)(void))normal_back, METH_FASTCALL,
     "normal_back(x, r, numbers, gradients, weight or None, step, centred, to), of tensors: whether it is done."},
    {"beside_back", (PyCFunction)(void (*)(void))beside_back, METH_FASTCALL,
     "beside_back(is a quotient, gradients, a, a at r, b, b at r, to a, to b), of tensors: whether it is done."},
    {"set_beside", set_beside, METH_O, "set_beside(function): what makes a node of a product or quotient of two."},
    {"digits_lost", (PyCFunction)(void (*)(void))digits_lost, METH_FASTCALL,
     "digits_lost(value, residual, a, a at r, b, b at r, limit), of tensors: how many quotients lose more; or None."},
    {"divisor_range", (PyCFunction)(void (*)(void))divisor_range, METH_FASTCALL,
     "divisor_range(x, r), of tensors: the most and the least of 1 / (x r), the most of x / r and r / x; or None."},
    {"heads_back", (PyCFunction)(void (*)(void))heads_back, METH_FASTCALL,
     "heads_back(scores, low, gradients, mask, scale, causal, head, query, rules, limits), of tensors: whether done."},
    {"answer", (PyCFunction)(void (*)(void))answer, METH_FASTCALL,
     "answer(form, function of torch, its arguments): what the form in C makes of an ordinary call, or None."},
    {"set_closed", (PyCFunction)(void (*)(void))set_closed, METH_FASTCALL,
     "set_closed(form of tanh, of the sigmoid): slopes that are found in one pass, for reverse mode."},
    {"gate_slopes", (PyCFunction)(void (*)(void))gate_slopes, METH_FASTCALL,
     "gate_slopes(is a sigmoid, x, r, f(x), f(r), to), of tensors: whether all are finite."},
    {"lstm_steps", (PyCFunction)(void (*)(void))lstm_steps, METH_FASTCALL,
     "lstm_steps(rows, gates, opened, before, after, seen, to), of tensors: whether all are finite."},
    {"lstm_cell", (PyCFunction)(void (*)(void))lstm_cell, METH_FASTCALL,
     "lstm_cell(gates, opened, c, c_r, after, after_r, seen, seen_r, to), of tensors: whether all are finite."},
    {"gru_cell", (PyCFunction)(void (*)(void))gru_cell, METH_FASTCALL,
     "gru_cell(sums, opened, own, last, last_r, bent, bent_r, h, h_r, to), of tensors: whether all are finite."},
    {"lstm_cell_back", (PyCFunction)(void (*)(void))lstm_cell_back, METH_FASTCALL,
     "lstm_cell_back(gradients, of the cell, multipliers, of the gates, of the cell before): whether it is done."},
    {"gru_cell_back", (PyCFunction)(void (*)(void))gru_cell_back, METH_FASTCALL,
     "gru_cell_back(gradients, multipliers, of what enters, of what is added, of the state): whether it is done."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "npdec._native._calls", "The ordinary cases of methods that are called most.", -1, methods,
    NULL, NULL, NULL, NULL,
};

static int
add_type(PyObject *module, const char *name, PyType_Spec *spec)
{
    PyObject *type = PyType_FromSpec(spec);
    if (type != NULL && spec == &iterator_spec)
        Py_XSETREF(iterator_type, (PyTypeObject *)Py_NewRef(type));
    int failed = type == NULL ? -1 : PyModule_AddObjectRef(module, name, type);
    Py_XDECREF(type);
    return failed;
}

PyMODINIT_FUNC
PyInit__calls(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL
        && (add_type(module, "Elements", &elements_spec) < 0 || add_type(module, "Iterator", &iterator_spec) < 0
            || add_type(module, "Method", &method_spec) < 0 || PyModule_AddIntMacro(module, MOST_AXES) < 0
            || PyModule_AddIntMacro(module, INTERFACE) < 0))
        Py_CLEAR(module);
    return module;
}
