"""Operations that only enqueue work: they make no wait, unless a CUDA tensor is given for one of their host numbers.

They are listed so that an engine can tell "known not to wait" from "unknown". A row is a name and its parameters;
those marked `!` are host numbers. The rows are written by `python -m syncwatch.facts.measure.signatures` from the
signatures of PyTorch, for the names that are here; rows of other files come first where a name is in both. Names that
were not called by a measured program are other spellings of measured ones (concat, __ior__, special.expit), or read
what the host knows already (stride, dtype).
"""

from __future__ import annotations

from functools import cache

from syncwatch.facts.ops.scalars import host_numbers
from syncwatch.facts.table import Fact

MARK = "# --- rows, by the space that holds the names"
SECTIONS: dict[str, str] = {}


@cache
def _rows() -> dict[str, str]:
    """Full name → its row, as text."""
    rows = {}
    for section, text in SECTIONS.items():
        prefix = f"{section}." if section else ""
        for row in text.replace("\n", " ").split(";"):
            name, _, params = row.strip().partition(" ")
            rows[prefix + name] = params
    return rows


def names() -> dict[str, list[str]]:
    """Section → the names that it holds."""
    return {
        section: [row.split()[0] for row in text.replace("\n", " ").split(";")] for section, text in SECTIONS.items()
    }


def public() -> list[str]:
    """All names but those of the dispatcher."""
    return [name for name in _rows() if not name.startswith(("aten.", "profiler."))]


@cache
def lookup(name: str) -> Fact | None:
    """The row of an operation, made when it is asked for."""
    params = _rows().get(name)
    if params is None:
        return None
    words = params.split() or ["input"]
    marked = [word.removesuffix("!") for word in words if word.endswith("!")]
    cases = (host_numbers(*marked),) if marked else ()
    plain = tuple(word.removesuffix("!") for word in words)
    leaf = name.startswith(("aten.", "profiler."))
    return Fact((name,), plain, cases, leaf=leaf)


