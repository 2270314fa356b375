import numpy as np
import torch
device = torch.device("cuda:0")
frames = [np.zeros((3, 8, 8), dtype=np.uint8) for _ in range(4)]
mean = torch.tensor([0.5, 0.5, 0.5]).view(3, 1, 1)
mean_dev = mean.to(device)
net = torch.nn.Conv2d(3, 3, 3, padding=1).to(device).half().eval()

def prep(img):
    t = torch.from_numpy(img).float() / 255
    t = (t - mean).to(device)  # sync
    return t.half()

def prep_fixed(img):
    t = torch.from_numpy(img).pin_memory().to(device, non_blocking=True)
    return (t.float() / 255 - mean_dev).half()

@torch.inference_mode()
def run(batch):
    out = net(batch)
    vals, idx = out.flatten(1).topk(3)
    boxes = torch.stack([idx % 8, idx // 8], -1)
    return vals, boxes

def step():
    outs = []
    for f in frames:
        b = prep(f)[None]
        vals, boxes = run(b)
        keep = vals > 0.1
        if keep.sum() == 0:  # sync
            continue
        outs.append(boxes[keep].cpu().numpy())  # sync
    vals, boxes = run(torch.stack([prep_fixed(f) for f in frames]))
    arr = np.asarray(vals.cpu())  # sync
    best = vals.max(dim=1)[0].float().tolist()  # sync
    return outs, arr, best

if __name__ == "__main__":
    for _ in range(3):
        step()
