import torch
import torchvision
from torch import nn
device = torch.device("cuda")

def box_iou(a, b):
    area = lambda t: (t[:, 2] - t[:, 0]) * (t[:, 3] - t[:, 1])
    lt, rb = torch.max(a[:, None, :2], b[:, :2]), torch.min(a[:, None, 2:], b[:, 2:])
    wh = (rb - lt).clamp(min=0)
    inter = wh[..., 0] * wh[..., 1]
    return inter / (area(a)[:, None] + area(b) - inter)

class Matcher:
    def __init__(self, hi=0.7, lo=0.3):
        self.hi, self.lo = hi, lo
    def __call__(self, q):
        if q.numel() == 0:
            raise ValueError("no boxes")
        vals, idx = q.max(0)
        below = vals < self.lo
        between = (vals >= self.lo) & (vals < self.hi)
        idx[below] = -1
        idx[between] = -2
        return idx

def assign(anchors, gts, matcher):
    labels, boxes = [], []
    for g in gts:
        m = matcher(box_iou(g, anchors))
        pos = torch.where(m >= 0)[0]  # sync
        lab = (m >= 0).float()
        lab[m == -2] = -1.0
        boxes.append(g[m.clamp(min=0)])
        labels.append(lab)
    return labels, boxes

def sample(labels, n=8):
    out = []
    for l in labels:
        p = torch.nonzero(l >= 1).squeeze(1)  # sync
        k = min(n // 2, p.numel())
        out.append(p[torch.randperm(p.numel(), device=p.device)[:k]])
    return out

def post(boxes, scores, thr=0.5):
    keep = scores > thr
    boxes, scores = boxes[keep], scores[keep]  # sync
    order = scores.argsort(descending=True)
    picked = []
    while order.numel() > 0:
        i = order[0]
        picked.append(i.item())  # sync
        if order.numel() == 1:
            break
        iou = box_iou(boxes[i][None], boxes[order[1:]])[0]  # sync
        order = order[1:][iou < 0.5]  # sync
    return picked

anchors = torch.rand(20, 4, device=device)
anchors[:, 2:] += anchors[:, :2]
matcher = Matcher()

def step():
    gts = [torch.rand(3, 4, device=device) for _ in range(2)]
    labels, boxes = assign(anchors, gts, matcher)
    s = sample(labels)
    scores = torch.rand(20, device=device)
    k = post(anchors, scores)
    total = max(1, sum(x.numel() for x in s))
    norm = torch.stack([(l > 0).sum() for l in labels]).sum().clamp(min=1)
    return len(k), total, norm

if __name__ == "__main__":
    for _ in range(3):
        step()
