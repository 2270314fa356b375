"""How often a line runs decides whether it is shown."""

from __future__ import annotations

from syncwatch.model import Heat


def heats(events):
    return {e.site.line: e.heat for e in events if e.kind.blocks}


def test_set_up_epochs_steps_and_guards(infer):
    events = infer(
        """import torch
net = torch.nn.Linear(4, 4).to("cuda")
opt = torch.optim.SGD(net.parameters(), lr=0.1)
print(net.weight.norm())


def train(loader):
    total = torch.zeros((), device="cuda")
    for step, x in enumerate(loader):
        loss = net(x.cuda()).mean()
        loss.backward()
        opt.step()
        total += loss.detach()
        if step % 50 == 0:
            print(loss.item())
    return total.item()


def main(epochs=3, rank=0):
    loader = torch.utils.data.DataLoader(torch.rand(8, 4))
    for epoch in range(epochs):
        mean = train(loader)
        print(mean, net.weight.norm())


if __name__ == "__main__":
    main()
"""
    )
    assert heats(events) == {
        2: Heat.SETUP,
        4: Heat.SETUP,
        10: Heat.STEP,
        15: Heat.GUARDED,
        16: Heat.EPOCH,
        23: Heat.EPOCH,
    }


def test_heat_travels_through_calls(check):
    check(
        """
        import torch

        def read(t):
            return t.item()  # sync

        def once(t):
            return t.tolist()

        class Logger:
            def __init__(self, every):
                self.every, self.n = every, 0

            def __call__(self, t):
                self.n += 1
                if self.n % self.every == 0:
                    print(t)
                self.flush(t)

            def flush(self, t):
                read(t)

        x = torch.rand((), device="cuda")
        once(x)
        log = Logger(100)
        for step in range(1000):
            x = x * 0.9
            log(x)
        """
    )


def test_what_happens_once_is_no_step(check):
    check(
        """
        import torch

        class Cache(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.table = None
                self.scale = torch.ones(4)

            def forward(self, x):
                if self.table is None:
                    self.table = torch.arange(4).to(x.device)
                self.scale = self.scale.to(x.device)
                if x.shape[0] == 0:
                    raise ValueError(f"empty batch: {x}")
                try:
                    y = x[self.table]
                except RuntimeError:
                    torch.cuda.empty_cache()
                    raise
                return y * self.scale

        net = Cache()
        x = torch.rand(4, device="cuda")
        for step in range(3):
            net(x)
        """
    )


def test_rank_and_logging_guards(infer):
    events = infer(
        """import logging
import os
import torch
log = logging.getLogger(__name__)
rank = int(os.environ["RANK"])
x = torch.rand((), device="cuda")
for step in range(100):
    x = x * 2
    if rank == 0:
        print(x)
    if log.isEnabledFor(logging.INFO):
        log.info("%s", x.item())
"""
    )
    assert set(heats(events).values()) == {Heat.GUARDED}


def test_what_is_cached_runs_once(check):
    check(
        """
        from functools import lru_cache
        import torch

        @lru_cache(maxsize=8)
        def table(n, device):
            return torch.arange(n).to(device)

        def fresh(n, device):
            return torch.arange(n).to(device)  # sync

        for step in range(3):
            table(4, "cuda")
            fresh(4, "cuda")
        """
    )


def test_an_epoch_that_is_one_step(check):
    """Training on the whole graph: no loop over batches lies between the epoch and the update."""
    check(
        """
        import torch

        net = torch.nn.Linear(4, 2).to("cuda")
        opt = torch.optim.Adam(net.parameters())
        x = torch.randn(9, 4, device="cuda")

        def train():
            opt.zero_grad()
            loss = net(x).mean()
            loss.backward()
            opt.step()
            return float(loss)  # sync

        for epoch in range(100):
            loss = train()
        """
    )


def test_what_tests_call_is_not_hot_for_it(infer):
    """A file of tests drives the library in loops of its own; nobody minds that it waits."""
    code = """
        import torch

        def read(x):
            return x.item()

        for step in range(3):
            read(torch.rand((), device="cuda"))
        """
    assert {e.heat for e in infer(code, other="")} == {Heat.STEP}
    assert {e.heat for e in infer(code, name="tests/reading", other="")} == {Heat.SETUP}
    assert {e.heat for e in infer(code, name="tests/reading")} == {Heat.STEP}  # checked on its own: it is meant


def test_training_every_few_steps_and_evaluation_in_a_guard_are_steps(check):
    """What stands behind `step % n` is a guard when it logs, and a step when it trains or runs over batches."""
    check(
        """
        import torch
        net = torch.nn.Linear(4, 4).to("cuda")
        opt = torch.optim.SGD(net.parameters(), lr=0.1)
        table = {}

        def evaluate(batches):
            total = 0.0
            for batch in batches:
                total += net(batch.cuda()).mean().item()  # sync
            return total

        def prepare(loader):
            if not table:
                for batch in loader:
                    table[batch.mean().item()] = batch.cuda()

        def main(loader, steps=1000, train_every=4, eval_every=100, rank=0):
            for step in range(steps):
                x = torch.rand(2, 4).cuda()  # sync
                if step % train_every == 0:
                    loss = net(x).mean()
                    opt.zero_grad()
                    loss.backward()
                    opt.step()
                    priorities = loss.detach().cpu()  # sync
                if step % eval_every == 0:
                    print(loss.item())
                    evaluate(loader)
                if rank == 0 and step % eval_every == 0:
                    for k in range(8):
                        print(net(x).mean().item())

        if __name__ == "__main__":
            main(torch.utils.data.DataLoader(torch.rand(8, 4)))
        """
    )


def test_tasks_fill_each_others_queues(check):
    """A queue that is empty when its reader starts is filled while the reader waits."""
    check(
        """
        import asyncio
        import threading
        import time
        from collections import deque

        import torch

        table = torch.ones(8, 4, device="cuda")

        class Server:
            def __init__(self):
                self.queue = deque()
                self.jobs = []

            async def serve(self):
                while True:
                    if not self.queue:
                        await asyncio.sleep(0)
                        continue
                    batch = [self.queue.popleft() for _ in range(4)]
                    y = table[:2].sum(0)
                    for future, value in zip(batch, y.tolist()):  # sync
                        future.set_result(value)

            def work(self):
                while True:
                    while not self.jobs:
                        time.sleep(0.01)
                    self.jobs.pop(0)
                    print(table.sum())  # sync

        server = Server()
        threading.Thread(target=server.work).start()
        asyncio.run(server.serve())
        """
    )
