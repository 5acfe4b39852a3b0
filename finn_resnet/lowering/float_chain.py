"""Element-wise float arithmetic between an integer and the next Quant, as an integer map.

The thresholds come from executing the chain's own nodes, by bisection over the integer codes:
float32 through qonnx where that is the reference, on exact numbers (`contract_ops`) where the
contract is. Equal thresholds mean equal codes for every reachable input, ties included.
"""

from __future__ import annotations

import numpy as np
from onnx import TensorProto, helper
from qonnx.core.modelwrapper import ModelWrapper
from qonnx.core.onnx_exec import execute_onnx
from qonnx.util.basic import qonnx_make_model

from finn_resnet.importing.quantiser import Quantiser
from finn_resnet.lowering.contract_ops import quantise, run_node
from finn_resnet.lowering.tensors import Constant, FloatChain
from finn_resnet.numerics.affine_fit import StepFunction, realise
from finn_resnet.numerics.exact_tensor import ExactTensor
from finn_resnet.numerics.ranges import Range
from finn_resnet.numerics.requantiser import Requantiser


class ChainEvaluator:
    """Integer codes out of integer codes in, through the reference's own arithmetic."""

    def __init__(self, chain: FloatChain, quantiser: Quantiser, reference: str) -> None:
        """``chain`` must end in the Quant node that ``quantiser`` describes."""
        self._chain = chain
        self._quantiser = quantiser
        self._exact = reference == "contract"
        self.channels = chain.source.shape[2]

    def __call__(self, codes: np.ndarray) -> np.ndarray:
        """Map codes ``[n, C]`` (one column per channel) to codes of the same shape."""
        # Channels on axis 1 as in the original; a flattened tensor has no further axes.
        further = () if self._chain.source.flattened else (1, 1)
        scale = np.array(self._chain.source.scale, object).reshape(-1, *further)
        inputs = codes.reshape(*codes.shape, *further)
        if self._exact:
            return self._run_exactly(ExactTensor.of(inputs, scale)).reshape(codes.shape)
        out = self._run_single(inputs * scale.astype(np.float64)).reshape(codes.shape)
        return np.rint(out / float(self._quantiser.scale)).astype(np.int64)

    def _run_exactly(self, x: ExactTensor) -> np.ndarray:
        constants = {name: Constant(values) for name, values in self._chain.constants.items()}
        for node in self._chain.nodes[:-1]:
            # Whatever is not a constant is the moving input.
            x = run_node(node, [constants.get(name, x) for name in node.input])
        return quantise(x, self._quantiser).terms[0].codes

    def _run_single(self, x: np.ndarray) -> np.ndarray:
        nodes, name = [], "x"
        for index, original in enumerate(self._chain.nodes):
            node = helper.make_node("Identity", [], [])
            node.CopyFrom(original)
            node.input[:] = [n if n in self._chain.constants else name for n in node.input]
            name = f"y{index}"
            node.output[:] = [name]
            nodes.append(node)
        infos = [_float_info(f"y{index}", x.shape) for index in range(len(nodes))]
        graph = helper.make_graph(nodes, "chain", [_float_info("x", x.shape)], infos[-1:])
        graph.value_info.extend(infos[:-1])
        model = ModelWrapper(qonnx_make_model(graph))
        for key, value in self._chain.constants.items():
            model.set_initializer(key, value)
        return execute_onnx(model, {"x": x.astype(np.float32)})[name]


def _float_info(name: str, shape: tuple[int, ...]) -> object:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def chain_requantiser(chain: FloatChain, quantiser: Quantiser, reference: str) -> Requantiser:
    """Exact integer form of ``chain`` over all reachable codes of its source.

    Args:
        chain: nodes from an integer tensor to a Quant, the Quant included.
        quantiser: parameters of that Quant (one scale for all channels).
        reference: "qonnx" or "contract" (`Interpreter.reference`).
    """
    evaluate = ChainEvaluator(chain, quantiser, reference)
    steps = _step_function(evaluate, chain.source.range)
    if len({(s, f, t.tobytes()) for s, f, t in zip(*_parts(steps), strict=True)}) == 1:
        steps = StepFunction(steps.inputs, steps.sign[:1], steps.first[:1], steps.steps[:1])
    return Requantiser((realise(steps),))


def _parts(steps: StepFunction) -> tuple:
    return steps.sign, steps.first, steps.steps


def _step_function(evaluate: ChainEvaluator, inputs: Range) -> StepFunction:
    channels = evaluate.channels
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
