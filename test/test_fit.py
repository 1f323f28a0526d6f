#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""test_fit.py SAMEBITS: fit, predict, transform, score, call on csv and npy files; what is refused; the same model bytes whatever
the threads, the level and the form of the table. Nothing but the standard library."""
import os
import pty
import re
import struct
import subprocess
import sys
import tempfile
import zipfile
import zlib

COMMAND = sys.argv[1]
passed = 0


def run(status, *arguments):
    global passed
    done = subprocess.run([COMMAND, *arguments], capture_output=True, text=True)
    assert done.returncode == status, (arguments, done.returncode, done.stdout, done.stderr)
    passed += 1
    return done.stdout if status == 0 else done.stderr


def read(path):
    with open(path, "rb") as file:
        return file.read()


def write_npy(path, rows, kind="d"):
    width = len(rows[0])
    head = f"{{'descr': '<f{struct.calcsize(kind)}', 'fortran_order': False, 'shape': ({len(rows)}, {width}), }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        file.write(b"".join(struct.pack(f"<{width}{kind}", *row) for row in rows))


def read_npy(path):
    data = read(path)
    length = struct.unpack("<H", data[8:10])[0]
    assert data[:8] == b"\x93NUMPY\x01\x00" and (10 + length) % 64 == 0
    kind = {"<f8": "d", "<f4": "f", "<i4": "i", "<i8": "q"}[re.search(rb"'descr': '(...)'", data).group(1).decode()]
    shape = [int(size) for size in re.search(rb"'shape': \(([^)]*)\)", data).group(1).split(b",") if size.strip()]
    values = [x for (x,) in struct.iter_unpack("<" + kind, data[10 + length:])]
    return kind, shape, values


def on_terminal(*arguments):
    """What a command says on a terminal that is its standard error."""
    ours, theirs = pty.openpty()
    done = subprocess.run([COMMAND, *arguments], stdout=subprocess.PIPE, stderr=theirs)
    os.close(theirs)
    said = b""
    try:
        while more := os.read(ours, 4096):
            said += more
    except OSError: # (its other end is closed)
        pass
    os.close(ours)
    assert done.returncode == 0, said
    return said


def npy_bytes(folder, rows, kind="d"):
    path = os.path.join(folder, "member.npy")
    write_npy(path, rows, kind)
    return read(path)


def deflated(data, level, strategy):
    """A zip archive of one member x.npy, packed so."""
    packer = zlib.compressobj(level, zlib.DEFLATED, -15, 9, strategy)
    packed = packer.compress(data) + packer.flush()
    name, crc = b"x.npy", zlib.crc32(data)
    fields = struct.pack("<HHHHHIII", 20, 0, 8, 0, 0, crc, len(packed), len(data))
    head = b"PK\3\4" + fields + struct.pack("<HH", len(name), 0) + name
    entry = b"PK\1\2" + struct.pack("<H", 20) + fields + struct.pack("<HHHHHII", len(name), 0, 0, 0, 0, 0, 0) + name
    return head + packed + entry + b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(entry), len(head) + len(packed), 0)


def archives(folder, rows, model):
    """npz: stored, deflated at every level and by every strategy; the same bits as npy; damage is found."""
    at = lambda name: os.path.join(folder, name)
    whole = npy_bytes(folder, rows)
    y = [1 + a for a, _, _ in rows]
    run(0, "predict", model, "--data", at("member.npy"), "--out", at("want.npy"))
    want = read(at("want.npy"))
    for level in (0, 1, 6, 9):
        for strategy in (zlib.Z_DEFAULT_STRATEGY, zlib.Z_FIXED, zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE):
            with open(at("x.npz"), "wb") as file:
                file.write(deflated(whole, level, strategy))
            run(0, "predict", model, "--data", at("x.npz"), "--out", at("got.npy"))
            assert read(at("got.npy")) == read(at("want.npy")), (level, strategy)
    many = [[(i * 37 % 101) / 7, (i * 53 % 89) / 3 - 10, float(i % 7)] for i in range(20000)]
    for packing in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(at("two.npz"), "w", packing) as archive:
            with archive.open("x.npy", "w", force_zip64=True) as member: # as numpy does
                member.write(npy_bytes(folder, many))
            archive.writestr("y.npy", npy_bytes(folder, [[t] for t in y], "f"))
            archive.comment = b"a comment PK\5\6"
        write_npy(at("many.npy"), many)
        run(0, "predict", model, "--data", at("two.npz:x"), "--out", at("got.npy"))
        run(0, "predict", model, "--data", at("many.npy"), "--out", at("want.npy"))
        assert read(at("got.npy")) == read(at("want.npy"))
        assert "x.npy, y.npy" in run(2, "predict", model, "--data", at("two.npz"), "--out", at("no"))
        assert "x.npy, y.npy" in run(2, "predict", model, "--data", at("two.npz:z"), "--out", at("no"))
    with open(at("x.npz"), "rb") as file:
        good = file.read()
    lengths = list(range(0, len(good), 97)) + [len(good) - 1]
    damaged = [good[:length] for length in lengths] + [good[:i] + bytes([good[i] ^ 16]) + good[i + 1:] for i in range(40, len(good), 61)]
    refused = 0
    for bad in damaged:
        with open(at("bad.npz"), "wb") as file:
            file.write(bad)
        done = subprocess.run([COMMAND, "predict", model, "--data", at("bad.npz"), "--out", at("got.npy")], capture_output=True, text=True)
        assert done.returncode in (0, 2, 3), done
        assert done.returncode or read(at("got.npy")) == want # (a byte that no reader looks at)
        refused += done.returncode != 0
    assert refused > len(damaged) * 0.9, (refused, len(damaged))


def sparse_rows(folder):
    """svmlight: the bits of the dense table; its own targets; fewer columns than the model knows."""
    at = lambda name: os.path.join(folder, name)
    rows = [[(i * 7 % 5) / 4, 0.0 if i % 3 else i / 8, float(i % 2), 0.0 if i % 2 else -i / 16] for i in range(40)]
    y = [i % 2 for i in range(40)]
    for name, first in (("x.libsvm", 1), ("x0.svmlight", 0)):
        with open(at(name), "w", encoding="ascii") as file:
            for row, target in zip(rows, y):
                file.write(f"{target} " + " ".join(f"{j + first}:{x!r}" for j, x in enumerate(row) if x or (first == 0 and j == 0)) + "  # a comment\n")
    write_npy(at("x4.npy"), rows)
    with open(at("y4.csv"), "w", encoding="ascii") as file:
        file.write("".join(f"{t}\n" for t in y))
    for algorithm in ("linear_regression", "gaussian_nb"):
        run(0, "fit", algorithm, "--data", at("x4.npy"), "--target", at("y4.csv"), "--out", at("dense"))
        for name in ("x.libsvm", "x0.svmlight"):
            run(0, "fit", algorithm, "--data", at(name), "--out", at("sparse"))
            assert read(at("sparse")) == read(at("dense")), (algorithm, name)
        assert run(0, "score", at("dense"), "--data", at("x.libsvm")) == run(0, "score", at("dense"), "--data", at("x4.npy"), "--target", at("y4.csv"))
    with open(at("narrow.svm"), "w", encoding="ascii") as file:
        file.write("0 1:0.5 2:1\n1 2:3\n")
    write_npy(at("wide.npy"), [[0.5, 1.0, 0.0, 0.0], [0.0, 3.0, 0.0, 0.0]])
    for data, out in (("narrow.svm", "one.npy"), ("wide.npy", "other.npy")):
        run(0, "call", "predict_proba", at("dense"), "--data", at(data), "--out", at(out))
    assert read(at("one.npy")) == read(at("other.npy"))
    for text, words in (("word 1:2\n", "no number"), ("1\n", "no row"), ("1 2:3 1:4\n", "ascend"), ("1 5:1\n", "5 features")):
        with open(at("bad.svm"), "w", encoding="ascii") as file:
            file.write(text)
        done = subprocess.run([COMMAND, "predict", at("dense"), "--data", at("bad.svm"), "--out", at("no")], capture_output=True, text=True)
        assert done.returncode == 3 and words in done.stderr, (text, done)


def main():
    rows = [[(i * 37 % 101) / 7, (i * 53 % 89) / 3 - 10, (i * i % 31) / 9] for i in range(60)]
    y = [1 + 2 * a - 3 * b + c / 2 for a, b, c in rows]
    with tempfile.TemporaryDirectory() as folder:
        at = lambda name: os.path.join(folder, name)
        with open(at("x.csv"), "w", encoding="ascii") as file:
            file.write("a,b,c,\"the y\"\n" + "".join(f"{a!r},{b!r},{c!r},{t!r}\n" for (a, b, c), t in zip(rows, y)))
        with open(at("plain.csv"), "w", encoding="ascii") as file:
            file.write("".join(f"{a!r},{b!r},{c!r}\r\n" for a, b, c in rows))
        with open(at("y.csv"), "w", encoding="ascii") as file:
            file.write("".join(f"{t!r}\n" for t in y))
        write_npy(at("x.npy"), rows)
        said = run(0, "fit", "linear_regression", "--data", at("x.csv"), "--target", "the y", "--out", at("one"))
        assert re.match(r"model [0-9a-f]{64}  ", said)
        for i, more in enumerate((["--data", at("x.csv"), "--target", "3", "--threads", "1"], ["--data", at("plain.csv"), "--target", at("y.csv"), "--isa", "plain"],
                                  ["--data", at("x.npy"), "--target", at("y.csv"), "--threads", "3"])):
            run(0, "fit", "linear_regression", *more, "--out", at(f"same{i}"))
            assert read(at(f"same{i}")) == read(at("one")), more
        run(0, "predict", at("one"), "--data", at("x.npy"), "--out", at("p.npy"))
        kind, shape, values = read_npy(at("p.npy"))
        assert (kind, shape) == ("d", [60]) and max(abs(a - b) for a, b in zip(values, y)) < 1e-10
        run(0, "predict", at("one"), "--data", at("plain.csv"), "--out", at("p.csv"))
        assert [float(line) for line in read(at("p.csv")).split()] == values
        assert abs(float(run(0, "score", at("one"), "--data", at("x.csv"), "--target", "the y")) - 1) < 1e-12
        run(0, "fit", "standard_scaler", "--data", at("x.npy"), "--float32", "--out", at("scaler"))
        run(0, "transform", at("scaler"), "--data", at("x.npy"), "--float32", "--out", at("t.npy"))
        kind, shape, values = read_npy(at("t.npy"))
        assert (kind, shape) == ("f", [60, 3]) and abs(sum(values)) < 1e-3
        run(0, "call", "inverse_transform", at("scaler"), "--data", at("t.npy"), "--out", at("back.npy"))
        assert max(abs(a - b) for a, b in zip(read_npy(at("back.npy"))[2], sum(rows, []))) < 1e-5
        run(0, "fit", "pca", "--set", "n_components=2", "--data", at("x.npy"), "--out", at("p"))
        run(0, "transform", at("p"), "--data", at("x.npy"), "--out", at("z.npy"))
        run(0, "call", "inverse_transform", at("p"), "--data", at("z.npy"), "--out", at("back.npy"))
        run(0, "call", "get_covariance", at("p"), "--out", at("c.npy"))
        assert [read_npy(at(f"{name}.npy"))[1] for name in ("z", "back", "c")] == [[60, 2], [60, 3], [3, 3]]
        assert "x is NULL" in run(2, "call", "transform", at("p"), "--out", at("no"))
        run(0, "fit", "kmeans", "--set", "n_clusters=4", "--set", "random_state=11", "--data", at("x.npy"), "--out", at("k"))
        run(0, "predict", at("k"), "--data", at("x.npy"), "--out", at("labels.npy"))
        kind, shape, values = read_npy(at("labels.npy"))
        assert (kind, shape, set(values)) == ("i", [60], {0, 1, 2, 3})
        assert "arrays " in run(0, "digest", at("k"))
        kinds = ["cat", "dog, big", "\u00e9t\u00e9"]
        with open(at("words.csv"), "w", encoding="utf-8") as file:
            file.write("a,b,c,kind\n" + "".join(f'{a!r},{b!r},{c!r},"{kinds[i % 3]}"\n' for i, (a, b, c) in enumerate(rows)))
        with open(at("kinds.csv"), "w", encoding="utf-8") as file:
            file.write("kind\n" + "".join(f'"{kinds[i % 3]}"\n' for i in range(60)))
        with open(at("numbers.csv"), "w", encoding="ascii") as file:
            file.write("".join(f"{i % 3 * 2 - 1}\n" for i in range(60)))
        for name, lines in (("numbers01", [i % 3 for i in range(60)]), ("two", ["kind", *(["no", "yes"][i % 2] for i in range(60))]), ("scores", [i % 2 + i / 100 for i in range(60)])):
            with open(at(f"{name}.csv"), "w", encoding="ascii") as file:
                file.write("".join(f"{line}\n" for line in lines))
        run(0, "fit", "gaussian_nb", "--data", at("words.csv"), "--target", "kind", "--out", at("nb"))
        run(0, "fit", "gaussian_nb", "--data", at("plain.csv"), "--target", at("kinds.csv"), "--threads", "2", "--out", at("nb2"))
        assert read(at("nb")) == read(at("nb2"))
        run(0, "predict", at("nb"), "--data", at("plain.csv"), "--out", at("names.csv"))
        run(0, "predict", at("nb"), "--data", at("words.csv"), "--target", "kind", "--out", at("names2.csv"))
        head, *names = read(at("names.csv")).decode().splitlines()
        assert head == "class" and read(at("names.csv")) == read(at("names2.csv")) and set(names) == {"cat", '"dog, big"', "\u00e9t\u00e9"}
        right = sum(name.strip('"') == kinds[i % 3] for i, name in enumerate(names))
        assert float(run(0, "score", at("nb"), "--data", at("words.csv"), "--target", "kind")) == right / 60
        said = ("--truth", at("kinds.csv"), "--prediction", at("names.csv"))
        assert float(run(0, "metric", "accuracy_score", *said)) == right / 60
        matrix = [sum(names[i].strip('"') == guess and kinds[i % 3] == true for i in range(60)) for true in sorted(kinds) for guess in sorted(kinds)]
        assert [int(x) for x in run(0, "metric", "confusion_matrix", *said).split()] == matrix
        with open(at("others.csv"), "w", encoding="utf-8") as file: # (a word that only one side has)
            file.write("kind\n" + "zebra\n" * 60)
        assert run(0, "metric", "accuracy_score", "--truth", at("kinds.csv"), "--prediction", at("others.csv")) == "0\n"
        assert len(run(0, "metric", "confusion_matrix", "--truth", at("kinds.csv"), "--prediction", at("others.csv")).splitlines()) == 4
        assert "words" in run(2, "metric", "accuracy_score", "--truth", at("kinds.csv"), "--prediction", at("numbers.csv"))
        assert run(0, "metric", "rand_score", "--truth", at("kinds.csv"), "--prediction", at("numbers01.csv")) == "1\n"
        assert run(0, "metric", "roc_auc_score", "--truth", at("two.csv"), "--prediction", at("scores.csv")) == "1\n"
        assert "no number" in run(3, "metric", "r2_score", "--truth", at("kinds.csv"), "--prediction", at("numbers.csv"))
        run(0, "fit", "gaussian_nb", "--data", at("plain.csv"), "--target", at("numbers.csv"), "--out", at("nb3"))
        run(0, "predict", at("nb3"), "--data", at("plain.csv"), "--out", at("numbers.npy"))
        assert read_npy(at("numbers.npy")) == ("q", [60], [kinds.index(name.strip('"')) * 2 - 1 for name in names])
        run(0, "fit", "nearest_neighbors", "--data", at("x.npy"), "--out", at("nn"))
        for result, kind in ((0, "d"), (1, "q")):
            run(0, "call", "kneighbors", at("nn"), "--data", at("plain.csv"), "--set", "n_neighbors=2", "--result", str(result), "--out", at("near.npy"))
            assert read_npy(at("near.npy"))[:2] == (kind, [60, 2])
        assert read_npy(at("near.npy"))[2][::2] == list(range(60)), "each row is nearest to itself"
        long_fit = ("fit", "kmeans", "--set", "n_clusters=3", "--data", at("x.npy"), "--out", at("shown"))
        assert b"  0 %" in on_terminal(*long_fit) and on_terminal(*long_fit, "--quiet") == b""
        done = subprocess.run([COMMAND, *long_fit], capture_output=True)
        assert done.stderr == b"", "progress that nobody sees"
        archives(folder, rows, at("one"))
        sparse_rows(folder)
        with open(at("classes.csv"), "w", encoding="ascii") as file:
            file.write("0\n1\n1\n2\n")
        with open(at("guesses.csv"), "w", encoding="ascii") as file:
            file.write("0\n1\n2\n2\n")
        assert run(0, "metric", "accuracy_score", "--truth", at("classes.csv"), "--prediction", at("guesses.csv")) == "0.75\n"
        assert run(0, "metric", "confusion_matrix", "--truth", at("classes.csv"), "--prediction", at("guesses.csv")) == "1 0 0\n0 1 1\n0 0 1\n"
        assert run(0, "metric", "f1_score", "--set", "average=none", "--truth", at("classes.csv"), "--prediction", at("guesses.csv")).split()[0] == "1"
        run(0, "metric", "silhouette_samples", "--truth", at("x.npy"), "--prediction", at("labels.npy"), "--out", at("s.npy"))
        assert read_npy(at("s.npy"))[1] == [60]
        for words, status, *arguments in (
                ("no metric", 2, "metric", "accuracy", "--truth", at("classes.csv"), "--prediction", at("guesses.csv")),
                ("no setting", 2, "metric", "accuracy_score", "--set", "x=1", "--truth", at("classes.csv"), "--prediction", at("guesses.csv")),
                ("average", 2, "metric", "f1_score", "--truth", at("classes.csv"), "--prediction", at("guesses.csv")),
                ("expected one metric", 2, "metric", "f1_score", "--truth", at("classes.csv")),
                ("expected int [1, inf)", 2, "fit", "kmeans", "--set", "n_clusters=0", "--data", at("x.npy"), "--out", at("no")),
                ("no algorithm", 2, "fit", "k-means", "--data", at("x.npy"), "--out", at("no")),
                ("--set", 2, "fit", "kmeans", "--set", "n_clusters", "--data", at("x.npy"), "--out", at("no")),
                ("expected one algorithm", 2, "fit", "kmeans", "--out", at("no")),
                ("requires y", 2, "fit", "linear_regression", "--data", at("x.npy"), "--out", at("no")),
                ("no column", 2, "fit", "linear_regression", "--data", at("x.csv"), "--target", "z", "--out", at("no")),
                ("has 2 results", 2, "call", "kneighbors", at("nn"), "--data", at("x.npy"), "--result", "2", "--out", at("no")),
                ("n_neighbors = 99", 2, "call", "kneighbors", at("nn"), "--data", at("x.npy"), "--set", "n_neighbors=99", "--out", at("no")),
                ("must end in .csv", 3, "predict", at("nb"), "--data", at("plain.csv"), "--out", at("no")),
                ("no number", 3, "fit", "gaussian_nb", "--data", at("words.csv"), "--target", "a", "--out", at("no")),
                ("no whole number", 2, "fit", "gaussian_nb", "--data", at("x.csv"), "--target", "b", "--out", at("no")),
                ("requires y", 2, "fit", "gaussian_nb", "--data", at("x.csv"), "--out", at("no")),
                ("expecting 3 features", 3, "predict", at("one"), "--data", at("x.csv"), "--out", at("no")),
                ("no method", 2, "call", "predict_proba", at("one"), "--data", at("x.npy"), "--out", at("no")),
                ("gives a table", 2, "predict", at("one"), "--data", at("x.npy")),
                ("header", 3, "predict", at("x.npy"), "--data", at("x.npy"), "--out", at("no")),
                ("SB_ERR_IO", 3, "fit", "kmeans", "--data", at("absent"), "--out", at("no"))):
            said = run(status, *arguments)
            assert words in said, (words, said)
        assert not os.path.exists(at("no"))
        with open(at("bad.csv"), "w", encoding="ascii") as file:
            file.write("1,2\n3,four\n")
        said = run(3, "fit", "kmeans", "--data", at("bad.csv"), "--out", at("no"))
        assert "2" in said and "four" in said, said
    print(f"{passed} passed, 0 failed")


if __name__ == "__main__":
    main()
