"""Where figures go, and what never meets."""

from __future__ import annotations


def test_rows_of_a_csv_file_are_text(check):
    check(
        """
        import csv
        import torch
        writer = csv.writer(open("log.csv", "w"))
        loss = torch.zeros((), device="cuda")
        for step in range(10):
            writer.writerow([step, loss])  # sync
            writer.writerow([step, loss.shape])
        """
    )


def test_operands_of_two_devices_never_meet(check):
    """A cache by device holds tensors of several; each is only used with its own."""
    check(
        """
        import torch
        windows = {}

        def spectrum(x, size):
            key = (size, str(x.device))
            if key not in windows:
                windows[key] = torch.hann_window(size).to(x.device)
            return x * windows[key]

        for step in range(10):
            on_device = spectrum(torch.rand(16, device="cuda"), 16)
            on_host = spectrum(torch.rand(16), 16)
            on_host.sum().item()
            on_device.sum().item()  # sync
        """
    )


def test_files_of_an_epoch_are_saved_once(check):
    check(
        """
        import torch
        net = torch.nn.Linear(4, 4).to("cuda")
        opt = torch.optim.SGD(net.parameters(), lr=0.1)

        def train(loader):
            for x in loader:
                loss = net(x.cuda()).mean()  # sync
                loss.backward()
                opt.step()

        loader = torch.utils.data.DataLoader(torch.rand(8, 4))
        for epoch in range(10):
            train(loader)
            checkpoint_paths = ["last.pt", f"{epoch}.pt"]
            for path in checkpoint_paths:
                torch.save(net.state_dict(), path)
        """
    )


def test_an_assignment_gives_indices_on_the_host(check):
    check(
        """
        import torch
        from scipy.optimize import linear_sum_assignment
        scores = torch.rand(8, 8, device="cuda")
        for step in range(10):
            rows, columns = linear_sum_assignment(scores.cpu())  # sync
            rows = torch.as_tensor(rows)
            picked = scores[rows]  # sync
            picked.shape
        """
    )
