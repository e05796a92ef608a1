#!/usr/bin/env python3
"""Prints what an .xlsx or .xlsm workbook holds, and what looks wrong in it. Needs nothing but Python 3.

Usage: inspect_xlsx.py FILE [ROWS]
Shows the first ROWS (default 5) rows of each sheet. Ends with 0 when no problem was found, with 1 when there is one,
with 2 when the file cannot be read.
"""
import posixpath
import re
import sys
import zipfile
from xml.etree import ElementTree

MAIN = '{http://schemas.openxmlformats.org/spreadsheetml/2006/main}'
LINK = '{http://schemas.openxmlformats.org/officeDocument/2006/relationships}id'
MAX_PART_BYTES = 500 * 1024 * 1024
SHOWN_CELLS = 10


def checked(archive, name):
    """The part, when it is one that can be parsed without harm."""
    if archive.getinfo(name).file_size > MAX_PART_BYTES:
        raise ValueError(f'{name} is too large to be looked at')
    with archive.open(name) as part:
        if b'<!DOCTYPE' in part.read(4096):
            raise ValueError(f'{name} declares a DOCTYPE, which no workbook needs')
    return archive.open(name)


def tree(archive, name):
    with checked(archive, name) as part:
        return ElementTree.parse(part).getroot()


def shared_texts(archive, folder):
    name = posixpath.join(folder, 'sharedStrings.xml')
    if name not in archive.namelist():
        return []
    texts = []
    with checked(archive, name) as part:
        for _, item in ElementTree.iterparse(part):
            if item.tag == MAIN + 'si':
                runs = [item, *item.iter(MAIN + 'r')]
                texts.append(''.join(t.text or '' for run in runs for t in run.findall(MAIN + 't')))
                item.clear()
    return texts


def value_of(cell, texts):
    kind = cell.get('t', 'n')
    if kind == 'inlineStr':
        return ''.join(t.text or '' for t in cell.iter(MAIN + 't'))
    value = cell.findtext(MAIN + 'v')
    if kind == 's' and value is not None:
        return texts[int(value)] if int(value) < len(texts) else f'#shared text {value} is missing'
    if kind == 'b' and value is not None:
        return 'TRUE' if value == '1' else 'FALSE'
    return value


def inspect_sheet(archive, name, texts, rows, problems, title):
    """Reads row by row, so that the size of a sheet does not matter."""
    shown, cells, last_row, formulas, empty = [], 0, 0, 0, []
    errors = {}
    with checked(archive, name) as part:
        for _, row in ElementTree.iterparse(part):
            if row.tag != MAIN + 'row':
                continue
            last_row = int(row.get('r') or last_row + 1)
            values = []
            for cell in row.findall(MAIN + 'c'):
                place = cell.get('r') or f'in row {last_row}'
                value = value_of(cell, texts)
                formula = cell.find(MAIN + 'f')
                if formula is not None:
                    formulas += 1
                    if not value and cell.get('t') != 'str':
                        empty.append(place)
                        value = None
                    if '#REF!' in (formula.text or ''):
                        errors.setdefault('#REF! in a formula', []).append(place)
                if cell.get('t') == 'e':
                    errors.setdefault(value or 'an error', []).append(place)
                if value is not None or formula is not None:
                    cells += 1
                    text = '' if value is None else ' '.join(value.split())
                    values.append(f'={formula.text}' if value is None and formula is not None and formula.text else text)
            if len(shown) < rows and any(values):
                shown.append(f'  {last_row}: ' + ' | '.join(one[:40] for one in values[:20]))
            row.clear()
    print(f'{title}: {cells} cells, last row {last_row}, {formulas} formulas')
    print('\n'.join(shown))
    for error, places in errors.items():
        problems.append(f'{title}: {error} in {len(places)} cells: {", ".join(places[:SHOWN_CELLS])}')
    if empty:
        problems.append(
            f'{title}: {len(empty)} formulas have no value yet, beginning with {empty[0]}: recalculate the workbook'
        )


def inspect(path, rows):
    problems = []
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        book = next((name for name in ('xl/workbook.xml',) if name in names), None)
        if book is None:
            raise zipfile.BadZipFile('it is a ZIP archive, but no .xlsx workbook')
        folder = posixpath.dirname(book)
        relations = tree(archive, f'{folder}/_rels/{posixpath.basename(book)}.rels')
        targets = {one.get('Id'): one.get('Target', '') for one in relations}
        workbook = tree(archive, book)
        texts = shared_texts(archive, folder)
        for sheet in workbook.iter(MAIN + 'sheet'):
            state = sheet.get('state', 'visible')
            title = f"Sheet {sheet.get('name')!r}" + ('' if state == 'visible' else f' ({state})')
            target = targets.get(sheet.get(LINK), '')
            part = target.lstrip('/') if target.startswith('/') else posixpath.normpath(posixpath.join(folder, target))
            if part not in names:
                problems.append(f'{title}: its part {part} is missing')
            elif '/worksheets/' in part:
                inspect_sheet(archive, part, texts, rows, problems, title)
            else:
                print(f'{title}: no cells ({part})')
        for name in workbook.iter(MAIN + 'definedName'):
            print(f"Name {name.get('name')} = {name.text}")
            if '#REF!' in (name.text or ''):
                problems.append(f"the name {name.get('name')} refers to nothing")
        counts = {
            'charts': sum(bool(re.fullmatch(r'xl/charts/chart\d+\.xml', name)) for name in names),
            'pictures': sum(name.startswith('xl/media/') for name in names),
            'pivot tables': sum(bool(re.fullmatch(r'xl/pivotTables/[^/]+\.xml', name)) for name in names),
        }
        print('Also: ' + ', '.join(f'{count} {what}' for what, count in counts.items()))
        if any(name.startswith('xl/externalLinks/') for name in names):
            problems.append('the workbook refers to other workbooks, whose values may be old')
        if 'xl/vbaProject.bin' in names:
            problems.append('the workbook holds macros')
    print()
    for problem in problems:
        print(f'Problem: {problem}.')
    print('No problems found.' if not problems else f'{len(problems)} problems found.')
    return 1 if problems else 0


if __name__ == '__main__':
    if len(sys.argv) not in (2, 3) or (len(sys.argv) == 3 and not sys.argv[2].isdigit()):
        print(__doc__.strip(), file=sys.stderr)
        sys.exit(2)
    try:
        sys.exit(inspect(sys.argv[1], int(sys.argv[2]) if len(sys.argv) == 3 else 5))
    except (OSError, KeyError, ValueError, zipfile.BadZipFile, ElementTree.ParseError) as error:
        print(f'{sys.argv[1]} cannot be read: {error}', file=sys.stderr)
        sys.exit(2)
