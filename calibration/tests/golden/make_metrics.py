"""Writes metrics.json: rows of probabilities, random and nasty, and what other libraries make of them.

    pip install scikit-learn==1.9.1 torchmetrics==1.9.0 netcal==1.4.0 scoringrules==0.10.0
    python calibration/tests/golden/make_metrics.py

A case holds counts, and a probability is count / denominator, so that both sides divide the same two integers. Per metric,
`agree` holds the values that the definitions of this crate must meet, by their source; `differ` those of libraries whose
definition is another one on this case, as the docstrings say (null: infinite); `undefined` the metrics that must be
refused. Source "definition" is the formula of the docstring, written out here in plain loops, also where no library has
it; sources that end in "float32" computed in that type.
"""

import itertools
import json
import warnings
from importlib.metadata import version
from pathlib import Path

import netcal.metrics
import numpy as np
import scipy.stats
import scoringrules
import torch
from sklearn import metrics as sk
from sklearn.calibration import calibration_curve
from torchmetrics.functional import classification as tm
from torchmetrics.functional.classification.calibration_error import _ce_compute
from torchmetrics.functional.regression import kl_divergence

OUTPUT = Path(__file__).resolve().parent / "metrics.json"
SEED = 20261203
BINS = (10, 15)
# A prime: no probability but 0 and 1 lies on the edge of a bin of equal width.
PRIME = 99991
COVERAGES = (0.5, 0.8, 0.95, 1.0)


class Values:
    """What is known about one case."""

    def __init__(self):
        self.agree, self.differ, self.undefined = {}, {}, []

    def add(self, metric, source, value, agrees=True):
        place = self.agree if agrees else self.differ
        value = np.asarray(value, dtype=float)
        assert not agrees or np.isfinite(value).all(), (metric, source, value)
        # null: no number.
        value = value.tolist() if np.isfinite(value).all() else None
        place.setdefault(metric, {})[source] = value


def width_bins(p, bins):
    """Index of the bin (b / B, (b + 1) / B] of every probability."""
    upper = np.array([b / bins for b in range(1, bins)])
    return np.array([sum(value > edge for edge in upper) for value in p])


def mass_bins(p, bins):
    """As width_bins, with quantiles at exact positions k (n - 1) / B for edges."""
    ordered, last = np.sort(p), len(p) - 1
    edges = []
    for k in range(1, bins):
        whole, rest = divmod(k * last, bins)
        above = ordered[min(whole + 1, last)]
        edges.append(min(ordered[whole] + (above - ordered[whole]) * (rest / bins), above))
    return np.array([sum(value > edge for edge in edges) for value in p])


def gaps(p, hit, index):
    """Per bin that holds something: share of rows, and frequency less mean probability."""
    inside = [index == b for b in sorted(set(index))]
    return np.array([[i.mean(), (hit[i] - p[i]).mean()] for i in inside])


def weighted(p, hit, index):
    share, gap = gaps(p, hit, index).T
    return (share * abs(gap)).sum()


def brier_parts(p, hit, index):
    reliability = resolution = variance = covariance = 0.0
    for b in set(index):
        inside = index == b
        forecast, observed = p[inside].mean(), hit[inside].mean()
        reliability += inside.mean() * (forecast - observed) ** 2
        resolution += inside.mean() * (observed - hit.mean()) ** 2
        for pj, oj in zip(p[inside], hit[inside]):
            variance += (pj - forecast) ** 2 / len(p)
            covariance += 2 * (pj - forecast) * (oj - observed) / len(p)
    return np.array([reliability, resolution, hit.mean() * (1 - hit.mean()), variance, covariance])


def risks(right):
    """Share of wrong rows among the first i, for every i."""
    return np.cumsum(~right) / np.arange(1, len(right) + 1)


def mean_risks(confidence, right):
    """Mean of risks over all orders of equally confident rows, none left out."""
    tiers = [right[confidence == c] for c in sorted(set(confidence), reverse=True)]
    orders = itertools.product(*(itertools.permutations(tier) for tier in tiers))
    return np.mean([risks(np.concatenate(order).astype(bool)) for order in orders], axis=0)


def on_edges(p, bins):
    return bool(np.isin(np.asarray(p), np.arange(1, bins + 1) / bins).any())


def ties_on_quantiles(p, bins):
    """Whether numpy's quantiles, whose positions are rounded, may put an edge on another side of a probability."""
    whole = any(k * (len(p) - 1) % bins == 0 for k in range(1, bins))
    return whole or len(set(p)) < len(p)


