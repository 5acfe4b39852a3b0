"""Element-wise float arithmetic between an integer and the next Quant, as an integer map.

The thresholds are found by bisection over the integer codes, through the reference's own
arithmetic: qonnx's float32 execution of the chain's nodes, or the contract's exact numbers. Equal
thresholds mean equal codes for every reachable input, ties included.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from onnx import NodeProto, TensorProto, ValueInfoProto, helper
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.core.onnx_exec import execute_onnx
from qonnx.util.basic import qonnx_make_model

from finn_resnet.importing.quantiser import QUANT_DOMAINS, Quantiser
from finn_resnet.lowering.contract_ops import quantised_codes, run_node
from finn_resnet.lowering.tensors import Constant, FloatChain
from finn_resnet.numerics.affine_fit import StepFunction
from finn_resnet.numerics.exact_tensor import ExactTensor
from finn_resnet.numerics.ranges import Range

_QUANT_OPSETS = [helper.make_opsetid(domain, 1) for domain in QUANT_DOMAINS]


class ChainEvaluator:
    """Integer codes out of integer codes in, through the reference's own arithmetic."""

    def __init__(self, chain: FloatChain, quantiser: Quantiser, reference: str, opset: int) -> None:
        """``chain`` must end in the node that ``quantiser`` describes."""
        self._chain = chain
        self._quantiser = quantiser
        self._exact = reference == "contract"
        self._opset = opset
        sizes = [value.size for value in chain.constants.values()]
        source = chain.source
        sizes += [len(source.scale), len(source.zero), quantiser.scale.size, quantiser.zero.size]
        self.channels = max(sizes)
        """Number of different columns: 1 where all channels are treated alike."""

    def __call__(self, codes: np.ndarray) -> np.ndarray:
        """Map codes ``[n, C]`` (one column per channel) to codes of the same shape."""
        source = self._chain.source
        scale, centred = np.array(source.scale, object), codes - np.array(source.zero)
        if self._exact:
            return self._run_exactly(ExactTensor.of(centred, scale))
        out = self._run_single((centred * scale.astype(np.float64)).astype(np.float32))
        quantiser = self._quantiser
        return np.rint(out / quantiser.scale.ravel()).astype(np.int64) + quantiser.zero.ravel()

    def _run_exactly(self, x: ExactTensor) -> np.ndarray:
        constants = {name: Constant(values) for name, values in self._chain.constants.items()}
        for node in self._chain.nodes[:-1]:
            # Whatever is not a constant is the moving input.
            x = run_node(node, [constants.get(name, x) for name in node.input if name])
        return quantised_codes(x, self._quantiser)

    def _run_single(self, x: np.ndarray) -> np.ndarray:
        nodes, name = [], "x"
        for index, original in enumerate(self._chain.nodes):
            node = NodeProto.FromString(original.SerializeToString())
            known = self._chain.constants
            node.input[:] = [n if n in known or not n else name for n in original.input]
            name = f"y{index}"
            node.output[:] = [name]
            nodes.append(node)
        infos = [_float_info(f"y{index}", x.shape) for index in range(len(nodes))]
        graph = helper.make_graph(nodes, "chain", [_float_info("x", x.shape)], infos[-1:])
        graph.value_info.extend(infos[:-1])
        opsets = [helper.make_opsetid("", self._opset), *_QUANT_OPSETS]
        model = ModelWrapper(qonnx_make_model(graph, opset_imports=opsets))
        for key, value in self._chain.constants.items():
            model.set_initializer(key, np.asarray(value, np.float32))
        return execute_onnx(model, {"x": x})[name]


def _float_info(name: str, shape: tuple[int, ...]) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def chain_steps(
    chain: FloatChain, quantiser: Quantiser, reference: str, opset: int = 13
) -> StepFunction:
    """``chain`` as step functions of its source's codes, over all that are reachable.

    Args:
        chain: nodes from an integer tensor to a Quant, the Quant included.
        quantiser: parameters of that Quant.
        reference: "qonnx" or "contract" (`Interpreter.reference`).
        opset: ONNX version of the chain's nodes.

    Returns:
        One function where all channels have the same, else one for each channel.
    """
    evaluate = ChainEvaluator(chain, quantiser, reference, opset)
    steps = _step_function(evaluate, evaluate.channels, chain.source.range)
    if len({(s, f, t.tobytes()) for s, f, t in zip(*_parts(steps), strict=True)}) == 1:
        return StepFunction(steps.inputs, steps.sign[:1], steps.first[:1], steps.steps[:1])
    return steps


def _parts(steps: StepFunction) -> tuple:
    return steps.sign, steps.first, steps.steps


def _step_function(
    evaluate: Callable[[np.ndarray], np.ndarray], channels: int, inputs: Range
) -> StepFunction:
    ends = evaluate(np.repeat([[inputs.lo], [inputs.hi]], channels, axis=1))
    sign = np.where(ends[1] < ends[0], -1, 1)
    low = np.where(sign > 0, inputs.lo, -inputs.hi)
    high = np.where(sign > 0, inputs.hi, -inputs.lo)
    first, last = ends.min(axis=0), ends.max(axis=0)
    codes = np.arange(first.min() + 1, last.max() + 1)[:, None]
    below = np.broadcast_to(low, (len(codes), channels)).copy()
    reached = np.broadcast_to(high, (len(codes), channels)).copy()
    while len(codes) and np.any(reached - below > 1):
        middle = below + (reached - below) // 2
        hit = evaluate(middle * sign) >= codes
        reached = np.where(hit, middle, reached)
        below = np.where(hit, below, middle)
    wanted = [(codes[:, 0] > first[c]) & (codes[:, 0] <= last[c]) for c in range(channels)]
    return StepFunction(
        inputs,
        tuple(int(s) for s in sign),
        tuple(int(f) for f in first),
        tuple(reached[keep, c] for c, keep in enumerate(wanted)),
    )


def steps_of(
    map_: Callable[[np.ndarray], np.ndarray], channels: int, inputs: Range
) -> StepFunction:
    """The step functions of an integer map of codes ``[n, channels]``."""
    return _step_function(map_, channels, inputs)
