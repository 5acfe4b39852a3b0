"""Accuracy of a network on labelled images: float, QONNX and the generated C++, side by side."""
