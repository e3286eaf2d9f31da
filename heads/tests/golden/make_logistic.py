"""Writes logistic.json: what scikit-learn's LogisticRegression gives for random and nasty hidden states.

    python3 -m venv venv && venv/bin/pip install scikit-learn==1.9.1
    venv/bin/python make_logistic.py

The rows are drawn with a fixed seed and kept in float32, the type of hidden states; scikit-learn sees them in float64, through
StandardScaler. tests/logistic.rs reads the file. With two options scikit-learn fits one row of weights d, which equals the
two rows -d/2 and d/2 of the multinomial fit at half of its C: their penalties sum to half of d's.
"""

import importlib.metadata
import json
import pathlib

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

random = np.random.default_rng(20261203)


def drawn(rows, width, options, noise, scale=1.0, shift=0.0):
    x = (random.normal(0, 1, (rows, width)) * scale + shift).astype(np.float32)
    z = StandardScaler().fit_transform(x.astype(float)) @ random.normal(0, 1, (width, options))
    return x, np.argmax(z + random.gumbel(0, noise, z.shape), 1)


def cases():
    yield "two options", 2, *drawn(80, 6, 2, 2.0), 1.0
    yield "three options", 3, *drawn(120, 5, 3, 2.0), 1.0
    yield "weak regularisation", 4, *drawn(150, 4, 4, 3.0), 100.0
    yield "strong regularisation", 3, *drawn(90, 8, 3, 1.0), 1e-3
    yield "more features than rows", 2, *drawn(20, 40, 2, 1.0), 0.1
    yield "separable", 2, *drawn(60, 5, 2, 0.0), 1.0
    scales = np.array([1e-4, 1.0, 1e4, 10.0, 0.1])
    yield "features of very different size", 3, *drawn(100, 5, 3, 1.5, scales, 3 * scales), 1.0
    x, y = drawn(70, 5, 2, 1.0)
    x[:, 2] = 0.1
    yield "a constant feature", 2, x, y, 1.0
    x, y = drawn(200, 5, 2, 1.0)
    yield "a rare option", 2, x, np.where(random.uniform(size=200) < 0.9, 0, y), 1.0


def fitted(options, x, y, c):
    scaler = StandardScaler().fit(x.astype(float))
    model = LogisticRegression(C=2 * c if options == 2 else c, solver="lbfgs", tol=1e-10, max_iter=100_000)
    model.fit(scaler.transform(x.astype(float)), y)
    weight, bias = model.coef_, model.intercept_
    if options == 2:
        weight, bias = np.vstack([-weight / 2, weight / 2]), np.concatenate([-bias / 2, bias / 2])
    else:
        # The mean of all biases is free.
        bias = bias - bias.mean()
    return {
        "mean": scaler.mean_.tolist(),
        "deviation": scaler.scale_.tolist(),
        "weight": weight.tolist(),
        "bias": bias.tolist(),
    }


def main():
    found = [
        {
            "name": name,
            "options": options,
            "hidden": x.astype(float).tolist(),
            "gold": y.tolist(),
            "c": c,
            "fitted": fitted(options, x, y, c),
        }
        for name, options, x, y, c in cases()
    ]
    versions = {name: importlib.metadata.version(name) for name in ["scikit-learn", "numpy"]}
    path = pathlib.Path(__file__).with_name("logistic.json")
    path.write_text(json.dumps({"versions": versions, "cases": found}) + "\n")


main()
