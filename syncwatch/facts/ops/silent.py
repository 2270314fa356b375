"""Operations that only enqueue work, under every argument that was measured: they make no wait.

They are listed so that an engine can tell "known not to wait" from "unknown".
"""

from __future__ import annotations

from syncwatch.facts.table import Fact, fact, functions, leaf, methods

# torch.NAME
_FUNCTIONS = """
Size _adaptive_avg_pool2d _adaptive_avg_pool3d _chunk_cat _conj _conj_physical _embedding_bag_forward_only _fft_c2c
_fft_c2r _fft_r2c _fused_rms_norm _linalg_det _linalg_slogdet _linalg_solve_ex _log_softmax _native_batch_norm_legit
_prelu_kernel _safe_softmax _softmax _softmax_backward_data _trilinear _unsafe_masked_index
_unsafe_masked_index_put_accumulate _use_cudnn_ctc_loss _use_miopen_ctc_loss abs abs_ acos acosh addbmm addcdiv
addcmul addmm addmv addr adjoint alias_copy all amax amin aminmax angle any argmax argmin argsort as_strided
as_strided_copy as_strided_scatter asin asinh atan atan2 atanh baddbmm bernoulli bfloat16
binary_cross_entropy_with_logits bitwise_and bitwise_left_shift bitwise_not bitwise_or bitwise_right_shift
bitwise_xor block_diag bmm bool broadcast_tensors broadcast_to bucketize can_cast cartesian_prod cat cdist ceil
ceil_ celu cfloat chain_matmul channel_shuffle clamp_ clamp_max clamp_max_ clamp_min clamp_min_ clone column_stack
complex concat concatenate conj constant_pad_nd convolution copysign cos cosh count_nonzero cov cross
cudnn_batch_norm cudnn_grid_sampler cummax cummin cumprod cumsum cumulative_trapezoid deg2rad detach detach_ device
diag diag_embed diagflat diagonal diagonal_copy diagonal_scatter diff digamma dist div divide dot double dropout
dsplit dstack dtype einsum embedding embedding_renorm_ empty_like empty_permuted empty_strided enable_grad eq erf
erfc erfinv exp exp2 exp_ expand_copy expm1 fill fill_ finfo flatten flip fliplr flipud float floor floor_divide
fmax fmin fmod frac frexp gather gcd ge ger get_device gradient grid_sampler_2d grid_sampler_3d gt half hardshrink
hash_tensor heaviside hsplit hstack hypot i0 igamma igammac iinfo imag index_add index_copy index_put index_reduce
index_select inner int is_complex is_floating_point is_grad_enabled is_signed is_storage is_tensor isclose isfinite
isinf isnan isneginf isposinf isreal kron kthvalue lcm ldexp le lerp lgamma log log10 log1p log2 log_softmax
logaddexp logaddexp2 logcumsumexp logical_and logical_not logical_or logical_xor logit logsumexp long lt lu_unpack
masked_scatter matmul max maximum mean median meshgrid min minimum mm mode moveaxis movedim msort mul multinomial
multiply mv mvlgamma nan_to_num nanmean nanmedian nanquantile nansum narrow_copy native_batch_norm native_dropout
native_group_norm native_layer_norm ne neg neg_ negative nextafter no_grad norm numel ones_like outer permute
permute_copy pixel_shuffle pixel_unshuffle polar polygamma positive pow prelu prod promote_types put quantile
rad2deg rand_like randint randint_like randn_like randperm ravel real reciprocal relu relu_ remainder renorm
resize_as_ resolve_conj result_type roll rot90 round row_stack rsqrt scatter scatter_add scatter_reduce searchsorted
select select_scatter selu set_default_dtype set_grad_enabled sgn short sigmoid sign signbit sin sinc sinh
slice_scatter softmax sort split_with_sizes split_with_sizes_copy sqrt sqrt_ square square_ squeeze squeeze_copy
stack std std_mean storage sum swapaxes swapdims t t_copy take take_along_dim tan tanh tensordot threshold topk
trace transpose transpose_copy trapezoid trapz triangular_solve tril tril_indices triu triu_indices true_divide
trunc unbind unbind_copy unflatten unfold_copy unravel_index unsafe_split unsqueeze unsqueeze_copy vander var
var_mean vdot view_as_complex view_as_real view_copy vmap vsplit vstack xlogy zero_ zeros_like
"""

