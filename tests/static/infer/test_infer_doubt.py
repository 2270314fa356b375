"""What is only taken for a tensor, and what is known better: docstrings, other runtimes, defaults, parts of pairs."""

from __future__ import annotations


def test_docstrings_tell_types(check):
    check(
        '''
        import torch

        class Encoder(torch.nn.Module):
            def forward(self, x, layers, word, lengths, parts, epoch):
                """Encodes.

                Arguments
                ---------
                x : torch.Tensor
                    the input
                layers: list of int
                    those to use
                word : str
                    a word
                lengths : torch.Tensor
                    of each
                parts: tuple
                    of the outputs
                epoch: int
                    the number of the epoch
                """
                if word:
                    x = x + 1
                if 3 in layers:
                    x = x * 2
                if epoch > 3:
                    x = x * 3
                if lengths > 3:  # sync
                    x = x * 3
                return x[parts[0] > 0]  # sync

        class Decoder(torch.nn.Module):
            def forward(self, x, mixture):
                """Decodes.

                Args:
                    x (torch.Tensor): the input
                    mixture (float): how much
                """
                return x * 2 if mixture > 0.5 else x
        '''
    )


def test_parameters_without_a_type_are_no_numbers_on_the_device(check):
    check(
        """
        import torch

        class Layer(torch.nn.Module):
            def __init__(self, limit):
                super().__init__()
                self.limit = limit

            def forward(self, x, momentum, again):
                if again or momentum > self.limit:
                    x = x + 1
                if (x > 0).any():  # sync
                    x = x + 1
                if x.sum() > momentum:  # sync
                    x = x + 1
                return x[x > momentum]  # sync
        """
    )


def test_parts_of_pairs_stay_apart(check):
    check(
        """
        from torch import nn

        def walk(modules: list[tuple[str, nn.Module]]):
            search = modules.copy()
            while search:
                name, module = search.pop(0)
                children = [] if isinstance(module, nn.Parameter) else list(module.named_children())
                children = list(module.named_parameters(recurse=False)) + children
                search = [(f"{name}.{n}", v) for n, v in children] + search
        """
    )


def test_counters_of_optimizers_stay_on_the_host(check):
    check(
        """
        import torch

        class Descent(torch.optim.Optimizer):
            def __init__(self, params, lr=1e-3, capturable=False):
                super().__init__(params, dict(lr=lr, capturable=capturable))

            def step(self, closure=None):
                for group in self.param_groups:
                    for p in group["params"]:
                        state = self.state[p]
                        if not state:
                            where = p.device if group["capturable"] else "cpu"
                            state["step"] = torch.zeros((), device=where)
                            state["scale"] = torch.zeros((), device=p.device)
                        p.add_(p.grad, alpha=-group["lr"] / state["step"].item())
                        p.mul_(state["scale"].item())  # sync
        """
    )


def test_runtimes_of_the_host_get_host_tensors(check):
    check(
        """
        import torch

        class Mobile(torch.nn.Module):
            def load(self, path):
                from tflite_runtime.interpreter import Interpreter

                self.model = Interpreter(path)

            def forward(self, x: torch.Tensor):
                return self.model.infer(x.cpu().numpy())

        class Server(torch.nn.Module):
            def load(self, path):
                import tensorrt

                self.model = tensorrt.load(path)

            def forward(self, x: torch.Tensor):
                return self.model.infer(x.cpu().numpy())  # sync
        """
    )


def test_a_comparison_behind_a_question_of_identity(check):
    check(
        """
        import torch

        class Attention(torch.nn.Module):
            def forward(self, query: torch.Tensor, key: torch.Tensor):
                if query is key or torch.equal(query, key):
                    return query * 2
                return query if torch.equal(query, key) else key  # sync
        """
    )


def test_what_builders_and_first_steps_prepare(check):
    check(
        """
        import functools
        import torch

        def remember(fn):
            kept = functools.lru_cache()(fn)
            if torch.__version__ < "2":
                return kept

            def inner(*args):
                return fn(*args) if torch.compiler.is_compiling() else kept(*args)

            return inner

        class Blur(torch.nn.Module):
            def __init__(self, device=None):
                super().__init__()
                self.register_buffer("taps", torch.empty(3, device=device))
                self.taps.copy_(torch.tensor([1.0, 2.0, 1.0]))

        class NetBuilder:
            def __call__(self, device="cuda"):
                return torch.nn.Sequential(Blur(device), Blur(device))

        class Rope(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.freqs = [torch.arange(4), torch.arange(8)]
                self.tables = [torch.arange(4), torch.arange(8)]

            @remember
            def table(self, device):
                return torch.arange(8).to(device)

            def forward(self, x: torch.Tensor):
                self.freqs = [f.to(x.device) for f in self.freqs]
                tables = [t.to(x.device) for t in self.tables]  # sync
                return x * self.freqs[0] + self.table(x.device) + tables[0]
        """
    )


