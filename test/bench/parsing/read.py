"""Reads PDFs with pypdf or pdfplumber, with a form feed between their pages.

Arguments: the reader, the files. Prints one line of JSON for each file.
"""

import json
import sys
import time
import unicodedata


def with_pypdf(path):
    from pypdf import PdfReader

    pages = PdfReader(path).pages
    return "\f".join(page.extract_text() for page in pages), len(pages), []


def with_pdfplumber(path):
    import pdfplumber

    with pdfplumber.open(path) as document:
        text, rows = [], []
        for page in document.pages:
            text.append(page.extract_text() or "")
            for table in page.extract_tables():
                rows += [" ".join(cell or "" for cell in row) for row in table]
            page.close()
        return "\f".join(text), len(document.pages), rows


def main():
    read = {"pypdf": with_pypdf, "pdfplumber": with_pdfplumber}[sys.argv[1]]
    for path in sys.argv[2:]:
        start = time.perf_counter()
        try:
            text, pages, rows = read(path)
        except Exception as error:  # A file that one reader refuses is a result.
            print(json.dumps({"error": str(error)[:200]}))
            continue
        seconds = time.perf_counter() - start
        text = unicodedata.normalize("NFKC", text)
        print(json.dumps({"text": text, "rows": rows, "pages": pages, "seconds": seconds}))


main()