# torch.Tensor.NAME
_METHODS = """
H T __abs__ __add__ __and__ __array_priority__ __deepcopy__ __eq__ __floordiv__ __ge__ __gt__ __hash__ __iadd__
__iand__ __ifloordiv__ __ilshift__ __imod__ __imul__ __invert__ __ior__ __ipow__ __irshift__ __isub__ __iter__
__itruediv__ __ixor__ __le__ __len__ __lshift__ __lt__ __matmul__ __mod__ __mul__ __ne__ __neg__ __or__ __pos__
__pow__ __radd__ __rand__ __reversed__ __rfloordiv__ __rlshift__ __rmatmul__ __rmod__ __rmul__ __ror__ __rpow__
__rrshift__ __rshift__ __rsub__ __rtruediv__ __rxor__ __sub__ __truediv__ __xor__ _conj _conj_physical abs abs_ acos
acosh addbmm addcdiv addcmul addmm addmv addr adjoint all amax amin aminmax angle any argmax argmin argsort
as_strided as_strided_scatter asin asinh atan atan2 atanh baddbmm bernoulli bernoulli_ bfloat16 bitwise_and
bitwise_and_ bitwise_left_shift bitwise_not bitwise_or bitwise_or_ bitwise_right_shift bitwise_xor bmm bool
broadcast_to byte cauchy_ ceil ceil_ cfloat char clamp_max clamp_max_ clamp_min clamp_min_ clone conj contiguous
copysign cos cosh count_nonzero cov cross cummax cummin cumprod cumsum data data_ptr deg2rad detach detach_ device
diag diag_embed diagflat diagonal diagonal_scatter diff digamma dim dist div div_ divide dot double dsplit dtype
element_size eq erf erfc erfinv exp exp2 exp_ expand_as expm1 exponential_ flatten flip fliplr flipud float floor
floor_divide fmax fmin fmod frac frexp gather gcd ge geometric_ geqrf ger get_device gt half hardshrink hash_tensor
heaviside hsplit hypot i0 igamma igammac imag index index_add index_add_ index_copy index_copy_ index_put
index_reduce index_reduce_ index_select inner int is_complex is_contiguous is_floating_point is_pinned is_shared
is_signed isclose isfinite isinf isnan isneginf isposinf isreal kron kthvalue lcm ldexp le lerp lerp_ lgamma log
log10 log1p log2 log_normal_ log_softmax logaddexp logaddexp2 logcumsumexp logical_and logical_not logical_not_
logical_or logical_xor logit logsumexp long lt mH mT masked_scatter masked_scatter_ matmul max maximum mean median
min minimum mm mode moveaxis movedim msort mul mul_ multinomial multiply mv mvlgamma nan_to_num nanmean nanmedian
nanquantile nansum narrow_copy ne neg neg_ negative nelement new_empty_strided nextafter norm normal_ numel ormqr
outer permute polygamma positive pow prelu prod put put_ quantile rad2deg random_ ravel real reciprocal
register_hook relu relu_ remainder renorm requires_grad requires_grad_ reshape_as resize_as_ resolve_conj
retain_grad roll rot90 round rsqrt scatter scatter_ scatter_add scatter_add_ scatter_reduce scatter_reduce_ select
select_scatter sgn short sigmoid sign signbit sin sinc sinh size slice_scatter softmax sort split_with_sizes sqrt
sqrt_ square square_ squeeze squeeze_ std storage storage_offset stride sum sum_to_size swapaxes swapdims t t_ take
take_along_dim tan tanh topk trace transpose transpose_ triangular_solve tril triu true_divide trunc type_as unbind
unflatten unfold uniform_ unsafe_split unsqueeze unsqueeze_ untyped_storage var vdot view_as vsplit xlogy zero_
"""