def choice(values, p, y, orders):
    options = list(range(p.shape[1]))
    top, right = p.max(1), p.argmax(1) == y
    hit = right.astype(float)
    values.add("accuracy", "sklearn", sk.accuracy_score(y, p.argmax(1)))
    values.add("macro_accuracy", "sklearn", sk.balanced_accuracy_score(y, p.argmax(1)))
    values.add("nll", "sklearn", sk.log_loss(y, p, labels=options))
    matrix = sk.confusion_matrix(y, p.argmax(1), labels=options)
    values.add("confusion_matrix", "sklearn", [[*place, matrix[place]] for place in zip(*np.nonzero(matrix))])
    brier = sk.brier_score_loss(y, p, labels=options, scale_by_half=False)
    values.add("brier_multiclass", "sklearn", brier)
    if len(set(y)) > 1:
        values.add("log_loss_skill", "sklearn", sk.d2_log_loss_score(y, p, labels=options))
    else:
        values.undefined.append("log_loss_skill")
    rps = scoringrules.rps_score(y + 1, p)
    energy = [scipy.stats.energy_distance(options, [k], row, [1]) ** 2 / 2 for row, k in zip(p, y)]
    values.add("ranked_probability_score", "scoringrules", rps.mean())
    values.add("ranked_probability_score", "scipy", np.mean(energy))
    values.add("ranked_probability_score_normalised", "scoringrules", rps.mean() / (len(options) - 1))
    for bins in BINS:
        calibration(values, p, y, top, hit, bins)
    curve = mean_risks(top, right) if orders else risks(right[np.argsort(-top)])
    assert orders or len(set(top)) == len(top)
    values.add("aurc", "definition", curve.mean())
    for coverage in COVERAGES:
        answered = next(m for m in range(1, len(y) + 1) if m / len(y) >= coverage)
        values.add(f"selective_accuracy {coverage}", "definition", 1 - curve[answered - 1])


def compare(values, metric, source, found, agrees):
    """Where definitions part, two values may still be equal by chance: then there is nothing to record."""
    if agrees or abs(found - values.agree[metric]["definition"]) > 1e-6:
        values.add(metric, source, found, agrees)


def calibration(values, p, y, top, hit, bins):
    wide, mass = width_bins(top, bins), mass_bins(top, bins)
    values.add(f"ece {bins}", "definition", weighted(top, hit, wide))
    values.add(f"ece_equal_mass {bins}", "definition", weighted(top, hit, mass))
    for name, index in (("width", wide), ("mass", mass)):
        share, gap = gaps(top, hit, index).T
        values.add(f"mce {name} {bins}", "definition", abs(gap).max())
        split = [(share * gap * (gap * sign > 0) * sign).sum() for sign in (-1, 1)]
        values.add(f"over_under_confidence {name} {bins}", "definition", split)
    same = not on_edges(top, bins)
    # The public function rounds probabilities to float32; the sums under it keep the type.
    tensors = torch.tensor(top), torch.tensor(hit)
    for metric, norm in ((f"ece {bins}", "l1"), (f"mce width {bins}", "max")):
        compare(values, metric, "torchmetrics", float(_ce_compute(*tensors, bins, norm=norm)), same)
        if same:
            found = tm.multiclass_calibration_error(torch.tensor(p), torch.tensor(y), p.shape[1], bins, norm)
            values.add(metric, "torchmetrics float32", float(found))
    # netcal takes up to two labels that occur for a predicate, and measures P(true); it refuses more options then.
    top_label = len(set(y)) > 2
    if top_label or p.shape[1] == 2:
        for kind, name in itertools.product(("ece", "mce"), ("width", "mass")):
            # It has no bins of equal mass for ties: "smallest edge difference is numerically 0".
            if name == "mass" and ties_on_quantiles(top, bins):
                continue
            measure = {"ece": netcal.metrics.ECE, "mce": netcal.metrics.MCE}[kind]
            found = measure(bins, equal_intervals=name == "width").measure(p, y)
            metric = {"ece width": f"ece {bins}", "ece mass": f"ece_equal_mass {bins}"}.get(f"{kind} {name}")
            agrees = top_label and (same or name == "mass")
            compare(values, metric or f"{kind} {name} {bins}", "netcal", found, agrees)
    columns = [(p[:, k], (y == k).astype(float)) for k in range(p.shape[1])]
    for name, index in (("width", width_bins), ("mass", mass_bins)):
        per_class = [weighted(pk, hk, index(pk, bins)) for pk, hk in columns]
        values.add(f"classwise_ece {name} {bins}", "definition", np.mean(per_class))
        parts = sum(brier_parts(pk, hk, index(pk, bins)) for pk, hk in columns)
        values.add(f"brier_decomposition {name} {bins}", "definition", parts)
    if not any(on_edges(pk, bins) for pk, _ in columns):
        per_class = [tm.binary_calibration_error(torch.tensor(pk), torch.tensor(hk).int(), bins) for pk, hk in columns]
        values.add(f"classwise_ece width {bins}", "torchmetrics", np.mean([float(v) for v in per_class]))
        per_class = [netcal.metrics.ECE(bins).measure(pk, hk.astype(int)) for pk, hk in columns]
        values.add(f"classwise_ece width {bins}", "netcal", np.mean(per_class))
    ranges = [abs(gaps(pk, hk, mass_bins(pk, bins))[:, 1]).mean() for pk, hk in columns]
    values.add(f"adaptive_calibration_error {bins}", "definition", np.mean(ranges))
    if len(y) % bins == 0 and all(len(set(pk)) == len(pk) for pk, _ in columns):
        # Nixon et al.: sorted rows, cut by count.
        cut = [[abs((hk[i] - pk[i]).mean()) for i in np.array_split(np.argsort(pk), bins)] for pk, hk in columns]
        values.add(f"adaptive_calibration_error {bins}", "sorted and cut", np.mean(cut))
        if len(set(y)) > 2:
            average = netcal.metrics.ACE(bins).measure(p, y)
            values.add(f"adaptive_calibration_error {bins}", "netcal ACE", average, False)


