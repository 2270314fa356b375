"""What ordinary steps seldom do: branches for empty input, and what a cache does not hold yet."""

from __future__ import annotations


def test_branches_for_empty_input(check):
    check(
        """
        import torch

        def mean(x):
            return x.mean() if x.numel() > 0 else torch.tensor(0.0, device=x.device)

        def first(x):
            if x.shape[0] != 0:
                return x[0]
            return torch.tensor(0.0, device=x.device)

        def last(x):
            if not len(x):
                return torch.tensor(0.0, device=x.device)
            else:
                return torch.tensor([len(x)], device=x.device)  # sync

        def longer(x):
            return x if x.shape[0] > 4 else torch.tensor(0.0, device=x.device)  # sync

        class Head(torch.nn.Module):
            def forward(self, x: torch.Tensor):
                y = x[x.sum() > 0]  # sync
                return mean(y), first(y), last(y), longer(y), torch.tensor(1.0, device=x.device)  # sync
        """
    )


def test_what_a_cache_holds_is_made_once(check):
    check(
        """
        import functools
        import torch

        def remember(maxsize=8):
            def wrap(fn):
                kept = functools.lru_cache(maxsize=maxsize)(fn)

                @functools.wraps(fn)
                def inner(*args):
                    return kept(*args)

                return inner

            return wrap

        @remember(maxsize=4)
        def table(n, device):
            return torch.arange(n).to(device)

        class Head(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.tables = {}
                self.seen = {}
                self.shape = None

            def grid(self, n, device):
                key = (n, str(device))
                found = self.tables.get(key)
                if found is not None:
                    return found
                found = torch.arange(n).to(device)
                self.tables[key] = found
                return found

            def mesh(self, n, device):
                if n in self.seen:
                    return self.seen[n]
                self.seen[n] = torch.arange(n).to(device)
                return self.seen[n]

            def fresh(self, n, device):
                found = self.tables.get(n)
                if found is not None:
                    return found
                return torch.arange(n).to(device)  # sync

            def forward(self, x: torch.Tensor):
                shape = x.shape
                if self.shape != shape:
                    self.anchors = torch.arange(3).to(x.device)
                    self.shape = shape
                n = x.shape[0]
                tables = self.grid(n, x.device), self.mesh(n, x.device), self.fresh(n, x.device), table(n, x.device)
                return x + sum(tables)
        """
    )


def test_entries_of_an_annotated_dictionary_may_be_lists(check):
    check(
        """
        import torch

        def loss(batch: dict[str, torch.Tensor]):
            parts = torch.split(batch["pixels"], batch["sizes"])
            inner = batch.get("inner") or {}
            return batch["pixels"].sum().item(), parts  # sync
        """
    )


def test_a_type_that_a_value_does_not_have(check):
    check(
        """
        import torch
        from collections.abc import Mapping

        def show(tensor):
            if isinstance(tensor, torch.Tensor):
                return f"{tensor}"  # sync
            elif isinstance(tensor, Mapping):
                for k, v in tensor.items():
                    print(f"{k}")

        class Head(torch.nn.Module):
            def forward(self, x: torch.Tensor):
                show(x)
                return x
        """
    )


def test_private_functions_that_are_handed_on(check):
    check(
        """
        import torch
        from torch.utils.checkpoint import checkpoint

        def _chunk(x: torch.Tensor):
            return x[x > 0].sum()  # sync

        def _alone(x: torch.Tensor):
            return x[x > 0].sum()

        def loss(run, x: torch.Tensor):
            return run(_chunk, x)
        """
    )


def test_what_is_prepared_once_for_all_steps(check):
    check(
        """
        import torch

        def prepare_latents(x: torch.Tensor):
            return x.sum().item()

        class PrepareLatentsStep:
            def __call__(self, x: torch.Tensor):
                for t in [1, 2]:
                    x = x + x.sum().item()
                return x

        def scale(x: torch.Tensor):
            return x.sum().item()  # sync
        """
    )


def test_an_override_gets_what_its_base_class_gives_it(check):
    check(
        """
        import torch

        class Searcher:
            def decode(self, scores: torch.Tensor):
                scores = scores.cpu().numpy()  # sync
                return self._search(scores)

            def _search(self, scores):
                return self.pick(scores)

            def pick(self, scores):
                raise NotImplementedError

            def rank(self, scores):
                raise NotImplementedError

        class Greedy(Searcher):
            def pick(self, scores: torch.Tensor):
                return [s for s in scores if s[0] > 0.5]

            def rank(self, scores: torch.Tensor):
                return scores.tolist()  # sync
        """
    )


def test_branches_for_a_single_element(check):
    check(
        """
        import torch

        class Head(torch.nn.Module):
            def forward(self, x: torch.Tensor):
                spread = x.std() if x.numel() > 1 else torch.tensor(0.0, device=x.device)
                return spread if x.shape[0] > 1 else torch.tensor(0.0, device=x.device)  # sync
        """
    )


def test_what_is_set_up_for_a_device_is_not_taken_to_stay_on_the_host(check):
    check(
        """
        import torch

        class Scheduler:
            def __init__(self, n: int = 1000):
                self.timesteps = torch.arange(n)
                self.sigmas = torch.linspace(0, 1, n)
                self.table = torch.linspace(0, 1, n)

            def set_timesteps(self, n: int, device: str | torch.device = None):
                self.timesteps = torch.arange(n, device=device)
                self.sigmas = torch.linspace(0, 1, n, device=device)
                self.sigmas = self.sigmas.to("cpu")

            def step(self, sample: torch.Tensor, index: int):
                times = self.timesteps.to(sample.device)
                sigma = self.sigmas[index].to(sample.device)  # sync
                table = self.table.to(sample.device)  # sync
                return sample * sigma + times[index] + table[index]
        """
    )