# --- rows, by the space that holds the names
SECTIONS["torch"] = """
_foreach_clamp_max_; _foreach_max; _foreach_pow; _nested_get_values; _sparse_sum input dim! dtype; absolute; arccos;
arccosh; arcsin; arcsinh; arctan; arctan2 input other; arctanh; asin_; bartlett_window; blackman_window; cos_; erf_;
fake_quantize_per_tensor_affine input scale zero_point quant_min! quant_max!; fix; floor_; frac_; greater input
other; greater_equal input other; group_norm input num_groups! weight bias eps! cudnn_enabled; hamming_window;
hann_window; histogram input bins range weight density hist bin_edges; kaiser_window; layer_norm input
normalized_shape! weight bias eps! cudnn_enable; less input other; less_equal input other; log_; not_equal input
other; orgqr input input2; reciprocal_; rms_norm input normalized_shape! weight eps!; round_ input decimals!;
rsqrt_; sigmoid_; sin_; tanh_; trunc_; tensor_split input sections dim!; _assert_async; Size; _adaptive_avg_pool2d
input output_size!; _adaptive_avg_pool3d input output_size!; _chunk_cat; _conj; _conj_physical;
_embedding_bag_forward_only weight indices offsets scale_grad_by_freq mode! sparse per_sample_weights
include_last_offset padding_idx! out0 out1 out2 out3; _fft_c2c input dim! normalization! forward; _fft_c2r input
dim! normalization! last_dim_size!; _fft_r2c input dim! normalization! onesided; _fused_rms_norm input
normalized_shape! weight eps!; _linalg_det A result LU pivots; _linalg_slogdet A sign logabsdet LU pivots;
_linalg_solve_ex A B left check_errors result LU pivots info; _log_softmax input dim! half_to_float;
_native_batch_norm_legit input weight bias running_mean running_var training momentum! eps!; _prelu_kernel input
weight; _safe_softmax input dim! dtype; _softmax input dim! half_to_float; _softmax_backward_data grad_output output
dim! input_dtype! grad_input; _trilinear i1 i2 i3 expand1! expand2! expand3! sumdim! unroll_dim!;
_unsafe_masked_index input mask indices fill!; _unsafe_masked_index_put_accumulate input mask indices values;
_use_cudnn_ctc_loss log_probs targets input_lengths target_lengths blank!; _use_miopen_ctc_loss log_probs targets
input_lengths target_lengths blank!; abs; abs_; acos; acosh; addbmm input batch1 batch2 beta! alpha!; addcdiv input
tensor1 tensor2 value!; addcmul input tensor1 tensor2 value!; addmm input mat1 mat2 out_dtype! beta! alpha!; addmv
input mat vec beta! alpha!; addr input vec1 vec2 beta! alpha!; adjoint; alias_copy; all input dim! keepdim; amax
input dim! keepdim; amin input dim! keepdim; aminmax input dim! keepdim min max; angle; any input dim! keepdim;
argmax input dim! keepdim; argmin input dim! keepdim; argsort input stable dim! descending; as_strided input size!
stride! storage_offset!; as_strided_copy input size! stride! storage_offset!; as_strided_scatter input src size!
stride! storage_offset!; asin; asinh; atan; atan2 input other; atanh; atleast_1d; atleast_2d; atleast_3d; baddbmm
input batch1 batch2 out_dtype! beta! alpha!; bernoulli input p generator; bfloat16; binary_cross_entropy_with_logits
input target weight pos_weight reduction!; bitwise_and input other; bitwise_left_shift input other; bitwise_not;
bitwise_or input other; bitwise_right_shift input other; bitwise_xor input other; block_diag; bmm input mat2
out_dtype!; bool; broadcast_tensors; broadcast_to input size!; bucketize input boundaries out_int32 right; can_cast;
cartesian_prod; cat; cdist x1 x2 p! compute_mode!; ceil; ceil_; celu input alpha!; cfloat; chain_matmul;
channel_shuffle input groups!; clamp_ input min max; clamp_max input max; clamp_max_ input max; clamp_min input min;
clamp_min_ input min; clone input memory_format; column_stack; complex real imag; concat; concatenate; conj;
conj_physical; constant_pad_nd input pad! value!; convolution input weight bias stride! padding! dilation!
transposed output_padding! groups!; copysign input other; cos; cosh; count_nonzero input dim!; cross input other
dim!; cudnn_batch_norm input weight bias running_mean running_var training exponential_average_factor! epsilon! out0
out1 out2 out3; cudnn_grid_sampler input grid; cummax input dim! values indices; cummin input dim! values indices;
cumprod input dim! dtype; cumsum input dim! dtype; cumulative_trapezoid y x dim!; deg2rad; detach; detach_; device;
diag input diagonal!; diag_embed input offset! dim1! dim2!; diagflat input offset!; diagonal input offset! dim1!
dim2!; diagonal_copy input offset! dim1! dim2!; diagonal_scatter input src offset! dim1! dim2!; diff input n! dim!
prepend append; digamma; dist input other p!; div input other rounding_mode; divide input other rounding_mode; dot
input tensor; double; dropout input p! train; dsplit input sections!; dstack; dtype; einsum a; embedding weight
indices padding_idx! scale_grad_by_freq sparse; embedding_renorm_ input indices max_norm! norm_type!; empty_like
input dtype layout device pin_memory memory_format; empty_permuted; empty_strided; enable_grad; eq input other; erf;
erfc; erfinv; exp; exp2; exp_; expand_copy input size! implicit; expm1; fill input value; fill_ input value; finfo;
flatten input start_dim! end_dim!; flip input dims!; fliplr; flipud; float; float_power input exponent; floor;
floor_divide input other; fmax input other; fmin input other; fmod input other; frac; frexp input mantissa exponent;
gather input dim! index sparse_grad; gcd input other; ge input other; ger input vec2; get_device; gradient input
spacing dim! edge_order!; grid_sampler_2d input grid interpolation_mode! padding_mode! align_corners;
grid_sampler_3d input grid interpolation_mode! padding_mode! align_corners; gt input other; half; hardshrink input
lambd!; hash_tensor input dim! keepdim mode!; heaviside input values; hsplit input sections!; hstack; hypot input
other; i0; igamma input other; igammac input other; iinfo; imag; index_add input dim! index source alpha!;
index_copy input dim! index source; index_put input indices values accumulate; index_reduce; index_select input dim!
index; inner input other; int; is_complex; is_floating_point; is_grad_enabled; is_signed; is_storage; is_tensor;
isclose input other rtol! atol! equal_nan; isfinite; isinf; isnan; isneginf; isposinf; isreal; kron input other;
kthvalue input k! dim! keepdim values indices; lcm input other; ldexp input other; le input other; lerp input end
weight; lgamma; log; log10; log1p; log2; log_softmax input dim! dtype; logaddexp input other; logaddexp2 input
other; logcumsumexp input dim!; logical_and input other; logical_not; logical_or input other; logical_xor input
other; logit input eps!; logsumexp input dim! keepdim; long; lt input other; lu_unpack LU_data LU_pivots unpack_data
unpack_pivots P L U; masked_scatter input mask source; matmul input other; max input dim keepdim max max_values;
maximum input other; mean input dim! keepdim dtype; median input dim! keepdim values indices; meshgrid; min input
dim keepdim min min_indices; minimum input other; mm input mat2 out_dtype!; mode input dim! keepdim values indices;
moveaxis input source! destination!; movedim input source! destination!; msort; mul input other; multinomial input
num_samples! replacement generator; multiply input other; mv input vec; mvlgamma input p!; nan_to_num input nan!
posinf! neginf!; nanmean input dim! keepdim dtype; nanmedian input dim! keepdim values indices; nanquantile; nansum
input dim! keepdim dtype; narrow_copy input dim! start! length!; native_batch_norm input weight bias running_mean
running_var training momentum! eps!; native_dropout input p! train out0 out1; native_group_norm input weight bias N!
C! HxW! group! eps! out0 out1 out2; native_layer_norm input normalized_shape! weight bias eps! out0 out1 out2; ne
input other; neg; neg_; negative; nextafter input other; no_grad; numel; ones_like input dtype layout device
pin_memory memory_format; outer input vec2; permute input dims!; permute_copy input dims!; pixel_shuffle input
upscale_factor!; pixel_unshuffle input downscale_factor!; poisson input generator; polar abs angle; polygamma;
positive; pow input exponent; prelu input weight; prod input dim! keepdim dtype; promote_types; put input index
source accumulate; quantile; rad2deg; rand_like input generator dtype layout device pin_memory memory_format;
randint; randint_like input low high generator dtype layout device pin_memory memory_format; randn_like input
generator dtype layout device pin_memory memory_format; randperm; ravel; real; reciprocal; relu; relu_; remainder
input other; renorm input p! dim! maxnorm!; resize_as_ input the_template memory_format; resolve_conj; resolve_neg;
result_type tensor other; roll input shifts! dims!; rot90 input k! dims!; round input decimals!; row_stack; rsqrt;
scatter input dim! index value; scatter_add input dim! index src; scatter_reduce; searchsorted sorted_sequence input
out_int32 right side sorter; select input dim! index!; select_scatter input src dim! index!; selu;
set_default_dtype; set_grad_enabled; sgn; short; sigmoid; sign; signbit; sin; sinc; sinh; slice_scatter input src
dim! start! end! step!; softmax input dim! dtype; sort input stable dim! descending values indices; split_with_sizes
input split_sizes! dim!; split_with_sizes_copy input split_sizes! dim!; sqrt; sqrt_; square; square_; squeeze input
dim!; squeeze_copy input dim!; stack; std input dim! unbiased keepdim; std_mean input dim! correction! keepdim out0
out1; stft input n_fft! hop_length! win_length! window normalized onesided return_complex align_to_window; storage;
sum input dim! keepdim dtype; swapaxes input axis0! axis1!; swapdims input dim0! dim1!; t; t_copy; take input index;
take_along_dim input indices dim!; tan; tanh; tensordot input other dims_self! dims_other!; threshold input
threshold! value!; topk input k! dim! largest sorted values indices; trace; transpose input dim0! dim1!;
transpose_copy input dim0! dim1!; trapezoid y x dim!; trapz y x dim!; triangular_solve input A upper transpose
unitriangular X M; tril input diagonal!; tril_indices; triu input diagonal!; triu_indices; true_divide input other;
trunc; unbind input dim!; unbind_copy input dim!; unflatten input dim! sizes!; unfold_copy input dimension! size!
step!; unsafe_chunk input chunks! dim!; unsafe_split input split_size! dim!; unsqueeze input dim!; unsqueeze_copy
input dim!; vander x N! increasing; var input dim! unbiased keepdim; var_mean input dim! correction! keepdim out0
out1; vdot input other; view_as_complex; view_as_real; view_copy input size!; vmap; vsplit input sections!; vstack;
xlogy input other; zero_; zeros_like input dtype layout device pin_memory memory_format
"""