# full names
_OTHERS = """
torch.special.airy_ai torch.special.bessel_j0 torch.special.bessel_j1 torch.special.bessel_y0
torch.special.bessel_y1 torch.special.chebyshev_polynomial_t torch.special.chebyshev_polynomial_u
torch.special.chebyshev_polynomial_v torch.special.chebyshev_polynomial_w torch.special.digamma torch.special.entr
torch.special.erf torch.special.erfc torch.special.erfcx torch.special.erfinv torch.special.exp2 torch.special.expit
torch.special.expm1 torch.special.gammainc torch.special.gammaincc torch.special.gammaln
torch.special.hermite_polynomial_h torch.special.hermite_polynomial_he torch.special.i0 torch.special.i0e
torch.special.i1 torch.special.i1e torch.special.laguerre_polynomial_l torch.special.legendre_polynomial_p
torch.special.log1p torch.special.log_ndtr torch.special.log_softmax torch.special.logit torch.special.logsumexp
torch.special.modified_bessel_i0 torch.special.modified_bessel_i1 torch.special.modified_bessel_k0
torch.special.modified_bessel_k1 torch.special.multigammaln torch.special.ndtr torch.special.ndtri
torch.special.polygamma torch.special.psi torch.special.round torch.special.scaled_modified_bessel_k0
torch.special.scaled_modified_bessel_k1 torch.special.shifted_chebyshev_polynomial_t
torch.special.shifted_chebyshev_polynomial_u torch.special.shifted_chebyshev_polynomial_v
torch.special.shifted_chebyshev_polynomial_w torch.special.sinc torch.special.softmax
torch.special.spherical_bessel_j0 torch.special.xlog1py torch.special.xlogy torch.special.zeta torch.fft.fft
torch.fft.fft2 torch.fft.fftfreq torch.fft.fftn torch.fft.fftshift torch.fft.hfft torch.fft.ifft torch.fft.ifft2
torch.fft.ifftn torch.fft.ifftshift torch.fft.ihfft torch.fft.irfft torch.fft.irfft2 torch.fft.irfftn torch.fft.rfft
torch.fft.rfft2 torch.fft.rfftfreq torch.fft.rfftn copy.deepcopy
"""

