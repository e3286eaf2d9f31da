"""Writes calibrators.json: what scikit-learn, netcal, MAPIE and scipy give for random and nasty rows.

    python3 -m venv venv && venv/bin/pip install scikit-learn==1.9.1 scipy==1.17.1 mapie==1.6.0 netcal==1.4.0
    venv/bin/python make_calibrators.py

The rows are drawn with a fixed seed and kept in float32, the type of the readout's scores. tests/calibrators.rs reads the
file. Peers: scikit-learn (isotonic regression, logistic regression, sigmoid and temperature calibration), netcal
(temperature, beta, histogram binning), MAPIE (LAC, APS), scipy (beta quantiles; minimisers where no peer has the
definition).
"""

import importlib.metadata
import json
import pathlib
import warnings

import numpy as np
import scipy.optimize
import scipy.special
import scipy.stats
from mapie.classification import SplitConformalClassifier
from mapie.conformity_scores import APSConformityScore, LACConformityScore
from netcal.binning import HistogramBinning
from netcal.scaling import BetaCalibration, TemperatureScaling
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import _sigmoid_calibration, _TemperatureScaling
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression

warnings.filterwarnings("ignore")
random = np.random.default_rng(20261203)


def predicate_rows():
    """Margins (raw log-odds of true) and labels."""

    def drawn(n, slope, shift, spread=2.0):
        d = random.normal(0, spread, n).astype(np.float32)
        y = (random.uniform(size=n) < scipy.special.expit(slope * d.astype(float) + shift)).astype(int)
        return d, y

    yield "calibrated", *drawn(150, 1.0, 0.0)
    yield "overconfident", *drawn(150, 0.3, -0.4, 4.0)
    yield "underconfident", *drawn(120, 2.5, 0.8, 1.0)
    yield "rare", *drawn(200, 1.0, -2.5)
    yield "useless", *drawn(100, 0.0, 0.3)
    yield "wrong way", *drawn(100, -0.5, 0.2)
    d, y = drawn(120, 0.8, 0.0)
    yield "ties", np.round(d), y
    d, y = drawn(80, 0.4, 0.0, 30.0)
    yield "large margins", d, y
    yield "overlap of one", np.arange(-10, 10, dtype=np.float32), (np.arange(-10, 10) >= 0).astype(int) ^ (
        np.isin(np.arange(-10, 10), [-1, 0])
    )
    yield "separable", np.arange(-5, 5, dtype=np.float32), (np.arange(-5, 5) >= 0).astype(int)
    yield "all true", np.arange(-3, 4, dtype=np.float32), np.ones(7, int)
    yield "all false", np.arange(-3, 4, dtype=np.float32), np.zeros(7, int)
    yield "two rows", np.array([-1, 2], np.float32), np.array([0, 1])


def both_classes_overlap(d, y):
    if y.min() == y.max():
        return False
    no, yes = d[y == 0], d[y == 1]
    return no.max() > yes.min() and yes.max() > no.min()


def netcal_input(d):
    return scipy.special.expit(d.astype(float))


def beta_reference(d, y):
    """Minimum of the mean NLL over a, b >= 0."""
    q = d.astype(float)
    columns = np.stack([-np.logaddexp(0, -q), np.logaddexp(0, q)], 1)

    def loss(w):
        x = columns @ w[:2] + w[2]
        error = scipy.special.expit(x) - y
        return np.mean(np.logaddexp(0, x) - y * x), np.append(columns.T @ error, error.sum()) / len(y)

    best = min(
        (
            scipy.optimize.minimize(
                loss,
                start,
                jac=True,
                method="L-BFGS-B",
                bounds=[(0, None), (0, None), (None, None)],
                options={"ftol": 1e-16, "gtol": 1e-12, "maxiter": 20000, "maxfun": 100000, "maxcor": 50},
            )
            for start in ([1, 1, 0], [0.1, 0.1, 0], [0, 1, 0], [1, 0, 0])
        ),
        key=lambda found: found.fun,
    )
    return {"parameters": best.x.tolist(), "nll": float(best.fun)}