SECTIONS["torch.Tensor"] = """
acos_; acosh_; addbmm_ input batch1 batch2 beta! alpha!; addmv_ input mat vec beta! alpha!; addr_ input vec1 vec2
beta! alpha!; arccos_; arccosh; arccosh_; arcsin; arcsin_; arcsinh; arcsinh_; arctan; arctan2_ input other; arctan_;
arctanh; arctanh_; as_strided_ input size! stride! storage_offset!; asin_; asinh_; atan2_ input other; atan_;
atanh_; bitwise_left_shift_ input other; bitwise_not_; bitwise_right_shift_ input other; bitwise_xor_ input other;
conj_physical; conj_physical_; copysign_ input other; cosh_; cumprod_ input dim! dtype; deg2rad_; dense_dim;
digamma_; divide_ input other rounding_mode; erf_; erfc_; exp2_; fix; fix_; gcd_ input other; ge_ input other;
greater input other; greater_ input other; greater_equal input other; greater_equal_ input other;
heaviside_ input values; hypot_ input other; i0_; igamma_ input other; igammac_ input other; indices; is_conj;
is_inference; is_neg; is_same_size input other; lcm_ input other; ldexp_ input other; le_ input other; less input
other; less_ input other; less_equal input other; less_equal_ input other; lgamma_; log10_; log2_; logical_xor_
input other; logit_ input eps!; multiply_ input other; mvlgamma_ input p!; negative_; new; nextafter_ input other;
not_equal input other; not_equal_ input other; orgqr input input2; polygamma_ input n!; rad2deg_; renorm_ input p!
dim! maxnorm!; resolve_neg; sgn_; share_memory_; sinc_; sinh_; sparse_dim; sparse_mask input mask; storage_type;
swapdims_ input dim0! dim1!; tan_; unsafe_chunk input chunks! dim!; values; tensor_split input sections dim!; H; T;
__abs__; __add__; __and__ input other; __array_priority__; __deepcopy__; __eq__; __floordiv__; __ge__; __gt__;
__hash__; __iadd__; __iand__ input other; __ifloordiv__; __ilshift__ input other; __imod__; __imul__; __invert__;
__ior__ input other; __ipow__; __irshift__ input other; __isub__; __iter__; __itruediv__; __ixor__ input other;
__le__; __len__; __lshift__ input other; __lt__; __matmul__; __mod__; __mul__; __ne__; __neg__; __or__ input other;
__pos__; __pow__; __radd__; __rand__; __reversed__; __rfloordiv__; __rlshift__; __rmatmul__; __rmod__; __rmul__;
__ror__; __rpow__; __rrshift__; __rshift__ input other; __rsub__; __rtruediv__; __rxor__; __sub__; __truediv__;
__xor__ input other; _conj; _conj_physical; abs; abs_; absolute; absolute_; acos; acosh; addbmm input batch1 batch2
beta! alpha!; addcdiv input tensor1 tensor2 value!; addcdiv_ input tensor1 tensor2 value!; addcmul input tensor1
tensor2 value!; addcmul_ input tensor1 tensor2 value!; addmm input mat1 mat2 out_dtype! beta! alpha!; addmm_ input
mat1 mat2 beta! alpha!; addmv input mat vec beta! alpha!; addr input vec1 vec2 beta! alpha!; adjoint; all input dim!
keepdim; amax input dim! keepdim; amin input dim! keepdim; aminmax input dim! keepdim min max; angle; any input dim!
keepdim; arccos; arctan2 input other; argmax input dim! keepdim; argmin input dim! keepdim; argsort input stable
dim! descending; as_strided input size! stride! storage_offset!; as_strided_scatter input src size! stride!
storage_offset!; asin; asinh; atan; atan2 input other; atanh; baddbmm input batch1 batch2 out_dtype! beta! alpha!;
baddbmm_ input batch1 batch2 beta! alpha!; bernoulli input p generator; bernoulli_ input p generator; bfloat16;
bitwise_and input other; bitwise_and_ input other; bitwise_left_shift input other; bitwise_not; bitwise_or input
other; bitwise_or_ input other; bitwise_right_shift input other; bitwise_xor input other; bmm input mat2 out_dtype!;
bool; broadcast_to input size!; byte; cauchy_ input median! sigma! generator; cdouble; ceil; ceil_; cfloat; chalf
input memory_format; char; clamp_max input max; clamp_max_ input max; clamp_min input min; clamp_min_ input min;
clone input memory_format; conj; contiguous input memory_format; copysign input other; cos; cos_; cosh;
count_nonzero input dim!; cross input other dim!; cummax input dim! values indices; cummin input dim! values
indices; cumprod input dim! dtype; cumsum input dim! dtype; cumsum_ input dim! dtype; data; data_ptr; deg2rad;
detach; detach_; device; diag input diagonal!; diag_embed input offset! dim1! dim2!; diagflat input offset!;
diagonal input offset! dim1! dim2!; diagonal_scatter input src offset! dim1! dim2!; diff input n! dim! prepend
append; digamma; dim; dist input other p!; div input other rounding_mode; div_ input other rounding_mode; divide
input other rounding_mode; dot input tensor; double; dsplit input sections!; dtype; element_size; eq input other;
eq_ input other; erf; erfc; erfinv; erfinv_; exp; exp2; exp_; expand_as input other; expm1; expm1_; exponential_
input lambd! generator; flatten input start_dim! end_dim!; flip input dims!; fliplr; flipud; float; float_power
input exponent; floor; floor_; floor_divide input other; floor_divide_ input other; fmax input other; fmin input
other; fmod input other; fmod_ input other; frac; frac_; frexp input mantissa exponent; gather input dim! index
sparse_grad; gcd input other; ge input other; geometric_ input p! generator; geqrf input a tau; ger input vec2;
get_device; gt input other; gt_ input other; half; hardshrink input lambd!; hash_tensor input dim! keepdim mode!;
heaviside input values; hsplit input sections!; hypot input other; i0; igamma input other; igammac input other;
imag; index input indices; index_add input dim! index source alpha!; index_add_ input dim! index source alpha!;
index_copy input dim! index source; index_copy_ input dim! index source; index_put input indices values accumulate;
index_reduce; index_reduce_; index_select input dim! index; inner input other; int; is_complex; is_contiguous input
memory_format; is_floating_point; is_pinned input device; is_shared; is_signed; isclose input other rtol! atol!
equal_nan; isfinite; isinf; isnan; isneginf; isposinf; isreal; kron input other; kthvalue input k! dim! keepdim
values indices; lcm input other; ldexp input other; le input other; lerp input end weight; lerp_ input end weight;
lgamma; log; log10; log1p; log1p_; log2; log_; log_normal_ input mean! std! generator; log_softmax input dim! dtype;
logaddexp input other; logaddexp2 input other; logcumsumexp input dim!; logical_and input other; logical_and_ input
other; logical_not; logical_not_; logical_or input other; logical_or_ input other; logical_xor input other; logit
input eps!; logsumexp input dim! keepdim; long; lt input other; lt_ input other; mH; mT; masked_scatter input mask
source; masked_scatter_ input mask source; matmul input other; max input dim keepdim max max_values; maximum input
other; mean input dim! keepdim dtype; median input dim! keepdim values indices; min input dim keepdim min
min_indices; minimum input other; mm input mat2 out_dtype!; mode input dim! keepdim values indices; moveaxis input
source! destination!; movedim input source! destination!; msort; mul input other; mul_ input other; multinomial
input num_samples! replacement generator; multiply input other; mv input vec; mvlgamma input p!; nan_to_num input
nan! posinf! neginf!; nan_to_num_ input nan! posinf! neginf!; nanmean input dim! keepdim dtype; nanmedian input dim!
keepdim values indices; nanquantile; nansum input dim! keepdim dtype; narrow_copy input dim! start! length!; ne
input other; ne_ input other; neg; neg_; negative; nelement; new_empty_strided input size! stride! dtype layout
device pin_memory; nextafter input other; normal_ input mean! std! generator; numel; ormqr input input2 input3 left
transpose; outer input vec2; permute input dims!; polygamma; positive; pow input exponent; pow_ input exponent;
prelu input weight; prod input dim! keepdim dtype; put input index source accumulate; put_ input index source
accumulate; quantile; rad2deg; random_ input from! to! generator; ravel; real; reciprocal; reciprocal_;
register_hook; relu; relu_; remainder input other; remainder_ input other; renorm input p! dim! maxnorm!;
requires_grad; requires_grad_ input requires_grad; reshape_as input other; resize_as_ input the_template
memory_format; resolve_conj; retain_grad; roll input shifts! dims!; rot90 input k! dims!; round input decimals!;
round_ input decimals!; rsqrt; rsqrt_; scatter input dim! index value; scatter_ input dim! index src; scatter_add
input dim! index src; scatter_add_ input dim! index src; scatter_reduce; scatter_reduce_; select input dim! index!;
select_scatter input src dim! index!; set_ input source storage_offset! size! stride!; sgn; short; sigmoid;
sigmoid_; sign; sign_; signbit; sin; sin_; sinc; sinh; size input dim!; slice_scatter input src dim! start! end!
step!; softmax input dim! dtype; sort input stable dim! descending values indices; split_with_sizes input
split_sizes! dim!; sqrt; sqrt_; square; square_; squeeze input dim!; squeeze_ input dim!; std input dim! unbiased
keepdim; stft input n_fft! hop_length! win_length! window normalized onesided return_complex align_to_window;
storage; storage_offset; stride input dim!; sum input dim! keepdim dtype; sum_to_size input size!; swapaxes input
axis0! axis1!; swapaxes_ input axis0! axis1!; swapdims input dim0! dim1!; t; t_; take input index; take_along_dim
input indices dim!; tan; tanh; tanh_; topk input k! dim! largest sorted values indices; trace; transpose input dim0!
dim1!; transpose_ input dim0! dim1!; triangular_solve input A upper transpose unitriangular X M; tril input
diagonal!; tril_ input diagonal!; triu input diagonal!; triu_ input diagonal!; true_divide input other; true_divide_
input other; trunc; trunc_; type_as input other; unbind input dim!; unflatten input dim! sizes!; unfold input
dimension! size! step!; uniform_ input from! to! generator; unsafe_split input split_size! dim!; unsqueeze input
dim!; unsqueeze_ input dim!; untyped_storage; var input dim! unbiased keepdim; vdot input other; view_as input
other; vsplit input sections!; xlogy input other; xlogy_ input other; zero_
"""

