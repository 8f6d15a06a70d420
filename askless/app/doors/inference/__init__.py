"""The Open Inference Protocol, version 2, over HTTP (KServe, Triton, MLServer)."""
