#!/usr/bin/env python3
"""Check an EvalRouter bundle with Python's standard library alone: signature, hashes, counts, accuracy and its Wilson interval.

    python3 verify_bundle.py bundle.zip --key <public key, base64>

The public key is published by the deployment at /.well-known/evalrouter-keys.json. Without --key the key in the bundle is used, which shows
that the bundle is whole, and not whose it is. Exits 0 when everything fits, 1 with what does not, 2 when the file is no bundle.
"""

import argparse
import base64
import binascii
import hashlib
import json
import math
import sys
import zipfile
import zlib

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
D = -121665 * pow(121666, P - 2, P) % P
ROOT = pow(2, (P - 1) // 4, P)
Z = 1.959964


def recover(y, sign):
    """The x of a point of the curve (RFC 8032, 5.1.3); None where there is none."""
    if y >= P:
        return None
    square = (y * y - 1) * pow(D * y * y + 1, P - 2, P) % P
    x = pow(square, (P + 3) // 8, P)
    if (x * x - square) % P:
        x = x * ROOT % P
    if (x * x - square) % P or (x == 0 and sign):
        return None
    return P - x if x & 1 != sign else x


def point(data):
    """The point of 32 bytes, in extended coordinates."""
    number = int.from_bytes(data, "little")
    y, sign = number & ((1 << 255) - 1), number >> 255
    x = recover(y, sign)
    return None if x is None else (x, y, 1, x * y % P)


def add(a, b):
    e, f = (a[1] - a[0]) * (b[1] - b[0]) % P, (a[1] + a[0]) * (b[1] + b[0]) % P
    c, d = 2 * a[3] * b[3] * D % P, 2 * a[2] * b[2] % P
    e, f, g, h = f - e, d - c, d + c, f + e
    return e * f % P, g * h % P, f * g % P, e * h % P


def times(number, a):
    total = (0, 1, 1, 0)
    while number:
        if number & 1:
            total = add(total, a)
        a, number = add(a, a), number >> 1
    return total


def equal(a, b):
    return (a[0] * b[2] - b[0] * a[2]) % P == 0 and (a[1] * b[2] - b[1] * a[2]) % P == 0


BASE = point((4 * pow(5, P - 2, P) % P).to_bytes(32, "little"))


def is_signed(key, data, signature):
    """Ed25519 verification (RFC 8032, 5.1.7)."""
    if len(key) != 32 or len(signature) != 64:
        return False
    signer, nonce, scalar = point(key), point(signature[:32]), int.from_bytes(signature[32:], "little")
    if signer is None or nonce is None or scalar >= ORDER:
        return False
    challenge = int.from_bytes(hashlib.sha512(signature[:32] + key + data).digest(), "little") % ORDER
    return equal(times(scalar, BASE), add(nonce, times(challenge, signer)))


def wilson(right, n):
    """The 95% score interval of a share (Wilson, 1927)."""
    share, z2 = right / n, Z * Z
    middle, half = share + z2 / (2 * n), Z * math.sqrt(share * (1 - share) / n + z2 / (4 * n * n))
    low, high = (middle - half) / (1 + z2 / n), (middle + half) / (1 + z2 / n)
    return (0.0 if right == 0 else low), (1.0 if right == n else high)


def near(a, b):
    return a is not None and b is not None and abs(a - b) < 1e-9


def read(archive, entries, name, problems):
    """The file's bytes in parts; one that does not unpack is a problem."""
    try:
        with archive.open(entries[name]) as file:
            while part := file.read(1 << 18):
                yield part
    except (zipfile.BadZipFile, zlib.error, EOFError):
        problems.append(f"{name} was changed or damaged: it does not unpack")


def check(path, key):
    problems, lines = [], []
    with zipfile.ZipFile(path) as archive:
        entries = {info.filename.rpartition("/")[2]: info for info in archive.infolist() if not info.is_dir()}
        text = b"".join(read(archive, entries, "manifest.json", problems))
        signed = json.loads(b"".join(read(archive, entries, "manifest.sig", problems)))
        manifest = json.loads(text)
        used = base64.b64decode(key or signed["public_key"])
        if not is_signed(used, text, base64.b64decode(signed["signature"])):
            problems.append("manifest.json: the signature does not fit" + (" this key" if key else ""))
        for each in manifest["files"]:
            name, digest = each["path"], hashlib.sha256()
            if name not in entries:
                problems.append(f"{name} is missing")
                continue
            for part in read(archive, entries, name, problems):
                digest.update(part)
            if digest.hexdigest() != each["sha256"]:
                problems.append(f"{name} was changed: its SHA-256 is not the one in the manifest")
        stated = {each["path"] for each in manifest["files"]}
        problems += [f"{name} is not in the manifest" for name in sorted(set(entries) - stated - {"manifest.json", "manifest.sig"})]
        result = json.loads(b"".join(read(archive, entries, "result.json", problems)))
        if "samples.jsonl" in entries and not problems:
            lines = recount(archive, entries, result, problems)
    return manifest, problems, lines


def recount(archive, entries, result, problems):
    """Counts and score of each model on each benchmark from the samples; the interval where it is Wilson's."""
    tasks = {}
    for name in entries:
        if name.startswith("tasks-"):
            each = json.loads(b"".join(read(archive, entries, name, problems)))
            tasks[each["benchmark_index"]] = each
    counts = {}
    with archive.open(entries["samples.jsonl"]) as file:
        for line in file:
            sample = json.loads(line)
            mine = counts.setdefault((sample["subject_index"], sample["benchmark_index"]), blank())
            mine[sample["status"]] += 1
            if sample["status"] == "graded":
                mine["right"] += sample["score"] == 1
                mine["scores"].setdefault(sample["position"], []).append(sample["score"])
    stated = {(subject["index"], subject["benchmark_index"]) for subject in result["subjects"]}
    problems += [f"samples.jsonl has samples of no model of the result: {key}" for key in sorted(set(counts) - stated)]
    profiles = [each["profile_id"] for each in result["benchmarks"]]
    lines = []
    for subject in result["subjects"]:
        index = subject["benchmark_index"]
        label = subject["label"] + (f" on {profiles[index]}" if len(profiles) > 1 else "")
        if index not in tasks:
            lines.append(f"{label}: its samples are not in the bundle")
            continue
        lines.append(compare(label, subject, counts.get((subject["index"], index), blank()), tasks[index]["attempts"], problems))
    composite(result, problems)
    return lines


def composite(result, problems):
    """The composite score, where there is one, from the scores that were compared with the samples."""
    stated = result.get("composite")
    if not stated:
        return
    total = sum(each["weight"] for each in stated["weights"])
    for row in stated["subjects"]:
        mine = {each["benchmark_index"]: each["headline"]["value"] for each in result["subjects"] if each["index"] == row["index"]}
        value = sum(each["weight"] / total * mine[index] for index, each in enumerate(stated["weights"]))
        if not near(value, row["value"]):
            problems.append(f"{row['label']}: the composite score is stated as {row['value']}, its scores give {value}")


def blank():
    return {"graded": 0, "error": 0, "inconclusive": 0, "right": 0, "scores": {}}


def compare(label, subject, mine, attempts, problems):
    """What the samples give of one model on one benchmark, in words; what the result states otherwise is a problem."""
    for name, stated in (("graded", "graded"), ("error", "errors"), ("inconclusive", "inconclusive"), ("right", "correct")):
        if subject["counts"][stated] is not None and mine[name] != subject["counts"][stated]:
            problems.append(f"{label}: {stated} is stated as {subject['counts'][stated]}, the samples give {mine[name]}")
    # A task is scored when all of its attempts are graded; its score is their mean.
    finished = [sum(scores) / attempts for scores in mine["scores"].values() if len(scores) == attempts]
    if not finished:
        return f"{label}: nothing was graded"
    headline, share = subject["headline"], math.fsum(finished) / len(finished)
    if not near(share, headline["value"]):
        problems.append(f"{label}: the score is stated as {headline['value']}, the samples give {share}")
    if attempts > 1:
        return f"{label}: {100 * share:.2f}% over {len(finished)} tasks with {attempts} attempts each"
    words = f"{label}: {mine['right']} of {mine['graded']} = {100 * share:.2f}%"
    interval = headline["interval"]
    if interval and interval["method"] == "wilson":
        low, high = wilson(mine["right"], mine["graded"])
        if not (near(low, interval["low"]) and near(high, interval["high"])):
            problems.append(f"{label}: the interval is stated as {interval['low']} to {interval['high']}, the samples give {low} to {high}")
        words += f", 95% interval {100 * low:.2f} to {100 * high:.2f}"
    return words


def main():
    parser = argparse.ArgumentParser(description="Check an EvalRouter bundle.")
    parser.add_argument("bundle")
    parser.add_argument("--key", help="the deployment's public key, base64")
    options = parser.parse_args()
    try:
        manifest, problems, lines = check(options.bundle, options.key)
    except (OSError, zipfile.BadZipFile, KeyError, TypeError, ValueError, binascii.Error) as error:
        print(f"not a bundle that can be read: {error}", file=sys.stderr)
        return 2
    print(f"run {manifest['run_id']}, result {manifest['result_version']}")
    for line in lines:
        print(line)
    for problem in problems:
        print(f"PROBLEM {problem}", file=sys.stderr)
    if not problems:
        print("everything fits" if options.key else "everything fits; whose signature it is was not checked (no --key)")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
