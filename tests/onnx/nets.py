"""Small networks of PyTorch, as graph networks and vision transformers have them, and what exporters write for them."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.frameworks import need

torch = need("torch")
nn, F = torch.nn, torch.nn.functional
onnx = need("onnx")
Tensor = Any
NODES, EDGES, WIDTH = 7, 11, 6


class GCN(nn.Module):
    """Sums over neighbours, weighted by the degrees."""

    def __init__(self) -> None:
        super().__init__()
        self.lin = nn.Linear(WIDTH, 5)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        src, dst = edges[0], edges[1]
        degree = torch.ones_like(x[:, 0]).scatter_add(0, dst, torch.ones_like(src, dtype=x.dtype))
        weight = degree.rsqrt()[src] * degree.rsqrt()[dst]
        h = self.lin(x)
        messages = h[src] * weight.unsqueeze(-1)
        return torch.zeros_like(h).scatter_add(0, dst.unsqueeze(-1).expand_as(messages), messages).relu()


class GAT(nn.Module):
    """Attention over neighbours, its softmax by maxima and sums of segments."""

    def __init__(self) -> None:
        super().__init__()
        self.lin, self.att = nn.Linear(WIDTH, 8), nn.Parameter(torch.randn(1, 2, 8))

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        src, dst = edges[0], edges[1]
        h = self.lin(x).view(-1, 2, 4)
        pair = torch.cat([h[src], h[dst]], -1)
        score = F.leaky_relu((pair * self.att).sum(-1), 0.2)
        at = dst.unsqueeze(-1).expand_as(score)
        zero = torch.zeros_like(h[:, :, 0])
        top = zero.scatter_reduce(0, at, score, "amax", include_self=True)
        e = (score - top[dst]).exp()
        weight = e / (zero.scatter_add(0, at, e)[dst] + 1e-9)
        out = torch.zeros_like(h).scatter_add(0, at.unsqueeze(-1).expand_as(h[src]), h[src] * weight.unsqueeze(-1))
        return out.flatten(1)


class SAGE(nn.Module):
    """Means over neighbours, beside the node itself."""

    def __init__(self) -> None:
        super().__init__()
        self.own, self.near = nn.Linear(WIDTH, 5), nn.Linear(WIDTH, 5)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        total = torch.zeros_like(x).index_add(0, edges[1], x[edges[0]])
        count = torch.zeros_like(x[:, :1]).index_add(0, edges[1], torch.ones_like(x[:, :1])[edges[0]])
        h = self.own(x) + self.near(total / count.clamp(min=1))
        return F.normalize(h, dim=-1)


class GIN(nn.Module):
    """Sums over neighbours, then a small network."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(WIDTH, 8), nn.ReLU(), nn.Linear(8, 5))
        self.eps = nn.Parameter(torch.tensor(0.1))

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        total = torch.zeros_like(x).index_put((edges[1],), x[edges[0]], accumulate=True)
        return self.net((1 + self.eps) * x + total)


class EdgeConv(nn.Module):
    """Maxima over what a small network makes of each edge."""

    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * WIDTH, 8), nn.ELU(), nn.Linear(8, 5))

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        src, dst = edges[0], edges[1]
        m = self.net(torch.cat([x[dst], x[src] - x[dst]], -1))
        out = torch.full_like(m[:1].expand(x.shape[0], -1), -1e4)
        return out.scatter_reduce(0, dst.unsqueeze(-1).expand_as(m), m, "amax")


