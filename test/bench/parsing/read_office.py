"""Reads Office files with another reader. Arguments: the reader (python, docling or kreuzberg), the files. One line of JSON for each file."""

import json
import sys
import time
import unicodedata


def with_python_docx(path):
    from docx import Document
    from docx.table import Table

    def texts(container):
        for block in container.iter_inner_content():
            if isinstance(block, Table):
                for row in block.rows:
                    cells, seen = [], set()
                    for cell in row.cells:
                        if cell._tc not in seen:
                            seen.add(cell._tc)
                            cells.append(" ".join(texts(cell)))
                    yield " ".join(cells)
            else:
                yield block.text

    return "\n".join(texts(Document(path)))


def with_openpyxl(path):
    from openpyxl import load_workbook

    book = load_workbook(path, read_only=True, data_only=True)
    lines = []
    for sheet in book.worksheets:
        for row in sheet.iter_rows(values_only=True):
            # Dates are written differently by every reader, so that only texts and numbers are compared.
            cells = [value for value in row if isinstance(value, (str, int, float)) and not isinstance(value, bool)]
            lines.append(" ".join(f"{value:.15g}" if isinstance(value, float) else str(value) for value in cells))
    return "\n".join(lines)


def with_python_pptx(path):
    from pptx import Presentation

    def texts(shapes):
        for shape in shapes:
            if shape.shape_type == 6:
                yield from texts(shape.shapes)
            elif shape.has_text_frame:
                yield shape.text_frame.text
            elif getattr(shape, "has_table", False) and shape.has_table:
                for row in shape.table.rows:
                    yield " ".join(cell.text for cell in row.cells)

    lines = []
    for slide in Presentation(path).slides:
        lines += texts(slide.shapes)
        if slide.has_notes_slide and slide.notes_slide.notes_text_frame:
            lines.append(slide.notes_slide.notes_text_frame.text)
    return "\n".join(lines)


def with_python(path):
    suffix = path.lower().rsplit(".", 1)[-1]
    readers = {"docx": with_python_docx, "xlsx": with_openpyxl, "pptx": with_python_pptx}
    if suffix not in readers:
        raise ValueError("no library of Python that is compared reads it")
    return readers[suffix](path)


def with_docling(path):
    from docling.document_converter import DocumentConverter

    return DocumentConverter().convert(path).document.export_to_text()


def with_kreuzberg(path):
    from kreuzberg import extract_file_sync

    return extract_file_sync(path).content


def main():
    read = {"python": with_python, "docling": with_docling, "kreuzberg": with_kreuzberg}[sys.argv[1]]
    for path in sys.argv[2:]:
        start = time.perf_counter()
        try:
            text = read(path)
        except Exception as error:  # A file that one reader refuses is a result.
            print(json.dumps({"error": f"{type(error).__name__}: {error}"[:200]}))
            continue
        seconds = time.perf_counter() - start
        print(json.dumps({"text": unicodedata.normalize("NFKC", text), "seconds": seconds}))


main()
