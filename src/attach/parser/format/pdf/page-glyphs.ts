import { getResolvedPDFJS } from 'unpdf';
import type { getDocumentProxy } from 'unpdf';
import { actualTextOf } from './actual-text.js';
import { isRightToLeft } from './right-to-left.js';

export type PdfDocument = Awaited<ReturnType<typeof getDocumentProxy>>;
export type PdfPage = Awaited<ReturnType<PdfDocument['getPage']>>;
/** The layers of a document, and which of them are off. */
export type PdfLayers = Awaited<ReturnType<PdfDocument['getOptionalContentConfig']>>;

/** Characters that follow each other on one base line, in points; x grows along the line, y upwards. */
export interface Run {
  text: string;
  readonly left: number;
  right: number;
  readonly base: number;
  readonly size: number;
}

/** A straight line of a drawing, along one of the axes. */
export interface Rule {
  readonly horizontal: boolean;
  /** The coordinate that all of its points share. */
  readonly at: number;
  readonly from: number;
  readonly to: number;
}

/** Content of a page in one reading direction, with coordinates turned so that its lines are horizontal. */
export interface Sheet {
  readonly runs: Run[];
  readonly rules: Rule[];
  /** Quarters of a turn from the direction of the page; QUARTERS for any other angle. */
  readonly quarter: number;
  /** The edges of the page; none of text at any other angle. */
  readonly box?: SheetBox;
}

/** Edges of a page, turned as its text. */
export interface SheetBox {
  readonly left: number;
  readonly right: number;
  readonly top: number;
  readonly bottom: number;
}

/** A gap this wide between two glyphs is a space, in shares of the font size; East Asian text is spaced out. */
const SPACE = 0.1;
const UNSPACED_SPACE = 0.5;
/** A wider gap ends a run, since a column may end there. */
const RUN_GAP = 0.35;

/** Maximum number of lines that can be borders of tables; more are a drawing. */
const RULE_LIMIT = 4_000;
const RULE_THICKNESS = 3;
const RULE_LENGTH = 4;

type Matrix = readonly [number, number, number, number, number, number];

const IDENTITY: Matrix = [1, 0, 0, 1, 0, 0];

/** Turns by quarters, in the order of QUARTERS; the last one takes text at any other angle. */
const QUARTERS = 4;

interface Glyph {
  readonly unicode: string;
  readonly width: number;
  readonly isSpace: boolean;
  readonly vmetric?: readonly [number, number, number] | null;
}

interface Font {
  readonly vertical: boolean;
  readonly scale: number;
  /** Height of a glyph in shares of the font size. */
  readonly height: number;
}

interface State {
  matrix: Matrix;
  font: Font | undefined;
  size: number;
  charSpacing: number;
  wordSpacing: number;
  stretch: number;
  leading: number;
  rise: number;
}

const INITIAL: State = {
  matrix: IDENTITY,
  font: undefined,
  size: 0,
  charSpacing: 0,
  wordSpacing: 0,
  stretch: 1,
  leading: 0,
  rise: 0,
};

/**
 * The text of a page with its place, one sheet for each direction of writing, the one with most text first. It is read
 * from the drawing operators: what PDF.js calls text content is already reordered, in ways that cannot be undone for
 * right-to-left text, and knows no lines of tables. Annotations that are shown, such as the values of a form, belong to
 * the text of a page that has any: a scanned page stays one without text, although it is signed. Layers that are off are
 * left out, and what a text stands for (ActualText) is that. Text that is invisible by its colour or its mode belongs to the page: so is the text behind scanned images.
 */
export async function readSheets(page: PdfPage, layers: PdfLayers): Promise<Sheet[]> {
  const { OPS, AnnotationMode } = await getResolvedPDFJS();
  const { fnArray, argsArray } = await page.getOperatorList({
    annotationMode: AnnotationMode.ENABLE,
  });
  const reader = new OperatorReader(OPS, page, layers);
  fnArray.forEach((operator, index) => reader.run(operator, argsArray[index]));
  return reader.end();
}

type Operators = Awaited<ReturnType<typeof getResolvedPDFJS>>['OPS'];

/** The marked content that the operators stand in: whether any of it is a layer that is off. */
export class VisibleContent {
  private readonly off: boolean[] = [];
  private hidden = 0;

