/** Parts of LaTeX that both kinds of formulas are written with. */

/** Symbols with a command of LaTeX, as LaTeX's own tables and unicode-math name them. */
const COMMANDS: Readonly<Record<string, string>> = {
  ...greek('αβγδεζηθικλμνξπρςστυφχψω', [
    ...['alpha', 'beta', 'gamma', 'delta', 'varepsilon', 'zeta', 'eta', 'theta', 'iota'],
    ...['kappa', 'lambda', 'mu', 'nu', 'xi', 'pi', 'rho', 'varsigma', 'sigma', 'tau'],
    ...['upsilon', 'varphi', 'chi', 'psi', 'omega'],
  ]),
  ...greek('ΓΔΘΛΞΠΣΥΦΨΩϵϕϑ', [
    ...['Gamma', 'Delta', 'Theta', 'Lambda', 'Xi', 'Pi', 'Sigma', 'Upsilon', 'Phi', 'Psi'],
    ...['Omega', 'epsilon', 'phi', 'vartheta'],
  ]),
  '∑': '\\sum',
  '∏': '\\prod',
  '∐': '\\coprod',
  '∫': '\\int',
  '∬': '\\iint',
  '∭': '\\iiint',
  '∮': '\\oint',
  '⋃': '\\bigcup',
  '⋂': '\\bigcap',
  '⋁': '\\bigvee',
  '⋀': '\\bigwedge',
  '∞': '\\infty',
  '∂': '\\partial',
  '∇': '\\nabla',
  '±': '\\pm',
  '∓': '\\mp',
  '×': '\\times',
  '÷': '\\div',
  '⋅': '\\cdot',
  '·': '\\cdot',
  '∗': '*',
  '∘': '\\circ',
  '≤': '\\le',
  '≥': '\\ge',
  '≠': '\\ne',
  '≈': '\\approx',
  '≡': '\\equiv',
  '≅': '\\cong',
  '∼': '\\sim',
  '∝': '\\propto',
  '≪': '\\ll',
  '≫': '\\gg',
  '∈': '\\in',
  '∉': '\\notin',
  '⊂': '\\subset',
  '⊆': '\\subseteq',
  '⊃': '\\supset',
  '⊇': '\\supseteq',
  '∪': '\\cup',
  '∩': '\\cap',
  '∅': '\\emptyset',
  '∀': '\\forall',
  '∃': '\\exists',
  '¬': '\\neg',
  '∧': '\\wedge',
  '∨': '\\vee',
  '→': '\\to',
  '←': '\\leftarrow',
  '↔': '\\leftrightarrow',
  '⇒': '\\Rightarrow',
  '⇐': '\\Leftarrow',
  '⇔': '\\Leftrightarrow',
  '↦': '\\mapsto',
  '…': '\\ldots',
  '⋯': '\\cdots',
  '⋮': '\\vdots',
  '⋱': '\\ddots',
  '′': "'",
  '″': "''",
  ℝ: '\\mathbb{R}',
  ℕ: '\\mathbb{N}',
  ℤ: '\\mathbb{Z}',
  ℚ: '\\mathbb{Q}',
  ℂ: '\\mathbb{C}',
  ℏ: '\\hbar',
  ℓ: '\\ell',
  '⟨': '\\langle',
  '⟩': '\\rangle',
  '⌊': '\\lfloor',
  '⌋': '\\rfloor',
  '⌈': '\\lceil',
  '⌉': '\\rceil',
  '‖': '\\|',
  '−': '-',
  '{': '\\{',
  '}': '\\}',
  '\\': '\\backslash',
  '#': '\\#',
  $: '\\$',
  '%': '\\%',
  '&': '\\&',
  _: '\\_',
};

/** Signs around which LaTeX sets blanks, so that the text is read as people write it. */
const RELATIONS =
  /^(?:[=<>+]|\\(?:pm|mp|times|div|cdot|le|ge|ne|approx|equiv|cong|sim|propto|ll|gg|in|notin|subset|subseteq|supset|supseteq|cup|cap|wedge|vee|to|leftarrow|leftrightarrow|Rightarrow|Leftarrow|Leftrightarrow|mapsto))$/;

const FUNCTIONS = new Set([
  ...['sin', 'cos', 'tan', 'cot', 'sec', 'csc', 'sinh', 'cosh', 'tanh', 'arcsin', 'arccos'],
  ...['arctan', 'log', 'ln', 'lg', 'exp', 'lim', 'max', 'min', 'sup', 'inf', 'det', 'dim', 'gcd'],
]);

