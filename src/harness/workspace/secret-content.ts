import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import type { OpenFile } from '../../platform/filesystem/index.js';

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants;

/** Bytes read per file. A longer file with the name of a secret counts as one without being read. */
const MAX_READ_BYTES = 256 * 1_024;

/** Their content says nothing that could be looked for: keys in a binary form, lists of passwords, one bare token. */
const ALWAYS =
  /\.(p12|pfx|jks|keystore|kdbx)$|^(id_(rsa|dsa|ecdsa|ed25519).*|\.(git-credentials|netrc|pgpass|htpasswd|vault-token|vault_pass.*|mylogin\.cnf)|_netrc|pgpass\.conf|\.plinth-.*\.tmp)$/;

/** Text files for people, in which a token may be an example. */
const TEXT_NAME = /\.(txt|csv)$/;

/**
 * Names of settings and of data that programs are configured with. In such a file, whatever it is called, a private key or a token of a
 * known form counts; in a text for people a private key. Source code is left out: its tests are full of examples.
 */
const SETTINGS_NAME =
  /^\.[^.]+$|^[^.]+$|\.(json[5c]?|ya?ml|toml|ini|cfg|cnf|conf|config|properties|xml|plist|env|tfvars|tfstate|txt|csv|asc|gpg|ppk|bak|old|orig|backup|secret|secrets|token|creds?)$/;

/*
 * All patterns are read in time in proportion to the text, whatever it is: files are looked at between other requests. So
 * a part that may be long ends at a character with which no other match can begin.
 */
const PRIVATE_KEY =
  /-----BEGIN [A-Z0-9 ]*PRIVATE KEY|---- BEGIN SSH2 ENCRYPTED PRIVATE KEY|PuTTY-User-Key-File-\d: |-----BEGIN OpenVPN Static key|AGE-SECRET-KEY-1[0-9A-Z]{50}|^PrivateKey\s*=\s*[A-Za-z0-9+/]{42,43}=/m;

/** The same with its content: texts about keys have the first line alone. */
const WHOLE_PRIVATE_KEY =
  /(?:PRIVATE KEY(?: BLOCK)?|Static key V1)-----[^]{0,200}?[A-Za-z0-9+/]{30}|SSH2 ENCRYPTED PRIVATE KEY ----|PuTTY-User-Key-File-\d: |AGE-SECRET-KEY-1[0-9A-Z]{50}|^PrivateKey\s*=\s*[A-Za-z0-9+/]{42,43}=/m;

/** Forms of tokens as the services document them; those of 2026-11 in the rules of gitleaks and secretlint. */
const TOKENS: readonly RegExp[] = [
  // AWS, GitHub, GitLab, Slack, Google, Stripe, OpenAI and Anthropic
  /\b((?:AKIA|ASIA)(?![0-9A-Z]{9}EXAMPLE)[0-9A-Z]{16}|gh[pousr]_\w{30,}|github_pat_\w{30,}|gl(?:pat|dt|rt|ptt|cbt|ft|imt|agent|soat)-[\w-]{20}|xox[abeprs]-[\w-]{10,}|xapp-\d-[\w-]{10,}|AIza[\w-]{35}|GOCSPX-[\w-]{20,}|ya29\.[\w-]{20,}|1\/\/0[\w-]{30,}|[rs]k_live_\w{16,}|whsec_\w{20,}|sk-[\w-]{20,})/,
  // HashiCorp, DigitalOcean, Shopify, SendGrid, npm, PyPI, RubyGems, NuGet, Atlassian, Docker, Hugging Face, Linear, Databricks,
  // Postman, Pulumi, Tailscale, Figma, Telegram, Square
  /\b(hv[sbr]\.[\w-]{20,}|do[opr]_v1_[a-f0-9]{64}|shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}|SG\.[\w-]{16,}\.[\w-]{16,}|npm_[A-Za-z0-9]{36}|pypi-AgEI[\w-]{50,}|rubygems_[a-f0-9]{48}|oy2[a-z0-9]{43}|ATATT3[\w=-]{50,}|dckr_[po]at_[\w-]{20,}|hf_[A-Za-z]{30,}|lin_api_\w{40}|dapi[a-f0-9]{32}|PMAK-[a-f0-9]{24}|pul-[a-f0-9]{40}|tskey-[a-z]+-[\w-]{20,}|figd_[\w-]{40}|\d{8,10}:AA[\w-]{33}|sq0csp-[\w-]{43})/,
];

