/**
 * The commonest function words of languages, by script and ISO 639-3. They are a third of a running text, and few of
 * them are shared between languages, so that a handful of words tells a language.
 */
export const FUNCTION_WORDS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  latin: {
    cat: 'a al als amb aquest aquesta com d de del dels des el els en entre es ha i l la les més no o pel pels per però que seva són també un una va és',
    ces: 'a aby ale by byl bylo byly být do i jako je jeho jen jsou k která které který lze může na nebo není o od po podle pokud pro při s se tak také to už v ve z za že',
    dan: 'af at blev de den denne der det dette efter eller en er et for fra han har hvor i ikke kan med men mere når og også om over på sig skal som til ud ved vil være',
    deu: 'aber als am an auch auf aus bei bis das dass dem den der des die durch ein eine einem einen einer es für hat haben ich im in ist kann kein keine man mit nach nicht noch nur oder sein sich sie sind um und von vor war wenn werden wie wir wird wurde zu zum zur über',
    eng: 'all an and are as at be been but by can for from has have how if in into is it its may more must no not of on one or other should than that the their there these they this to was we were what when which will with would you your',
    fin: 'ei ennen että hän hänen ja jos joka jotka kanssa kuin kun mukaan mutta myös niin nyt oli olla on ovat se sekä sen sitä tai tämä tämän vain voi',
    fra: 'au aux avec c ce cette comme d dans de des deux du elle en est et fait il l la le les leur lui mais n ne nous on ont ou par pas peut plus pour qu que qui sa se ses son sont sur un une vous à été être où',
    hun: 'a az azt be csak de egy ez ezt fel ha hogy is kell ki lehet majd meg mert mint most már még nagyon nem pedig szerint több után vagy van volt által és',
    ind: 'ada adalah akan anda atau bahwa bisa dalam dan dapat dari dengan di hanya harus ini itu juga karena ke lebih mereka oleh pada saat sebagai secara seperti setelah telah tersebut tidak untuk yang',
    ita: 'a al alla anche che come con d da dal dalla degli dei del della delle di e ed essere fra gli ha i il in l la le lo loro ma nel nella non o per più se si sono stato su sua sul suo tra un una è questo questa',
    nld: 'aan als bij dan dat de deze die dit door een en er geen had hebben heeft het hij in is je kan maar meer met moet naar niet nog of om ook op over te tot u uit van voor was wat wel werd wordt worden ze zijn zo',
    nob: 'av ble de den denne det dette eller en er et etter for fra han har hvor i ikke ingen jeg kan med men mer må når nå og også om over på seg skal som til ut ved vil være å',
    pol: 'a być był co dla do i ich jak jako jego jest która które który lub ma może na nie o od oraz po przez przy się są to tylko tym w z za że należy',
    por: 'a ao aos as até com como da das de depois do dos e ele em entre era está foi isso já mais mas mesmo muito na nas no nos não o os ou para pela pelo pode por quando que se sem ser seu sua são também tem um uma você à é',
    ron: 'a acest această al ar au ca care ce cel cu cum când către dacă dar de din dintre doar după ei este fi fie fost iar la le lor lui mai nu o pe pentru poate prin sau se sunt să un unei unui în între și şi',
    slk: 'a aby ako ak ale alebo bol bolo by do i je jeho k ktorá ktoré ktorý len môže na nie o od po podľa pre pri s sa sú tak tiež to už v vo z za že',
    spa: 'a al como con cuando cuál cómo de del desde donde dos el en entre era es esta este está fue ha hasta hay la las le lo los muy más no o para pero por puede que qué se ser sin sobre son su sus también un una y',
    srp: 'ako ali bi bio biti da do i ili iz je jer kako kao koja koje koji može na nakon ne nije o od ovo po prema sa samo se su svoje u za što već',
    swe: 'alla att av de den denna det detta du där efter eller en ett från för hade han har i inte kan med men måste nu när och också om på ska sig som så till under var vi vid är',
    tur: 'ama ancak bir bu bulunan da daha de değil en gibi göre hangi her ile ise için kadar mi ne o olan olarak olduğu olduğunu sonra tarafından tüm var ve veya ya yok çok şu',
    vie: 'bị cho các có của cũng không khi là một người những nhưng như này năm phải ra theo trong trên từ tại với vào và về đã đó được để đến',
  },
  cyrillic: {
    bel: 'або ад але быў было гэта да для за калі на не па пры таксама у ці што як які яна ён і ў',
    bul: 'бъде в до е за и или има като към може на не но от по при с са се след това той което които който ще още',
    rus: 'был было быть в все для до его если же за и из или к как которые который может можно на не но о он она они от по при с так также только у что это',
    srp: 'ако али био бити да до за и из или је како као која који на након не није о од по са само се су у што',
    ukr: 'або але бути був було в вона вони від він для до за його з й із лише може на не при під та також у це що як який які якщо і є',
  },
  arabic: {
    arb: 'أن أو إلى التي الذي بعد بين على عن في قبل كان كل لا ما مع من هذا هذه',
    pes: 'آن از است این با بر برای به در را شده شود می هر که یا یک',
    urd: 'اور ایک بھی سے میں نے پر کا کو کہ کی کے ہیں ہے یہ',
  },
  devanagari: {
    hin: 'एक और का कि की के को ने पर भी में यह से है हैं',
    mar: 'आणि आहे आहेत च्या तर नाही या ला व हे होते',
    npi: 'का को गर्न छ छन् पनि भने मा यो र लाई',
  },
};

