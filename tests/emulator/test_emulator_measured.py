"""Waits that were counted on an H200 at lines like these (torch 2.11), beyond what single operations tell."""

from __future__ import annotations


def counts(found: list[tuple[str, str, int]]) -> list[tuple[str, int]]:
    return [(op.removeprefix("torch."), count) for _, op, count in found]


def test_ctc_loss_by_where_its_lengths_are_and_its_reduction(run):
    _, sites = run(
        """
        import torch
        import torch.nn.functional as F
        scores = torch.randn(5, 2, 4, device="cuda", requires_grad=True).log_softmax(-1)
        targets, lengths, sizes = torch.tensor([[1, 2], [1, 3]]), torch.tensor([5, 5]), torch.tensor([2, 2])
        host, device = (targets, lengths, sizes), (targets.cuda(), lengths.cuda(), sizes.cuda())
        loss = F.ctc_loss(scores, *device)  # line 7
        loss.backward(retain_graph=True)
        F.ctc_loss(scores, *device, reduction="sum")
        F.ctc_loss(scores, *host)
        F.ctc_loss(scores, *host, reduction="none")
        F.ctc_loss(scores, device[0], [5, 5], [2, 2])
        F.ctc_loss(scores, device[0], (5, 5), (2, 2), reduction="sum")
        """
    )
    lines = {line: sum(site.count for site in sites if site.line == line) for line in range(7, 14)}
    assert lines == {7: 8, 8: 3, 9: 7, 10: 5, 11: 4, 12: 5, 13: 4}


def test_sparse_tensors_that_change_their_layout_or_their_place(waits):
    found = waits(
        """
        import torch
        rows = torch.eye(6, device="cuda").to_sparse_csr()
        columns, pairs = rows.to_sparse_csc(), rows.to_sparse_coo()
        pairs.to_sparse_csr()
        rows.cpu()
        pairs.cpu()
        columns.to("cpu")
        weight = torch.randn(6, 3, device="cuda", requires_grad=True)
        product = rows @ weight
        product.sum().backward()
        columns @ weight.detach()
        """
    )
    assert counts(found)[1:-1] == [
        ("Tensor.to_sparse_csc", 1),
        ("Tensor.cpu", 3),
        ("Tensor.cpu", 2),
        ("Tensor.to", 3),
        ("Tensor.backward", 1),
    ]
    assert found[-1][0::2] == ("stream-wait", 1)


def test_files_that_are_loaded_to_the_device(waits):
    found = waits(
        """
        import io
        import torch
        file = io.BytesIO()
        torch.save({"a": torch.ones(3), "b": [torch.ones(2), torch.ones(0)]}, file)
        file.seek(0)
        loaded = torch.load(file, map_location="cuda")
        file = io.BytesIO()
        torch.save(loaded, file)
        file.seek(0)
        torch.load(file)
        memory = torch.ones(4).untyped_storage().cuda()
        memory.cpu()
        """
    )
    assert [(kind, count) for kind, _, count in found] == [
        ("upload", 2),
        ("tensor-read", 2),
        ("upload", 2),
        (found[3][0], 1),
        ("tensor-read", 1),
    ]


def test_each_index_on_the_host_is_uploaded(waits):
    found = waits(
        """
        import torch
        x, i = torch.zeros(4, 4, device="cuda"), torch.arange(4)
        x[i, i]
        x[i, i] = 1.0
        """
    )
    assert counts(found) == [("Tensor.__getitem__", 2), ("Tensor.__setitem__", 3)]


def test_the_first_recurrent_layer_that_drops_units_waits_once(waits):
    from syncwatch.emulator.recurrent import STATES

    STATES.clear()
    found = waits(
        """
        import torch
        x = torch.ones(2, 5, 3, device="cuda")
        torch.nn.LSTM(3, 4).cuda()(x)
        layers = torch.nn.LSTM(3, 4, 2, dropout=0.2).cuda()
        layers.eval()(x)
        layers.train()
        for _ in range(3):
            layers(x)
        torch.nn.GRU(3, 4, 2, dropout=0.2).cuda()(x)
        """
    )
    assert [(kind, op, count) for kind, op, count in found if kind == "stream-wait"] == [
        ("stream-wait", "torch.nn.LSTM.forward", 1)
    ]


def test_nested_tensors_are_uploaded_at_once_where_their_parts_are_on_the_host(waits):
    found = waits(
        """
        import torch
        parts = [torch.ones(2, 3), torch.ones(4, 3)]
        there = torch.nested.nested_tensor(parts, device="cuda")
        torch.nested.nested_tensor([part.cuda() for part in parts])
        """
    )
    assert counts(found) == [("nested.nested_tensor", 1), ("Tensor.cuda", 2)]


def test_replicas_read_the_times_of_their_last_pass(tmp_path, waits):
    found = waits(
        f"""
        import torch, torch.distributed as dist
        dist.init_process_group("nccl", init_method="file://{tmp_path}/meeting", rank=0, world_size=1)
        model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4).cuda())
        x = torch.ones(2, 4, device="cuda")
        for step in range(12):
            loss = model(x).sum()
            loss.backward()
        dist.destroy_process_group()
        """
    )
    assert ("event-wait", "torch.nn.parallel.DistributedDataParallel.forward", 80) in found
