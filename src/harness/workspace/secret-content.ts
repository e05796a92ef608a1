import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;

/** Longer files with the name of a secret count as one without being read. */
const READ_BYTES = 256 * 1_024;

/** Their content says nothing that could be looked for: keys in a binary form, lists of passwords. */
const ALWAYS =
  /\.(p12|pfx)$|^(id_(rsa|dsa|ecdsa|ed25519).*|\.(git-credentials|netrc|pgpass|htpasswd)|\.plinth-.*\.tmp)$/;

/*
 * All patterns are read in time in proportion to the text, whatever it is: files are looked at between other requests. So
 * a part that may be long ends at a character with which no other match can begin.
 */
const PATTERNS: readonly RegExp[] = [
  /-----BEGIN [A-Z0-9 ]*PRIVATE KEY/,
  // The password in an address; a reference to a variable is none.
  /:\/\/[^\s/:@'"]*:(?!(?:\$\w+|\$\{\w+\}|%\w+%|[{<][^\s/@'"]*)@)[^\s/@'"]{3,}@/,
  // The same in the list of a connection string, as in Endpoint=…;AccountKey=…
  /[;=]["']?\s*(account_?key|shared_?access_?(?:key|signature)|password|pwd)\s*=\s*(?!\$\w+(?:[;"'\s]|$)|\$\{\w+\}|[%{<])[^\s;"']{3,}/i,
  // Addresses that are enough to post a message
  /\bhooks\.slack\.com\/(?:services|workflows|triggers)\/[\w/-]{20,}|\bdiscord(?:app)?\.com\/api\/webhooks\/\d+\/[\w-]{20,}/i,
  // .npmrc, .yarnrc.yml, .pypirc, git's extra headers
  /(_auth|_authtoken|_password|npmauthtoken|npmauthident)["']?\s*[=:]\s*(?!["']?(?:[%{<]|\$\w+["']?(?:\s|$)|\$\{))\S{6,}/i,
  /authorization["']?\s*[=:]\s*["']?(basic|bearer|token)\s+(?![$%{<])\S{6,}/i,
  // Of known services: AWS, GitHub, GitLab, Slack, Google, Stripe, OpenAI
  /\b(AKIA[0-9A-Z]{16}|gh[pousr]_\w{30,}|github_pat_\w{30,}|glpat-[\w-]{20}|xox[abprs]-[\w-]{10,}|AIza[\w-]{35}|[rs]k_live_\w{16,}|sk-[\w-]{20,})/,
  // JSON web tokens
  /\.(?<=\beyJ[\w-]{10,}\.)eyJ[\w-]{10,}\.[\w-]+/,
];

/** `NAME_WITH_A_WORD_OF_THESE = value`, in the forms of shells, YAML, JSON and INI files. */
const ASSIGNMENT =
  /^[ \t]*(?:export\s+)?["']?(?=[\w.-]*(?:pass(?:word|wd|phrase)?|pwd|secret|token|credential|private|(?:api|access|account|admin|aes|app|auth|cipher|cookie|crypto|encrypt|encryption|hmac|jwt|license|master|root|server|service|session|shared|sign|signing|storage)[_-]?key|(?<![a-z])pw(?![a-z])|auth(?!or)|dsn|salt))[\w.-]+["']?\s*[=:]\s*(.*)$/gim;
/** What stands for a value, or switches something. */
const NO_VALUE =
  /^(true|false|yes|no|on|off|null|none|undefined|\d{1,5}|change_?-?me.*|replace_?-?me.*|example.*|dummy.*|fake.*|test(ing)?|secret|password|x+|\*+|\.+|todo|your[-_ ].*|<.*>|\$\w+|\$\{\w+(?::?\?[^}]*|:?-)?\}|%[\w().-]+%|\{.*)$/i;
/** A random text of some length, whatever it is called. */
const RANDOM = /[=:]\s*["']?(?=[\w+/-]*\d)(?=[\w+/-]*[a-z])[A-Za-z0-9+/_-]{32,}={0,2}["']?\s*$/im;

const KEY_FILE = /\.(pem|key)$/;
/** Certificates and public keys, as PEM has them. */
const PUBLIC_BLOCKS =
  /^(?:\s*-----BEGIN ([A-Z0-9 ]*(?:CERTIFICATE|PUBLIC KEY|PARAMETERS|CRL))-----[^-]*-----END \1-----)*\s*$/;
const SETTINGS_FILE = /^\.(env.*|npmrc)$/;
/** Nothing, a comment, a section or an assignment. */
const SETTING = /^\s*([#;].*|\[.*\]|(export\s+)?[^\s=]+\s*=.*)?$/;

/**
 * Whether a file that has the name of a secret holds one, by its content: a private key, a password in an address, a token
 * of a known form, or a value of a variable whose name says that it is one. What cannot be read, is not what its name says,
 * or is longer than 256 KiB counts as a secret.
 */
export async function holdsSecret(path: Buffer, name: string): Promise<boolean> {
  const known = name.toLowerCase();
  if (ALWAYS.test(known)) return true;
  const text = await textIn(path);
  if (text === undefined) return true;
  if (KEY_FILE.test(known)) return !PUBLIC_BLOCKS.test(text);
  if (SETTINGS_FILE.test(known) && !text.split('\n').every((line) => SETTING.test(line)))
    return true;
  return isSecret(text);
}

/** A configuration of git without what `holdsSecret` finds in it: addresses stay, passwords in them go. */
export async function withoutSecrets(path: Buffer): Promise<string> {
  const lines = ((await textIn(path)) ?? '').split('\n');
  return lines.map((line) => withoutPassword(line)).join('\n');
}

function withoutPassword(line: string): string {
  const shown = line.replace(/:\/\/[^\s/@]*@/g, '://');
  return isSecret(shown) ? '# A line with a secret is not shown to commands.' : shown;
}

function isSecret(text: string): boolean {
  return PATTERNS.some((pattern) => pattern.test(text)) || RANDOM.test(text) || hasValue(text);
}

function hasValue(text: string): boolean {
  return [...text.matchAll(ASSIGNMENT)].some(([, given = '']) => {
    const value = given
      .trim()
      .replace(/[,;]$/, '')
      .replace(/^(["'])(.*)\1.*$/, '$2')
      .replace(/\s#.*$/, '')
      .trim();
    return value !== '' && !NO_VALUE.test(value);
  });
}

/** Undefined when it is not read, or is no text. */
async function textIn(path: Buffer): Promise<string | undefined> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const buffer = Buffer.alloc(READ_BYTES + 1);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    if (bytesRead > READ_BYTES) return undefined;
    const content = buffer.subarray(0, bytesRead);
    return content.includes(0) ? undefined : content.toString('utf8');
  } catch {
    return undefined;
  } finally {
    await file?.close();
  }
}