  constructor(private readonly layers: PdfLayers) {}

  get isVisible(): boolean {
    return this.hidden === 0;
  }

  /** Nesting depth of marked content at the next operator. */
  get depth(): number {
    return this.off.length;
  }

  /** Handles `beginMarkedContent` and `beginMarkedContentProps`, which names a layer by the tag OC. */
  begin(tag?: unknown, layer?: unknown): void {
    const isOff = tag === 'OC' && !this.layers.isVisible(layer);
    this.off.push(isOff);
    if (isOff) this.hidden += 1;
  }

  end(): void {
    if (this.off.pop() === true) this.hidden -= 1;
  }
}

/** Marked content with a replacement text, and its place. */
interface Replaced {
  readonly text: string;
  readonly depth: number;
  direction?: Point;
  size?: number;
  from?: Point;
  to?: Point;
  /** The last one of its drawing. */
  matrix?: Matrix;
}

/** Minimum size of a drawing in points; text that replaces a larger one has letters of this size. */
const MIN_DRAWING = 3;
const MAX_DRAWN_SIZE = 12;

function across([x, y]: Point, { direction: [dx, dy] = [1, 0] }: Replaced): number {
  return (y * dx - x * dy) / (Math.hypot(dx, dy) || 1);
}

type Action = (args: readonly unknown[]) => void;
type Actions = ReadonlyMap<number, Action>;

class OperatorReader {
  private state: State = { ...INITIAL };
  private inAnnotation = false;
  private isWritten = false;
  private readonly saved: State[] = [];
  private readonly fonts = new Map<string, Font | undefined>();
  private text: Matrix = IDENTITY;
  private lineX = 0;
  private lineY = 0;
  private x = 0;
  private y = 0;
  private readonly writer = new RunWriter();
  private readonly content: VisibleContent;
  private replaced: Replaced | undefined;
  private readonly actions: Actions;
  private readonly strokes: ReadonlySet<unknown>;
  private readonly unpainted: unknown;

  constructor(
    operators: Operators,
    private readonly page: PdfPage,
    layers: PdfLayers,
  ) {
    this.content = new VisibleContent(layers);
    this.actions = new Map([...this.textActions(operators), ...this.partActions(operators)]);
    const { stroke, closeStroke, fillStroke, eoFillStroke, closeFillStroke, closeEOFillStroke } =
      operators;
    this.strokes = new Set<unknown>([
      ...[stroke, closeStroke, fillStroke, eoFillStroke, closeFillStroke, closeEOFillStroke],
    ]);
    this.unpainted = operators.endPath;
  }

  run(operator: number, args: unknown): void {
    this.actions.get(operator)?.(Array.isArray(args) ? args : []);
  }

  end(): Sheet[] {
    return this.isWritten ? this.writer.end(this.page.view) : [];
  }

  /** Actions that open and close parts of a page. */
  private partActions(ops: Operators): Actions {
    return new Map<number, Action>([
      [ops.beginMarkedContent, () => this.content.begin()],
      [ops.beginMarkedContentProps, ([tag, layer]) => this.beginMarkedContent(tag, layer)],
      [ops.endMarkedContent, () => this.endMarkedContent()],
      [ops.beginAnnotation, ([, , ...matrices]) => this.beginAnnotation(matrices)],
      [ops.endAnnotation, () => this.endAnnotation()],
      [ops.save, () => this.save()],
      [ops.restore, () => this.restore()],
      [ops.transform, (args) => this.transform(args)],
      [
        ops.paintFormXObjectBegin,
        ([matrix]) => {
          this.save();
          if (matrix) this.transform(Array.from(matrix as ArrayLike<number>));
        },
      ],
      [ops.paintFormXObjectEnd, () => this.restore()],
      [ops.constructPath, ([paint, data, bounds]) => this.draw(paint, data, bounds)],
    ]);
  }

