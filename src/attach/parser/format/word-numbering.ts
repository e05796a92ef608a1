import { attributeOf, isOn } from './xml-reader.js';
import type { XmlAttributes, XmlHandler } from './xml-reader.js';

/** Levels of a list (ECMA-376 part 1, 17.9.6). */
const LEVELS = 9;

/** Maximum number of a list; a larger one is a mistake in the file. */
const MAX_NUMBER = 1_000_000;

interface Level {
  start: number;
  /** Number format, such as decimal, lowerLetter or bullet. */
  format: string;
  /** Level text such as %1.%2, where %1 is the number of the first level. */
  text: string;
  /** Numbers of higher levels are written as digits, whatever their own form is. */
  legal: boolean;
  /** The level (from 1) whose next number starts this one again; 0 for never, undefined for any higher one. */
  restart: number | undefined;
  /** The style of paragraphs that have this level. */
  style: string | undefined;
}

interface Abstract {
  readonly levels: Map<number, Level>;
  /** Another list that defines the levels, by its style. */
  styleLink: string | undefined;
  numStyleLink: string | undefined;
}

interface List {
  abstract: string;
  readonly starts: Map<number, number>;
  readonly levels: Map<number, Level>;
}

/** The lists of a Word document (ECMA-376 part 1, 17.9): how their paragraphs are numbered. */
export class NumberingReader implements XmlHandler {
  private readonly abstracts = new Map<string, Abstract>();
  private readonly lists = new Map<string, List>();
  private abstract: Abstract | undefined;
  private list: List | undefined;
  private level: Level | undefined;
  private overridden = 0;

  open(name: string, attributes: XmlAttributes): void {
    const value = attributeOf(attributes, 'val');
    switch (name) {
      case 'abstractNum':
        this.abstract = { levels: new Map(), styleLink: undefined, numStyleLink: undefined };
        this.abstracts.set(attributeOf(attributes, 'abstractNumId') ?? '', this.abstract);
        break;
      case 'styleLink':
        if (this.abstract) this.abstract.styleLink = value;
        break;
      case 'numStyleLink':
        if (this.abstract) this.abstract.numStyleLink = value;
        break;
      case 'num':
        this.list = { abstract: '', starts: new Map(), levels: new Map() };
        this.lists.set(attributeOf(attributes, 'numId') ?? '', this.list);
        break;
      case 'abstractNumId':
        if (this.list) this.list.abstract = value ?? '';
        break;
      case 'lvlOverride':
        this.overridden = Number(attributeOf(attributes, 'ilvl')) || 0;
        break;
      case 'startOverride':
        this.list?.starts.set(this.overridden, Number(value) || 0);
        break;
      case 'lvl': {
        this.level = newLevel();
        const levels = (this.list ?? this.abstract)?.levels;
        levels?.set(Number(attributeOf(attributes, 'ilvl')) || 0, this.level);
        break;
      }
      default:
        if (this.level) setProperty(this.level, name, value, attributes);
    }
  }

  close(name: string): void {
    if (name === 'abstractNum') this.abstract = undefined;
    else if (name === 'num') this.list = undefined;
    else if (name === 'lvl') this.level = undefined;
  }

  /** The key under which a list counts; lists of one definition go on counting after each other. */
  definitionOf(numId: string): string | undefined {
    return this.lists.get(numId)?.abstract;
  }

  startOf(numId: string, level: number): number | undefined {
    return this.lists.get(numId)?.starts.get(level);
  }

  levelOf(numId: string, level: number): Level | undefined {
    const list = this.lists.get(numId);
    if (!list) return undefined;
    return list.levels.get(level) ?? this.levelsOf(list).get(level);
  }

  /** The level of a list that the paragraphs of a style have. */
  levelOfStyle(numId: string, style: string): number | undefined {
    const list = this.lists.get(numId);
    if (!list) return undefined;
    for (const [level, { style: linked }] of this.levelsOf(list))
      if (linked === style) return level;
    return undefined;
  }