# the dispatcher's operations
_LEAVES = """
_adaptive_avg_pool2d _adaptive_avg_pool3d _batch_norm_with_update _cdist_forward _chunk_cat _conj _conj_physical
_efficient_attention_forward _embedding_bag_forward_only _fft_c2c _fft_c2r _fft_r2c _fused_rms_norm _linalg_det
_linalg_slogdet _linalg_solve_ex _log_softmax _native_batch_norm_legit _pdist_forward _prelu_kernel _safe_softmax
_softmax _softmax_backward_data _trilinear _unsafe_masked_index _unsafe_masked_index_put_accumulate _unsafe_view
_upsample_bilinear2d_aa _upsample_nearest_exact1d _use_cudnn_ctc_loss _use_miopen_ctc_loss abs acos acosh
adaptive_max_pool2d adaptive_max_pool3d add add_ addbmm addcdiv addcmul addmm addmv addr alias alias_copy all amax
amin aminmax angle any arange argmax argmin as_strided as_strided_copy as_strided_scatter asin asinh atan atan2
atanh avg_pool2d avg_pool3d baddbmm bernoulli bernoulli_ binary_cross_entropy binary_cross_entropy_with_logits
bitwise_and bitwise_and_ bitwise_left_shift bitwise_not bitwise_or bitwise_or_ bitwise_right_shift bitwise_xor
block_diag bmm bucketize cat cauchy_ ceil ceil_ celu channel_shuffle cholesky_inverse cholesky_solve clamp clamp_
clamp_max clamp_min clamp_min_ clone complex constant_pad_nd convolution copysign cos cosh count_nonzero
cudnn_batch_norm cudnn_grid_sampler cummax cummin cumprod cumsum deg2rad detach diag_embed diagonal diagonal_copy
diagonal_scatter digamma dist div div_ dot elu embedding embedding_renorm_ empty empty_like empty_permuted
empty_strided eq erf erfc erfinv exp exp2 expand expand_copy expm1 exponential_ eye fill fill_ flip floor
floor_divide fmax fmin fmod frac fractional_max_pool2d fractional_max_pool3d frexp full full_like gather gcd ge gelu
geometric_ geqrf glu grid_sampler_2d grid_sampler_3d gt hardshrink hardsigmoid hardswish hardtanh hash_tensor
heaviside huber_loss hypot i0 igamma igammac im2col index_add index_copy index_reduce index_select isinf isnan
isneginf isposinf kthvalue lcm ldexp le leaky_relu lerp lerp_ lgamma lift_fresh linalg_cholesky_ex linalg_cross
linalg_householder_product linalg_inv_ex linalg_lu_solve linalg_qr linalg_solve_triangular linalg_vector_norm log
log10 log1p log2 log_normal_ log_sigmoid_forward logaddexp logaddexp2 logcumsumexp logical_and logical_not
logical_not_ logical_or logical_xor logit logsumexp lt lu_unpack masked_fill_ masked_scatter max
max_pool2d_with_indices max_pool2d_with_indices_backward max_pool3d_with_indices max_unpool2d max_unpool3d maximum
mean median min minimum mish mm mode mse_loss mul mul_ multi_margin_loss multilabel_margin_loss_forward multinomial
mv mvlgamma nan_to_num nanmedian nansum narrow_copy native_batch_norm native_dropout native_dropout_backward
native_group_norm native_layer_norm ne neg new_empty new_empty_strided new_full new_ones new_zeros nextafter
nll_loss2d_forward nll_loss_forward nonzero_static norm normal_ ones ones_like ormqr permute permute_copy
pixel_shuffle pixel_unshuffle polar polygamma pow prod put rad2deg rand randint randint_like randn randn_like
reciprocal reflection_pad1d relu remainder renorm repeat replication_pad1d replication_pad2d resize_ resize_as_ roll
rot90 round rrelu_with_noise rsqrt rsub scalar_tensor scatter scatter_ scatter_add scatter_reduce searchsorted
select select_scatter sgn sigmoid sign signbit silu sin sinc sinh slice slice_scatter smooth_l1_loss
soft_margin_loss softplus softshrink sort sparse_sampled_addmm special_airy_ai special_bessel_j0 special_bessel_j1
special_bessel_y0 special_bessel_y1 special_chebyshev_polynomial_t special_chebyshev_polynomial_u
special_chebyshev_polynomial_v special_chebyshev_polynomial_w special_entr special_erfcx
special_hermite_polynomial_h special_hermite_polynomial_he special_i0e special_i1 special_i1e
special_laguerre_polynomial_l special_legendre_polynomial_p special_log_ndtr special_modified_bessel_i0
special_modified_bessel_i1 special_modified_bessel_k0 special_modified_bessel_k1 special_ndtri
special_scaled_modified_bessel_k0 special_scaled_modified_bessel_k1 special_shifted_chebyshev_polynomial_t
special_shifted_chebyshev_polynomial_u special_shifted_chebyshev_polynomial_v special_shifted_chebyshev_polynomial_w
special_spherical_bessel_j0 special_xlog1py special_zeta split split_with_sizes split_with_sizes_copy sqrt sqrt_
squeeze squeeze_ squeeze_copy stack std std_mean sub sub_ sum t t_copy take tan tanh threshold topk trace transpose
transpose_ transpose_copy triangular_solve tril tril_indices triu triu_indices trunc unbind unbind_copy unfold
unfold_backward unfold_copy uniform_ unsafe_split unsqueeze unsqueeze_copy upsample_bicubic2d upsample_bilinear2d
upsample_linear1d upsample_nearest1d upsample_nearest2d upsample_trilinear3d var var_mean vdot view view_as_complex
view_as_real view_copy where xlogy zero_ zeros zeros_like
"""

FACTS: tuple[Fact, ...] = (
    fact(functions(*_FUNCTIONS.split()), "input"),
    fact(methods(*_METHODS.split()), "input"),
    fact(_OTHERS.split(), "input"),
    leaf(_LEAVES, "input"),
)