def predicate(values, p, y):
    values.add("brier_binary", "sklearn", sk.brier_score_loss(y, p, pos_label=1))
    if len(set(y)) > 1:
        values.add("auroc", "sklearn", sk.roc_auc_score(y, p))
        values.add("auroc", "torchmetrics float32", float(tm.binary_auroc(torch.tensor(p), torch.tensor(y))))
    else:
        values.undefined.append("auroc")
    average = sk.average_precision_score(y, p)
    if y.any():
        values.add("average_precision", "sklearn", average)
    else:
        values.add("average_precision", "sklearn", average, False)
        values.undefined.append("average_precision")
    for bins in BINS:
        for name, index in (("width", width_bins(p, bins)), ("mass", mass_bins(p, bins))):
            values.add(f"ece_binary {name} {bins}", "definition", weighted(p, y.astype(float), index))
            parts = brier_parts(p, y.astype(float), index)
            values.add(f"brier_decomposition_binary {name} {bins}", "definition", parts)
        if not on_edges(p, bins):
            error = tm.binary_calibration_error(torch.tensor(p), torch.tensor(y), bins)
            values.add(f"ece_binary width {bins}", "torchmetrics", float(error))
            values.add(f"ece_binary width {bins}", "netcal", netcal.metrics.ECE(bins).measure(p, y))
        strategies = [("width", "uniform")] + [("mass", "quantile")] * (not ties_on_quantiles(p, bins))
        for name, strategy in strategies:
            curve = calibration_curve(y, p, n_bins=bins, strategy=strategy)
            values.add(f"reliability_diagram_binary {name} {bins}", "sklearn", np.transpose(curve[::-1]))
        index = width_bins(p, bins)
        shares = [(y[index == b].sum(), (index == b).sum()) for b in sorted(set(index))]
        wilson = [scipy.stats.binomtest(int(k), int(n)).proportion_ci(0.95, "wilson") for k, n in shares]
        values.add(f"reliability_interval_binary width {bins}", "scipy", wilson)


def raters(values, p, q):
    surprise = -np.log(np.maximum(p, np.finfo(float).eps))
    values.add("distribution cross_entropy", "definition", (q * surprise).sum(1).mean())
    if (p > 0).all():
        # It takes scores, and logarithms of probabilities are such.
        found = torch.nn.functional.cross_entropy(torch.tensor(p).log(), torch.tensor(q))
        values.add("distribution cross_entropy", "torch", float(found))
    values.add("distribution entropy", "scipy", scipy.stats.entropy(q, axis=1).mean())
    kl = float(kl_divergence(torch.tensor(q), torch.tensor(p)))
    values.add("distribution kl_divergence", "torchmetrics", kl, bool(np.isfinite(kl)))
    if np.isfinite(kl):
        values.add("distribution kl_divergence", "scipy", scipy.stats.entropy(q, p, axis=1).mean())
    values.add("distribution brier", "sklearn", sk.mean_squared_error(q, p) * p.shape[1])
    levels = range(p.shape[1])
    energy = [scipy.stats.energy_distance(levels, levels, a, b) ** 2 / 2 for a, b in zip(p, q)]
    values.add("distribution ranked_probability_score", "scipy", np.mean(energy))
    score = np.mean(energy) / (p.shape[1] - 1)
    values.add("distribution ranked_probability_score_normalised", "scipy", score)


