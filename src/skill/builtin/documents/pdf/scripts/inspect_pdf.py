#!/usr/bin/env python3
"""Prints what a PDF file is and what a reader should know about it. Needs pypdf.

Usage: inspect_pdf.py FILE [PASSWORD]
Ends with 0 when nothing is remarkable, with 1 when something is, with 2 when the file cannot be read.
"""
import sys

STANDARD_FONTS = {
    'Courier', 'Courier-Bold', 'Courier-BoldOblique', 'Courier-Oblique', 'Helvetica', 'Helvetica-Bold',
    'Helvetica-BoldOblique', 'Helvetica-Oblique', 'Symbol', 'Times-Bold', 'Times-BoldItalic', 'Times-Italic',
    'Times-Roman', 'ZapfDingbats',
}


def spans(numbers):
    """[1, 2, 3, 7] as '1-3, 7'."""
    groups = []
    for number in numbers:
        if groups and number == groups[-1][1] + 1:
            groups[-1][1] = number
        else:
            groups.append([number, number])
    return ', '.join(str(a) if a == b else f'{a}-{b}' for a, b in groups)


def fonts_of(page):
    """Name of each font of the page, and whether it is embedded."""
    resources = page.get('/Resources')
    fonts = resources.get_object().get('/Font') if resources is not None else None
    for reference in (fonts.get_object().values() if fonts is not None else ()):
        font = reference.get_object()
        if font.get('/Subtype') == '/Type3':
            continue
        if font.get('/Subtype') == '/Type0':
            font = font['/DescendantFonts'][0].get_object()
        descriptor = font.get('/FontDescriptor')
        keys = descriptor.get_object().keys() if descriptor is not None else ()
        yield str(font.get('/BaseFont', '?')).lstrip('/'), any(key.startswith('/FontFile') for key in keys)


def inspect(path, password):
    from pypdf import PdfReader
    from pypdf.errors import FileNotDecryptedError, PdfReadError

    notes = []
    try:
        reader = PdfReader(path)
        if reader.is_encrypted:
            if not reader.decrypt(password):
                print(f'{path} is encrypted and needs a password.', file=sys.stderr)
                return 2
            notes.append('the file is encrypted' + ('' if password else ', and opens without a password'))
        count = len(reader.pages)
    except (OSError, PdfReadError, FileNotDecryptedError) as error:
        print(f'{path} cannot be read: {error}', file=sys.stderr)
        return 2

    print(f'Pages: {count}')
    for key, value in (reader.metadata or {}).items():
        print(f'{key.lstrip("/")}: {value}')
    sizes, without_text, broken, missing_fonts = {}, [], [], set()
    for number, page in enumerate(reader.pages, start=1):
        box = page.mediabox
        sizes.setdefault(f'{float(box.width):.0f} x {float(box.height):.0f} pt, rotated {page.rotation or 0}', []).append(number)
        try:
            if not page.extract_text().strip():
                without_text.append(number)
            missing_fonts |= {name for name, embedded in fonts_of(page) if not embedded and name not in STANDARD_FONTS}
        except Exception as error:  # a broken page must not hide the others
            broken.append(number)
            print(f'Page {number}: {type(error).__name__}: {error}', file=sys.stderr)
    for size, numbers in sizes.items():
        print(f'Page size: {size}: pages {spans(numbers)}')
    if without_text:
        notes.append(f'no text on pages {spans(without_text)}: look at them, or recognise them (OCR)')
    if broken:
        notes.append(f'pages {spans(broken)} cannot be read in full')
    if missing_fonts:
        notes.append(f'fonts that are not embedded: {", ".join(sorted(missing_fonts))}')

    fields = reader.get_fields() or {}
    for name, field in fields.items():
        print(f'Field: {name} {field.get("/FT", "")} = {field.get("/V", "")!r}')
    if any(field.get('/FT') == '/Sig' and field.get('/V') is not None for field in fields.values()):
        notes.append('the file is signed; any change breaks the signature')
    form = reader.trailer['/Root'].get('/AcroForm')
    if form is not None and '/XFA' in form.get_object():
        notes.append('the form is an XFA form')
    for name in reader.attachments:
        notes.append(f'attached file: {name}')

    print()
    for note in notes:
        print(f'Note: {note}.')
    if not notes:
        print('Nothing remarkable.')
    return 1 if notes else 0


if __name__ == '__main__':
    if len(sys.argv) not in (2, 3):
        print(__doc__.strip(), file=sys.stderr)
        sys.exit(2)
    try:
        sys.exit(inspect(sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else ''))
    except ModuleNotFoundError:
        print('pypdf is not installed; pdfinfo, pdffonts and pdftotext tell most of the same.', file=sys.stderr)
        sys.exit(2)