SECTIONS["torch.nn.functional"] = """
adaptive_max_pool1d_with_indices input output_size return_indices; adaptive_max_pool2d_with_indices input
output_size return_indices; adaptive_max_pool3d_with_indices input output_size return_indices;
max_pool1d_with_indices input kernel_size stride padding dilation ceil_mode return_indices; max_pool2d_with_indices
input kernel_size stride padding dilation ceil_mode return_indices; max_pool3d_with_indices input kernel_size stride
padding dilation ceil_mode return_indices; adaptive_avg_pool1d input output_size!; adaptive_avg_pool2d input
output_size; adaptive_avg_pool3d input output_size; adaptive_max_pool1d input output_size!; adaptive_max_pool2d
input output_size!; adaptive_max_pool3d input output_size!; affine_grid theta size! align_corners; avg_pool1d input
kernel_size! stride! padding! ceil_mode count_include_pad; avg_pool2d input kernel_size! stride! padding! ceil_mode
count_include_pad divisor_override!; avg_pool3d input kernel_size! stride! padding! ceil_mode count_include_pad
divisor_override!; batch_norm input running_mean running_var weight bias training momentum! eps!; bilinear input1
input2 weight bias; binary_cross_entropy input target weight size_average reduce reduction;
binary_cross_entropy_with_logits input target weight size_average reduce reduction pos_weight; celu input alpha!
inplace; channel_shuffle input groups!; conv1d input weight bias stride! padding! dilation! groups!; conv2d input
weight bias stride! padding! dilation! groups!; conv3d input weight bias stride! padding! dilation! groups!;
conv_transpose1d input weight bias stride! padding! output_padding! groups! dilation!; conv_transpose2d input weight
bias stride! padding! output_padding! groups! dilation!; conv_transpose3d input weight bias stride! padding!
output_padding! groups! dilation!; cosine_embedding_loss input1 input2 target margin! size_average reduce reduction;
cosine_similarity x1 x2 dim! eps!; cross_entropy input target weight size_average ignore_index! reduce reduction
label_smoothing!; elu input alpha! inplace; embedding input weight padding_idx! max_norm! norm_type!
scale_grad_by_freq sparse; embedding_bag input weight offsets max_norm! norm_type! scale_grad_by_freq mode sparse
per_sample_weights include_last_offset padding_idx!; fold input output_size kernel_size dilation padding stride;
fractional_max_pool2d input kernel_size! output_size! random_samples output indices; fractional_max_pool3d input
kernel_size! output_size! random_samples output indices; gelu; glu input dim!; grid_sample input grid mode
padding_mode align_corners; group_norm input num_groups! weight bias eps!; gumbel_softmax logits tau! hard eps!
dim!; hardshrink input lambd!; hardsigmoid input inplace; hardswish input inplace; hardtanh input min_val! max_val!
inplace; hinge_embedding_loss input target margin! size_average reduce reduction; huber_loss input target reduction
delta! weight; instance_norm input running_mean running_var weight bias use_input_stats momentum! eps!; interpolate
input size! scale_factor! mode align_corners recompute_scale_factor antialias; kl_div input target size_average
reduce reduction log_target; l1_loss input target size_average reduce reduction weight; layer_norm input
normalized_shape! weight bias eps!; leaky_relu input negative_slope! inplace; linear input weight bias;
local_response_norm input size! alpha! beta! k!; log_softmax input dim! _stacklevel! dtype; logsigmoid; lp_pool1d
input norm_type! kernel_size! stride ceil_mode; lp_pool2d input norm_type! kernel_size stride ceil_mode; lp_pool3d
input norm_type! kernel_size stride ceil_mode; margin_ranking_loss input1 input2 target margin! size_average reduce
reduction; max_pool1d input kernel_size! stride! padding! dilation! ceil_mode; max_pool2d input kernel_size! stride!
padding! dilation! ceil_mode; max_pool3d input kernel_size! stride! padding! dilation! ceil_mode; max_unpool1d input
indices kernel_size stride padding output_size; max_unpool2d input indices kernel_size stride padding output_size;
max_unpool3d input indices kernel_size stride padding output_size; mish input inplace; mse_loss input target
size_average reduce reduction weight; multi_head_attention_forward query key value embed_dim_to_check! num_heads!
in_proj_weight in_proj_bias bias_k bias_v add_zero_attn dropout_p! out_proj_weight out_proj_bias training
key_padding_mask need_weights attn_mask use_separate_proj_weight q_proj_weight k_proj_weight v_proj_weight static_k
static_v average_attn_weights is_causal; multi_margin_loss input target p! margin! weight size_average reduce
reduction; multilabel_margin_loss input target size_average reduce reduction; multilabel_soft_margin_loss input
target weight size_average reduce reduction; nll_loss input target weight size_average ignore_index! reduce
reduction; normalize input p! dim! eps! out; pad input pad! mode value!; pairwise_distance x1 x2 p! eps! keepdim;
pdist input p!; pixel_shuffle input upscale_factor!; pixel_unshuffle input downscale_factor!; poisson_nll_loss input
target log_input full size_average eps! reduce reduction; prelu input weight; relu input inplace; relu6 input
inplace; relu_; rms_norm input normalized_shape! weight eps!; rrelu input lower! upper! training inplace;
scaled_dot_product_attention query key value attn_mask dropout_p! is_causal scale! enable_gqa; selu input inplace;
sigmoid; silu input inplace; smooth_l1_loss input target size_average reduce reduction beta!; soft_margin_loss input
target size_average reduce reduction; softmax input dim! _stacklevel! dtype; softmin input dim! _stacklevel! dtype;
softplus input beta! threshold!; softshrink input lambd!; softsign; tanh; tanhshrink; threshold input threshold!
value! inplace; triplet_margin_loss anchor positive negative margin! p! eps! swap size_average reduce reduction;
triplet_margin_with_distance_loss anchor positive negative distance_function margin! swap reduction; unfold input
kernel_size dilation padding stride; upsample input size scale_factor mode align_corners
"""