  private textActions(ops: Operators): Actions {
    return new Map<number, Action>([
      [
        ops.beginText,
        () => {
          this.text = IDENTITY;
          this.moveTo(0, 0);
        },
      ],
      [
        ops.setTextMatrix,
        ([matrix]) => {
          this.text = matrixOf(Array.from(matrix as ArrayLike<number>));
          this.moveTo(0, 0);
        },
      ],
      [ops.moveText, ([x, y]) => this.moveTo(this.lineX + numberOf(x), this.lineY + numberOf(y))],
      [
        ops.setLeadingMoveText,
        ([x, y]) => {
          this.state.leading = numberOf(y);
          this.moveTo(this.lineX + numberOf(x), this.lineY + numberOf(y));
        },
      ],
      [ops.nextLine, () => this.moveTo(this.lineX, this.lineY + this.state.leading)],
      [ops.setLeading, ([leading]) => (this.state.leading = -numberOf(leading))],
      [ops.setCharSpacing, ([spacing]) => (this.state.charSpacing = numberOf(spacing))],
      [ops.setWordSpacing, ([spacing]) => (this.state.wordSpacing = numberOf(spacing))],
      [ops.setHScale, ([percent]) => (this.state.stretch = numberOf(percent) / 100)],
      [ops.setTextRise, ([rise]) => (this.state.rise = numberOf(rise))],
      [ops.setFont, ([name, size]) => this.setFont(name, size)],
      [ops.setGState, ([entries]) => this.setGraphicsState(entries)],
      [ops.showText, ([glyphs]) => this.show(glyphs)],
    ]);
  }

  private beginMarkedContent(tag: unknown, layer: unknown): void {
    this.content.begin(tag, layer);
    const text = actualTextOf(tag);
    // The outer text replaces everything within it.
    if (text !== undefined) this.replaced ??= { text, depth: this.content.depth };
  }

  private endMarkedContent(): void {
    const { replaced } = this;
    if (replaced && this.content.depth <= replaced.depth) {
      this.replaced = undefined;
      if (!replaced.from) this.replaceDrawing(replaced, [0, 0, 1, 1], replaced.matrix);
      const { direction, size = 0, from, to } = replaced;
      const text = replaced.text.replace(/\s+/g, ' ');
      if (direction && from && to) {
        this.writer.line(direction, size).add(text === ' ' ? text : text.trim(), from, to);
      }
    }
    this.content.end();
  }

  /** Places the replacement text on the first line of the marked content. */
  private replace(
    replaced: Replaced,
    { direction, size, from, to }: Required<Omit<Replaced, 'text' | 'depth' | 'matrix'>>,
  ): void {
    replaced.direction ??= direction;
    replaced.size ??= size;
    replaced.from ??= from;
    const isNextLine =
      Math.abs(across(from, replaced) - across(replaced.from, replaced)) > size / 2;
    if (!isNextLine) replaced.to = to;
  }

  /** The place of a path, or of an image, which fills the unit square of the last transformation. */
  private replaceDrawing(
    replaced: Replaced,
    [left = 0, bottom = 0, right = 0, top = 0]: ArrayLike<number> & Iterable<number>,
    matrix: Matrix = this.state.matrix,
  ): void {
    const [width, height] = [
      directed(matrix, [right - left, 0]),
      directed(matrix, [0, top - bottom]),
    ];
    if (Math.hypot(...width) < MIN_DRAWING || Math.hypot(...height) < MIN_DRAWING) return;
    this.replace(replaced, {
      direction: width,
      size: Math.min(Math.hypot(...height), MAX_DRAWN_SIZE),
      from: placed(matrix, left, bottom),
      to: placed(matrix, right, bottom),
    });
  }

  private save(): void {
    this.saved.push({ ...this.state });
  }

  private restore(): void {
    this.state = this.saved.pop() ?? this.state;
  }

  /** An annotation has its own place, independent of the page's transformations. */
  private beginAnnotation([place, transformation]: readonly unknown[]): void {
    this.save();
    this.state = { ...INITIAL };
    this.transform(Array.from(place as ArrayLike<number>));
    this.transform(Array.from(transformation as ArrayLike<number>));
    this.inAnnotation = true;
  }

  private endAnnotation(): void {
    this.restore();
    this.inAnnotation = false;
  }

  private moveTo(x: number, y: number): void {
    this.x = this.lineX = x;
    this.y = this.lineY = y;
  }

  private transform(args: readonly unknown[]): void {
    this.state.matrix = product(this.state.matrix, matrixOf(args));
    if (this.replaced) this.replaced.matrix = this.state.matrix;
  }

