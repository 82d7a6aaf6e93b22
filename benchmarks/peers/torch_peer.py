"""The workloads for PyTorch on the CPU; what has no counterpart there is left out."""

import os
import time

import torch

from timing import best_us, peak_resident_bytes, run, slices, windows

torch.set_num_threads(min(2, os.cpu_count() or 1))
BATCH, ROWS = 128, 60000


def nothing(_):
    pass


def mlp_adam():
    net = torch.nn.Sequential(torch.nn.Linear(784, 90), torch.nn.ReLU(), torch.nn.Linear(90, 32),
                              torch.nn.ReLU(), torch.nn.Linear(32, 10))
    optimizer = torch.optim.Adam(net.parameters(), fused=True)
    cross_entropy = torch.nn.CrossEntropyLoss()
    batches = slices(torch.rand(ROWS, 784), torch.randint(0, 10, (ROWS,)), BATCH)

    def step(x, y):
        optimizer.zero_grad(set_to_none=True)
        value = cross_entropy(net(x), y)
        value.backward()
        optimizer.step()
        return value

    step(*batches[0])
    before, best = peak_resident_bytes(), float("inf")
    for part in windows(batches):
        begin = time.perf_counter()
        for x, y in part:
            step(x, y)
        best = min(best, (time.perf_counter() - begin) / len(part) * 1e6)
    # PyTorch updates in place always: it has one figure for both ways.
    growth = peak_resident_bytes() - before
    return {"step_us": best, "step_xla_us": best, "peak_growth_bytes": growth}


def dispatch():
    eight = torch.arange(8, dtype=torch.float32)
    return {"eager_add_8_us": best_us(lambda: eight + eight, nothing, 20000, 7)}


def swapped():
    return {}


if __name__ == "__main__":
    run({"mlp_adam": mlp_adam, "dispatch": dispatch, "swapped": swapped})