SECTIONS["torch.special"] = """
airy_ai; bessel_j0; bessel_j1; bessel_y0; bessel_y1; chebyshev_polynomial_t; chebyshev_polynomial_u;
chebyshev_polynomial_v; chebyshev_polynomial_w; digamma; entr; erf; erfc; erfcx; erfinv; exp2; expit; expm1;
gammainc; gammaincc; gammaln; hermite_polynomial_h; hermite_polynomial_he; i0; i0e; i1; i1e; laguerre_polynomial_l;
legendre_polynomial_p; log1p; log_ndtr; log_softmax; logit; logsumexp; modified_bessel_i0; modified_bessel_i1;
modified_bessel_k0; modified_bessel_k1; multigammaln; ndtr; ndtri; polygamma; psi; round; scaled_modified_bessel_k0;
scaled_modified_bessel_k1; shifted_chebyshev_polynomial_t; shifted_chebyshev_polynomial_u;
shifted_chebyshev_polynomial_v; shifted_chebyshev_polynomial_w; sinc; softmax; spherical_bessel_j0; xlog1py; xlogy;
zeta
"""

SECTIONS["torch.fft"] = """
fft; fft2; fftn; fftshift; hfft; hfft2; hfftn; ifft; ifft2; ifftn; ifftshift; ihfft; ihfft2; ihfftn; irfft; irfft2;
irfftn; rfft; rfft2; rfftn
"""

