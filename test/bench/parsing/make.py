"""Makes the PDFs of the parsing benchmark and writes down what they say. Argument: the folder to write to."""

import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

from reportlab.lib import colors
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import getSampleStyleSheet
from reportlab.pdfgen import canvas
from reportlab.platypus import BaseDocTemplate, Frame, FrameBreak, PageTemplate, Paragraph
from reportlab.platypus import SimpleDocTemplate, Table, TableStyle

WORDS = (
    "contract employee vacation notice period salary agreement department overtime insurance building regulation "
    "office travel expense approval manager request document signature"
).split()
ARABIC = "الموظف الإجازة السلام لا العقد سنة الأيام المدينة طلب القاهرة البرنامج الاجتماع مكتب لأن الرياض عمل".split()
HEBREW = "העובד חופשה שלום שנה הסכם משרד עיר בקשה תכנית פגישה מנהל ימים".split()

WIDTH, HEIGHT = A4
STYLES = getSampleStyleSheet()


def words(seed, count):
    """Words that occur once: each has a number of its own."""
    chosen = random.Random(seed)
    return [f"{chosen.choice(WORDS)}{seed}x{index}" for index in range(count)]


def columns(path):
    def edges(page, document):
        page.drawString(60, HEIGHT - 40, "Employee Handbook 2024")
        page.drawRightString(WIDTH - 60, 30, f"Page {document.page}")

    wide = (WIDTH - 140) / 2
    frames = [
        Frame(60, HEIGHT - 140, WIDTH - 120, 70),
        Frame(60, 60, wide, HEIGHT - 210),
        Frame(80 + wide, 60, wide, HEIGHT - 210),
    ]
    document = BaseDocTemplate(str(path), pagesize=A4)
    document.addPageTemplates([PageTemplate(frames=frames, onPage=edges)])
    story, said = [], []
    for page in range(8):
        heading = words(f"h{page}", 8)
        story += [Paragraph(" ".join(heading), STYLES["Heading2"]), FrameBreak()]
        said += heading
        for column in range(2):
            for paragraph in range(5):
                text = words(f"p{page}c{column}n{paragraph}", 36)
                story.append(Paragraph(" ".join(text), STYLES["BodyText"]))
                said += text
            story.append(FrameBreak())
    document.build(story)
    return {"words": said, "running": ["Employee Handbook 2024", "Page {page}"], "pages": 8}


def table(path, style, wrapped):
    rows = [["Country", "City", "Days", "Remark"]]
    for row in range(120):
        rows.append([f"Country{row}", f"City{row}", str(1000 + row), " ".join(words(f"r{row}", 14 if wrapped else 2))])
    shown = [[*row[:3], Paragraph(row[3], STYLES["BodyText"])] for row in rows] if wrapped else rows
    drawn = Table(shown, repeatRows=1, colWidths=[90, 90, 60, 220])
    drawn.setStyle(TableStyle(style))
    above, below = words("above", 60), words("below", 60)
    SimpleDocTemplate(str(path), pagesize=A4).build(
        [Paragraph(" ".join(above), STYLES["BodyText"]), drawn, Paragraph(" ".join(below), STYLES["BodyText"])]
    )
    return {"words": [*above, *(word for row in rows for cell in row for word in cell.split()), *below], "rows": rows}


def hyphens(path):
    """Justified columns, as a program that divides words makes them; each word stands in one piece elsewhere."""
    page = canvas.Canvas(str(path), pagesize=A4)
    said = []
    for number in range(4):
        y = HEIGHT - 80
        whole = [word for word in WORDS if len(word) > 7]
        page.drawString(60, y, " ".join(whole[:8]))
        said += whole[:8]
        rest = ""
        for line in range(40):
            y -= 14
            word = whole[(line + number) % 8]
            filler = words(f"f{number}l{line}", 3)
            page.drawString(60, y, " ".join([*([rest] if rest else []), *filler, word[:4] + "-"]))
            said += [*filler, word]
            rest = word[4:]
        page.drawString(60, y - 14, rest)
        page.showPage()
    page.save()
    return {"words": said}


def right_to_left(path):
    chosen = random.Random(1)
    said, parts = [], []
    for index in range(60):
        vocabulary = HEBREW if index % 3 == 2 else ARABIC
        text = [chosen.choice(vocabulary) for _ in range(18)]
        text.insert(9, str(2000 + index))
        said += text
        parts.append(f"<p>{' '.join(text)}</p>")
    page = path.with_suffix(".html")
    page.write_text(f"<!doctype html><meta charset=utf-8><body dir=rtl lang=ar>{''.join(parts)}", encoding="utf8")
    browser = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if browser is None:
        return None
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--no-pdf-header-footer", f"--print-to-pdf={path}"]
    subprocess.run([browser, *options, page.as_uri()], check=True, timeout=120, capture_output=True)
    return {"words": said}


def main():
    folder = Path(sys.argv[1])
    grid = [("GRID", (0, 0), (-1, -1), 0.5, colors.black), ("VALIGN", (0, 0), (-1, -1), "TOP")]
    below = [("LINEBELOW", (0, 0), (-1, -1), 0.5, colors.black)]
    middle = [("VALIGN", (0, 0), (-1, -1), "MIDDLE")]
    makers = {
        "two columns, header": columns,
        "table without lines": lambda path: table(path, [], False),
        "table, wrapped cells": lambda path: table(path, middle, True),
        "table, lines below rows": lambda path: table(path, below, True),
        "table in a grid": lambda path: table(path, grid, True),
        "hyphens at line ends": hyphens,
        "Arabic and Hebrew": right_to_left,
    }
    truth = []
    for index, (name, make) in enumerate(makers.items()):
        path = folder / f"{index}.pdf"
        said = make(path)
        if said is not None:
            truth.append({"name": name, "file": str(path), **said})
    (folder / "truth.json").write_text(json.dumps(truth, ensure_ascii=False), encoding="utf8")


main()
