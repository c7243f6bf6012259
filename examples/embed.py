"""Use vlang inside a Python program: the graph is a SciPy matrix, the vlang program is a text, and results are NumPy
arrays.

Run this script with `python examples/embed.py`.
"""

import numpy as np
import scipy.sparse as sp

import vlang

# A random sparse matrix; entry (i, j) is an edge from i to j, and its value the edge's weight.
matrix = sp.random(1000, 1000, density=0.01, format="coo", random_state=7)
graph = vlang.Graph.from_scipy(matrix)

# Two steps of smoothing: a vertex keeps a share of its own value and takes the rest from the edges that end at it.
smooth = vlang.compile("""
program smooth(keep = 0.5, steps = 2)

edge   weight: float
vertex total:  float = sum(weight for u -> self)
vertex x:      float

require 0 <= keep and keep <= 1

repeat steps times:
    gather heard = sum(u.x * weight for u -> self)
    where total > 0:
        apply x = keep * x + (1 - keep) * heard / total
""")
x = np.arange(1000, dtype=np.float32)
result = smooth(graph, x=x, keep=0.25)

# The same with SciPy.
total = np.asarray(matrix.sum(axis=0)).ravel()
expected = x.astype(np.float64)
for _ in range(2):
    heard = matrix.T @ expected
    expected = np.where(total > 0, 0.25 * expected + 0.75 * heard / np.where(total > 0, total, 1), expected)

print(result)
print("largest difference from SciPy below 0.01:", bool(np.abs(result["x"] - expected).max() < 1e-2))
