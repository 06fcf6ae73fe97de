"""ONNX models: nodes, shapes and costs."""