const PATTERNS: readonly RegExp[] = [
  PRIVATE_KEY,
  ...TOKENS,
  // The password in an address; a reference to a variable is none.
  /:\/\/[^\s/:@'"]*:(?!(?:\$\w+|\$\{\w+\}|%\w+%|[{<][^\s/@'"]*)@)[^\s/@'"]{3,}@/,
  // The same in the list of a connection string, as in Endpoint=…;AccountKey=…
  /[;=]["']?\s*(account_?key|shared_?access_?(?:key|signature)|password|pwd)\s*=\s*(?!\$\w+(?:[;"'\s]|$)|\$\{\w+\}|[%{<])[^\s;"']{3,}/i,
  // Addresses that are enough to post a message
  /\bhooks\.slack\.com\/(?:services|workflows|triggers)\/[\w/-]{20,}|\bdiscord(?:app)?\.com\/api\/webhooks\/\d+\/[\w-]{20,}/i,
  // .npmrc, .yarnrc.yml, .pypirc, git's extra headers
  /(_auth|_authtoken|_password|npmauthtoken|npmauthident)["']?\s*[=:]\s*(?!["']?(?:[%{<]|\$\w+["']?(?:\s|$)|\$\{))\S{6,}/i,
  /authorization["']?\s*[=:]\s*["']?(basic|bearer|token)\s+(?![$%{<])\S{6,}/i,
  // JSON web tokens
  /\.(?<=\beyJ[\w-]{10,}\.)eyJ[\w-]{10,}\.[\w-]+/,
];

