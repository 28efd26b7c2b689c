"""The same block_tree sum on numba's CUDA simulator and on this one, in one run: the ratio.

    pip install numba && python labs/simt/benches/numba_ratio.py
"""

import os
import pathlib
import subprocess
import time

os.environ["NUMBA_ENABLE_CUDASIM"] = "1"
import numpy  # noqa: E402
from numba import cuda, uint32  # noqa: E402

NUMBERS = 1 << 12
BLOCK = 256
# What the example `block_tree` sums.
OURS = 12 * (1 << 18)


@cuda.jit
def block_tree(numbers, out, n):
    part = cuda.shared.array(BLOCK, uint32)
    lane = cuda.threadIdx.x
    i = cuda.blockIdx.x * cuda.blockDim.x + lane
    part[lane] = numbers[i] if i < n else 0
    cuda.syncthreads()
    half = cuda.blockDim.x // 2
    while half > 0:
        if lane < half:
            part[lane] += part[lane + half]
        cuda.syncthreads()
        half //= 2
    if lane == 0:
        cuda.atomic.add(out, 0, part[0])


def numba_seconds():
    numbers = numpy.ones(NUMBERS, dtype=numpy.uint32)
    out = numpy.zeros(1, dtype=numpy.uint32)
    start = time.perf_counter()
    block_tree[NUMBERS // BLOCK, BLOCK](numbers, out, NUMBERS)
    assert out[0] == NUMBERS, out
    return time.perf_counter() - start


def our_seconds(root):
    build = ["cargo", "build", "--release", "--quiet", "--package", "labs-simt", "--example", "block_tree"]
    subprocess.run(build, cwd=root, check=True)
    run = ["cargo", "run", *build[2:]]
    start = time.perf_counter()
    # The example says by its exit status how many million lane-instructions it ran; 0 is a failure.
    assert subprocess.run(run, cwd=root).returncode > 0
    return time.perf_counter() - start


def main():
    root = pathlib.Path(__file__).resolve().parents[3]
    theirs = NUMBERS / min(numba_seconds() for _ in range(3))
    ours = OURS / min(our_seconds(root) for _ in range(3))
    print(f"numba's simulator: {theirs:,.0f} numbers a second; this one: {ours:,.0f}; ratio {ours / theirs:,.0f}")


if __name__ == "__main__":
    main()
