/** A language by the letters beyond ASCII that its texts have, and by its most frequent short words. */
interface Language {
  readonly label: 'windows-1252' | 'windows-1250' | 'iso-8859-2' | 'windows-1254';
  readonly letters: string;
  readonly words: string;
  /** Cost added for a language with few texts. */
  readonly rarity?: number;
}

/**
 * The letters in the order of their frequency do not matter; a letter that only names and loan words have is left out.
 * Words are those with which most sentences of the language are built; words that hold letters beyond ASCII tell most.
 */
const western: readonly Omit<Language, 'label'>[] = [
  {
    letters: 'éèï',
    words: 'the of and to in is it for that with as on be are by this from or at an your we s',
  },
  {
    letters: 'äöüß',
    words: 'der die das und ist nicht ein eine zu den von mit für im auf des dem sich auch über',
  },
  {
    letters: 'éèàêçâîôûëïùüœæ',
    words: 'le la les des et est une un du que qui dans pour sur pas au par à où très été',
  },
  {
    letters: 'áéíóúñü¿¡ªº',
    words: 'el la los de y que en un una es por con para del se las más está también',
  },
  {
    letters: 'ãáâàçéêíóôõú',
    words: 'o a os as de e que do da em um uma para com não no na por é são está até',
  },
  {
    letters: 'àèéìòù',
    words: 'il la di che e per un una del con non le si da in gli è più perché però',
  },
  {
    letters: 'ëéèïöüç',
    words: 'de het een en van is dat op te in niet met voor zijn ook geen één',
  },
  {
    letters: 'æøåéó',
    words: 'og i det at en den til er som på de med for af ikke der var ikke få være også',
  },
  {
    letters: 'åäöé',
    words:
      'och i att det som en på är av för med den till inte om har ett kan så från när ja on ei se että oli myös mutta',
  },
  { rarity: 2, letters: 'áðéíóúýþæö', words: 'og að er sem í á til við um með ekki var það en' },
  {
    rarity: 1,
    letters: 'çàèéíïòóú·',
    words: 'el la els de i que en un una és per amb del no les més també',
  },
  { rarity: 2, letters: 'áéíóúàèìòù', words: 'an na agus is ar go le sa tá do bhí ag' },
];

const central: readonly Omit<Language, 'label'>[] = [
  {
    letters: 'ąćęłńóśźż',
    words: 'i w na z do nie się to jest że o jak po od za przez są być dla oraz może zł',
  },
  {
    letters: 'áčďéěíňóřšťúůýž',
    words: 'a v se na je že do to s z o i ve si po jako pro by být jsou které této může kč',
  },
  {
    letters: 'áäčďéíĺľňóôŕšťúýž',
    words: 'a v sa na je že do to s z o i vo si po ako pre by byť sú ktoré aj môže',
  },
  {
    letters: 'áéíóöőúüű',
    words: 'a az és hogy nem is egy ez van meg csak volt de ki már még vagy minden kell lehet',
  },
  {
    letters: 'ăâîşţ',
    words: 'de şi în la a cu nu pe este din care să o un pentru mai prin sunt ce fi',
  },
  {
    letters: 'čćđšž',
    words:
      'i u je da se na za od su s o kao ili koji to ne iz po može biti in v ki so ni pa bi z bo',
  },
];

const languages: readonly Language[] = [
  ...western.map((language) => ({ ...language, label: 'windows-1252' as const })),
  ...central.map((language) => ({ ...language, label: 'windows-1250' as const })),
  ...central.map((language) => ({ ...language, label: 'iso-8859-2' as const })),
  {
    label: 'windows-1254',
    letters: 'çğıöşüâîİ',
    words: 've bir bu da de için ile olarak çok daha gibi olan kadar en ne her ise değil var',
  },
];

/** Cost of a letter that no text of the language has; a frequent word earns some of it back. */
const FOREIGN_LETTER = 4;
const FREQUENT_WORD = -1.5;
const WORD_WITH_LETTER = -3;