/** Marks above a formula, by the character that Office and MathML name them with. */
const ACCENTS: Readonly<Record<string, string>> = {
  '\u0302': 'hat',
  '^': 'hat',
  ˆ: 'hat',
  '\u0303': 'tilde',
  '~': 'tilde',
  '˜': 'tilde',
  '\u0304': 'bar',
  '\u0305': 'overline',
  '¯': 'bar',
  '‾': 'overline',
  '\u0307': 'dot',
  '˙': 'dot',
  '\u0308': 'ddot',
  '¨': 'ddot',
  '\u20d7': 'vec',
  '→': 'vec',
  '\u030c': 'check',
  '\u0306': 'breve',
  '\u0301': 'acute',
  '\u0300': 'grave',
  '⏞': 'overbrace',
  '⏟': 'underbrace',
};

/** A run of characters as LaTeX. */
export function latexOf(text: string): string {
  const plain = normalized(text);
  if (FUNCTIONS.has(plain.trim())) return `\\${plain.trim()} `;
  let latex = '';
  for (const character of plain) {
    const known = Object.hasOwn(COMMANDS, character) ? COMMANDS[character] : undefined;
    latex = joined(latex, known ?? character);
  }
  return latex;
}

/** Letters of mathematical alphabets as plain letters, and without the marks of invisible operators. */
function normalized(text: string): string {
  return text
    .replace(/[\u{1d400}-\u{1d7ff}]/gu, (letter) => letter.normalize('NFKC'))
    .replace(/[\u2061-\u2064\u200b]/g, '')
    .replaceAll('\u00a0', ' ');
}

/** Two parts of a formula behind each other: a command and a letter behind it need a blank between them. */
export function joined(first: string, second: string): string {
  if (first === '' || second === '') return first + second;
  const isCommand = /\\[a-zA-Z]+$/.test(first) && /^[a-zA-Z]/.test(second);
  return isCommand ? `${first} ${second}` : first + second;
}

export function joinedAll(parts: readonly string[]): string {
  return parts.reduce(joined, '');
}

export function scripted(base: string, sub: string, sup: string): string {
  const lower = sub === '' ? '' : `_${script(sub)}`;
  const upper = sup === '' ? '' : /^'+$/.test(sup) ? sup : `^${script(sup)}`;
  return `${base.trim() === '' ? '{}' : base.trimEnd()}${lower}${upper}`;
}

/** One character stands for itself, more need braces. */
function script(text: string): string {
  const trimmed = text.trim();
  return [...trimmed].length === 1 ? trimmed : `{${trimmed}}`;
}

export function fraction(above: string, below: string): string {
  return `\\frac{${above.trim()}}{${below.trim()}}`;
}

export function root(radicand: string, degree: string): string {
  const index = degree.trim() === '' ? '' : `[${degree.trim()}]`;
  return `\\sqrt${index}{${radicand.trim()}}`;
}

export function accented(base: string, mark: string, fallback = 'overline'): string {
  const command = Object.hasOwn(ACCENTS, mark) ? (ACCENTS[mark] ?? fallback) : fallback;
  return `\\${command}{${base.trim()}}`;
}

export function matrix(rows: readonly (readonly string[])[], environment = 'matrix'): string {
  const lines = rows.map((cells) => cells.map((cell) => cell.trim()).join(' & '));
  return `\\begin{${environment}}${lines.join(' \\\\ ')}\\end{${environment}}`;
}

export function fenced(open: string, content: string, close: string): string {
  const simple = /^[()[\]|]$/;
  if (simple.test(open) && simple.test(close)) return `${open}${content.trim()}${close}`;
  return `\\left${fence(open)} ${content.trim()} \\right${fence(close)}`;
}

/** LaTeX writes a point where there is no fence. */
function fence(character: string): string {
  return character.trim() === '' ? '.' : latexOf(character);
}

/** The whole formula: with a blank on both sides of relations and signs between two operands. */
export function spaced(latex: string): string {
  const tokens = latex.match(/\\[a-zA-Z]+|\\.|./gsu) ?? [];
  let written = '';
  let depth = 0;
  for (const token of tokens) {
    const operand =
      /[\w})\]'|!]$/.test(written.trimEnd()) || /\\[a-zA-Z]+$/.test(written.trimEnd());
    const isSign = (token === '-' || RELATIONS.test(token)) && operand && !/[_^]$/.test(written);
    if (token === '{' || token === '[') depth += 1;
    if (token === '}' || token === ']') depth -= 1;
    // In braces of scripts and fractions the parts stand close together.
    if (isSign && depth === 0) written = `${written.trimEnd()} ${token} `;
    else written = joined(written, token === ' ' && written.endsWith(' ') ? '' : token);
  }
  return written.replace(/ +/g, ' ').trim();
}

function greek(letters: string, names: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    [...letters].map((letter, index) => [letter, `\\${names[index] ?? ''}`]),
  );
}