/** A word of a script that puts spaces between words. */
export interface Word {
  /** Lower-case text. */
  readonly text: string;
  /**
   * Whether it is in capitals, like IT or WHO, or part of a code, like the A of A320; such a word is never a stop word.
   */
  readonly capitals: boolean;
  /** Whether it is one character of a code, like the A of A320: searched for, but indexed only as part of the code. */
  readonly isSign?: boolean;
}

/** Neighbouring words that others write as one: e-mail as email, A 320 as A320. */
export interface JoinedWords {
  /** Lower-case text without separators; a dotted name keeps its dots. */
  readonly text: string;
  /** The places in `words` of the first one, and after the last one. */
  readonly from: number;
  readonly to: number;
  /** A name or a code: a text that has it says more than one that has its words. Other words are only written differently. */
  readonly isName: boolean;
  /** Whether the words are separate; they are not a name if one of them is a stop word. */
  readonly isApart: boolean;
  /** A word followed by a number, such as version 7: searched for, but not indexed, because there are too many. */
  readonly isAskedOnly: boolean;
  /** A dotted name, which is never stemmed. */
  readonly isDotted: boolean;
}

/** The words and terms of a text. The same for fragments and for queries. */
export interface TextWords {
  readonly words: readonly Word[];
  readonly joined: readonly JoinedWords[];
  /** Pieces of scripts without spaces, which are never stemmed, in no particular order. */
  readonly terms: readonly string[];
}

/** Words that nothing but separators such as hyphens stands between. */
interface WrittenPiece {
  /** Original spelling. */
  readonly written: string;
  /** The places in `words` of its first one, and after its last one. */
  readonly from: number;
  readonly to: number;
}

/** Longer words are cut: they are not typed, and an index entry has a limit. */
const MAX_TERM_CHARS = 64;

/** Names of more words are not joined in pairs, and strings that change more often between letters and digits are one word. */
const MAX_NAME_WORDS = 8;

/** Pieces of a code that is written apart, such as 6ES7 214-1AG40. */
const MAX_CODE_PIECES = 4;

// Scripts that are not split into words by spaces alone; Korean is, but glues its particles to the words.
const UNSPACED = String.raw`[[\p{scx=Han}\p{scx=Hira}\p{scx=Kana}\p{scx=Hang}\p{scx=Thai}\p{scx=Laoo}\p{scx=Khmr}\p{scx=Mymr}]&&[\p{L}\p{N}\p{M}]]`;
const START = String.raw`[[\p{L}\p{N}]--${UNSPACED}]`;
const WORD = String.raw`${START}[[\p{L}\p{N}\p{M}]--${UNSPACED}]*`;

/**
 * Clitics that an apostrophe attaches to a word: l’ and qu’ before it, ’s, ’d, ’ll, ’ve and ’re behind it. As separate
 * words they would be rare and weigh too much.
 */