  private setGraphicsState(entries: unknown): void {
    if (!Array.isArray(entries)) return;
    for (const entry of entries as readonly unknown[]) {
      if (!Array.isArray(entry) || entry[0] !== 'Font' || !Array.isArray(entry[1])) continue;
      this.setFont(entry[1][0], entry[1][1]);
    }
  }

  private setFont(name: unknown, size: unknown): void {
    this.state.font = typeof name === 'string' ? this.fontOf(name) : undefined;
    this.state.size = numberOf(size);
  }

  private fontOf(name: string): Font | undefined {
    if (!this.fonts.has(name)) {
      const { commonObjs } = this.page;
      this.fonts.set(
        name,
        commonObjs.has(name) ? fontFrom(commonObjs.get(name) as object) : undefined,
      );
    }
    return this.fonts.get(name);
  }

  private show(glyphs: unknown): void {
    const { font, size, stretch, charSpacing, wordSpacing, rise } = this.state;
    if (!font || !Array.isArray(glyphs)) return;
    const { isVisible } = this.content;
    this.isWritten ||= isVisible && !this.inAnnotation;
    const matrix = product(this.state.matrix, this.text);
    const axis = font.vertical
      ? ([0, -1] as const)
      : ([Math.sign(size * stretch) || 1, 0] as const);
    const height = Math.abs(size) * font.height * Math.hypot(matrix[2], matrix[3]);
    const direction = directed(matrix, axis);
    const line = this.writer.line(direction, height);
    for (const glyph of glyphs as readonly (Glyph | number | null)[]) {
      if (glyph === null) continue;
      if (typeof glyph === 'number') {
        const distance = (-glyph * size) / 1_000;
        if (font.vertical) this.y += distance;
        else this.x += distance * stretch;
        continue;
      }
      const width = font.vertical && glyph.vmetric ? -glyph.vmetric[0] : glyph.width;
      const advance = width * font.scale * size;
      const spacing = charSpacing + (glyph.isSpace ? wordSpacing : 0);
      const from = placed(matrix, this.x, this.y + rise);
      const [x, y] = font.vertical ? [0, -advance] : [advance * stretch, 0];
      const to = placed(matrix, this.x + x, this.y + rise + y);
      if (isVisible && this.replaced)
        this.replace(this.replaced, { direction, size: height, from, to });
      else if (isVisible) line.add(glyph.unicode, from, to);
      if (font.vertical) this.y -= advance + spacing;
      else this.x += (advance + spacing) * stretch;
    }
  }

  /** Keeps what may be the border of a table: strokes along an axis, and bars. Fields have borders of their own. */
  private draw(paint: unknown, data: unknown, bounds: unknown): void {
    if (this.inAnnotation || !this.content.isVisible) return;
    if (this.replaced && bounds instanceof Float32Array) this.replaceDrawing(this.replaced, bounds);
    const path: unknown = Array.isArray(data) ? data[0] : undefined;
    if (paint === this.unpainted || !(path instanceof Float32Array)) return;
    for (const points of subpathsOf(path)) {
      const places = points.map(([x, y]) => placed(this.state.matrix, x, y));
      if (this.strokes.has(paint)) {
        places.slice(1).forEach((place, index) => {
          const before = places[index];
          if (before) this.writer.rule(before, place);
        });
      } else if (places.length > 2) this.bar(places);
    }
  }

  private bar(places: readonly Point[]): void {
    const xs = places.map(([x]) => x);
    const ys = places.map(([, y]) => y);
    const [left, right] = [Math.min(...xs), Math.max(...xs)];
    const [bottom, top] = [Math.min(...ys), Math.max(...ys)];
    if (top - bottom <= RULE_THICKNESS) {
      const y = (top + bottom) / 2;
      this.writer.rule([left, y], [right, y]);
    } else if (right - left <= RULE_THICKNESS) {
      const x = (left + right) / 2;
      this.writer.rule([x, bottom], [x, top]);
    }
  }
}

type Point = readonly [number, number];

/** Collects runs, and turns each to the sheet of its direction. */
class RunWriter {
  private readonly runs: Run[][] = Array.from({ length: QUARTERS + 1 }, () => []);
  private readonly rules: (readonly [Point, Point])[] = [];
  private run: Run | undefined;
  private quarter = 0;
  private spaced = false;

