"""What the peers share: timing by minima, resident memory, and the loop over workloads."""

import json
import resource
import sys
import time


def best_us(call, sync, count, repeat):
    """The least time of one call in microseconds."""
    best = float("inf")
    for _ in range(repeat):
        begin = time.perf_counter()
        for _ in range(count):
            result = call()
        sync(result)
        best = min(best, (time.perf_counter() - begin) / count)
    return best * 1e6


def slices(x, y, size):
    """The batches of a data set, each a view of it."""
    return [(x[i:i + size], y[i:i + size]) for i in range(0, len(x) - size + 1, size)]


def windows(batches, epochs=3, count=6):
    """The batches of some epochs in runs of a sixth of an epoch; the best run counts."""
    size = len(batches) // count
    return [batches[i * size:(i + 1) * size] for i in range(count)] * epochs


def peak_resident_bytes():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def run(workloads):
    for name in sys.argv[1:]:
        print(json.dumps({"workload": name, "results": workloads[name]()}), flush=True)