  private levelsOf({ abstract }: List): ReadonlyMap<number, Level> {
    const definition = this.abstracts.get(abstract);
    if (!definition) return new Map();
    if (definition.levels.size > 0 || definition.numStyleLink === undefined)
      return definition.levels;
    for (const other of this.abstracts.values()) {
      if (other.styleLink === definition.numStyleLink) return other.levels;
    }
    return definition.levels;
  }
}

function newLevel(): Level {
  return {
    start: 0,
    format: 'decimal',
    text: '',
    legal: false,
    restart: undefined,
    style: undefined,
  };
}

function setProperty(
  level: Level,
  name: string,
  value: string | undefined,
  attributes: XmlAttributes,
): void {
  if (name === 'start') level.start = Number(value) || 0;
  else if (name === 'numFmt') {
    // A form of its own, such as 001, is given by an example.
    const custom = attributeOf(attributes, 'format');
    level.format = value === 'custom' ? (custom ?? 'decimal') : (value ?? 'decimal');
  } else if (name === 'lvlText') level.text = value ?? '';
  else if (name === 'isLgl') level.legal = isOn(value);
  else if (name === 'lvlRestart') level.restart = Number(value);
  else if (name === 'pStyle') level.style = value;
}

/** Counts the numbered paragraphs of a text in their order. */
export class NumberCounter {
  /** Last number of each level, by list definition. */
  private readonly counted = new Map<string, (number | undefined)[]>();
  /** Lists that have begun where they say that they start. */
  private readonly startedLevels = new Set<string>();

  constructor(private readonly lists: NumberingReader) {}

  /**
   * The number of the next paragraph, as it is printed: 2.1, (a), iv., § 3. Undefined for a bullet, a list that is not
   * defined and a level without a number.
   */
  next(numId: string, level: number): string | undefined {
    const definition = this.lists.definitionOf(numId);
    const properties = this.lists.levelOf(numId, level);
    if (definition === undefined || !properties || level < 0 || level >= LEVELS) return undefined;
    const numbers = this.counted.get(definition) ?? [];
    this.counted.set(definition, numbers);
    const start = this.startOf(numId, level, properties.start);
    const last = numbers[level];
    numbers[level] = last === undefined || start.isNew ? start.value : last + 1;
    for (let lower = level + 1; lower < LEVELS; lower += 1) {
      const restart = this.lists.levelOf(numId, lower)?.restart;
      if (restart === undefined || (restart !== 0 && level < restart)) numbers[lower] = undefined;
    }
    if (properties.format === 'bullet' || properties.format === 'none') {
      // A text without a number may still be printed: Note:, Article.
      const text = properties.format === 'none' ? properties.text.replace(/%\d/g, '').trim() : '';
      return text === '' ? undefined : text;
    }
    return this.labelOf(numId, properties, numbers) || undefined;
  }

  private startOf(numId: string, level: number, usual: number) {
    const override = this.lists.startOf(numId, level);
    const key = `${numId} ${level}`;
    const isNew = override !== undefined && !this.startedLevels.has(key);
    if (isNew) this.startedLevels.add(key);
    return { value: override ?? usual, isNew };
  }

  private labelOf(
    numId: string,
    { text, legal }: Level,
    numbers: readonly (number | undefined)[],
  ): string {
    return text
      .replace(/%([1-9])/g, (_, digit: string) => {
        const index = Number(digit) - 1;
        const properties = this.lists.levelOf(numId, index);
        const number = numbers[index] ?? properties?.start ?? 0;
        return formatted(number, legal ? 'decimal' : (properties?.format ?? 'decimal'));
      })
      .trim();
  }
}

const CHINESE_DIGITS = '〇一二三四五六七八九';
const CHINESE_FINANCIAL = '零壹贰叁肆伍陆柒捌玖';
const STEMS = '甲乙丙丁戊己庚辛壬癸';
const BRANCHES = '子丑寅卯辰巳午未申酉戌亥';
const CYRILLIC = 'абвгдежзиклмнопрстуфхцчшщыэюя';

const ROMAN: readonly (readonly [number, string])[] = [
  [1_000, 'm'],
  [900, 'cm'],
  [500, 'd'],
  [400, 'cd'],
  [100, 'c'],
  [90, 'xc'],
  [50, 'l'],
  [40, 'xl'],
  [10, 'x'],
  [9, 'ix'],
  [5, 'v'],
  [4, 'iv'],
  [1, 'i'],
];

