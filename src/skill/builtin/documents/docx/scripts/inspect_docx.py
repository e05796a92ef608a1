#!/usr/bin/env python3
"""Prints what a .docx file holds, and what looks wrong in it. Needs nothing but Python 3.

Usage: inspect_docx.py FILE
Ends with 0 when no problem was found, with 1 when there is one, with 2 when the file cannot be read.
"""
import posixpath
import re
import sys
import zipfile
from xml.etree import ElementTree

W = '{http://schemas.openxmlformats.org/wordprocessingml/2006/main}'
MC = '{http://schemas.openxmlformats.org/markup-compatibility/2006}'
RELATION = '{http://schemas.openxmlformats.org/package/2006/relationships}Relationship'
TYPES = '{http://schemas.openxmlformats.org/package/2006/content-types}'
MAX_PART_BYTES = 200 * 1024 * 1024
PLACEHOLDER = re.compile(r'\{\{.*?\}\}|<<.+?>>|\[(?:TODO|TBD|XXX|INSERT)[^\]]*\]|\b(?:TODO|TBD|FIXME)\b|lorem ipsum', re.I)


def parse(archive, name, problems):
    if archive.getinfo(name).file_size > MAX_PART_BYTES:
        problems.append(f'{name} is too large to be looked at')
        return None
    data = archive.read(name)
    if b'<!DOCTYPE' in data[:4096] or b'<!ENTITY' in data:
        problems.append(f'{name} declares a DOCTYPE, which no Word document needs')
        return None
    try:
        return ElementTree.fromstring(data)
    except ElementTree.ParseError as error:
        problems.append(f'{name} is not well formed: {error}')
        return None


def text_of(node):
    """The final text: without what is deleted."""
    pieces = []
    for child in node:
        if child.tag in (W + 'del', W + 'moveFrom', W + 'instrText', MC + 'Fallback'):
            continue
        if child.tag == W + 't':
            pieces.append(child.text or '')
        elif child.tag == W + 'tab':
            pieces.append('\t')
        elif child.tag in (W + 'br', W + 'cr'):
            pieces.append('\n')
        else:
            pieces.append(text_of(child))
            if child.tag == W + 'p':
                pieces.append('\n')
    return ''.join(pieces)


def heading_levels(styles):
    """Ids of paragraph styles that are headings, with their level."""
    levels = {}
    for style in styles.iter(W + 'style') if styles is not None else ():
        name = style.find(W + 'name')
        match = re.fullmatch(r'heading (\d)', (name.get(W + 'val') or '').lower()) if name is not None else None
        if match:
            levels[style.get(W + 'styleId')] = int(match.group(1))
    return levels


def blocks(node):
    """Paragraphs and tables in their order, also those in content controls."""
    for child in node:
        if child.tag in (W + 'p', W + 'tbl'):
            yield child
        elif child.tag in (W + 'sdt', W + 'sdtContent', W + 'ins'):
            yield from blocks(child)


def print_body(body, levels, problems):
    last = 0
    for block in blocks(body):
        if block.tag == W + 'tbl':
            rows = [[text_of(cell).strip() for cell in row.iter(W + 'tc')] for row in block.iter(W + 'tr')]
            print(f'[table, {len(rows)} rows]')
            for row in rows:
                print('  | ' + ' | '.join(cell.replace('\n', ' / ') for cell in row) + ' |')
            continue
        text = text_of(block)
        style = block.find(f'{W}pPr/{W}pStyle')
        style = style.get(W + 'val') if style is not None else None
        level = levels.get(style)
        if level:
            print(f"\n{'#' * level} {text}")
            if not text.strip():
                problems.append(f'an empty heading of level {level}')
            elif level > last + 1:
                problems.append(f'the heading "{text[:60]}" has level {level} after level {last}')
            last = level
        elif text.strip():
            print(f'[{style}] {text}' if style else text)


def check_package(archive, problems):
    names = set(archive.namelist())
    types = parse(archive, '[Content_Types].xml', problems) if '[Content_Types].xml' in names else None
    if types is None:
        problems.append('[Content_Types].xml is missing or broken')
        return
    defaults = {one.get('Extension', '').lower() for one in types.iter(TYPES + 'Default')}
    overrides = {one.get('PartName') for one in types.iter(TYPES + 'Override')}
    for name in sorted(names):
        extension = name.rsplit('.', 1)[-1].lower()
        if not name.endswith('/') and name != '[Content_Types].xml':
            if '/' + name not in overrides and extension not in defaults:
                problems.append(f'{name} has no content type')
        if name.endswith('.rels'):
            folder = posixpath.dirname(posixpath.dirname(name))
            root = parse(archive, name, problems)
            for one in root.iter(RELATION) if root is not None else ():
                target = one.get('Target', '')
                if one.get('TargetMode') == 'External' or target.startswith('#'):
                    continue
                path = target.lstrip('/') if target.startswith('/') else posixpath.normpath(posixpath.join(folder, target))
                if path not in names:
                    problems.append(f'{name} refers to {path}, which is missing')


def inspect(path):
    problems = []
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        if 'word/document.xml' not in names:
            raise zipfile.BadZipFile('it is a ZIP archive, but no Word document')
        check_package(archive, problems)
        document = parse(archive, 'word/document.xml', problems)
        styles = parse(archive, 'word/styles.xml', problems) if 'word/styles.xml' in names else None
        if document is not None:
            body = document.find(W + 'body')
            print_body(body, heading_levels(styles), problems)
            found = sorted(set(PLACEHOLDER.findall(text_of(body))))
            problems += [f'what looks like a placeholder: {one}' for one in found]
            for tag, word in (('ins', 'inserted'), ('del', 'deleted'), ('moveFrom', 'moved')):
                for change in document.iter(W + tag):
                    words = ''.join(t.text or '' for t in change.iter() if t.tag in (W + 't', W + 'delText'))
                    print(f"[{word} by {change.get(W + 'author')}] {words}")
        for name in sorted(names):
            kind = re.fullmatch(r'word/(header|footer|footnotes|endnotes|comments)\d*\.xml', name)
            part = parse(archive, name, problems) if kind else None
            for child in part if part is not None else ():
                text = text_of(child).strip()
                author = child.get(W + 'author')
                if text:
                    print(f"[{kind.group(1)}{' by ' + author if author else ''}] {text}")
    print()
    for problem in problems:
        print(f'Problem: {problem}.')
    print('No problems found.' if not problems else f'{len(problems)} problems found.')
    return 1 if problems else 0


if __name__ == '__main__':
    if len(sys.argv) != 2:
        print(__doc__.strip(), file=sys.stderr)
        sys.exit(2)
    try:
        sys.exit(inspect(sys.argv[1]))
    except (OSError, zipfile.BadZipFile) as error:
        print(f'{sys.argv[1]} cannot be read: {error}', file=sys.stderr)
        sys.exit(2)
