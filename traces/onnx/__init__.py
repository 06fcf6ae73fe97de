"""ONNX models: nodes, shapes and what they cost."""
