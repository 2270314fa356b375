import torch
device = torch.device("cuda")

def degree(index, n=None):
    n = int(index.max()) + 1 if n is None else n  # sync
    return torch.zeros(n, device=index.device).scatter_add_(0, index, torch.ones_like(index, dtype=torch.float))

def drop_edges(edge, p):
    mask = torch.rand(edge.size(1), device=edge.device) > p
    return edge[:, mask], mask  # sync

def subgraph(nodes, edge, num_nodes):
    keep = torch.zeros(num_nodes, dtype=torch.bool, device=edge.device)
    keep[nodes] = True  # sync
    m = keep[edge[0]] & keep[edge[1]]
    return edge[:, m]  # sync

def softmax(src, index, n):
    mx = torch.full((n,), -1e9, device=src.device).scatter_reduce(0, index, src, "amax")
    out = (src - mx[index]).exp()
    return out / torch.zeros(n, device=src.device).scatter_add(0, index, out)[index]

edge = torch.randint(0, 10, (2, 30), device=device)
x = torch.randn(10, 4, device=device)

def step():
    e, m = drop_edges(edge, 0.2)
    d = degree(e[0])
    d2 = degree(e[0], 10)
    s = subgraph(torch.arange(5, device=device), edge, 10)
    p = softmax(x[edge[0]].sum(1), edge[1], 10)
    loops = torch.arange(10, device=device).repeat(2, 1)
    e2 = torch.cat([e, loops], 1)
    has = (e2[0] == e2[1]).any().item()  # sync
    uniq = e2.unique(dim=1)  # sync
    adj = torch.sparse_coo_tensor(edge, torch.ones(30, device=device), (10, 10))
    y = torch.sparse.mm(adj, x)
    c = adj.coalesce()  # sync
    return y, uniq, has

if __name__ == "__main__":
    for _ in range(3):
        step()