def predicates():
    for name, d, y in predicate_rows():
        case = {"name": name, "margins": d.tolist(), "labels": y.tolist()}
        wide = d.astype(float)
        grid = np.unique(np.concatenate([wide, wide[:-1] / 2 + wide[1:] / 2, [-1e3, 0, 1e3]]).astype(np.float32))
        if len(grid) > 60:
            grid = grid[:: len(grid) // 50]
        isotonic = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(wide, y)
        case["grid"] = grid.tolist()
        case["isotonic"] = isotonic.predict(grid.astype(float)).tolist()
        a, b = _sigmoid_calibration(wide, y)
        case["platt_smoothed"] = {"slope": -float(a), "intercept": -float(b)}
        if both_classes_overlap(d, y):
            plain = LogisticRegression(C=np.inf, tol=1e-12, max_iter=100000, solver="newton-cholesky")
            plain.fit(wide.reshape(-1, 1), y)
            x = plain.decision_function(wide.reshape(-1, 1))
            case["platt_plain"] = {
                "slope": float(plain.coef_[0, 0]),
                "intercept": float(plain.intercept_[0]),
                "nll": float(np.mean(np.logaddexp(0, x) - y * x)),
            }
            case["beta_plain"] = beta_reference(d, y)
            q = netcal_input(d)
            if np.abs(wide).max() < 30:
                try:
                    beta = BetaCalibration(method="mle")
                    beta.fit(q, y)
                    p = np.clip(beta.transform(q), 1e-15, 1 - 1e-15)
                    case["beta_netcal_nll"] = float(-np.mean(y * np.log(p) + (1 - y) * np.log(1 - p)))
                except Exception as error:  # netcal gives up on some rows
                    case["beta_netcal_error"] = f"{type(error).__name__}: {error}"[:120]
        if y.min() != y.max():
            q = netcal_input(d)
            for bins in (5, 10):
                edges = np.linspace(0, 1, bins + 1)
                if np.isin(q, edges).any() or q.min() < 1e-6 or q.max() > 1 - 1e-6:
                    continue  # netcal differs on edges, see the docstring
                histogram = HistogramBinning(bins=bins)
                histogram.fit(q, y)
                case.setdefault("histogram", []).append(
                    {"bins": bins, "grid": histogram.transform(netcal_input(grid[1:-1])).tolist()}
                )
        yield case


def choice_rows():
    def drawn(n, options, temperature, spread=2.0):
        s = random.normal(0, spread, (n, options)).astype(np.float32)
        p = scipy.special.softmax(s.astype(float) / temperature, axis=1)
        y = np.array([random.choice(options, p=row) for row in p])
        return s, y

    yield "two options", *drawn(100, 2, 1.5)
    yield "three options", *drawn(150, 3, 2.5)
    yield "seven options", *drawn(100, 7, 0.7)
    yield "255 options", *drawn(12, 255, 1.2)
    yield "large scores", *drawn(60, 4, 20.0, 50.0)
    s, y = drawn(80, 3, 1.8)
    yield "shifted rows", (s + random.integers(-50, 50, (80, 1))).astype(np.float32), y


def temperatures(s, y):
    wide = s.astype(float)

    def loss(ln_t):
        z = wide / np.exp(ln_t)
        return np.mean(scipy.special.logsumexp(z, axis=1) - z[np.arange(len(y)), y])

    best = scipy.optimize.minimize_scalar(
        loss, bounds=(np.log(0.01), np.log(100)), method="bounded", options={"xatol": 1e-12, "maxiter": 10000}
    )
    found = {"scipy": float(np.exp(best.x)), "nll": float(best.fun)}
    if set(y) == set(range(s.shape[1])):
        found["sklearn"] = 1 / float(_TemperatureScaling().fit(wide, y).beta_)
        p = scipy.special.softmax(wide, axis=1)
        if p.min() < 1e-12:
            return found  # netcal cuts probabilities off at the precision of their type, and fits another problem
        netcal = TemperatureScaling(method="mle")
        netcal.fit(p[:, 1] if s.shape[1] == 2 else p, y)
        weights = np.asarray(netcal._sites["weights"]["values"]).ravel()
        found["netcal"] = 1 / float(weights[0])
    return found


def vector_reference(s, y, ridge):
    z = scipy.special.log_softmax(s.astype(float), axis=1)
    k = s.shape[1]

    def loss(w):
        x = z * w[:k] + w[k:]
        error = scipy.special.softmax(x, axis=1)
        value = (scipy.special.logsumexp(x, axis=1) - x[np.arange(len(y)), y]).sum()
        error[np.arange(len(y)), y] -= 1
        value += ridge / 2 * (((w[:k] - 1) ** 2).sum() + (w[k:] ** 2).sum())
        slope = np.concatenate([(error * z).sum(0) + ridge * (w[:k] - 1), error.sum(0) + ridge * w[k:]])
        return value / len(y), slope / len(y)

    start = np.concatenate([np.ones(k), np.zeros(k)])
    best = scipy.optimize.minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-10, "maxiter": 20000})
    return {"ridge": ridge, "objective": float(best.fun), "weights": best.x[:k].tolist(), "biases": best.x[k:].tolist()}


