/**
 * The character maps (CMaps) by which East Asian fonts that are not embedded name their characters, made from Node's
 * decoders in place of Adobe's data files: a map leads from the codes of an encoding to the number of a glyph, and one
 * map for each collection of glyphs from there to Unicode. Here the number of a glyph is its Unicode, which Adobe's is
 * not; so the second kind is made only for a document that has used the first, and a font that names glyphs by Adobe's
 * numbers stays unknown.
 */
export class CharacterMaps {
  private used = false;

  /** The method of a PDF.js BinaryDataFactory, of which each document has one. Throws for what is not made here. */
  async fetch({ kind, filename }: { kind: string; filename: string }): Promise<Uint8Array> {
    const map = kind === 'cMapUrl' ? this.map(filename) : undefined;
    if (map === undefined) throw new Error(`There is no ${filename}.`);
    return Buffer.from(map, 'latin1');
  }

  private map(name: string): string | undefined {
    if (/^Adobe-(?:GB1|CNS1|Japan1|Korea1|KR)-UCS2$/.test(name)) {
      return this.used ? toUnicode(name) : undefined;
    }
    const map = characterMap(name);
    this.used ||= map !== undefined;
    return map;
  }
}

/** Decoders by the names of maps (ISO 32000-1, table 118), which end with H or V, the direction of writing. */
const legacy: readonly (readonly [RegExp, string])[] = [
  [/^(?:GB|GBpc|GBK|GBKp)-EUC-[HV]$|^GBK2K-[HV]$/, 'gb18030'],
  [/^(?:B5pc|HKscs-B5|ETen-B5|ETenms-B5)-[HV]$/, 'big5'],
  [/^(?:83pv|90ms|90msp|90pv|Add|Ext)-RKSJ-[HV]$/, 'shift_jis'],
  [/^EUC-[HV]$/, 'euc-jp'],
  [/^(?:KSC|KSCpc)-EUC-[HV]$|^KSCms-UHC(?:-HW)?-[HV]$/, 'euc-kr'],
];

function characterMap(name: string): string | undefined {
  if (/^Uni(?:GB|CNS|JIS|JISX0213|JIS2004|KS)-(?:UCS2|UTF16)(?:-HW)?-[HV]$/.test(name)) {
    return written(name, ['<0000> <FFFF>'], 'cidrange', ['<0000> <FFFF> 0']);
  }
  const label = legacy.find(([names]) => names.test(name))?.[1];
  return label === undefined ? undefined : fromEncoding(name, label);
}

function fromEncoding(name: string, label: string): string {
  const decoder = new TextDecoder(label);
  const lines: string[] = [];
  const add = (...code: readonly number[]) => {
    const character = decoder.decode(new Uint8Array(code));
    if (character.length !== 1 || character === '\ufffd') return;
    lines.push(`<${code.map(hex).join('')}> ${character.charCodeAt(0)}`);
  };
  for (let byte = 0x20; byte < 0x100; byte += 1) add(byte);
  for (let lead = 0x81; lead < 0xff; lead += 1) {
    for (let trail = 0x40; trail < 0xff; trail += 1) add(lead, trail);
  }
  const spaces =
    label === 'shift_jis'
      ? ['<00> <80>', '<8140> <9FFC>', '<A0> <DF>', '<E040> <FCFC>']
      : ['<00> <80>', '<8140> <FEFE>'];
  return written(name, spaces, 'cidchar', lines);
}

function toUnicode(name: string): string {
  const rows = Array.from({ length: 256 }, (_, row) => {
    const high = hex(row);
    return `<${high}00> <${high}FF> <${high}00>`;
  });
  return written(name, ['<0000> <FFFF>'], 'bfrange', rows);
}

/** A CMap file (Adobe technical note 5014), as much of it as a reader needs. */
function written(
  name: string,
  spaces: readonly string[],
  section: string,
  lines: readonly string[],
): string {
  return [
    `/CMapName /${name} def`,
    `/WMode ${name.endsWith('V') ? 1 : 0} def`,
    'begincodespacerange',
    ...spaces,
    'endcodespacerange',
    `begin${section}`,
    ...lines,
    `end${section}`,
    'endcmap',
  ].join('\n');
}

function hex(byte: number): string {
  return byte.toString(16).padStart(2, '0').toUpperCase();
}
