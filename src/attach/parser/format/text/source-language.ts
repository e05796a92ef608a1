/** Programming languages by the suffix of a file's name. */
const languages: Readonly<Record<string, readonly string[]>> = {
  bash: ['.sh', '.bash', '.zsh', '.ksh', '.fish'],
  batch: ['.bat', '.cmd'],
  c: ['.c', '.h'],
  clojure: ['.clj', '.cljs', '.cljc'],
  cpp: ['.cc', '.cpp', '.cxx', '.hh', '.hpp', '.hxx', '.cu', '.ino'],
  csharp: ['.cs'],
  css: ['.css', '.scss', '.sass', '.less'],
  dart: ['.dart'],
  elixir: ['.ex', '.exs'],
  erlang: ['.erl', '.hrl'],
  fortran: ['.f', '.f90', '.f95'],
  fsharp: ['.fs', '.fsx'],
  go: ['.go'],
  graphql: ['.graphql', '.gql'],
  groovy: ['.groovy', '.gradle'],
  haskell: ['.hs'],
  java: ['.java'],
  javascript: ['.js', '.mjs', '.cjs', '.jsx'],
  julia: ['.jl'],
  kotlin: ['.kt', '.kts'],
  latex: ['.tex'],
  lua: ['.lua'],
  'objective-c': ['.m', '.mm'],
  ocaml: ['.ml', '.mli'],
  pascal: ['.pas'],
  perl: ['.pl', '.pm'],
  php: ['.php'],
  powershell: ['.ps1', '.psm1'],
  protobuf: ['.proto'],
  python: ['.py', '.pyi', '.pyw'],
  r: ['.r'],
  ruby: ['.rb', '.rake', '.gemspec'],
  rust: ['.rs'],
  scala: ['.scala', '.sc'],
  solidity: ['.sol'],
  sql: ['.sql'],
  svelte: ['.svelte'],
  swift: ['.swift'],
  terraform: ['.tf', '.tfvars', '.hcl'],
  typescript: ['.ts', '.mts', '.cts', '.tsx'],
  vb: ['.vb', '.vbs', '.bas'],
  verilog: ['.v', '.sv', '.vhd', '.vhdl'],
  vue: ['.vue'],
  zig: ['.zig'],
};

const files: Readonly<Record<string, string>> = {
  dockerfile: 'dockerfile',
  gemfile: 'ruby',
  jenkinsfile: 'groovy',
  makefile: 'makefile',
  rakefile: 'ruby',
};

const bySuffix = new Map(
  Object.entries(languages).flatMap(([language, suffixes]) =>
    suffixes.map((suffix) => [suffix, language] as const),
  ),
);

/** The programming language of a file by its name; undefined for anything that is not known as source code. */
export function languageOf(name: string): string | undefined {
  const lower = name.toLowerCase();
  return files[lower] ?? bySuffix.get(suffixOf(lower));
}

/** The suffix with its dot, in lower case; empty when there is none. */
export function suffixOf(name: string): string {
  return /\.[^./\\]+$/.exec(name)?.[0].toLowerCase() ?? '';
}

/** Escapes of JSON (RFC 8259, section 7). They stand only in its strings; a backslash that is escaped begins none. */
const ESCAPES = /\\(?:u([0-9a-fA-F]{4})|[^u])/g;

/** Short escapes, so that the text remains valid JSON. */
const SHORT: Readonly<Record<string, string>> = {
  '\b': '\\b',
  '\t': '\\t',
  '\n': '\\n',
  '\f': '\\f',
  '\r': '\\r',
  '"': '\\"',
  '\\': '\\\\',
};

/**
 * JSON whose strings are written with the characters that their escapes stand for, as people search for them. Quotes,
 * backslashes and control characters stay escaped: it is the same JSON.
 */
export function withoutEscapes(json: string): string {
  if (!json.includes('\\')) return json;
  const decoded = json.replace(ESCAPES, (escape, code: string | undefined) => {
    if (code === undefined) return escape === '\\/' ? '/' : escape;
    const character = String.fromCharCode(parseInt(code, 16));
    return SHORT[character] ?? (character < ' ' || character === '\u007f' ? escape : character);
  });
  // Surrogates are escaped one by one and are a character together.
  return decoded.toWellFormed();
}