/** Marks that all of the encodings have at their own places. */
const COMMON_MARKS = /[«»–—“”„’‘‚…•§°©®€™\u00a0±µ·²³½¼£¢¥×÷¿¡ªº]/;

/** Letters of Western Europe at places where its languages do not have them, but where others have theirs at that byte. */
const MISPLACED =
  /[èìòù](?=[aeiou])|õ(?!e)|ñ(?![aeiouáéíóú])|ê(?!\p{L})|\p{L}æ(?!\p{L})|(?<!\p{L})ð|\p{L}þ|\p{L}[ºª³¹¿¾](?=\p{L})|\p{L}{3}[³¹¿](?!\p{L})|ì(?=\p{L})|(?<!\p{L})[ìý]/gu;

/** Words that are counted; a few kilobytes tell as much as a whole text. */
const MAX_WORDS = 400;

/** The Latin encoding in which the bytes read best as a text of one language. */
export function likeliestLatin(sample: Uint8Array): string {
  const readings = new Map<string, Reading>();
  let best = { label: 'windows-1252' as string, cost: Infinity };
  for (const language of languages) {
    const reading = readings.get(language.label) ?? readingOf(sample, language.label);
    readings.set(language.label, reading);
    const cost = costOf(reading, language);
    // The first of equals: the West European encoding is the most frequent one.
    if (cost < best.cost) best = { label: language.label, cost };
  }
  return best.label;
}

interface Reading {
  /** Characters beyond ASCII, in lower case, and how often each stands in the text. */
  readonly characters: ReadonlyMap<string, number>;
  readonly words: readonly string[];
  /** Letters at places where no language of the encoding has them. */
  readonly misplaced: number;
}

function readingOf(sample: Uint8Array, label: string): Reading {
  const text = new TextDecoder(label).decode(sample);
  const characters = new Map<string, number>();
  for (const character of text) {
    if (character < '\u0080') continue;
    const lower = character === 'İ' ? character : character.toLowerCase();
    characters.set(lower, (characters.get(lower) ?? 0) + 1);
  }
  const lower = text.toLowerCase();
  // A capital letter behind a small one, which hardly any word has.
  const capitals = text.match(/\p{Ll}(?=[^\P{Lu}A-Z])/gu)?.length ?? 0;
  const places = label === 'windows-1252' ? MISPLACED : /(?<!\p{L})ý/gu;
  const misplaced = lower.match(places)?.length ?? 0;
  return {
    characters,
    words: (lower.match(/\p{L}+/gu) ?? []).slice(0, MAX_WORDS),
    misplaced: capitals + misplaced,
  };
}

function costOf({ characters, words, misplaced }: Reading, language: Language): number {
  let cost = (language.rarity ?? 0) + misplaced * FOREIGN_LETTER;
  for (const [character, times] of characters) {
    if (language.letters.includes(character)) continue;
    cost += costOfForeign(character) * times;
  }
  const frequent = frequentWords(language);
  const matchedWords = new Set(words.filter((word) => frequent.has(word)));
  for (const word of matchedWords) cost += /[^a-z]/.test(word) ? WORD_WITH_LETTER : FREQUENT_WORD;
  return cost;
}

function costOfForeign(character: string): number {
  if (COMMON_MARKS.test(character)) return FOREIGN_LETTER / 4;
  if (/[\p{Cc}\ufffd]/u.test(character)) return FOREIGN_LETTER * 4;
  return /\p{L}/u.test(character) ? FOREIGN_LETTER : FOREIGN_LETTER * 1.5;
}

const wordSets = new Map<string, ReadonlySet<string>>();

function frequentWords({ words }: Language): ReadonlySet<string> {
  const wordSet = wordSets.get(words) ?? new Set(words.split(' '));
  wordSets.set(words, wordSet);
  return wordSet;
}
