"""What frameworks do at the lines that call them: prepared loaders, metrics, pretrained models, autoencoders."""

from __future__ import annotations

import pytest

PROGRAMS = {
    "accelerate's loaders copy every batch, and metrics are kept on the host": """
        import evaluate
        from accelerate import Accelerator
        from torch.utils.data import DataLoader
        from transformers import AutoModelForSequenceClassification
        from elsewhere import data

        accelerator = Accelerator()
        model = AutoModelForSequenceClassification.from_pretrained("bert-base-cased")
        train_loader = DataLoader(data(), batch_size=8)
        model, train_loader = accelerator.prepare(model, train_loader)
        metric = evaluate.load("accuracy")
        for epoch in range(3):
            for step, batch in enumerate(train_loader):  # sync
                outputs = model(**batch)  # sync
                accelerator.backward(outputs.loss)
                predictions = accelerator.gather(outputs.logits.argmax(-1))
                metric.add_batch(predictions=predictions, references=batch["labels"])  # sync
                metric.add_batch(predictions=[1], references=[1])
        """,
    "generation asks at every token whether it has ended": """
        from transformers import AutoModelForCausalLM, AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained("gpt2")
        model = AutoModelForCausalLM.from_pretrained("gpt2").to("cuda")
        for prompt in ["a", "b", "c"] * 10:
            inputs = tokenizer(prompt, return_tensors="pt").to("cuda")  # sync
            tokens = model.generate(**inputs, max_new_tokens=20)  # sync
        """,
    "Fabric sends batches without waiting": """
        import torch
        from lightning.fabric import Fabric
        from torch.utils.data import DataLoader, TensorDataset

        fabric = Fabric()
        data = TensorDataset(torch.rand(64, 4), torch.rand(64, 2))
        loader = fabric.setup_dataloaders(DataLoader(data, batch_size=8))
        net = torch.nn.Linear(4, 2)
        net, opt = fabric.setup(net, torch.optim.SGD(net.parameters(), lr=0.1))
        for x, y in loader:
            loss = torch.nn.functional.mse_loss(net(x), y)
            fabric.backward(loss)
            opt.step()
            loss.item()  # sync
            fabric.print(loss)  # sync
            fabric.device.type
        """,
    "detectors wait for their proposals, classifiers do not": """
        import torch
        import torchvision
        from elsewhere import data

        def collate(samples):
            return tuple(zip(*samples))

        device = torch.device("cuda")
        detector = torchvision.models.get_model("fasterrcnn_resnet50_fpn", num_classes=3).to(device)
        classifier = torchvision.models.resnet18().to(device)
        for images, targets in torch.utils.data.DataLoader(data(), batch_size=2, collate_fn=collate):
            images = [image.to(device) for image in images]  # sync
            targets = [{k: v.to(device) for k, v in t.items()} for t in targets]  # sync
            losses = detector(images, targets)  # sync
            sum(losses.values()).item()  # sync
            classifier(torch.rand(2, 3, 8, 8, device=device))
        """,
    "autoencoders of graphs draw their negative edges on the host": """
        import torch
        from torch_geometric.datasets import Planetoid
        from torch_geometric.nn import VGAE, DeepGraphInfomax, GCNConv, SAGEConv

        class Encoder(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.mu, self.logstd = SAGEConv(8, 4), GCNConv(8, 4)
            def forward(self, x, edge_index):
                return self.mu(x, edge_index), self.logstd(x, edge_index)  # sync

        class Plain(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.conv = GCNConv(8, 4)
            def forward(self, x, edge_index):
                return self.conv(x, edge_index)  # sync

        def corruption(x, edge_index):
            return x[torch.randperm(x.size(0), device=x.device)], edge_index

        data = Planetoid("data", "Cora")[0].to("cuda")
        model = VGAE(Encoder()).to("cuda")
        infomax = DeepGraphInfomax(4, encoder=Plain(), summary=None, corruption=corruption).to("cuda")
        for epoch in range(200):
            z = model.encode(data.x, data.edge_index)
            loss = model.recon_loss(z, data.edge_index)  # sync
            known = model.recon_loss(z, data.edge_index, data.edge_index)
            loss.backward()
            auc, ap = model.test(z, data.edge_index, data.edge_index)  # sync
            print(f"{auc:.3f} {ap:.3f}")
            positive, negative, summary = infomax(data.x, data.edge_index)
            infomax.loss(positive, negative, summary).item()  # sync
        """,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_exactly_the_marked_lines_are_found(check, name):
    check(PROGRAMS[name])
