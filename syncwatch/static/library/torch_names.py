"""Names of torch by the path of the file that defines them: `torch.distributions.categorical.Categorical`."""

from __future__ import annotations

from syncwatch.static.library.protocol import ALIASES

# package → files whose names it hands out as its own
_FILES = {
    "torch": "functional random serialization storage autograd.grad_mode",
    "torch.amp": "autocast_mode grad_scaler",
    "torch.cuda": "memory random graphs streams green_contexts",
    "torch.cuda.amp": "autocast_mode grad_scaler common",
    "torch.distributed": "distributed_c10d device_mesh",
    "torch.distributions": """
        bernoulli beta binomial categorical cauchy chi2 continuous_bernoulli dirichlet distribution
        exponential exp_family fishersnedecor gamma generalized_pareto geometric gumbel half_cauchy half_normal
        independent inverse_gamma kl kumaraswamy laplace lkj_cholesky log_normal logistic_normal
        lowrank_multivariate_normal mixture_same_family multinomial multivariate_normal negative_binomial normal
        one_hot_categorical pareto poisson relaxed_bernoulli relaxed_categorical studentT transformed_distribution
        transforms uniform von_mises weibull wishart""",
    "torch.nn": """
        parameter modules modules.activation modules.adaptive modules.batchnorm modules.channelshuffle
        modules.container modules.conv modules.distance modules.dropout modules.flatten modules.fold
        modules.instancenorm modules.linear modules.linear_cross_entropy_options modules.loss modules.module
        modules.normalization modules.padding modules.pixelshuffle modules.pooling modules.rnn modules.sparse
        modules.transformer modules.upsampling""",
    "torch.nn.parallel": "distributed scatter_gather",
    "torch.nn.utils": "clip_grad convert_parameters fusion memory_format init",
    "torch.optim": "optimizer sparse_adam",
    "torch.profiler": "profiler",
    "torch.utils.data": "sampler dataset dataloader distributed datapipes.datapipe",
}

for _package, _names in _FILES.items():
    for _name in _names.split():
        ALIASES.setdefault(f"{_package}.{_name}", _package)
