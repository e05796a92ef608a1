import {
  contentTypes,
  DECLARATION,
  escaped,
  linked,
  OFFICE,
  relationships,
  zipOf,
} from './office.js';

/** A slide; each body text is a paragraph of its own. */
export interface Slide {
  readonly title?: string;
  readonly body?: readonly string[];
  readonly table?: readonly (readonly string[])[];
  readonly notes?: readonly string[];
}

export function pptxOf(slides: readonly Slide[]): Buffer {
  return zipOf(pptxParts(slides));
}

/** The files in a .pptx, to be changed before they are zipped. */
export function pptxParts(slides: readonly Slide[]): Record<string, string> {
  const parts: Record<string, string> = {
    '[Content_Types].xml': contentTypes({
      'ppt/presentation.xml': 'presentationml.presentation.main',
    }),
    '_rels/.rels': relationships({ officeDocument: 'ppt/presentation.xml' }),
    'ppt/presentation.xml': presentation(
      'presentation',
      `<p:sldIdLst>${slides.map((_, index) => `<p:sldId id="${256 + index}" r:id="slide${index + 1}"/>`).join('')}</p:sldIdLst>`,
    ),
    // Not in the order of the slides, which the list alone has.
    'ppt/_rels/presentation.xml.rels': linked(
      slides
        .map((_, index): [string, string, string] => [
          `slide${index + 1}`,
          'slide',
          `slides/slide${index + 1}.xml`,
        ])
        .reverse(),
    ),
  };
  slides.forEach(({ title, body = [], table, notes }, index) => {
    const number = index + 1;
    const shapes = [
      ...(body.length > 0 ? [shape('body', body)] : []),
      ...(table ? [tableFrame(table)] : []),
      shape('sldNum', [String(number)]),
      // The title stands last in the file, as it may.
      ...(title === undefined ? [] : [shape('title', [title])]),
    ];
    parts[`ppt/slides/slide${number}.xml`] = presentation('sld', tree(shapes));
    if (!notes) return;
    parts[`ppt/slides/_rels/slide${number}.xml.rels`] = linked([
      ['notes', 'notesSlide', `../notesSlides/notesSlide${number}.xml`],
    ]);
    parts[`ppt/notesSlides/notesSlide${number}.xml`] = presentation(
      'notes',
      tree([shape('body', notes), shape('sldNum', [String(number)])]),
    );
  });
  return parts;
}

function tree(shapes: readonly string[]): string {
  return `<p:cSld><p:spTree>${shapes.join('')}</p:spTree></p:cSld>`;
}

function shape(place: string, texts: readonly string[]): string {
  const paragraphs = texts.map((text) => `<a:p><a:r><a:t>${escaped(text)}</a:t></a:r></a:p>`);
  return `<p:sp><p:nvSpPr><p:nvPr><p:ph type="${place}"/></p:nvPr></p:nvSpPr><p:txBody>${paragraphs.join('')}</p:txBody></p:sp>`;
}

function tableFrame(rows: readonly (readonly string[])[]): string {
  const cells = (row: readonly string[]) =>
    row
      .map(
        (text) =>
          `<a:tc><a:txBody><a:p><a:r><a:t>${escaped(text)}</a:t></a:r></a:p></a:txBody></a:tc>`,
      )
      .join('');
  return `<p:graphicFrame><a:graphic><a:graphicData><a:tbl>${rows.map((row) => `<a:tr>${cells(row)}</a:tr>`).join('')}</a:tbl></a:graphicData></a:graphic></p:graphicFrame>`;
}

function presentation(root: string, content: string): string {
  return `${DECLARATION}<p:${root} xmlns:p="http://schemas.openxmlformats.org/presentationml/2006/main" xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main" xmlns:r="${OFFICE}">${content}</p:${root}>`;
}
