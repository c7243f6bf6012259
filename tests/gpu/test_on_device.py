"""Arrays of a graph that stay on a real GPU: later results, memory use, eight threads and a forked process."""

from __future__ import annotations

import gc
import os
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from vlang import Graph, load
from vlang.errors import DeviceError
from vlang.runtime.gpu.device.gpus import Gpu, gpus


def drawn() -> Graph:
    return Graph.read("kron:16", weights="1..64")


def on_cpu(name: str, graph: Graph, **arguments: float) -> dict[str, np.ndarray]:
    found = load(name)(graph, **arguments)
    return {field: found[field] for field in found.fields}


def test_later_calls_are_right_and_short(gpu: Gpu) -> None:
    graph = drawn()
    sources = [int(v) for v in np.argsort(graph.out_degree)[-6:]]
    for source in sources:
        found = load("sssp")(graph, source=source, device="gpu")
        for field, values in on_cpu("sssp", graph, source=source).items():
            np.testing.assert_array_equal(found[field], values)
    for damping in (0.85, 0.5, 0.9):
        found = load("pagerank")(graph, damping=damping, device="gpu")
        np.testing.assert_allclose(found["rank"], on_cpu("pagerank", graph, damping=damping)["rank"], rtol=1e-4)
    program, over = load("bfs"), []
    for source in 5 * sources:
        begin = time.perf_counter()
        seconds = program(graph, source=source, device="gpu").seconds
        over.append(time.perf_counter() - begin - 2 * seconds)
    print(f"a call takes twice the run and {1e3 * sorted(over)[len(over) // 2]:.2f} ms")
    assert sorted(over)[len(over) // 2] < 0.02  # with a margin for a loaded machine


def test_memory_is_given_back(gpu: Gpu) -> None:
    graph = drawn()
    load("pagerank")(graph, device="gpu")
    graph.release()
    gc.collect()
    before = gpus()[0].free
    load("pagerank")(graph, device="gpu")
    kept = sum(copy.nbytes for copy in graph.on_device())
    assert kept > 4 * graph.m
    assert before - gpus()[0].free >= kept // 2
    load("pagerank")(graph, device="gpu", device_cache=0)
    assert graph.on_device() == ()
    load("pagerank")(graph, device="gpu")
    graph.release()
    assert abs(before - gpus()[0].free) < 64 << 20
    del graph


def test_eight_threads(gpu: Gpu) -> None:
    graph, program = drawn(), load("sssp")
    sources = [int(v) for v in np.argsort(graph.out_degree)[-8:]]
    expected = {source: on_cpu("sssp", graph, source=source)["dist"] for source in sources}

    def run(source: int) -> bool:
        return all(np.array_equal(program(graph, source=source, device="gpu")["dist"], expected[source])
                   for _ in range(4))

    with ThreadPoolExecutor(8) as pool:
        assert all(pool.map(run, sources))


def test_results_are_not_overwritten(gpu: Gpu) -> None:
    """The memory of a result is reused only after its arrays are freed. A result can be an argument of the next call.
    """
    graph, program = drawn(), load("bfs")
    sources = [int(v) for v in np.argsort(graph.out_degree)[-5:]]
    results = [program(graph, source=source, device="gpu") for source in sources]
    for source, result in zip(sources, results):
        for field, values in on_cpu("bfs", graph, source=source).items():
            np.testing.assert_array_equal(result[field], values)


def test_a_forked_process(gpu: Gpu) -> None:
    graph, program = drawn(), load("bfs")
    program(graph, source=graph.ids.values[0], device="gpu")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            graph.release()
            program(graph, source=graph.ids.values[0], device="gpu")
        except DeviceError as error:
            os.write(write, str(error).encode())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    assert "was forked from one that had used a GPU" in os.read(read, 4096).decode()
    os.close(read)
    assert graph.on_device()
