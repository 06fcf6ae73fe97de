"""ONNX Runtime: profiles, with the optimized model of their session."""
