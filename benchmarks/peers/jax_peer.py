"""The workloads for JAX on the CPU."""

import sys
import time

import jax
import jax.numpy as jnp
import numpy as np

from timing import best_us, peak_resident_bytes, run, slices, windows

SIZES = [784, 90, 32, 10]
BATCH, ROWS = 128, 60000


def wait(value):
    jax.block_until_ready(value)


def loss(params, x, y):
    h = x
    for i, (kernel, bias) in enumerate(params):
        h = h @ kernel + bias
        if i < 2:
            h = jax.nn.relu(h)
    one_hot = jax.nn.one_hot(y, 10)
    return -jnp.mean(jnp.sum(jax.nn.log_softmax(h) * one_hot, -1))


def step(state, x, y):
    params, mu, nu, count = state
    value, gradient = jax.value_and_grad(loss)(params, x, y)
    count = count + 1
    mu = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, mu, gradient)
    nu = jax.tree.map(lambda v, g: 0.999 * v + 0.001 * g * g, nu, gradient)
    c1, c2 = 1 - 0.9**count, 1 - 0.999**count
    params = jax.tree.map(
        lambda p, m, v: p - 1e-3 * (m / c1) / (jnp.sqrt(v / c2) + 1e-8), params, mu, nu)
    return (params, mu, nu, count), value


def new_state():
    rng = np.random.default_rng(0)
    params = [(jnp.asarray(rng.standard_normal((a, b), dtype=np.float32) * (2 / a) ** 0.5),
               jnp.zeros(b)) for a, b in zip(SIZES, SIZES[1:])]
    zeros = lambda: jax.tree.map(jnp.zeros_like, params)
    return params, zeros(), zeros(), jnp.float32(0)


def mlp_adam():
    rng = np.random.default_rng(1)
    # In host memory; a step takes a slice of it.
    x, y = rng.random((ROWS, SIZES[0]), dtype=np.float32), rng.integers(0, 10, ROWS)
    batches = slices(x, y.astype(np.int32), BATCH)
    state = new_state()
    wait(state)
    compile_us = []
    for _ in range(3):
        jax.clear_caches()
        function = jax.jit(step, donate_argnums=(0,))
        begin = time.perf_counter()
        state, value = function(state, *batches[0])
        wait(value)
        compile_us.append((time.perf_counter() - begin) * 1e6)

    def epochs(call):
        nonlocal state
        before, best = peak_resident_bytes(), float("inf")
        for part in windows(batches):
            begin = time.perf_counter()
            for x, y in part:
                state, value = call(state, x, y)
            wait(value)
            best = min(best, (time.perf_counter() - begin) / len(part) * 1e6)
        return best, peak_resident_bytes() - before

    step_us, donated_bytes = epochs(function)
    _, plain_bytes = epochs(jax.jit(step))
    return {"step_us": step_us, "step_xla_us": step_us, "step_plugin_us": step_us,
            "compile_us": min(compile_us) - step_us,
            "peak_growth_bytes": donated_bytes, "peak_growth_plain_bytes": plain_bytes}


def dispatch():
    function = jax.jit(lambda x: x + 1)
    x = function(jnp.float32(0))

    def add():
        nonlocal x
        x = function(x)
        return x

    jitted = best_us(add, wait, 20000, 5)
    eight = jnp.arange(8, dtype=jnp.float32)
    wait(eight + eight)
    return {"jit_scalar_add_us": jitted, "jit_scalar_add_xla_us": jitted,
            "jit_scalar_add_plugin_us": jitted,
            "eager_add_8_us": best_us(lambda: eight + eight, wait, 5000, 5)}


def swapped():
    results = {}
    for metric, donated in (("donated_us", (0,)), ("plain_us", ())):
        function = jax.jit(lambda s: (s[1], s[0] + 1), donate_argnums=donated)
        state = function((jnp.zeros(1 << 20), jnp.ones(1 << 20)))

        def call():
            nonlocal state
            for _ in range(4):
                state = function(state)
            wait(state)
            return state

        results[metric] = best_us(call, wait, 20, 15) / 4
    return results


if __name__ == "__main__":
    run({"mlp_adam": mlp_adam, "dispatch": dispatch, "swapped": swapped})
