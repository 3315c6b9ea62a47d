"""What PyTorch's exporters write for small networks gives what the networks give: operator sets 17 to 24, sizes fixed or not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gscompile as gs
from tests.frameworks import need
from tests.onnx.models import ort
from tests.onnx.nets import NETS, exported, torch

# Networks in which torch.onnx.export(dynamo=False) leaves out the sum over equal indices: index_add and index_put overwrite.
OVERWRITTEN = ("SAGE", "GIN")


def check(name: str, opset: int, sizes: bool, dynamo: bool) -> None:
    torch.manual_seed(0)
    n = NETS[name]
    net, inputs = n.make().eval(), n.draw(0)
    m = exported(net, inputs, n.axes if sizes else None, opset, dynamo)
    module = gs.onnx.import_model(m).build()
    for given in [inputs, n.draw(3), n.draw(1)] if sizes else [inputs]:
        arrays: list[Any] = [x.numpy() for x in given]
        with torch.no_grad():
            want = ort(m, *arrays) if name in OVERWRITTEN and not dynamo else net(*given).numpy()
        np.testing.assert_allclose(module(*arrays), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["GCN", "GAT"])
def test_a_network(name: str) -> None:
    check(name, 18, True, dynamo=False)


def each_has(*opsets: int) -> list[tuple[str, int]]:
    """The networks, each with one of the operator sets in turn."""
    return [(name, opsets[k % len(opsets)]) for k, name in enumerate(NETS)]


@pytest.mark.parametrize("sizes", [False, True], ids=["fixed", "sizes"])
@pytest.mark.parametrize(("name", "opset"), [*each_has(17, 18), *each_has(20, 19)])
def test_a_traced_network(name: str, opset: int, sizes: bool) -> None:
    if name == "SAGE" and not sizes:
        with pytest.raises(torch.onnx.errors.SymbolicValueError, match="index_add"):  # PyTorch has no export for it
            check(name, opset, sizes, dynamo=False)
        return
    check(name, opset, sizes, dynamo=False)


@pytest.mark.parametrize(("name", "opset"), [*each_has(18, 21, 23), *each_has(22, 19, 20), *each_has(24)])
def test_an_exported_network(name: str, opset: int) -> None:
    need("onnxscript")
    check(name, opset, opset not in (18, 21), dynamo=True)


def test_a_convolution_is_refused() -> None:
    """Nor is anything computed that gathers, sums and products of elements do not make."""
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 2), torch.nn.ReLU()).eval()
    m = exported(net, (torch.randn(2, 3, 4, 6),), None, 18, False)
    with pytest.raises(gs.GraphError, match=r"\(Conv\): the operator Conv is not supported$"):
        gs.onnx.import_model(m)
