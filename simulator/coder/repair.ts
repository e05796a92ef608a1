import { sentencesOf } from '../answer/sentences.js';
import type { Edit } from './repository.js';

/** A likely mistake in one line, with what speaks for it. */
export interface Finding extends Edit {
  readonly path: string;
  /** A sentence for people. */
  readonly reason: string;
  /** The rule in the repository's own words that the line breaks; undefined where the line itself says it. */
  readonly rule: string | undefined;
}

/** Rules that the repository states: sentences of its documents, comments and tests. */
type Rules = readonly string[];

type Check = (
  line: string,
  rules: Rules,
  constants: ReadonlyMap<string, number>,
) => { readonly after: string; readonly reason: string; readonly rule?: string } | undefined;

const SOURCE = /\.[cm]?[jt]sx?$/;
const TEST = /(?:^|\/)(?:tests?|__tests__)\/|\.(?:test|spec)\.[cm]?[jt]sx?$/;
const NUMBER_WORDS = 'zero one two three four five six seven eight nine ten eleven twelve'.split(
  ' ',
);

export function isSource(path: string): boolean {
  return SOURCE.test(path) && !TEST.test(path);
}

export function isTest(path: string): boolean {
  return SOURCE.test(path) && TEST.test(path);
}

/** The mistakes that a careful reader finds without running anything. */
export function findMistakes(texts: ReadonlyMap<string, string>): Finding[] {
  const rules = rulesIn(texts);
  return [...texts]
    .filter(([path]) => isSource(path))
    .flatMap(([path, text]) => {
      const constants = constantsIn(text);
      return text.split('\n').flatMap((line) => {
        const match = isComment(line) ? undefined : firstFinding(line, rules, constants);
        if (!match) return [];
        const { reason, rule } = match;
        return [{ path, before: line, after: match.after, reason, rule }].map((finding) => ({
          ...finding,
          ...unique(text, finding),
        }));
      });
    });
}

function firstFinding(
  line: string,
  rules: Rules,
  constants: ReadonlyMap<string, number>,
): ReturnType<Check> {
  for (const check of CHECKS) {
    const problem = check(line, rules, constants);
    if (problem) return problem;
  }
  return undefined;
}

/** `i <= list.length` goes one step too far. */
const loopBound: Check = (line) => {
  const match = /\bfor\s*\([^;]*;\s*\w+\s*(<=)\s*[\w.]+\.length\s*;/.exec(line);
  if (!match) return undefined;
  const after = line.replace(match[0], () => match[0].replace('<=', '<'));
  return { after, reason: 'the loop takes one step too many' };
};

/** A single `=` where two values are compared. */
const assignment: Check = (line) => {
  const match = /\bif\s*\(\s*[\w.]+\s(=)\s[^=()]+\)/.exec(line);
  if (!match) return undefined;
  const after = line.replace(match[0], () => match[0].replace(' = ', ' === '));
  return { after, reason: 'the condition assigns where it should compare' };
};

const COMPARISON = /([\w.\])]+)\s*(>=|<=|>|<)\s*([\w.]+)/g;
const SAYS_INCLUDED = (n: string) => ({
  '>': new RegExp(
    `\\b${n}\\b[\\w\\s]*?\\b(?:or|and) (?:more|above|over|up)\\b|\\b(?:at least|from) ${n}\\b`,
    'i',
  ),
  '<': new RegExp(
    `\\b${n}\\b[\\w\\s]*?\\b(?:or|and) (?:less|fewer|below)\\b|\\b(?:at most|up to) ${n}\\b`,
    'i',
  ),
  '>=': new RegExp(`\\b(?:more than|over|above) ${n}\\b`, 'i'),
  '<=': new RegExp(`\\b(?:less than|fewer than|under|below) ${n}\\b`, 'i'),
});
const CORRECTED = { '>': '>=', '<': '<=', '>=': '>', '<=': '<' } as const;