  /** Sets the writing direction and height of the next glyphs. */
  line([x, y]: Point, size: number) {
    const turn = Math.atan2(y, x) / (Math.PI / 2);
    const nearest = Math.round(turn);
    const upright = Math.abs(turn - nearest) < 0.1;
    const quarter = upright ? (nearest + QUARTERS) % QUARTERS : QUARTERS;
    return {
      add: (unicode: string, from: Point, to: Point) => {
        const displayed = shownOf(unicode);
        if (displayed.blank) this.spaced = true;
        if (displayed.blank || displayed.text === '') return;
        const start = upright ? turned(from, quarter) : slanted(from, [x, y]);
        const end = upright ? turned(to, quarter) : slanted(to, [x, y]);
        this.glyph(quarter, displayed, {
          left: Math.min(start[0], end[0]),
          right: Math.max(start[0], end[0]),
          base: start[1],
          size,
        });
      },
    };
  }

  rule(from: Point, to: Point): void {
    if (this.rules.length <= RULE_LIMIT) this.rules.push([from, to]);
  }

  end(view: readonly number[]): Sheet[] {
    const rules = this.rules.length > RULE_LIMIT ? [] : this.rules;
    return this.runs
      .map((runs, quarter) => ({ runs, quarter }))
      .filter(({ runs }) => runs.length > 0)
      .sort((a, b) => lengthOf(b.runs) - lengthOf(a.runs))
      .map(({ runs, quarter }) => ({
        runs,
        quarter,
        ...(quarter < QUARTERS
          ? { rules: rulesOf(rules, quarter), box: boxOf(view, quarter) }
          : { rules: [] }),
      }));
  }

  private glyph(quarter: number, { text, rightToLeft }: Shown, place: Omit<Run, 'text'>): void {
    const { run, spaced } = this;
    this.spaced = false;
    if (run && !rightToLeft && quarter === this.quarter && continues(run, place)) {
      const gap = place.left - run.right;
      run.text += isSpace(run, text, spaced ? gap * 3 : gap) ? ` ${text}` : text;
      run.right = Math.max(run.right, place.right);
      return;
    }
    const next = { text, ...place };
    this.runs[quarter]?.push(next);
    this.quarter = quarter;
    // A glyph that is written from right to left keeps its own place.
    this.run = rightToLeft ? undefined : next;
  }
}

function continues(run: Run, { left, base, size }: Omit<Run, 'text'>): boolean {
  const gap = left - run.right;
  return (
    Math.abs(base - run.base) < run.size * 0.1 &&
    Math.abs(size - run.size) < run.size * 0.1 &&
    gap > -0.5 * size &&
    gap < RUN_GAP * size
  );
}

/** Whether the gap between a run and the text that follows it is a space. */
export function isSpace(
  { text, size }: Pick<Run, 'text' | 'size'>,
  next: string,
  gap: number,
): boolean {
  if (gap <= size * SPACE) return false;
  const unspaced = UNSPACED.test(text.slice(-1)) && UNSPACED.test(next.slice(0, 1));
  return !unspaced || gap > size * UNSPACED_SPACE;
}

const UNSPACED = /[\u2e80-\u9fff\uf900-\ufaff\uff00-\uffef]/;

interface Shown {
  /** Text without invisible marks; a soft hyphen that is drawn is a hyphen. */
  readonly text: string;
  readonly blank: boolean;
  readonly rightToLeft: boolean;
}

/** Cache by Unicode text: a document has few different glyphs. */
const shownCache = new Map<string, Shown>();
const KNOWN_LIMIT = 20_000;

function shownOf(unicode: string): Shown {
  const cached = shownCache.get(unicode);
  if (cached) return cached;
  const text = unicode.replaceAll('\u00ad', '-').replace(/[\p{Cf}\p{Cc}]/gu, '');
  const displayed = { text, blank: unicode.trim() === '', rightToLeft: isRightToLeft(text) };
  if (shownCache.size < KNOWN_LIMIT) shownCache.set(unicode, displayed);
  return displayed;
}

function lengthOf(runs: readonly Run[]): number {
  return runs.reduce((sum, { text }) => sum + text.length, 0);
}

