"""Values that nobody was seen making: batches, what is sent to the device, and what models give."""

from __future__ import annotations

import pytest

PROGRAMS = {
    "batches of an unknown loader are on the host, and what models and losses give is where they ran": """
        import torch
        from elsewhere import build_model, get_loader, Loss

        def train(model, loader, optimizer, criterion, device):
            for batch in loader:
                x, y = batch[0].to(device), batch[1].to(device)  # sync
                n = batch[1].sum().item()
                out = model(x)
                loss = criterion(out, y)
                loss.backward()
                optimizer.step()
                total = loss.item()  # sync
                hits = (out.argmax(1) == y).sum().item()  # sync
                size = out.shape[0]

        def evaluate(model, loader, device):
            for batch in loader:
                batch = {k: v.to(device) for k, v in batch.items()}  # sync
                out = model(**batch)
                loss = out.loss.item()  # sync
                predicted = out.logits.argmax(-1).cpu()  # sync
                features, _ = model.encode(batch["x"])
                features.tolist()  # sync

        device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        model = build_model().to(device)
        for epoch in range(3):
            train(model, get_loader(), torch.optim.Adam(model.parameters()), Loss(), device)
            evaluate(model, get_loader(), device)
        """,
    "entries that are moved one by one": """
        import torch
        from elsewhere import get_loader

        for batch in get_loader():
            pass
        train_loader = get_loader()
        for batch in train_loader:
            for k, v in batch.items():
                if isinstance(v, torch.Tensor):
                    batch[k] = batch[k].to(device="cuda", non_blocking=True)
            batch["x"].sum().item()  # sync
            if batch["y"].sum() > 0:  # sync
                print(batch.keys(), batch["x"].shape)
        """,
    "a loader of an unknown data set": """
        import torch
        from torch.utils.data import DataLoader
        from elsewhere import data

        def collate(samples):
            images, labels = zip(*samples)
            return torch.stack(images), torch.tensor(labels)

        for batch in DataLoader(data(), batch_size=4, pin_memory=True):
            x = batch["x"].cuda(non_blocking=True)
            y = batch["y"].cuda()  # sync
        for x, y in DataLoader(data(), batch_size=4, collate_fn=collate):
            x, y = x.cuda(), y.cuda()  # sync
        """,
    "what accelerate prepares is on the device, of whatever kind": """
        from accelerate import Accelerator
        from elsewhere import get_model, get_loader, optimizer

        accelerator = Accelerator()
        train_dataloader = get_loader()
        model, train_dataloader = accelerator.prepare(get_model(), train_dataloader)
        for batch in train_dataloader:  # sync
            labels = batch["labels"].to(accelerator.device)
            labels.sum().item()  # sync
        """,
    "parts of pretrained models move with them, and detectors give dictionaries": """
        import torch
        from torch import nn
        from torchvision import models

        class Features(nn.Module):
            def __init__(self):
                super().__init__()
                layers = models.vgg16(weights="DEFAULT").features
                self.first = nn.Sequential(*[layers[i] for i in range(4)])
                self.rest = nn.Sequential(*list(models.resnet18().children())[:-1])
            def forward(self, x):
                return self.first(x), self.rest(x)

        net = Features().cuda()
        detector = models.detection.fasterrcnn_resnet50_fpn().cuda()
        host = torch.device("cpu")
        for step in range(10):
            x = torch.rand(2, 3, 64, 64, device="cuda")
            a, b = net(x)
            a.mean().item()  # sync
            b.mean().item()  # sync
            losses = detector(x, [])
            loss = sum(part for part in losses.values())
            loss.item()  # sync
            found = [{k: v.to(host) for k, v in each.items()} for each in detector(x)]  # sync
        """,
    "names alone claim nothing": """
        import torch
        from elsewhere import config, make, spec

        model = make()
        for step in range(10):
            out = model(step)
            if out:
                print(out.item())
            spec.loader.exec_module(model)
            x = torch.rand(3)
            model(x).item()
            thing = make().to(torch.float16)
            thing.item()
            moved = make().to("cuda")
            if moved.flag:
                torch.zeros(moved.size_of_it)
        """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_exactly_the_marked_lines_are_found(check, name):
    check(PROGRAMS[name])


def test_the_branch_for_the_other_device_holds_tensors_of_that(check):
    check(
        """
        import torch
        device = torch.accelerator.current_accelerator() if torch.accelerator.is_available() else torch.device("cpu")
        for step in range(10):
            x = torch.rand(4, device=device)
            if x.is_cuda:
                x.sum().item()  # sync
            if not x.is_cuda:
                x.sum().item()
            if x.is_cpu:
                x.sum().item()
            if x.device.type == "cpu":
                x.sum().item()
            x.sum().item()  # sync
        """
    )
