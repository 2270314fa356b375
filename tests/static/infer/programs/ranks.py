import os
import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch import nn

def setup():
    rank = int(os.environ.get("LOCAL_RANK", 0))
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl")
    return rank

def reduce_dict(d):
    keys = sorted(d)
    v = torch.stack([d[k] for k in keys])
    dist.all_reduce(v)
    v /= dist.get_world_size()
    return dict(zip(keys, v))

def main():
    rank = setup()
    net = DDP(nn.Linear(4, 4).cuda(), device_ids=[rank])
    opt = torch.optim.SGD(net.parameters(), lr=0.1)
    for it in range(10):
        x = torch.randn(2, 4).cuda(rank, non_blocking=True)
        loss = {"a": net(x).mean(), "b": net(x).pow(2).mean()}
        total = sum(loss.values())
        opt.zero_grad()
        total.backward()
        opt.step()
        red = reduce_dict({k: v.detach() for k, v in loss.items()})
        vals = {k: v.item() for k, v in red.items()}  # sync
        n = torch.tensor([x.shape[0]], device="cuda")  # sync
        dist.all_reduce(n)
        if n.item() == 0:  # sync
            break
        dist.barrier()  # sync
    dist.destroy_process_group()

if __name__ == "__main__":
    main()