const CLITIC = String.raw`['’](?:\p{L}|ll|ve|re)(?![\p{L}\p{N}\p{M}'’])`;
const CLITICS = new RegExp(
  String.raw`(?<=\p{L})${CLITIC}|(?<![\p{L}\p{N}\p{M}])(?:\p{L}|qu)['’](?=\p{L}{2})`,
  'giv',
);

/** The soft hyphen, the word joiner and the stroke that widens Arabic words stand within words and mean nothing. */
const MEANINGLESS = /[\u00ad\u0640\u2060\ufeff]/gu;

/** Hyphens, the en dash, the minus sign and slashes. */
const HYPHEN = String.raw`[\-\u2010-\u2013\u2212\/\\]`;
const HYPHENS = new RegExp(HYPHEN, 'v');

/** A run of an unspaced script, or a word with those that hyphens, slashes, _ and . join to it. */
const PIECES = new RegExp(`(${UNSPACED}+)|${WORD}(?:(?:_+|\\.|${HYPHEN})${WORD})*`, 'gv');
const UNDERSCORES_AND_DOTS = /[._]+/gu;
const PARTS =
  /(?<=[\p{Ll}\p{N}])(?=\p{Lu})|(?<=\p{Lu})(?=\p{Lu}\p{Ll})|(?<=\p{N})(?=\p{L})|(?<=[\p{L}\p{M}])(?=\p{N})/u;
const ABBREVIATION = /^\p{L}(?:\.\p{L})+$/u;
const CAPITALS = /^\p{Lu}{2,}$/u;
const DIGIT = /\p{N}/u;
const LETTER = /\p{L}/u;
const ENDS_WITH_DIGIT = /\p{N}$/u;
const DOTTED_NUMBERS = /\p{N}+(?:\.\p{N}+)+/gu;
/** A number, or a code whose one separator is the dot between two digits: without it, it would be another one. */
const DECIMAL = /^\p{L}*\p{N}+\.\p{N}+\p{L}*$/u;
const ONE_LETTER = /^\p{L}$/u;
const SHORT_CAPITALS = /^\p{Lu}{1,4}$/u;
const UNIT = /^[\p{N}.]+ \p{L}{1,3}$/u;
const MIN_WORD_CHARS = 3;

const JOINED = { isApart: false, isAskedOnly: false, isDotted: false };

// ICU breaks these scripts by dictionaries, whatever the locale is.
const segmenter = new Intl.Segmenter('en', { granularity: 'word' });

/**
 * Splits a text into words: Unicode letters and digits after NFKC and in lower case. A name or a code such as `user_name`,
 * `userName`, `config.port`, e-mail or A320neo gives its parts, and joined what others may write as one. Runs of Chinese,
 * Japanese, Korean, Thai, Lao, Khmer and Burmese give the words that ICU sees in them and all pairs of neighbouring
 * characters.
 */
export function readWords(text: string): TextWords & { readonly pieces: WrittenPiece[] } {
  const words: Word[] = [];
  const pieces: WrittenPiece[] = [];
  const joined: JoinedWords[] = [];
  const terms: string[] = [];
  const runs: string[] = [];
  const plain = text
    .normalize('NFKC')
    .replaceAll(MEANINGLESS, '')
    .replaceAll(CLITICS, (clitic) => ' '.repeat(clitic.length));
  // Other characters for each of its own, such as full-width ones, or those of the text.
  const source = plain.length === text.length ? text : plain;
  let before: Piece | undefined;
  for (const { 0: written, 1: run, index } of plain.matchAll(PIECES)) {
    if (run !== undefined) {
      runs.push(run);
      before = undefined;
      continue;
    }
    const isNext = before?.end === index - 1 && plain[index - 1] === ' ';
    const piece = readPiece(written, words, joined);
    before = joinApart(isNext ? before : undefined, piece, words, joined);
    before.end = index + written.length;
    pieces.push({
      written: source.slice(index, before.end),
      from: piece.from,
      to: words.length,
    });
  }
  // One call for all runs: the segmenter costs more to start than to run.
  if (runs.length > 0) readRuns(runs, terms);
  return { words, joined, terms, pieces };
}

/** Words that separators join, or one word. */
interface Piece {
  readonly written: string;
  /** The place of its first word. */
  readonly from: number;
  /** All of its words as one. */
  readonly text: string;
  /** The piece of a code, with those before it that are written apart; undefined for other words. */
  code?: { readonly from: number; readonly text: string; readonly pieces: number } | undefined;
  end?: number;
}

