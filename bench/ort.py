"""ort.py RUNS MODEL.onnx - ONNX Runtime's time on a model, one thread: the median of RUNS runs, in ms.

Inputs are i / n for floats and i mod 97 for token ids, as the models' README has it."""
import sys
import time

import numpy as np
import onnxruntime as ort

runs, path = int(sys.argv[1]), sys.argv[2]
options = ort.SessionOptions()
options.intra_op_num_threads = options.inter_op_num_threads = 1
session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
feed = {}
for i in session.get_inputs():
    n = int(np.prod(i.shape))
    values = np.arange(n) / n if "float" in i.type else np.arange(n) % 97
    feed[i.name] = values.reshape(i.shape).astype(np.float32 if "float" in i.type else np.int64)
session.run(None, feed)
times = []
for _ in range(runs):
    start = time.process_time()
    session.run(None, feed)
    times.append(time.process_time() - start)
print("%.2f" % (sorted(times)[len(times) // 2] * 1e3))
