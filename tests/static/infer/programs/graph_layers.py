"""Graph layers and functions that wait inside: for self-loops, and for sizes that are not given."""

import torch
import torch.nn.functional as F
from torch_geometric.datasets import Planetoid, TUDataset
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GATConv, GCNConv, GINConv, SAGEConv, TopKPooling, global_add_pool, global_mean_pool
from torch_geometric.utils import add_self_loops, degree, dropout_edge, negative_sampling, softmax, to_dense_batch

device = "cuda" if torch.cuda.is_available() else "cpu"


class Nodes(torch.nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.sage = SAGEConv(i, 16)
        self.gcn = GCNConv(16, 16)
        self.cached = GCNConv(16, 16, cached=True)
        self.plain = GCNConv(16, 16, normalize=False)
        self.gat = GATConv(16, o, add_self_loops=False)

    def forward(self, x, edge_index):
        edge_index, kept = dropout_edge(edge_index, p=0.2, training=self.training)  # sync
        x = self.sage(x, edge_index).relu()
        x = self.gcn(x, edge_index).relu()  # sync
        x = self.cached(x, edge_index).relu()
        x = self.plain(x, edge_index)
        return self.gat(x, edge_index)


class Graphs(torch.nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.conv = GINConv(torch.nn.Linear(i, 16))
        self.pool = TopKPooling(16)
        self.out = torch.nn.Linear(16, o)

    def forward(self, data):
        x = self.conv(data.x, data.edge_index)
        x, edge_index, _, batch, _, _ = self.pool(x, data.edge_index, None, data.batch)  # sync
        first = global_mean_pool(x, batch)  # sync
        dense, mask = to_dense_batch(x, batch)  # sync
        again = global_add_pool(x, batch, data.num_graphs)
        attention = softmax(x, batch, num_nodes=data.num_graphs)
        weight = degree(edge_index[0], x.size(0))
        loops, _ = add_self_loops(edge_index, num_nodes=x.size(0))
        return self.out(first + again)


data = Planetoid("data", "Cora")[0].to(device)
nodes = Nodes(8, 3).to(device)
for epoch in range(200):
    out = nodes(data.x, data.edge_index)
    F.cross_entropy(out[data.train_mask], data.y[data.train_mask]).backward()  # sync
    negative = negative_sampling(data.edge_index, num_nodes=data.num_nodes)  # sync
    for _, mask in data("val_mask", "test_mask"):
        pred = out[mask]  # sync

graphs = Graphs(8, 3).to(device)
for batch in DataLoader(TUDataset("data", "MUTAG"), batch_size=32):
    batch = batch.to(device)  # sync
    graphs(batch)
