#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Estimators beside scikit-learn's of the same name, at equal parameters and quality: seven pairs, interleaved, the median of the
ratios theirs / ours (above 1: we are faster). Synthetic tables with the shapes of public ones.

bench_estimators.py [--build BUILD] [--pairs N] [--threads N] [--short] [NAME ...]   run by an interpreter that has scikit-learn,
else by BUILD/venv's (test_python.py makes it)."""
import argparse
import os
import statistics
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def again_in_venv(build):
    python = os.path.join(build, "venv", "bin", "python")
    if not os.path.exists(python):
        print("bench_estimators: no peer (scikit-learn is not there; `ctest -R ^python$` makes an environment that has it)")
        return 0
    return subprocess.run([python, *sys.argv]).returncode


def table(np, n, d, dtype, centres=8):
    rng = np.random.default_rng(n + d)
    where = rng.integers(centres, size=n)
    return (rng.normal(size=(centres, d)).astype(dtype) * 3)[where] + rng.normal(size=(n, d)).astype(dtype)


def cases(np, names, short):
    from sklearn import cluster, decomposition, linear_model, mixture, naive_bayes, preprocessing
    import samebits.cluster
    import samebits.decomposition
    import samebits.linear_model
    import samebits.mixture
    import samebits.naive_bayes
    import samebits.preprocessing
    shapes = [(100_000, 16), (20_000, 220)] if short else [(1_000_000, 16), (200_000, 220), (20_000, 2_000)]
    for dtype in (np.float32, np.float64):
        for n, d in shapes:
            X = table(np, n, d, dtype)
            y = (X @ np.ones(d, dtype) + X[:, 0]).astype(dtype)
            classes = (y > 0).astype(int) + (y > d)
            mixed = (y + y.std() * np.random.default_rng(1).normal(size=n) > y.mean()).astype(int) # (no score separates them)
            kinds = {
                "StandardScaler": (samebits.preprocessing.StandardScaler(), preprocessing.StandardScaler(), "transform", lambda own, theirs: ""),
                "LinearRegression": (samebits.linear_model.LinearRegression(), linear_model.LinearRegression(), "predict",
                                     lambda own, theirs: f"error {abs(own.coef_ - 1)[1:].max():.1e} {abs(theirs.coef_ - 1)[1:].max():.1e}"),
                "GaussianNB": (samebits.naive_bayes.GaussianNB(), naive_bayes.GaussianNB(), "predict", lambda own, theirs: f"same {(own.predict(X) == theirs.predict(X)).mean():.6f}", classes),
                "Ridge": (samebits.linear_model.Ridge(), linear_model.Ridge(), "predict", lambda own, theirs: f"apart {abs(own.coef_ - theirs.coef_).max():.1e}"),
                "Lasso": (samebits.linear_model.Lasso(0.1), linear_model.Lasso(0.1), "predict", lambda own, theirs: f"rounds {own.n_iter_} {theirs.n_iter_}, gaps {own.dual_gap_:.1e} {theirs.dual_gap_:.1e}"),
                **({"DBSCAN": (samebits.cluster.DBSCAN(eps=1.3 * d**0.5, min_samples=10), cluster.DBSCAN(eps=1.3 * d**0.5, min_samples=10), "fit_predict",
                               lambda own, theirs: f"clusters {own.labels_.max() + 1} {theirs.labels_.max() + 1}, same {(own.labels_ == theirs.labels_).mean():.6f}")} if n <= 20_000 else {}),
                "LogisticRegression": (samebits.linear_model.LogisticRegression(), linear_model.LogisticRegression(), "predict",
                                       lambda own, theirs: f"rounds {own.n_iter_[0]} {theirs.n_iter_[0]}", mixed),
                "KMeans": (samebits.cluster.KMeans(8, init=X[:8].copy(), n_init=1, max_iter=20, tol=0), cluster.KMeans(8, init=X[:8].copy(), n_init=1, max_iter=20, tol=0),
                           "predict", lambda own, theirs: f"inertia {own.inertia_ / theirs.inertia_:.6f}, rounds {own.n_iter_} {theirs.n_iter_}"),
                "KMeans++": (samebits.cluster.KMeans(8, n_init=1, max_iter=1, random_state=1), cluster.KMeans(8, n_init=1, max_iter=1, random_state=1),
                             "predict", lambda own, theirs: ""),
                "PCA": (samebits.decomposition.PCA(10, random_state=1), decomposition.PCA(10, random_state=1), "transform",
                        lambda own, theirs: f"variance {own.explained_variance_.sum() / theirs.explained_variance_.sum():.9f}"),
                "TruncatedSVD": (samebits.decomposition.TruncatedSVD(10, random_state=1), decomposition.TruncatedSVD(10, random_state=1), "transform",
                                 lambda own, theirs: f"squares {(own.singular_values_ ** 2).sum() / (theirs.singular_values_ ** 2).sum():.9f}"),
                "GaussianMixture": (samebits.mixture.GaussianMixture(8, max_iter=5, tol=0, init_params="random_from_data", means_init=X[:8].copy(), random_state=1),
                                    mixture.GaussianMixture(8, max_iter=5, tol=0, init_params="random_from_data", means_init=X[:8].copy(), random_state=1), "predict",
                                    lambda own, theirs: f"likelihood {own.lower_bound_:.9f} {theirs.lower_bound_:.9f}"),
            }
            for name, (own, theirs, method, quality, *target) in kinds.items():
                if not names or name in names:
                    yield name, f"{n} x {d} {np.dtype(dtype).name}", X, *(target or [y]), own, theirs, method, quality


