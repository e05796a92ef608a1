/** The number of a page in a line, and the line without it. */
interface PageNumber {
  readonly value: number;
  /** Text with a mark in place of the number. */
  readonly rest: string;
}

const MARK = '\u0000';

/** Numbers of a line that are tried. */
const MAX_NUMBERS = 4;
/** A longer line is text. */
const MAX_LINE_CHARS = 300;

const NUMBER =
  /(?<!\p{Nd})\p{Nd}{1,5}(?!\p{Nd})|(?<![\p{L}\p{N}])[ivxlc]{1,8}(?![\p{L}\p{N}])|[〇零一二三四五六七八九十百]{1,5}/giu;

/** Words directly before a page number. */
const PAGE_BEFORE =
  /(?:^|[^\p{L}\p{N}])(?:page|pages|pg|pp?|seite|s\.|blatt|bl\.|pagina|página|pág|pag|feuille|folio|strona|str|sida|side|sivu|sayfa|oldal|blz|trang|halaman|стр|страница|сторінка|σελίδα|σελ|صفحة|صفحه|עמוד|पृष्ठ|หน้า|頁|页|ページ|페이지)[\s.:#№]*$/iu;
/** And right behind it. */
const PAGE_BEHIND =
  /^\s*(?:页|頁|ページ|쪽|페이지|(?:[.|]\s*)?(?:page|oldal|страница)(?![\p{L}\p{N}]))/iu;

/** Marks around a number that stands alone, and between it and the title of the document. */
const ALONE = /^[\s\-‐‑–—−·•|/\\~*()[\]{}<>«»]*$/u;
const TITLE_BEFORE = /\s[|·•‖│]\s+$/u;
const TITLE_BEHIND = /^\s+[|·•‖│]\s/u;

/** Words between a page number and the number of all pages. */
const TOTAL =
  /^\s*(?:\/|／|of|von|de|di|do|van|av|af|z|ze|из|sur|na|עד|من|共|、)\s*(\p{Nd}{1,5})\s*$/iu;

/**
 * Possible page numbers in a line of a header or footer: a number that is alone, beside a word for page, before the
 * number of all pages, or behind a bar from the title. A number within other text is part of the text.
 */
export function pageNumbersOf(text: string): PageNumber[] {
  if (text.length > MAX_LINE_CHARS) return [];
  return [...text.matchAll(NUMBER)].slice(0, MAX_NUMBERS).flatMap((match) => {
    const [number] = match;
    const before = text.slice(0, match.index);
    const behind = text.slice(match.index + number.length);
    const value = valueOf(number);
    if (value === undefined || !countsPages({ before, behind, value })) return [];
    return [{ value, rest: `${before}${MARK}${behind}` }];
  });
}

/** Whether a text is a label for the value beside it. */
export function readsAsLabel(text: string): boolean {
  return /[:：#№=]\s*$|(?:^|[^\p{L}])(?:no|nr|nº|n°|num|id)\.?\s*$/iu.test(text);
}

function countsPages({
  before,
  behind,
  value,
}: {
  readonly before: string;
  readonly behind: string;
  readonly value: number;
}): boolean {
  if (PAGE_BEFORE.test(before) || PAGE_BEHIND.test(behind)) return true;
  if (ALONE.test(before)) {
    const total = TOTAL.exec(behind.replace(/[)\]\s\-–—]+$/u, ''))?.[1];
    if (ALONE.test(behind)) return true;
    if (total !== undefined) return value <= (valueOf(total) ?? 0);
    if (TITLE_BEHIND.test(behind)) return true;
  }
  return ALONE.test(behind) && TITLE_BEFORE.test(before);
}

/** The value; undefined for anything else, such as Roman digits in disorder. */
function valueOf(number: string): number | undefined {
  if (/^[ivxlc]+$/i.test(number)) return romanValue(number.toLowerCase());
  if (/^\p{Nd}+$/u.test(number)) {
    return Array.from(number).reduce((value, digit) => value * 10 + digitValue(digit), 0);
  }
  return chineseValue(number);
}

/** The digits of each script follow each other from 0. */
function digitValue(digit: string): number {
  const code = digit.codePointAt(0) ?? 0;
  let zero = code;
  while (code - zero < 9 && /^\p{Nd}$/u.test(String.fromCodePoint(zero - 1))) zero -= 1;
  return code - zero;
}

const ROMAN: Readonly<Record<string, number>> = { i: 1, v: 5, x: 10, l: 50, c: 100 };

function romanValue(text: string): number {
  let value = 0;
  for (let at = 0; at < text.length; at += 1) {
    const digit = ROMAN[text[at] ?? ''] ?? 0;
    value += digit < (ROMAN[text[at + 1] ?? ''] ?? 0) ? -digit : digit;
  }
  return value;
}

const CHINESE = '零一二三四五六七八九';

/** Chinese numerals up to 999 (七, 二十, 一百零三), or digit by digit (二〇). */
function chineseValue(text: string): number | undefined {
  let value = 0;
  let digit = 0;
  for (const character of text.replaceAll('〇', '零')) {
    if (character === '百' || character === '十') {
      value += Math.max(digit, 1) * (character === '百' ? 100 : 10);
      digit = 0;
    } else digit = digit * 10 + CHINESE.indexOf(character);
  }
  return value + digit;
}