def bootstrap(values, p, y, seed):
    """Another generator's draws: equal only up to the noise of 20,000 resamples."""
    right = (p.argmax(1) == y).astype(float)
    loss = -np.log(p[np.arange(len(y)), y])
    for name, per_row in (("accuracy", right), ("nll", loss)):
        found = scipy.stats.bootstrap((per_row,), np.mean, n_resamples=20000, method="percentile", rng=seed)
        values.add(f"bootstrap {name}", "scipy", list(found.confidence_interval))


def draw(rng, rows, options, sharpness=1.0):
    """Counts over PRIME, none 0, and labels drawn from flatter probabilities than stated."""
    weights = rng.dirichlet(np.full(options, sharpness), rows)
    counts = np.floor(weights * (PRIME - options)).astype(int) + 1
    counts[np.arange(rows), counts.argmax(1)] += PRIME - counts.sum(1)
    flat = np.sqrt(counts / PRIME)
    labels = [rng.choice(options, p=row / row.sum()) for row in flat]
    return counts, PRIME, np.array(labels)


def cases(rng):
    yield "random", *draw(rng, 90, 4)
    yield "random predicate", *draw(rng, 90, 2, 0.6)
    yield "255 options", *draw(rng, 15, 255, 0.05)
    counts, denominator, y = draw(rng, 12, 3)
    counts[:4, 0] += counts[:4, 1]
    counts[:4, 1] = 0
    y[:4] = 1
    yield "zero-probability gold", counts, denominator, y
    few = np.array([[4, 4, 0], [4, 2, 2], [2, 4, 2], [4, 4, 0], [0, 4, 4], [6, 1, 1], [1, 6, 1]])
    yield "ties", few, 8, np.array([0, 0, 1, 1, 0, 2, 1])
    yield "one class absent", *draw(rng, 30, 3)[:2], rng.integers(0, 2, 30)
    yield "one label only", *draw(rng, 20, 3)[:2], np.full(20, 1)
    yield "one row", *draw(rng, 1, 3)
    yield "all the same confidence", np.tile([3, 2], (7, 1)), 5, np.array([0, 1, 0, 0, 1, 0, 1])
    twentieths = [[19, 1], [6, 14], [8, 12], [10, 10], [18, 2], [0, 20], [20, 0], [16, 4]]
    yield "on bin edges", np.array(twentieths), 20, np.array([0, 1, 1, 1, 1, 0, 0, 0])
    three = [[8, 6, 6], [9, 6, 5], [7, 7, 6], [16, 2, 2], [17, 2, 1], [20, 0, 0]]
    yield "on bin edges, three options", np.array(three), 20, np.array([1, 0, 2, 1, 0, 0])
    certain = np.eye(3, dtype=int)[[0, 1, 2, 1, 0]]
    yield "certain and right", certain, 1, np.array([0, 1, 2, 1, 0])
    yield "certain and wrong", certain, 1, np.array([1, 2, 0, 2, 2])
    yield "all true", *draw(rng, 8, 2)[:2], np.ones(8, dtype=int)
    yield "all false", *draw(rng, 8, 2)[:2], np.zeros(8, dtype=int)


def main():
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(SEED)
    written = []
    for name, counts, denominator, y in cases(rng):
        assert (counts.sum(1) == denominator).all(), name
        p, values = counts / denominator, Values()
        choice(values, p, y, orders=len(y) < 9)
        if p.shape[1] == 2:
            predicate(values, p[:, 1], y)
        votes = rng.multinomial(20, np.full(p.shape[1], 1 / p.shape[1]), len(y))
        raters(values, p, votes / 20)
        if name == "random":
            bootstrap(values, p, y, SEED)
        written.append({
            "name": name, "denominator": denominator, "counts": counts.tolist(), "labels": y.tolist(),
            "votes": votes.tolist(), "agree": values.agree, "differ": values.differ, "undefined": values.undefined,
        })
    packages = ["scikit-learn", "torchmetrics", "torch", "netcal", "scoringrules", "scipy", "numpy"]
    content = {"seed": SEED, "versions": {p: version(p) for p in packages}, "cases": written}
    OUTPUT.write_text(json.dumps(content, separators=(",", ":")).replace('{"name"', '\n{"name"') + "\n")
    print(OUTPUT, OUTPUT.stat().st_size)


if __name__ == "__main__":
    main()