def bench_neighbors(np, options):
    from sklearn import neighbors
    import samebits.neighbors
    rng = np.random.default_rng(7)
    rows, queries = (40_000, 400) if options.short else (400_000, 4_000)
    for dtype in (np.float32, np.float64):
        for d in (3, 16, 64):
            X, Q = (rng.normal(size=(n, d)).astype(dtype) for n in (rows, queries))
            own, theirs = samebits.neighbors.NearestNeighbors(n_neighbors=64).fit(X), neighbors.NearestNeighbors(n_neighbors=64, algorithm="auto" if d < 16 else "brute").fit(X)
            times = [[], []]
            for pair in range(options.pairs):
                for model in (own, theirs) if pair % 2 else (theirs, own):
                    times[model is theirs].append(clock(lambda: model.kneighbors(Q)))
            ratio, same = statistics.median(b / a for a, b in zip(*times)), (own.kneighbors(Q)[1] == theirs.kneighbors(Q)[1]).mean()
            print(f"{'NearestNeighbors':18} {f'{rows} x {d} {np.dtype(dtype).name}, {queries}':28} {'':26}   {statistics.median(times[0]):9.4f} {statistics.median(times[1]):9.4f} {ratio:6.2f}   same {same:.6f}", flush=True)


def bench_near(np, options):
    """DBSCAN in few dimensions, where trees are searched; the time of the processor, the best of the pairs."""
    from sklearn import cluster
    import samebits.cluster
    for n, d, eps in ((20_000, 3, 0.5),) if options.short else ((200_000, 3, 0.2), (200_000, 3, 0.5), (200_000, 6, 1.2)):
        for dtype in (np.float32, np.float64):
            X, best = table(np, n, d, dtype), [float("inf")] * 2
            own, theirs = samebits.cluster.DBSCAN(eps=eps, min_samples=10), cluster.DBSCAN(eps=eps, min_samples=10, n_jobs=options.threads)
            for pair in range(options.pairs):
                for model in (own, theirs) if pair % 2 else (theirs, own):
                    best[model is theirs] = min(best[model is theirs], clock(lambda: model.fit(X), time.process_time))
            print(f"{'DBSCAN, few':18} {f'{n} x {d} {np.dtype(dtype).name}, {eps}':28} {best[0]:9.4f} {best[1]:9.4f} {best[1] / best[0]:6.2f}   same {(own.labels_ == theirs.labels_).mean():.6f}", flush=True)


def clock(call, read=time.perf_counter):
    start = read()
    call()
    return read() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--pairs", type=int, default=7)
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--short", action="store_true")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    try:
        import sklearn  # noqa: F401
    except ImportError:
        return again_in_venv(os.path.abspath(options.build))
    sys.path.insert(0, os.path.join(os.path.abspath(options.build), "python"))
    os.environ.setdefault("OMP_NUM_THREADS", str(options.threads))
    import warnings
    import numpy as np
    import samebits
    warnings.simplefilter("ignore")
    print(f"{'':18} {'':28} {'fit ours':>9} {'theirs':>9} {'ratio':>6}   {'call ours':>9} {'theirs':>9} {'ratio':>6}")
    with samebits.config_context(threads=options.threads):
        for name, shape, X, y, own, theirs, method, quality in cases(np, options.names, options.short):
            times = [[], [], [], []]
            for pair in range(options.pairs):
                order = (own, theirs) if pair % 2 else (theirs, own)
                for model in order:
                    times[model is theirs].append(clock(lambda: model.fit(X, y)))
                for model in order:
                    times[2 + (model is theirs)].append(clock(lambda: getattr(model, method)(X)))
            medians = [statistics.median(t) for t in times]
            ratios = [statistics.median(b / a for a, b in zip(times[i], times[i + 1])) for i in (0, 2)]
            print(f"{name:18} {shape:28} {medians[0]:9.4f} {medians[1]:9.4f} {ratios[0]:6.2f}   {medians[2]:9.4f} {medians[3]:9.4f} {ratios[1]:6.2f}   {quality(own, theirs)}", flush=True)
        if not options.names or "NearestNeighbors" in options.names:
            bench_neighbors(np, options)
        if not options.names or "DBSCAN" in options.names:
            bench_near(np, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