SECTIONS[""] = """
copy.deepcopy; torch.Size; torch._foreach_add; torch._foreach_add_; torch._foreach_addcdiv_;
torch._foreach_addcmul_; torch._foreach_copy_; torch._foreach_div_; torch._foreach_lerp_; torch._foreach_mul;
torch._foreach_mul_; torch._foreach_norm; torch._foreach_sqrt; torch._foreach_sub_; torch._foreach_zero_;
torch._fused_adam_; torch._fused_adamw_; torch._fused_sgd_; torch._nested_view_from_jagged;
torch._ops.profiler._record_function_enter_new; torch._ops.profiler._record_function_exit._RecordFunction;
torch.nested.nested_tensor_from_jagged; torch.nn.utils.parameters_to_vector; torch.nn.utils.vector_to_parameters;
torch.sparse.addmm; torch.sparse.log_softmax; torch.sparse.sampled_addmm; torch.sparse.softmax; torch.sparse.sum
"""

SECTIONS["aten"] = """
_foreach; _adaptive_avg_pool2d; _adaptive_avg_pool3d; _batch_norm_with_update; _cdist_forward; _chunk_cat; _conj;
_conj_physical; _cudnn_rnn; _efficient_attention_forward; _embedding_bag_forward_only; _fft_c2c; _fft_c2r; _fft_r2c;
_fused_rms_norm; _linalg_det; _linalg_slogdet; _linalg_solve_ex; _log_softmax; _native_batch_norm_legit;
_pdist_forward; _prelu_kernel; _safe_softmax; _softmax; _softmax_backward_data; _thnn_fused_gru_cell;
_thnn_fused_lstm_cell; _trilinear; _unsafe_masked_index; _unsafe_masked_index_put_accumulate; _unsafe_view;
_upsample_bilinear2d_aa; _upsample_nearest_exact1d; _use_cudnn_ctc_loss; _use_miopen_ctc_loss; abs; acos; acosh;
adaptive_max_pool2d; adaptive_max_pool3d; add; add_; addbmm; addcdiv; addcmul; addmm; addmv; addr; alias;
alias_copy; all; amax; amin; aminmax; angle; any; arange; argmax; argmin; as_strided; as_strided_copy;
as_strided_scatter; asin; asinh; atan; atan2; atanh; avg_pool2d; avg_pool3d; baddbmm; bernoulli; bernoulli_;
binary_cross_entropy; binary_cross_entropy_with_logits; bitwise_and; bitwise_and_; bitwise_left_shift; bitwise_not;
bitwise_or; bitwise_or_; bitwise_right_shift; bitwise_xor; block_diag; bmm; bucketize; cat; cauchy_; ceil; ceil_;
celu; channel_shuffle; cholesky_inverse; cholesky_solve; clamp; clamp_; clamp_max; clamp_min; clamp_min_; clone;
complex; constant_pad_nd; convolution; copysign; cos; cosh; count_nonzero; cudnn_batch_norm; cudnn_grid_sampler;
cummax; cummin; cumprod; cumsum; deg2rad; detach; diag_embed; diagonal; diagonal_copy; diagonal_scatter; digamma;
dist; div; div_; dot; elu; embedding; embedding_renorm_; empty; empty_like; empty_permuted; empty_strided; eq; erf;
erfc; erfinv; exp; exp2; expand; expand_copy; expm1; exponential_; eye; fill; fill_; flip; floor; floor_divide;
fmax; fmin; fmod; frac; fractional_max_pool2d; fractional_max_pool3d; frexp; full; full_like; gather; gcd; ge; gelu;
geometric_; geqrf; glu; grid_sampler_2d; grid_sampler_3d; gt; hardshrink; hardsigmoid; hardswish; hardtanh;
hash_tensor; heaviside; huber_loss; hypot; i0; igamma; igammac; im2col; index_add; index_copy; index_fill;
index_fill_; index_reduce; index_select; isin; isinf; isnan; isneginf; isposinf; kthvalue; lcm; ldexp; le;
leaky_relu; lerp; lerp_; lgamma; lift_fresh; linalg_cholesky_ex; linalg_cross; linalg_householder_product;
linalg_inv_ex; linalg_lu_solve; linalg_qr; linalg_solve_triangular; linalg_vector_norm; linspace; log; log10; log1p;
log2; log_normal_; log_sigmoid_forward; logaddexp; logaddexp2; logcumsumexp; logical_and; logical_not; logical_not_;
logical_or; logical_xor; logit; logspace; logsumexp; lt; lu_unpack; masked_fill; masked_fill_; masked_scatter; max;
max_pool2d_with_indices; max_pool2d_with_indices_backward; max_pool3d_with_indices; max_unpool2d; max_unpool3d;
maximum; mean; median; min; minimum; mish; mm; mode; mse_loss; mul; mul_; multi_margin_loss;
multilabel_margin_loss_forward; multinomial; mv; mvlgamma; nan_to_num; nanmedian; nansum; narrow_copy;
native_batch_norm; native_dropout; native_dropout_backward; native_group_norm; native_layer_norm; ne; neg;
new_empty; new_empty_strided; new_full; new_ones; new_zeros; nextafter; nll_loss2d_forward; nll_loss_forward;
nonzero_static; norm; normal; normal_; ones; ones_like; ormqr; permute; permute_copy; pixel_shuffle;
pixel_unshuffle; polar; polygamma; pow; pow_; prod; put; rad2deg; rand; randint; randint_like; randn; randn_like;
reciprocal; reflection_pad1d; reflection_pad2d; reflection_pad3d; relu; remainder; renorm; repeat;
repeat_interleave; replication_pad1d; replication_pad2d; replication_pad3d; resize_; resize_as_; roll; rot90; round;
rrelu_with_noise; rsqrt; rsqrt_; rsub; scalar_tensor; scatter; scatter_; scatter_add; scatter_reduce; searchsorted;
select; select_scatter; set_; sgn; sigmoid; sign; signbit; silu; sin; sinc; sinh; slice; slice_scatter;
smooth_l1_loss; soft_margin_loss; softplus; softshrink; sort; sparse_sampled_addmm; special_airy_ai;
special_bessel_j0; special_bessel_j1; special_bessel_y0; special_bessel_y1; special_chebyshev_polynomial_t;
special_chebyshev_polynomial_u; special_chebyshev_polynomial_v; special_chebyshev_polynomial_w; special_entr;
special_erfcx; special_hermite_polynomial_h; special_hermite_polynomial_he; special_i0e; special_i1; special_i1e;
special_laguerre_polynomial_l; special_legendre_polynomial_p; special_log_ndtr; special_modified_bessel_i0;
special_modified_bessel_i1; special_modified_bessel_k0; special_modified_bessel_k1; special_ndtri;
special_scaled_modified_bessel_k0; special_scaled_modified_bessel_k1; special_shifted_chebyshev_polynomial_t;
special_shifted_chebyshev_polynomial_u; special_shifted_chebyshev_polynomial_v;
special_shifted_chebyshev_polynomial_w; special_spherical_bessel_j0; special_xlog1py; special_zeta; split;
split_with_sizes; split_with_sizes_copy; sqrt; sqrt_; squeeze; squeeze_; squeeze_copy; stack; std; std_mean; sub;
sub_; sum; t; t_copy; take; tan; tanh; threshold; topk; trace; transpose; transpose_; transpose_copy;
triangular_solve; tril; tril_indices; triu; triu_indices; trunc; unbind; unbind_copy; unfold; unfold_backward;
unfold_copy; uniform_; unsafe_split; unsqueeze; unsqueeze_copy; upsample_bicubic2d; upsample_bilinear2d;
upsample_linear1d; upsample_nearest1d; upsample_nearest2d; upsample_trilinear3d; var; var_mean; vdot; view;
view_as_complex; view_as_real; view_copy; where; xlogy; zero_; zeros; zeros_like
"""

SECTIONS["profiler"] = """
_record_function_enter_new; _record_function_exit
"""
