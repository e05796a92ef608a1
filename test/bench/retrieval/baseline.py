"""An independent BM25 for comparison: bm25s (Lucene's variant) with Snowball stemmers.

Reads test sets in BEIR layout from a folder, and the stop words of each from a JSON file, and prints one JSON object with
nDCG@10 by test set. Usage: baseline.py FOLDER STOP_WORDS NAME=LANGUAGE ...
"""

import json
import math
import sys
from pathlib import Path

import bm25s
import Stemmer

DEPTH = 10


def read(folder):
    def lines(file):
        text = (folder / file).read_text(encoding="utf-8")
        return [json.loads(line) for line in text.split("\n") if line]

    documents = []
    for row in lines("corpus.jsonl"):
        text = "\n".join(part for part in (row.get("title"), row.get("text")) if part)
        if text.strip():
            documents.append((row["_id"], text))
    relevant = {}
    for line in (folder / "qrels" / "test.tsv").read_text(encoding="utf-8").split("\n")[1:]:
        if line:
            query, document, grade = line.split("\t")
            relevant.setdefault(query, {})[document] = float(grade)
    return documents, lines("queries.jsonl"), relevant


def gain(grades):
    return sum(grade / math.log2(place + 2) for place, grade in enumerate(grades[:DEPTH]))


def ndcg(ranked, relevant):
    ideal = gain(sorted(relevant.values(), reverse=True))
    return gain([relevant.get(one, 0) for one in ranked]) / ideal if ideal else 0


def measure(folder, language, stop_words):
    documents, queries, relevant = read(folder)
    options = {
        "stemmer": Stemmer.Stemmer(language),
        "stopwords": stop_words,
        "show_progress": False,
    }
    index = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    index.index(bm25s.tokenize([text for _, text in documents], **options), show_progress=False)
    scores = []
    for query in queries:
        [terms] = bm25s.tokenize([query["text"]], return_ids=False, **options)
        found = index.get_scores(terms) if terms else [0] * len(documents)
        order = sorted(range(len(documents)), key=lambda at: (-found[at], at))[:DEPTH]
        scores.append(ndcg([documents[at][0] for at in order], relevant.get(query["_id"], {})))
    return sum(scores) / len(scores)


def main(folder, stop_words, pairs):
    sets = dict(pair.split("=") for pair in pairs)
    stopped = json.loads(Path(stop_words).read_text(encoding="utf-8"))
    scores = {name: measure(Path(folder) / name, sets[name], stopped[name]) for name in sets}
    print(json.dumps(scores))


main(sys.argv[1], sys.argv[2], sys.argv[3:])