/** A limit is in or out, and the words say the contrary of the code. */
const boundary: Check = (line, rules, constants) => {
  for (const [comparison, left = '', operator = '', right = ''] of line.matchAll(COMPARISON)) {
    const limit = /^\d+$/.test(right) ? Number(right) : constants.get(right);
    if (limit === undefined || !isOperator(operator)) continue;
    const spelled = `(?:${[String(limit), NUMBER_WORDS[limit]].filter(Boolean).join('|')})`;
    const contrary = SAYS_INCLUDED(spelled)[operator];
    const same = SAYS_INCLUDED(spelled)[CORRECTED[operator]];
    const rule = rules.find((sentence) => contrary.test(sentence));
    if (rule === undefined || rules.some((sentence) => same.test(sentence))) continue;
    const corrected = `${left} ${CORRECTED[operator]} ${right}`;
    return {
      after: line.replace(comparison, () => corrected),
      reason: `\`${operator}\` should be \`${CORRECTED[operator]}\``,
      rule,
    };
  }
  return undefined;
};

/** Numbers sorted the other way round than the words say. */
const order: Check = (line, rules) => {
  const match =
    /\.(?:toSorted|sort)\(\(\s*(\w+)\s*,\s*(\w+)\s*\)\s*=>\s*(\w+)((?:\.\w+)*)\s*-\s*(\w+)/.exec(
      line,
    );
  if (!match) return undefined;
  const [whole, a = '', b = '', first = ''] = match;
  const rising = first === a;
  const contrary = rising
    ? /\b(?:descending|(?:highest|largest|newest|most expensive|best) first)\b/i
    : /\b(?:ascending|(?:lowest|smallest|oldest|cheapest) first)\b/i;
  const rule = rules.find((sentence) => contrary.test(sentence));
  if (rule === undefined) return undefined;
  const swapped = whole.replace(/=>.*$/s, (body) =>
    body.replace(new RegExp(`\\b(?:${a}|${b})\\b`, 'g'), (name) => (name === a ? b : a)),
  );
  return {
    after: line.replace(whole, () => swapped),
    reason: 'it sorts the wrong way round',
    rule,
  };
};

/** An empty list has no first element to start from. */
const emptyReduce: Check = (line) => {
  const match = /\.reduce\(\(\s*(\w+)\s*,\s*\w+\s*\)\s*=>\s*\1\s*\+\s*[\w.]+\s*\)/.exec(line);
  if (!match) return undefined;
  const after = line.replace(match[0], () => `${match[0].slice(0, -1)}, 0)`);
  return { after, reason: 'without a start value it fails for an empty list' };
};

const CHECKS: readonly Check[] = [loopBound, assignment, boundary, order, emptyReduce];

function isOperator(text: string): text is keyof typeof CORRECTED {
  return text in CORRECTED;
}

function isComment(line: string): boolean {
  return /^\s*(?:\/\/|\/?\*)/.test(line);
}

/** Sentences of documents, comments of sources, and titles of tests. */
function rulesIn(texts: ReadonlyMap<string, string>): string[] {
  return [...texts].flatMap(([path, text]) => {
    if (/\.(?:md|txt)$/.test(path)) return sentencesOf(text).map(withoutMarks);
    if (isTest(path)) {
      return [...text.matchAll(/\b(?:it|test)\(\s*(['"`])(.*?)\1/g)].map((match) => match[2] ?? '');
    }
    return text.split('\n').filter(isComment).map(withoutMarks);
  });
}

function withoutMarks(line: string): string {
  return line.replace(/^[\s#>*/-]+|\*\/\s*$/g, '').trim();
}

function constantsIn(text: string): Map<string, number> {
  const declarations = text.matchAll(/\bconst\s+(\w+)\s*=\s*(\d+)\s*;?\s*$/gm);
  return new Map([...declarations].map(([, name = '', value]) => [name, Number(value)]));
}

/** Takes in the lines before until the text to replace occurs once. */
function unique(text: string, { before, after }: Edit): Edit {
  const lines = text.split('\n');
  const at = lines.indexOf(before);
  for (let first = at; first >= 0; first -= 1) {
    const context = lines
      .slice(first, at)
      .map((line) => `${line}\n`)
      .join('');
    if (text.split(context + before).length === 2) {
      return { before: context + before, after: context + after };
    }
  }
  return { before, after };
}
