"""ONNX's interface for backends, over ``import_model``."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from onnx.backend import base

from gscompile.build import Module
from gscompile.errors import ArgumentError, DeviceError, GSError
from gscompile.ir import machine
from gscompile.onnx.definitions import NEWEST
from gscompile.onnx.importer import import_model
from gscompile.onnx.node import NeedsValue
from gscompile.runtime.arrays import as_array

_TARGETS = {"CPU": "llvm", "CUDA": "cuda"}
MAX_MODULES = 16  # of one model, for different elements of the inputs that shapes depend on


class Rep(base.BackendRep):  # type: ignore[misc]
    """A model that is ready to be run.

    Where the elements of an input decide a shape, it is compiled when they come, once for each value of them, and the modules
    that were used last are kept.
    """

    def __init__(self, model: Any, target: Any) -> None:
        self.model, self.target = model, target
        constants = {t.name for t in model.graph.initializer}
        self.inputs = [i.name for i in model.graph.input if i.name not in constants]
        self.fixed: list[str] = []  # inputs whose elements decide shapes
        self.modules: OrderedDict[tuple[Any, ...], Module] = OrderedDict()
        self.key(None)

    def key(self, arrays: Mapping[str, Any] | None) -> tuple[Any, ...] | None:
        """Compile for these inputs, if that is not done, and give the key of the module; without inputs, only try to."""
        while True:
            known = {name: np.asarray(arrays[name]) for name in self.fixed} if arrays is not None else {}
            found = tuple((a.dtype.str, a.shape, a.tobytes()) for a in known.values())
            if found in self.modules:
                self.modules.move_to_end(found)
                return found
            try:
                self.modules[found] = import_model(self.model, known=known).build(self.target)
            except NeedsValue as e:
                if not e.inputs:
                    raise
                self.fixed += e.inputs  # none of which is fixed already
                if arrays is None:
                    return None
                continue
            while len(self.modules) > MAX_MODULES:
                self.modules.popitem(last=False)
            return found

    def run(self, inputs: Any, **kwargs: Any) -> tuple[Any, ...]:
        """The outputs for inputs in the model's order, or by name.

        Raises:
            what a :class:`~gscompile.build.Module` raises at a call, and ``import_model`` where it is compiled only now.
        """
        given = list(inputs.values()) if isinstance(inputs, Mapping) else list(inputs)
        names = list(inputs) if isinstance(inputs, Mapping) else self.inputs
        if sorted(names) != sorted(self.inputs) or len(given) != len(names):
            raise ArgumentError(f"run: the inputs are {', '.join(self.inputs)}; got {len(given)}")
        arrays = {name: as_array(x) for name, x in zip(names, given, strict=True)}
        key = self.key(arrays)
        assert key is not None
        result = self.modules[key](*(arrays[n] for n in self.inputs if n not in self.fixed))
        return result if isinstance(result, tuple) else (result,)


class Backend(base.Backend):  # type: ignore[misc]
    """Compiles models for ``device`` "CPU" or "CUDA"."""

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """Whether models can be run on it here."""
        kind = device.split(":")[0]
        return kind == "CPU" or (kind == "CUDA" and machine.cuda_exists())

    @classmethod
    def is_compatible(cls, model: Any, device: str = "CPU", **kwargs: Any) -> bool:
        """Whether :meth:`prepare` takes the model."""
        try:
            cls.prepare(model, device, **kwargs)
        except GSError:
            return False
        return True

    @classmethod
    def prepare(cls, model: Any, device: str = "CPU", **kwargs: Any) -> Rep:
        """Compile a ModelProto.  Raises what ``import_model`` raises, and DeviceError."""
        if not cls.supports_device(device):
            raise DeviceError(f"prepare: the device {device!r} is not here; known: {', '.join(_TARGETS)}")
        return Rep(model, _TARGETS[device.split(":")[0]])

    @classmethod
    def run_model(cls, model: Any, inputs: Any, device: str = "CPU", **kwargs: Any) -> tuple[Any, ...]:
        """Compile and run once."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls, node: Any, inputs: Sequence[Any], device: str = "CPU", outputs_info: Any = None, **kwargs: Any
    ) -> tuple[Any, ...]:
        """Compile and run one NodeProto, by the newest operator set or ``opset_version=``; inputs: as the node has them."""
        h = onnx.helper
        given = [n for n in node.input if n]
        if len(inputs) != len(given):
            raise ArgumentError(f"run_node: the node has {len(given)} inputs; got {len(inputs)}")
        arrays = dict(zip(given, map(np.asarray, inputs), strict=True))
        names = list(arrays)
        infos = [
            h.make_tensor_value_info(n, h.np_dtype_to_tensor_dtype(arrays[n].dtype), arrays[n].shape) for n in names
        ]
        outputs = [h.make_empty_tensor_value_info(n) for n in node.output if n]
        graph = h.make_graph([node], node.op_type, infos, outputs)
        model = h.make_model(graph, opset_imports=[h.make_opsetid(node.domain, kwargs.get("opset_version", NEWEST))])
        return cls.run_model(model, [arrays[n] for n in names], device)
