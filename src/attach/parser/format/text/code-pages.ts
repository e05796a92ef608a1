import { isEncoding } from '../xml-reader.js';

/** Code pages of Windows whose label (WHATWG Encoding) does not follow from their number. */
const LABELS: Readonly<Record<number, string>> = {
  708: 'iso-8859-6',
  866: 'ibm866',
  874: 'windows-874',
  932: 'shift_jis',
  936: 'gb18030',
  949: 'euc-kr',
  950: 'big5',
  1361: 'euc-kr',
  10_000: 'macintosh',
  10_007: 'x-mac-cyrillic',
  20_866: 'koi8-r',
  20_932: 'euc-jp',
  21_866: 'koi8-u',
  50_220: 'iso-2022-jp',
  50_221: 'iso-2022-jp',
  50_222: 'iso-2022-jp',
  51_932: 'euc-jp',
  51_949: 'euc-kr',
  52_936: 'gb18030',
  54_936: 'gb18030',
  65_001: 'utf-8',
};

/** The encoding of a code page of Windows; undefined for one that is not decoded here, such as those of DOS. */
export function encodingOfCodePage(page: number): string | undefined {
  const iso = page > 28_590 && page < 28_610 ? `iso-8859-${page - 28_590}` : `windows-${page}`;
  const label = LABELS[page] ?? iso;
  return isEncoding(label) ? label : undefined;
}
