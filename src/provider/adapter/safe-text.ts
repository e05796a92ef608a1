/** Values that must not be repeated to users, even if a vendor writes them into an error. */
export interface Secrets {
  readonly credential?: string;
  /** The token that was derived from the credential for this one call. */
  readonly token?: string;
  /** The service's address; its host is removed in every form. */
  readonly address: string;
}

const MAX_TEXT_CHARS = 300;
/** Shorter credentials are placeholders such as "x", and would match ordinary words. */
const MIN_CREDENTIAL_CHARS = 4;
/** Vendors echo the first or last characters of a key; a match of this length is no accident. */
const MIN_ECHO_CHARS = 6;

/** Masked echoes of a key: sk-ab****cd, sk-ab...cd, sk-ab…cd */
const MASKED: readonly RegExp[] = [
  /[\w-]*(?:\*{2,}|•{2,}|…)[\w*•…-]*/g,
  /\b[\w-]{2,}\.{3}[\w-]{2,}\b/g,
];

const PATTERNS: readonly (readonly [RegExp, string])[] = [
  [/\b[a-z][a-z0-9+.-]*:\/\/[^\s"'<>)\]]+/gi, '[address]'],
  [/\b\d{1,3}(?:\.\d{1,3}){3}(?::\d{1,5})?\b/g, '[address]'],
  [/\[[0-9a-f]*:[0-9a-f:.]*\](?::\d{1,5}\b)?/gi, '[address]'],
  [/\[?\b[0-9a-f]{0,4}(?::[0-9a-f]{0,4}){3,7}\]?(?::\d{1,5}\b)?/gi, '[address]'],
  [/\blocalhost(?::\d{1,5})?\b/gi, '[address]'],
  [
    /\b(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+(?:com|net|org|io|ai|dev|cn|app|cloud|co|local|internal|lan|corp|home|svc|test|example|invalid|intranet)\b(?:\.[a-z]{2,})*(?::\d{1,5})?/gi,
    '[address]',
  ],
  [/\b[a-z][a-z0-9-]*:\d{4,5}\b/gi, '[address]'],
  [/\b(?:sk|pk|rk|ak|tp|ghp|xox[a-z])[-_][\w-]{4,}/gi, '[removed]'],
  [/\bBearer\s+\S+/gi, '[removed]'],
  // Letters and digits mixed over 20 characters without a hyphen are keys, and never model names.
  [/\b(?=\w*\d)(?=\w*[a-z])\w{20,}(?:[.=/+]+\w*)*/gi, '[removed]'],
];

/**
 * A vendor's text for the eyes of users: without the credential (plain, encoded, or masked in part),
 * addresses and key-like words, on one line, at most 300 characters. A web page becomes the empty text.
 */
export function safeText(text: string, secrets: Secrets): string {
  if (isWebPage(text)) return '';
  // Enough for the answer after removals, and it bounds the work on a hostile text.
  let safe = withoutForms(text.slice(0, 4 * MAX_TEXT_CHARS), secrets);
  for (const pattern of MASKED) safe = safe.replace(pattern, '[removed]');
  safe = withoutEchoes(safe, secrets);
  const host = URL.parse(secrets.address)?.hostname ?? '';
  if (host !== '') safe = safe.replaceAll(anyCase(host), '[address]');
  for (const [pattern, replacement] of PATTERNS) safe = safe.replace(pattern, replacement);
  safe = safe.replace(/[\p{Cc}\s]+/gu, ' ').trim();
  return safe.length <= MAX_TEXT_CHARS ? safe : `${safe.slice(0, MAX_TEXT_CHARS - 1)}…`;
}

/** The text without the credential and the token, be they plain, encoded or repeated in part; the rest as it is. */
export function withoutSecrets(text: string, secrets: Secrets): string {
  return withoutEchoes(withoutForms(text, secrets), secrets);
}

function anyCase(literal: string): RegExp {
  return new RegExp(literal.replace(/[.*+?^${}()|[\]\\]/g, '\\$&') + '(?::\\d{1,5}\\b)?', 'gi');
}

/** Whether an address or a text holds the credential or the token, in any case and encoded in any way. */
export function repeatsSecret(text: string, secrets: Secrets): boolean {
  const { token, credential, address } = secrets;
  const folded = {
    address,
    ...(token !== undefined && { token: token.toLowerCase() }),
    ...(credential !== undefined && { credential: credential.toLowerCase() }),
  };
  const spellings = [text, decoded(text), decoded(decoded(text))];
  return spellings.some(
    (spelling) =>
      withoutSecrets(spelling, secrets) !== spelling ||
      withoutSecrets(spelling.toLowerCase(), folded) !== spelling.toLowerCase(),
  );
}

/** Decodes each percent-encoded run of bytes separately; the rest of the text stays. */
function decoded(text: string): string {
  return text.replace(/(?:%[0-9a-f]{2})+/gi, (run) =>
    Buffer.from(run.replaceAll('%', ''), 'hex').toString('utf8'),
  );
}

function withoutForms(text: string, secrets: Secrets): string {
  let safe = text;
  for (const form of secretForms(secrets, MIN_CREDENTIAL_CHARS)) {
    safe = safe.replaceAll(form, '[removed]');
  }
  return safe;
}

/** Shorter keys are placeholders such as "ollama", which a text may hold for good reason. */
const MIN_KEY_CHARS = 8;

/** The text without the token and the credential in any form; the rest as it is. */
export function maskSecrets(text: string, secrets: Secrets): string {
  return secretForms(secrets, MIN_KEY_CHARS).reduce(
    (masked, form) => masked.replaceAll(form, '[removed]'),
    text,
  );
}

/** The token and the credential in every form in which they are repeated, each once; none of those that are shorter. */
export function secretForms({ token, credential }: Secrets, shortest: number): readonly string[] {
  const secrets = [token, credential, ...secretFields(credential)];
  return [...new Set(secrets.flatMap((secret) => formsOf(secret, shortest)))];
}

/** The secrets in a credential that is JSON, as those of clouds are. */
function secretFields(credential: string | undefined): readonly string[] {
  if (credential?.startsWith('{') !== true) return [];
  try {
    const fields = JSON.parse(credential) as Readonly<Record<string, unknown>>;
    return Object.entries(fields).flatMap(([name, value]) =>
      /secret|token|private_key$/i.test(name) && typeof value === 'string' ? [value] : [],
    );
  } catch {
    return [];
  }
}

function formsOf(credential: string | undefined, shortest: number): readonly string[] {
  const plain = credential?.trim() ?? '';
  if (plain.length < shortest) return [];
  const base64 = Buffer.from(plain).toString('base64');
  const hex = Buffer.from(plain).toString('hex');
  const percent = hex.replaceAll(/../g, '%$&');
  return [
    plain,
    encodeURIComponent(plain.toWellFormed()),
    base64,
    base64.replace(/=+$/, ''),
    Buffer.from(plain).toString('base64url'),
    JSON.stringify(plain).slice(1, -1),
    hex,
    hex.toUpperCase(),
    percent,
    percent.toUpperCase(),
  ];
}

/** Removes the beginning and the end of a secret wherever enough of it is repeated. */
function withoutEchoes(text: string, { token, credential }: Secrets): string {
  let safe = text;
  for (const secret of [token, credential]) {
    const plain = secret?.trim() ?? '';
    for (let length = plain.length - 1; length >= MIN_ECHO_CHARS; length--) {
      safe = safe.replaceAll(plain.slice(0, length), '[removed]');
      safe = safe.replaceAll(plain.slice(-length), '[removed]');
    }
  }
  return safe;
}

/**
 * Whether a text is a page for a browser. Errors may begin with `<`, too: those of DashScope do with `<400>`.
 *
 * @param contentType of the answer that the text is the whole of
 */
export function isWebPage(text: string, contentType = ''): boolean {
  if (/^\s*</.test(text) && /\bx?html\b/i.test(contentType)) return true;
  return /^\s*(?:<\?xml[^>]{0,200}>\s*)?(?:<!--[\s\S]{0,2000}?-->\s*)*<(?:!doctype\s+html|html|head|body|title|center|h1)\b/i.test(
    text,
  );
}