def choices():
    for name, s, y in choice_rows():
        case = {"name": name, "scores": s.tolist(), "labels": y.tolist(), "temperature": temperatures(s, y)}
        if name in ("two options", "three options", "seven options", "shifted rows"):
            case["vector"] = vector_reference(s, y, 0.5)
        yield case


class Given(ClassifierMixin, BaseEstimator):
    """A classifier whose probabilities are its input."""

    def __init__(self, options):
        self.options = options
        self.classes_ = np.arange(options)

    def fit(self, x, y):
        return self

    def predict_proba(self, x):
        return np.asarray(x)

    def predict(self, x):
        return np.argmax(x, axis=1)

    def __sklearn_is_fitted__(self):
        return True


def conformal():
    for options, rows, coverage in [(3, 40, 0.9), (5, 99, 0.8), (5, 60, 0.95), (10, 50, 0.5), (2, 30, 0.75)]:
        p = random.dirichlet(np.full(options, 0.6), rows + 12)
        y = np.array([random.choice(options, p=row) for row in p[:rows]])
        y[:options] = np.arange(options)
        case = {"coverage": coverage, "rows": p[:rows].tolist(), "labels": y.tolist(), "new": p[rows:].tolist()}
        for name, score, settings in [
            ("lac", LACConformityScore(), {}),
            ("aps_randomised", APSConformityScore(), {"include_last_label": "randomized"}),
        ]:
            if options == 2 and name != "lac":
                continue  # MAPIE refuses APS on two options
            mapie = SplitConformalClassifier(
                Given(options), confidence_level=coverage, conformity_score=score, prefit=True, random_state=7
            )
            mapie.conformalize(p[:rows], y)
            _, sets = mapie.predict_set(p[rows:], conformity_score_params=settings)
            quantile = float(np.ravel(mapie._mapie_classifier.conformity_score_function_.quantiles_)[0])
            case[name] = {"quantile": quantile, "sets": [np.flatnonzero(row[:, 0]).tolist() for row in sets]}
        case["draws"] = np.random.RandomState(7).uniform(size=rows).tolist()
        case["new_draws"] = np.random.RandomState(7).uniform(size=12).tolist()
        # Without a draw, by the definition: sums down to the gold option, their quantile, options up to it and the top one.
        order = np.argsort(-p, axis=1, kind="stable")
        sums = np.take_along_axis(np.cumsum(np.take_along_axis(p, order, 1), 1), np.argsort(order, axis=1), 1)
        q = float(np.sort(sums[np.arange(rows), y])[int(np.ceil((rows + 1) * coverage - 1e-9)) - 1])
        sets = [[k for k in range(options) if sums[i, k] <= q or k == p[i].argmax()] for i in range(rows, rows + 12)]
        case["aps"] = {"quantile": q, "sets": sets}
        yield case


def clopper_pearson():
    for n in [1, 2, 7, 29, 30, 100, 1000, 12345, 100_000, 1_000_000]:
        for k in sorted({0, 1, 2, n // 3, n // 2, int(n * 0.95), n - 2, n - 1, n}):
            for confidence in [0.5, 0.9, 0.95, 0.999]:
                if 0 <= k <= n:
                    lower = scipy.stats.beta.ppf(1 - confidence, k, n - k + 1) if k > 0 else 0.0
                    upper = scipy.stats.beta.ppf(confidence, k + 1, n - k) if k < n else 1.0
                    yield [k, n, confidence, float(lower), float(upper)]


packages = ["numpy", "scipy", "scikit-learn", "netcal", "mapie", "torch"]
out = {
    "versions": {name: importlib.metadata.version(name) for name in packages},
    "predicates": list(predicates()),
    "choices": list(choices()),
    "conformal": list(conformal()),
    "clopper_pearson": list(clopper_pearson()),
}
path = pathlib.Path(__file__).with_name("calibrators.json")
path.write_text(json.dumps(out, separators=(",", ":"), allow_nan=False) + "\n")
print(path, path.stat().st_size, "bytes")