function readPiece(written: string, words: Word[], joined: JoinedWords[]): Piece {
  const from = words.length;
  const names: Run[] = [];
  let isName = DIGIT.test(written);
  for (const name of written.split(HYPHENS)) {
    const first = words.length;
    readName(name, words, joined);
    const run = { from: first, to: words.length };
    isName ||= run.to - run.from > 1;
    if (!DECIMAL.test(name)) names.push(run);
  }
  const to = words.length;
  const whole = DECIMAL.test(written) ? [] : [{ from, to }];
  joinRuns([...whole, ...names, ...pairsOf(words, from, to)], isName, words, joined);
  return { written, from, text: textOf(words, from, to) };
}

/** Adds the words of a name, and the name itself where dots join them. */
function readName(name: string, words: Word[], joined: JoinedWords[]): void {
  const from = words.length;
  const join = (text: string, isName = true): void => {
    if (text.length > MAX_TERM_CHARS) return;
    const to = words.length;
    joined.push({ ...JOINED, text, from, to, isName, isDotted: true });
  };
  // The letters of an abbreviation are no words: e.g. is none at all, U.S. is one as a whole.
  if (ABBREVIATION.test(name)) {
    if (name === name.toLowerCase()) return;
    words.push(toWord(name.replaceAll('.', '')));
    join(name.toLowerCase(), false);
    return;
  }
  for (const part of name.split(UNDERSCORES_AND_DOTS)) words.push(...partsOf(part));
  if (!name.includes('.')) return;
  const dotted = name.replaceAll('_', '').toLowerCase();
  join(dotted);
  for (const [number] of dotted.matchAll(DOTTED_NUMBERS)) if (number !== dotted) join(number);
}

/** The parts of a word that its capitals and digits show. */
function partsOf(word: string): Word[] {
  const parts = word.split(PARTS);
  if (parts.length > MAX_NAME_WORDS) return [toWord(word)];
  if (parts.length === 1 || !DIGIT.test(word)) return parts.map(toWord);
  return parts.map((part) => ({
    ...toWord(part),
    capitals: LETTER.test(part),
    isSign: part.length === 1,
  }));
}

interface Run {
  readonly from: number;
  readonly to: number;
}

/** Two neighbours each, but no two numbers, which would be another number. */
function pairsOf(words: readonly Word[], from: number, to: number): Run[] {
  if (to - from > MAX_NAME_WORDS) return [];
  return words
    .slice(from, to - 1)
    .flatMap(({ text }, at) =>
      ENDS_WITH_DIGIT.test(text) && DIGIT.test(words[from + at + 1]?.text ?? '')
        ? []
        : [{ from: from + at, to: from + at + 2 }],
    );
}

function joinRuns(
  runs: readonly Run[],
  isName: boolean,
  words: readonly Word[],
  joined: JoinedWords[],
): void {
  const texts = new Set<string>();
  for (const { from, to } of runs) {
    if (to - from < 2) continue;
    const text = textOf(words, from, to);
    if (text.length > MAX_TERM_CHARS || texts.has(text)) continue;
    texts.add(text);
    joined.push({ ...JOINED, text, from, to, isName });
  }
}

/**
 * Joins a piece with those before it, each after a single space: a letter with a word (e mail), a number with its unit, and
 * the pieces of a code, which have digits or are a few capitals (ISO 9001).
 */
function joinApart(
  before: Piece | undefined,
  piece: Piece,
  words: readonly Word[],
  joined: JoinedWords[],
): Piece {
  const to = words.length;
  const join = (from: number, text: string, isName: boolean, isAskedOnly = false): void => {
    if (text.length > MAX_TERM_CHARS) return;
    joined.push({ ...JOINED, text, from, to, isName, isAskedOnly, isApart: true });
  };
  const { written, from, text } = piece;
  const hasDigit = DIGIT.test(written);
  const pair = `${before?.text}${text}`;
  if (before && ONE_LETTER.test(before.written) && !hasDigit && text.length >= MIN_WORD_CHARS) {
    join(before.from, pair, false);
  }
  const isCode = hasDigit || SHORT_CAPITALS.test(written);
  const code = isCode ? { from, text, pieces: 1 } : undefined;
  if (!before || !LETTER.test(pair) || !DIGIT.test(pair)) return { ...piece, code };
  join(
    before.from,
    pair,
    true,
    !(before.code && code) && !UNIT.test(`${before.written} ${written}`),
  );
  if (!before.code || !code || before.code.pieces >= MAX_CODE_PIECES) return { ...piece, code };
  const { from: first, text: whole, pieces } = before.code;
  if (pieces > 1) join(first, whole + text, true);
  return { ...piece, code: { from: first, text: whole + text, pieces: pieces + 1 } };
}