/** `NAME_WITH_A_WORD_OF_THESE = value`, in the forms of shells, YAML, JSON and INI files. */
const ASSIGNMENT =
  /^[ \t]*(?:export\s+)?["']?(?=[\w.-]*(?:pass(?:word|wd|phrase)?|pwd|secret|token|credential|private|(?:api|access|account|admin|aes|app|auth|cipher|cookie|crypto|encrypt|encryption|hmac|jwt|license|master|root|server|service|session|shared|sign|signing|storage)[_-]?key|(?<![a-z])pw(?![a-z])|auth(?!or)|dsn|salt))[\w.-]+["']?[ \t]*[=:][ \t]*(.*)$/gim;
/** Placeholders and switches, which are no secret values. */
const NO_VALUE =
  /^(true|false|yes|no|on|off|null|none|undefined|\d{1,5}|change_?-?me.*|replace_?-?me.*|example.*|dummy.*|fake.*|test(ing)?|secret|password|x+|\*+|\.+|todo|your[-_ ].*|<.*>|\$\w+|\$\{[\w.]+(?::?\?[^}]*|:?-)?\}|%[\w().-]+%|\{.*)$/i;
/** A random text of some length, whatever it is called. */
const RANDOM = /[=:]\s*["']?(?=[\w+/-]*\d)(?=[\w+/-]*[a-z])[A-Za-z0-9+/_-]{32,}={0,2}["']?\s*$/im;

const KEY_FILE = /\.(pem|key)$/;
/** Certificates and public keys, as PEM has them. */
const PUBLIC_BLOCKS =
  /^(?:\s*-----BEGIN ([A-Z0-9 ]*(?:CERTIFICATE|PUBLIC KEY|PARAMETERS|CRL))-----[^-]*-----END \1-----)*\s*$/;
const SETTINGS_FILE = /^(\.(env.*|npmrc)|.*\.env)$/;
/** Nothing, a comment, a section or an assignment. */
const SETTING = /^\s*([#;].*|\[.*\]|(export\s+)?[^\s=]+\s*=.*)?$/;

interface NamedContent {
  /** The last name of its path. */
  readonly name: string;
  /** Whether its path is that of a secret (classifyPath). */
  readonly isNamedSo: boolean;
}

/** Whether the content of the file can make it a secret. */
export function isJudgedByContent({ name, isNamedSo }: NamedContent): boolean {
  return isNamedSo || SETTINGS_NAME.test(name.toLowerCase());
}

/**
 * Whether a file holds a secret, by its content. Whatever its name: a private key, or a token of a known form in settings. Of a file
 * that has the name of a secret also: a password in an address, a value of a variable whose name says that it is one, a random text.
 * A file with the name of a secret counts as one when it cannot be read, is not what its name says, or exceeds 256 KiB.
 */
export async function holdsSecret(path: Buffer, named: NamedContent): Promise<boolean> {
  if (!isJudgedByContent(named)) return false;
  if (named.isNamedSo && ALWAYS.test(named.name.toLowerCase())) return true;
  return isSecretContent(await beginningOf(path), named);
}

/** Same as `holdsSecret`, for an open file. */
export async function opensSecret(file: OpenFile, named: NamedContent): Promise<boolean> {
  if (!isJudgedByContent(named)) return false;
  return isSecretContent(await file.part(0, MAX_READ_BYTES + 1), named);
}

/** Same as `holdsSecret`, for the first 256 KiB and a byte of the content; undefined: it could not be read. */
export function isSecretContent(
  content: Buffer | undefined,
  { name, isNamedSo }: NamedContent,
): boolean {
  const lowerName = name.toLowerCase();
  if (!isNamedSo) {
    if (content === undefined || !SETTINGS_NAME.test(lowerName)) return false;
    const beginning = content.subarray(0, MAX_READ_BYTES);
    // A program may have such texts in it.
    if (beginning.includes(0)) return false;
    const text = beginning.toString('latin1');
    const holdsToken = !TEXT_NAME.test(lowerName) && TOKENS.some((token) => token.test(text));
    return holdsToken || WHOLE_PRIVATE_KEY.test(text);
  }
  if (ALWAYS.test(lowerName) || content === undefined) return true;
  if (content.length > MAX_READ_BYTES || content.includes(0)) return true;
  const text = content.toString('utf8');
  if (KEY_FILE.test(lowerName)) return !PUBLIC_BLOCKS.test(text);
  if (SETTINGS_FILE.test(lowerName) && !text.split('\n').every((line) => SETTING.test(line)))
    return true;
  return isSecret(text);
}

/** A configuration of git without what `holdsSecret` finds in it: addresses stay, passwords in them go. */
export async function withoutSecrets(path: Buffer): Promise<string> {
  const content = await beginningOf(path);
  const isRead = content !== undefined && content.length <= MAX_READ_BYTES && !content.includes(0);
  const lines = isRead ? content.toString('utf8').split('\n') : [];
  return lines.map((line) => withoutPassword(line)).join('\n');
}

function withoutPassword(line: string): string {
  const visible = line.replace(/:\/\/[^\s/@]*@/g, '://');
  return isSecret(visible) ? '# A line with a secret is not shown to commands.' : visible;
}

function isSecret(text: string): boolean {
  return PATTERNS.some((pattern) => pattern.test(text)) || RANDOM.test(text) || hasValue(text);
}

/*
 * Settings stand one to a line, or several in braces, or in elements and attributes of XML: all become lines. What begins a reference,
 * such as `${A}` or `{{ a }}`, is not torn apart.
 */
const BETWEEN = /(?<![$%{])[{[]|,/g;
const ELEMENT = /<([\w:.-]+)(?:\s[^<>]*)?>([^<>]*)(?=<\/)/g;
const NAMED_VALUE =
  /\b(?:key|name|id)\s*=\s*["']([\w:.-]+)["'][^<>]{0,200}?(?:\bvalue\s*=\s*["']|>)([^"'<>]*)/g;
const ATTRIBUTE = /\s([\w:.-]+)\s*=\s*["']([^"'<>]*)["']/g;
const PLIST = /<key>([^<>]*)<\/key>\s*<string>([^<>]*)/g;

function settingsIn(text: string): string {
  const lines = text.replaceAll(BETWEEN, '\n');
  if (!text.includes('<')) return lines;
  const pairs = [ELEMENT, NAMED_VALUE, ATTRIBUTE, PLIST].flatMap((form) =>
    [...text.matchAll(form)].map(([, name = '', value = '']) => `${name}="${value}"`),
  );
  return [lines, ...pairs].join('\n');
}

function hasValue(text: string): boolean {
  return [...settingsIn(text).matchAll(ASSIGNMENT)].some(([, rawValue = '']) => {
    const value = withoutClosing(rawValue.trim())
      .replace(/[,;]$/, '')
      .replace(/^(["'])(.*)\1.*$/, '$2')
      .replace(/\s#.*$/, '')
      .trim()
      .replace(/^["']+$/, '');
    return value !== '' && !NO_VALUE.test(value);
  });
}

/** The value without closing brackets that belong to an earlier line. */
function withoutClosing(value: string): string {
  if (/[{[]/.test(value)) return value;
  let end = value.length;
  while (end > 0 && '}] '.includes(value.charAt(end - 1))) end -= 1;
  return value.slice(0, end);
}

/** At most 256 KiB and a byte; undefined when it cannot be read. */
async function beginningOf(path: Buffer): Promise<Buffer | undefined> {
  let file: FileHandle | undefined;
  try {
    file = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    const { size } = await file.stat();
    const buffer = Buffer.alloc(Math.min(size, MAX_READ_BYTES) + 1);
    const { bytesRead } = await file.read(buffer, 0, buffer.length, 0);
    return buffer.subarray(0, bytesRead);
  } catch {
    return undefined;
  } finally {
    await file?.close();
  }
}
