/* The functions that Python calls, by the file that has them; module.c gives them their names. */
#ifndef NPDEC_FUNCTIONS_H
#define NPDEC_FUNCTIONS_H

/* scalars.c */
PyObject *scalar_from(PyObject *module, PyObject *tensor);
PyObject *attach_scalars(PyObject *module, PyObject *args);

/* operators.c */
PyObject *attach_operator(PyObject *module, PyObject *args);
PyObject *attach_ufuncs(PyObject *module, PyObject *table);

/* arrays.c */
PyObject *view(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *lazy_view_by(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *attach_arrays(PyObject *module, PyObject *args);

/* writes.c */
PyObject *attach_writes(PyObject *module, PyObject *args);

/* calls.c */
PyObject *attach_call(PyObject *module, PyObject *args);

/* windows.c */
PyObject *attach_windows(PyObject *module, PyObject *args);

/* lazy.c */
PyObject *settled(PyObject *module, PyObject *array);
PyObject *is_known(PyObject *module, PyObject *capsule);
PyObject *attach_lazy(PyObject *module, PyObject *args);

/* few.c */
PyObject *few_outer(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *few_where(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *few_copyto(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *few_putmask(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *few_clip(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *attach_few(PyObject *module, PyObject *args);

/* creation.c */
PyObject *few_zeros(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *few_ones(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *few_empty(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *few_zeros_like(PyObject *module, PyObject *array);
PyObject *few_ones_like(PyObject *module, PyObject *array);
PyObject *few_empty_like(PyObject *module, PyObject *array);
PyObject *few_arange(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *few_full(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *few_max(PyObject *module, PyObject *array);
PyObject *few_min(PyObject *module, PyObject *array);
PyObject *attach_creation(PyObject *module, PyObject *args);

/* nesting.c */
PyObject *few_array(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* copies.c */
PyObject *few_copy(PyObject *module, PyObject *array);
PyObject *few_copy_by_rows(PyObject *module, PyObject *array);
PyObject *few_flatten(PyObject *module, PyObject *array);
PyObject *few_astype(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *few_fill(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *few_concatenate(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *few_stack(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *few_hstack(PyObject *module, PyObject *items);
PyObject *few_vstack(PyObject *module, PyObject *items);
PyObject *few_column_stack(PyObject *module, PyObject *items);

/* diagonals.c */
PyObject *few_eye(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *few_diag(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *few_diagonal(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* einsum.c */
PyObject *few_einsum(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* views.c */
PyObject *few_reshape(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *few_ravel(PyObject *module, PyObject *array);
PyObject *few_transpose(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *few_tobytes(PyObject *module, PyObject *array);
PyObject *few_tolist(PyObject *module, PyObject *array);
PyObject *few_at_least(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *few_squeeze(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *few_fill_diagonal(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* reductions.c */
PyObject *few_reduced(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *few_running(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *few_nonzero(PyObject *module, PyObject *array);
PyObject *few_trace(PyObject *module, PyObject *array);

/* at.c */
PyObject *few_at(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *few_reduceat(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* decomposed.c, forms.c */
PyObject *attach_decomposed(PyObject *module, PyObject *args);
PyObject *attach_form(PyObject *module, PyObject *args);
PyObject *by_options(PyObject *module, PyObject *const *given_to_it, Py_ssize_t count);
PyObject *attach_torch_function(PyObject *module, PyObject *args);
PyObject *few_element(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *few_written_over(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* decomposed_numbers.c */
PyObject *number_in_parts(PyObject *module, PyObject *tensor);
PyObject *condition_in_parts(PyObject *module, PyObject *tensor);
PyObject *discrete_in_parts(PyObject *module, PyObject *tensor);
PyObject *tensor_of_number(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *number_of_parts(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* picking.c */
PyObject *few_take_along_axis(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *few_put_along_axis(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* search.c */
PyObject *few_searchsorted(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* exact.c */
PyObject *few_from_numpy(PyObject *module, PyObject *array);
PyObject *few_by_numpy(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *attach_numpy(PyObject *module, PyObject *args);

/* products.c */
PyObject *attach_products(PyObject *module, PyObject *function);

/* iteration.c */
PyObject *few_iterated(PyObject *module, PyObject *array);

/* properties.c */
PyObject *few_item(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *few_element_at(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *few_correlate(PyObject *module, PyObject *const *args, Py_ssize_t count); /* sequences.c */
PyObject *few_view_at(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *few_strides(PyObject *module, PyObject *array);
PyObject *few_along(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* elements.c */
PyObject *attach_elements(PyObject *module, PyObject *args);
PyObject *references(PyObject *module, PyObject *sample);

/* totals.c */
PyObject *sums(PyObject *module, PyObject *tensor);
PyObject *shares(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* slopes.c */
PyObject *secants(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *places_of_nan(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *ends_at(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *set_kept(PyObject *module, PyObject *kept);
PyObject *attach_close(PyObject *module, PyObject *functions);
PyObject *close_slopes(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *attach_few_slopes(PyObject *module, PyObject *args);
PyObject *larger_number(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *attach_means(PyObject *module, PyObject *args);
PyObject *compared_numbers(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *clamped_number(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *chosen_number(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *weighted_numbers(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *jumps_of_numbers(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *stepped_beside(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *larger_of_arrays(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *chosen_of_arrays(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *ends_of_two(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *weighted_arrays(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *attach_complex(PyObject *module, PyObject *args);
PyObject *complex_of_few(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *attach_origins(PyObject *module, PyObject *args);
PyObject *put_secants(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* soft.c, heads.c, reverse.c, reverse_slopes.c */
PyObject *soft_back(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *soft_length(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *attach_reverse(PyObject *module, PyObject *args);
PyObject *equal_rows(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *slope_at_once(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *attach_slopes(PyObject *module, PyObject *args);
PyObject *heads_back(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* forms.c, reverse.c, gates.c */
PyObject *answer(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *set_closed(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *gate_slopes(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *lstm_steps(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *lstm_cell(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *gru_cell(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *lstm_cell_back(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *gru_cell_back(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* reverse_losses.c, reverse_jumps.c */
PyObject *loss_slopes(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *class_slopes(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *margin_slopes(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *jumps(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *choices(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *gate_length(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *gate_means(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* normal.c */
PyObject *leading_shares(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *mean_directions(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *products_back(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *shortest(PyObject *module, PyObject *tensor);
PyObject *inverses_beside(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *power_slopes(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *pair_directions(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *mean_inverses(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *normal_rows(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *normal_back(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* reverse_beside.c */
PyObject *beside_back(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *set_beside(PyObject *module, PyObject *function);
PyObject *digits_lost(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *divisor_range(PyObject *module, PyObject *const *args, Py_ssize_t count);

/* pools.c */
PyObject *pool_leaders(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *pool_shares(PyObject *module, PyObject *const *args, Py_ssize_t count);
PyObject *pool_back(PyObject *module, PyObject *const *args, Py_ssize_t count);

#endif