function textOf(words: readonly Word[], from: number, to: number): string {
  let text = '';
  for (let at = from; at < to; at += 1) text += words[at]?.text ?? '';
  return text;
}

function toWord(written: string): Word {
  return { text: cut(lowerCase(written)), capitals: CAPITALS.test(written) };
}

function lowerCase(written: string): string {
  // The lower case of the Turkish capital with a dot is an i with a second dot.
  return written.toLowerCase().replaceAll('i\u0307', 'i');
}

function cut(term: string): string {
  // The cut never splits a character.
  return term.length <= MAX_TERM_CHARS ? term : term.slice(0, MAX_TERM_CHARS).toWellFormed();
}

function readRuns(runs: readonly string[], terms: string[]): void {
  for (const { segment, isWordLike } of segmenter.segment(runs.join(' '))) {
    if (isWordLike) terms.push(cut(segment));
  }
  for (const run of runs) {
    let before = '';
    for (const character of run) {
      if (before !== '') terms.push(before + character);
      before = character;
    }
  }
}

/** Letters that people write for others although Unicode does not decompose them. */
const LETTERS: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ł: 'l',
  ħ: 'h',
  ŧ: 't',
  ı: 'i',
  // Greek and Cyrillic
  ς: 'σ',
  ё: 'е',
  // Persian keyboards, and endings that are often written without their dots.
  ی: 'ي',
  ى: 'ي',
  ک: 'ك',
  ة: 'ه',
};
const SPELLED_LETTER = new RegExp(`[${Object.keys(LETTERS).join('')}]`, 'gu');

/** Pairs of letters that replace one letter where a keyboard lacks it: Mueller, Soeren, Aarhus. */
const DIGRAPHS: Readonly<Record<string, string>> = {
  ä: 'ae',
  ö: 'oe',
  ü: 'ue',
  ø: 'oe',
  å: 'aa',
};
const DIGRAPH = /[äöüøå]/gu;

/** The PostgreSQL configurations of languages whose readers know them. */
const DIGRAPH_LANGUAGES: ReadonlySet<string> = new Set([
  'german',
  'danish',
  'norwegian',
  'swedish',
  'english',
  'dutch',
]);

const ASCII = /^[\0-\x7f]*$/u;

/** Letters that keep their diacritic: и and й, і and ї. */
const CYRILLIC = /[\u0400-\u04ff]/u;
/** Signs above and below Latin and Greek letters, Hebrew points, Arabic vowels and hamzas, and the dot of Devanagari. */
const MARKS = /[\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u064b-\u065f\u0670\u06d6-\u06ed\u093c]/gu;

/**
 * Other ways in which people write the word, which is in lower case: without accents and other signs of its letters,
 * and with two letters for an umlaut. Signs without which a word is another one, such as vowels of Indian scripts, stay.
 */
export function spellingsOf(word: string, language: string): string[] {
  if (ASCII.test(word)) return [];
  const spellings = [plainOf(word)];
  if (DIGRAPH_LANGUAGES.has(language)) {
    spellings.push(plainOf(word.replaceAll(DIGRAPH, (letter) => DIGRAPHS[letter] ?? letter)));
  }
  return [...new Set(spellings)].filter((one) => one !== word && one !== '');
}

function plainOf(word: string): string {
  const letters = word.replaceAll(SPELLED_LETTER, (letter) => LETTERS[letter] ?? letter);
  // Composed Cyrillic letters are taken as they are; what is left of their marks only shows the stress.
  const apart = CYRILLIC.test(word) ? letters : letters.normalize('NFD');
  return apart.replaceAll(MARKS, '').normalize('NFC');
}