/** A number in one of the forms of ECMA-376 part 1, 17.18.59; in digits where the form is that of a language unknown here. */
export function formatted(value: number, format: string): string {
  const number = Math.min(Math.max(0, Math.trunc(value)), MAX_NUMBER);
  if (/^0+1, /.test(format)) return String(number).padStart(format.indexOf(','), '0');
  switch (format) {
    case 'decimalZero':
      return String(number).padStart(2, '0');
    case 'lowerLetter':
      return repeatedLetter(number, 'abcdefghijklmnopqrstuvwxyz');
    case 'upperLetter':
      return repeatedLetter(number, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ');
    case 'lowerRoman':
      return roman(number);
    case 'upperRoman':
      return roman(number).toUpperCase();
    case 'russianLower':
      return repeatedLetter(number, CYRILLIC);
    case 'russianUpper':
      return repeatedLetter(number, CYRILLIC.toUpperCase());
    case 'ordinal':
      return `${number}${ordinalEnding(number)}`;
    case 'decimalFullWidth':
    case 'decimalFullWidth2':
      return String(number).replace(/\d/g, (digit) => String.fromCodePoint(0xff10 + Number(digit)));
    case 'decimalEnclosedCircle':
    case 'decimalEnclosedCircleChinese':
      return number >= 1 && number <= 20 ? String.fromCodePoint(0x245f + number) : String(number);
    case 'numberInDash':
      return `- ${number} -`;
    case 'chineseCounting':
    case 'chineseCountingThousand':
    case 'taiwaneseCounting':
    case 'taiwaneseCountingThousand':
    case 'japaneseCounting':
    case 'koreanCounting':
      return chinese(number, CHINESE_DIGITS, '十百千', '万');
    case 'chineseLegalSimplified':
      return chinese(number, CHINESE_FINANCIAL, '拾佰仟', '万');
    case 'ideographDigital':
    case 'japaneseDigitalTenThousand':
    case 'taiwaneseDigital':
    case 'koreanDigital':
      return String(number).replace(/\d/g, (digit) => CHINESE_DIGITS[Number(digit)] ?? digit);
    case 'ideographTraditional':
      return STEMS[number - 1] ?? String(number);
    case 'ideographZodiac':
      return BRANCHES[number - 1] ?? String(number);
    default:
      return String(number);
  }
}

/** a to z, then aa to zz, aaa and so on. */
function repeatedLetter(number: number, letters: string): string {
  if (number < 1) return String(number);
  const letter = letters[(number - 1) % letters.length] ?? '';
  return letter.repeat(Math.min(Math.ceil(number / letters.length), 100));
}

function roman(number: number): string {
  if (number < 1 || number >= 10_000) return String(number);
  let rest = number;
  let numeral = '';
  for (const [value, letters] of ROMAN) {
    while (rest >= value) {
      numeral += letters;
      rest -= value;
    }
  }
  return numeral;
}

function ordinalEnding(number: number): string {
  if (number % 100 >= 11 && number % 100 <= 13) return 'th';
  return ['th', 'st', 'nd', 'rd'][number % 10] ?? 'th';
}

function chinese(number: number, digits: string, units: string, tenThousand: string): string {
  const zero = digits[0] ?? '';
  if (number === 0) return zero;
  if (number >= 10_000) {
    const rest = number % 10_000;
    const high = chinese(Math.floor(number / 10_000), digits, units, tenThousand);
    const gap = rest > 0 && rest < 1_000 ? zero : '';
    return `${high}${tenThousand}${gap}${rest === 0 ? '' : chinese(rest, digits, units, tenThousand)}`;
  }
  let numeral = '';
  let gap = false;
  const text = String(number);
  for (const [index, digit] of [...text].entries()) {
    const power = text.length - 1 - index;
    if (digit === '0') {
      gap = numeral !== '';
      continue;
    }
    if (gap) numeral += '零';
    gap = false;
    numeral += (digits[Number(digit)] ?? '') + (power > 0 ? (units[power - 1] ?? '') : '');
  }
  // Ten to nineteen have no one before the ten.
  return numeral.replace(/^一十/, '十');
}
