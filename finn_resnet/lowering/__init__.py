"""From QONNX float semantics to integer codes: the reasoning behind `LowerToHardware`."""