class Pool(nn.Module):
    """Sums and means of each graph of a batch, which the edges' first row names the nodes of."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(2 * WIDTH, 3)

    def forward(self, x: Tensor, edges: Tensor) -> Tensor:
        batch, rows = edges[1] % 3, x[edges[0]]
        at = batch.unsqueeze(-1).expand_as(rows)
        total = x.new_zeros((3, WIDTH)).scatter_add(0, at, rows)
        count = x.new_zeros((3, WIDTH)).scatter_add(0, at, torch.ones_like(rows))
        return F.log_softmax(self.head(torch.cat([total, total / count.clamp(min=1)], -1)), -1)


class ViT(nn.Module):
    """Patches by reshaping, a class token, positions, attention, and a network with GELU."""

    def __init__(self) -> None:
        super().__init__()
        self.patch, self.cls = nn.Linear(12, 8), nn.Parameter(torch.randn(1, 1, 8))
        self.position = nn.Parameter(torch.randn(1, 7, 8))
        self.norm, self.norm2, self.qkv, self.proj = nn.LayerNorm(8), nn.LayerNorm(8), nn.Linear(8, 24), nn.Linear(8, 8)
        self.net = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 8))
        self.head = nn.Linear(8, 4)

    def forward(self, image: Tensor) -> Tensor:
        n = image.shape[0]
        x = image.reshape(n, 3, 2, 2, 3, 2).permute(0, 2, 4, 1, 3, 5).reshape(n, 6, 12)
        x = torch.cat([self.cls.expand(n, -1, -1), self.patch(x)], 1) + self.position
        q, k, v = self.qkv(self.norm(x)).reshape(n, 7, 3, 2, 4).permute(2, 0, 3, 1, 4).unbind(0)
        x = x + self.proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(n, 7, 8))
        x = x + self.net(self.norm2(x))
        return self.head(x[:, 0])


class Mixer(nn.Module):
    """ConvNeXt's block with shifts by gathers in the place of its convolution: a scale for each channel, channels last."""

    def __init__(self) -> None:
        super().__init__()
        self.taps, self.gamma = nn.Parameter(torch.randn(3, 4)), nn.Parameter(torch.full((4,), 0.5))
        self.norm, self.net = nn.LayerNorm(4), nn.Sequential(nn.Linear(4, 8), nn.GELU("tanh"), nn.Linear(8, 4))
        self.register_buffer("at", (torch.arange(12).reshape(-1, 1) + torch.arange(-1, 2)).clamp(0, 11))

    def forward(self, image: Tensor) -> Tensor:
        n = image.shape[0]
        x = F.pad(image, (0, 0, 0, 0, 0, 1)).flatten(2).transpose(1, 2)[:, :12]
        y = (x[:, self.at] * self.taps).sum(2)
        x = x + self.gamma * self.net(self.norm(y))
        return x.mean(1).reshape(n, 4)


@dataclass(frozen=True)
class Net:
    """A network, inputs, other inputs of other sizes, and the axes whose sizes a call brings."""

    make: Callable[[], Any]
    draw: Callable[[int], tuple[Tensor, ...]]
    axes: tuple[dict[int, str], ...]


def graph(more: int) -> tuple[Tensor, ...]:
    nodes, edges = NODES + more, EDGES + 2 * more
    return torch.randn(nodes, WIDTH), torch.randint(0, nodes, (2, edges))


def image(more: int) -> tuple[Tensor, ...]:
    return (torch.randn(2 + more, 3, 4, 6),)


NETS = {
    **{m.__name__: Net(m, graph, ({0: "nodes"}, {1: "edges"})) for m in (GCN, GAT, SAGE, GIN, EdgeConv, Pool)},
    **{m.__name__: Net(m, image, ({0: "batch"},)) for m in (ViT, Mixer)},
}


def exported(
    net: Any, inputs: tuple[Tensor, ...], axes: tuple[dict[int, str], ...] | None, opset: int, dynamo: bool
) -> Any:
    """What an exporter of PyTorch writes; axes None: all sizes are numbers."""
    names = [f"in{k}" for k in range(len(inputs))]
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if dynamo:
                sizes = axes and tuple({a: torch.export.Dim(n) for a, n in each.items()} for each in axes)
                program = torch.onnx.export(
                    net,
                    inputs,
                    dynamo=True,
                    opset_version=opset,
                    dynamic_shapes=sizes,
                    input_names=names,
                    verbose=False,
                )
                return program.model_proto
            file = io.BytesIO()
            sizes = dict(zip(names, axes, strict=True)) if axes else None
            torch.onnx.export(
                net,
                inputs,
                file,
                dynamo=False,
                opset_version=opset,
                input_names=names,
                output_names=["y"],
                dynamic_axes=sizes,
            )
            return onnx.load_model_from_string(file.getvalue())
    finally:
        logging.disable(logging.NOTSET)
