/** Text in an encoding that Node only reads: what reads as each character is found by trying all pairs of bytes. */
export function encoded(text: string, label: string): Buffer {
  const table = tableOf(label);
  const bytes = [...text].flatMap((character): readonly number[] => {
    const code = table.get(character);
    if (!code) throw new Error(`${label} has no ${character}.`);
    return code;
  });
  return Buffer.from(bytes);
}

const tables = new Map<string, ReadonlyMap<string, readonly number[]>>();

function tableOf(label: string): ReadonlyMap<string, readonly number[]> {
  const table = tables.get(label) ?? codesOf(label);
  tables.set(label, table);
  return table;
}

function codesOf(label: string): Map<string, readonly number[]> {
  const decoder = new TextDecoder(label);
  const codes = new Map<string, readonly number[]>();
  const add = (code: readonly number[]) => {
    const character = decoder.decode(new Uint8Array(code));
    if ([...character].length === 1 && character !== '\ufffd' && !codes.has(character)) {
      codes.set(character, code);
    }
  };
  for (let byte = 0; byte < 256; byte += 1) add([byte]);
  for (let lead = 0x81; lead < 0xff; lead += 1) {
    for (let trail = 0x40; trail < 0xff; trail += 1) add([lead, trail]);
  }
  return codes;
}