function rulesOf(lines: readonly (readonly [Point, Point])[], quarter: number): Rule[] {
  return lines.flatMap((line) => {
    const [from, to] = [turned(line[0], quarter), turned(line[1], quarter)];
    const across = Math.abs(from[0] - to[0]);
    const up = Math.abs(from[1] - to[1]);
    if (Math.min(across, up) > 1 || Math.max(across, up) < RULE_LENGTH) return [];
    const [shared, along] = across > up ? ([1, 0] as const) : ([0, 1] as const);
    return [
      {
        horizontal: across > up,
        at: (from[shared] + to[shared]) / 2,
        from: Math.min(from[along], to[along]),
        to: Math.max(from[along], to[along]),
      },
    ];
  });
}

function boxOf([x = 0, y = 0, toX = 0, toY = 0]: readonly number[], quarter: number): SheetBox {
  const [one, other] = [turned([x, y], quarter), turned([toX, toY], quarter)];
  return {
    left: Math.min(one[0], other[0]),
    right: Math.max(one[0], other[0]),
    bottom: Math.min(one[1], other[1]),
    top: Math.max(one[1], other[1]),
  };
}

function turned([x, y]: Point, quarter: number): Point {
  if (quarter === 1) return [y, -x];
  if (quarter === 2) return [-x, -y];
  return quarter === 3 ? [-y, x] : [x, y];
}

function slanted([x, y]: Point, [dx, dy]: Point): Point {
  const length = Math.hypot(dx, dy) || 1;
  return [(x * dx + y * dy) / length, (y * dx - x * dy) / length];
}

function directed(matrix: Matrix, [x, y]: Point): Point {
  return [matrix[0] * x + matrix[2] * y, matrix[1] * x + matrix[3] * y];
}

function placed(matrix: Matrix, x: number, y: number): Point {
  return [matrix[0] * x + matrix[2] * y + matrix[4], matrix[1] * x + matrix[3] * y + matrix[5]];
}

function product(a: Matrix, b: Matrix): Matrix {
  return [
    a[0] * b[0] + a[2] * b[1],
    a[1] * b[0] + a[3] * b[1],
    a[0] * b[2] + a[2] * b[3],
    a[1] * b[2] + a[3] * b[3],
    a[0] * b[4] + a[2] * b[5] + a[4],
    a[1] * b[4] + a[3] * b[5] + a[5],
  ];
}

function matrixOf([a, b, c, d, e, f]: readonly unknown[]): Matrix {
  return [numberOf(a), numberOf(b), numberOf(c), numberOf(d), numberOf(e), numberOf(f)];
}

function numberOf(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0;
}

function fontFrom(font: object): Font {
  const { vertical, fontMatrix, isType3Font, bbox } = font as {
    vertical?: boolean;
    fontMatrix?: readonly number[];
    isType3Font?: boolean;
    bbox?: readonly number[];
  };
  const tall = ((bbox?.[3] ?? 0) - (bbox?.[1] ?? 0)) * Math.abs(fontMatrix?.[3] ?? 0);
  return {
    vertical: vertical === true,
    scale: fontMatrix?.[0] ?? 0.001,
    height: isType3Font === true && tall > 0 ? tall : 1,
  };
}

/** Codes of a path of PDF.js, each with the numbers that follow it. */
const MOVE = 0;
const LINE = 1;
const CLOSE = 4;
const LENGTHS = [2, 2, 6, 4, 0];

/** The straight parts of a path, as the points they join. */
function subpathsOf(path: Float32Array): Point[][] {
  const polylines: Point[][] = [];
  let points: Point[] = [];
  for (let at = 0; at < path.length;) {
    const code = path[at] ?? CLOSE;
    const length = LENGTHS[code] ?? 0;
    const end: Point = [path[at + length - 1] ?? 0, path[at + length] ?? 0];
    if (code === CLOSE) {
      if (points[0]) points.push(points[0]);
    } else if (code === LINE) points.push(end);
    else {
      if (points.length > 1) polylines.push(points);
      points = [end];
    }
    if (code > MOVE && code !== LINE && code !== CLOSE) points = [end];
    at += length + 1;
  }
  if (points.length > 1) polylines.push(points);
  return polylines;
}