def test_a_total_that_begins_as_a_number(check):
    check(
        """
        import torch

        class Loss(torch.nn.Module):
            def forward(self, x: torch.Tensor, mask: torch.Tensor):
                parts = torch.zeros(3, device=x.device)
                total = 0
                if mask.any():  # sync
                    total = x.sum()
                parts[0] = total
                parts[1] = 2.0  # sync
                return parts
        """
    )


def test_loops_of_preparation_until_they_converge(check):
    check(
        """
        import torch
        from torch import nn

        def condition(model: nn.Module):
            found = {}
            for name, param in model.named_parameters():
                w = param.data.float()
                damp = 0.01
                while True:
                    inverse = torch.linalg.inv(w + damp)
                    if inverse.sum().item() < 1:
                        break
                    damp = damp * 2
                found[name] = inverse
            weight_iter = list(found.items())
            for name, w in weight_iter:
                found[name] = w.sum().item()
            return found

        class Decoder(nn.Module):
            def infer(self, x: torch.Tensor):
                while True:
                    x = x * 2
                    if x.sum() > 3:  # sync
                        break
                return x
        """
    )


def test_implementations_for_the_host(check):
    check(
        """
        import torch

        class Blur(torch.nn.Module):
            def _blur_cpu(self, x: torch.Tensor, taps: torch.Tensor):
                return x.add_(1, alpha=taps[0])

            def _blur_fast(self, x: torch.Tensor, taps: torch.Tensor):
                return x.add_(1, alpha=taps[0])  # sync
        """
    )


def test_what_makes_weights_ready_is_no_step(check):
    check(
        """
        import torch

        def low_rank_init(weight: torch.Tensor, rounds: int):
            for i in range(rounds):
                weight = weight - weight.sum().item()
            return weight

        def fit(model: torch.nn.Module, x: torch.Tensor, first_pass: bool):
            if first_pass:
                model.seen = torch.tensor([0], device=x.device)
            return x[x > 0]  # sync
        """
    )


def test_indices_of_slices_are_no_lists_of_numbers(check):
    check(
        """
        import numpy as np
        import torch

        def as_tuple(values):
            return tuple(values) if hasattr(values, "__iter__") else (values,)

        class Crop(torch.nn.Module):
            def forward(self, x: torch.Tensor, y: torch.Tensor, corners: list[int]):
                inner = [slice(None), slice(None)]
                for d in range(2, x.ndim):
                    inner.append(slice(1, -1))
                total = x[inner]
                window = tuple(slice(c, c + 4) for c in corners)
                x[as_tuple(window)] += total
                for i, j in np.ndindex(3, 4):
                    total = total + y[i, j]
                return total + x[[0, 1]]  # sync
        """
    )


def test_what_the_first_of_all_steps_does(check):
    check(
        """
        import torch

        class Watch:
            def training_step(self, batch: torch.Tensor, batch_idx: int):
                if batch_idx == 0:
                    print(batch.sum().item())
                for i in range(3):
                    if i == 0:
                        batch = batch * batch.sum().item()  # sync
                return batch
        """
    )


def test_helpers_that_make_groups_leave_the_device_to_others(infer):
    code = """
        import torch
        import torch.distributed as dist

        class Collective:
            @classmethod
            def init_group(cls, **kwargs):
                dist.init_process_group(**kwargs)

        def main(rank):
            dist.init_process_group("nccl")
            return torch.ones(2, device="cuda")
    """
    found = [e.site.function for e in infer(code) if e.op == "torch.distributed.init_process_group"]
    assert found == ["main"]


def test_what_a_flag_says_is_done(check):
    check(
        """
        import torch

        class Spectrum(torch.nn.Module):
            def prepare(self, device):
                if getattr(self, "_ready", False):
                    return
                self.window = torch.hann_window(400).to(device)
                self._ready = True

            def forward(self, x: torch.Tensor):
                self.prepare(x.device)
                return x * self.window + torch.hann_window(400).to(x.device)  # sync
        """
    )


def test_a_parameter_called_tensor_is_one(check):
    check(
        """
        import torch

        def pad_to(tensor, length, like=None):
            size = torch.tensor(tensor.shape, device=tensor.device)  # sync
            return size[:length]
        """
    )


def test_plans_and_what_becomes_of_a_result(check):
    check(
        """
        import torch

        def tile_plan(coords: torch.Tensor, kept: torch.Tensor):
            return coords[kept > 0]

        class FrameVideoProcessor:
            def postprocess_video(self, video: torch.Tensor):
                return video.cpu().numpy()

        class Head:
            def combine(self, video: torch.Tensor):
                return video.cpu().numpy()  # sync
        """
    )
