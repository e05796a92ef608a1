const HIDDEN = '[hidden]';
const DEPTH = 6;
const ENTRIES = 100;
const TEXT_LENGTH = 8_000;

/** Fields whose values are never written, wherever they stand in a logged object. */
const SECRET_FIELD = /password|secret|credential|api[-_]?key|authorization|cookie|token$/i;

/** The fields of an error that say what happened. Requests, answers and statement values that libraries attach are left out. */
const ERROR_FIELDS = [
  'code',
  'status',
  'kind',
  'retryable',
  'rule',
  'constraint',
  'table',
  'query',
];

/** Secrets inside of texts, such as an address in the message of an error. No pattern crosses a quote of the JSON line. */
const SECRETS_IN_TEXT: readonly (readonly [RegExp, string])[] = [
  [/\b(bearer|basic)(\s+|%20)[\w.~+/=-]{8,}/gi, `$1 ${HIDDEN}`],
  [/((?:authorization|token|api[-_]?key|password|secret)=)[^&\s"'\\<>]+/gi, `$1${HIDDEN}`],
  // The id of an API key stays, which names the key.
  [/\b(sk-plinth-[\da-f]{16})-[\w-]+/gi, `$1-${HIDDEN}`],
  // The signature of a file's address, which opens it without a sign-in.
  [/(\/resource\/oss\/shared\/[\d.]+\.)[\w-]{43}/g, `$1${HIDDEN}`],
  [/(\/\/[^\s/:@"\\]*:)[^\s/@"\\]+@/g, `$1${HIDDEN}@`],
];

/** What may be written of the fields of a log line. Never throws. */
export function withoutSecrets(fields: object): Record<string, unknown> {
  try {
    return entriesOf(fields, DEPTH);
  } catch (error) {
    return { unreadable: error instanceof Error ? error.message : 'unknown' };
  }
}

/** Hides secrets in a finished line. */
export function withoutSecretsInText(line: string): string {
  return SECRETS_IN_TEXT.reduce((text, [pattern, shown]) => text.replace(pattern, shown), line);
}

function entriesOf(fields: object, depth: number): Record<string, unknown> {
  const shown = Object.entries(fields)
    .slice(0, ENTRIES)
    .map(([name, value]: [string, unknown]) => [
      name,
      isShown(value) && SECRET_FIELD.test(name) ? HIDDEN : shownValue(value, depth),
    ]);
  return Object.fromEntries(shown) as Record<string, unknown>;
}

/** True when the value could hold a secret; a flag or an absent value says only whether there is one. */
function isShown(value: unknown): boolean {
  return value !== null && value !== undefined && typeof value !== 'boolean';
}

function shownValue(value: unknown, depth: number): unknown {
  if (typeof value === 'string') return cut(value);
  if (typeof value === 'bigint') return String(value);
  if (typeof value !== 'object' || value === null) return value;
  if (value instanceof Error) return errorFields(value, depth);
  if (value instanceof Date) return value;
  if (ArrayBuffer.isView(value)) return `[${value.byteLength} bytes]`;
  // The depth ends cycles too.
  if (depth === 0) return '[…]';
  if (Array.isArray(value)) {
    return value.slice(0, ENTRIES).map((entry: unknown) => shownValue(entry, depth - 1));
  }
  return entriesOf(value, depth - 1);
}

function errorFields(error: Error, depth: number): unknown {
  const about = Object.fromEntries(
    Object.entries(error).filter(([name]) => ERROR_FIELDS.includes(name)),
  );
  const deeper = depth > 0;
  return {
    type: error.name,
    message: cut(error.message),
    stack: cut(error.stack ?? ''),
    ...entriesOf(about, 1),
    ...(error.cause !== undefined && deeper && { cause: shownValue(error.cause, depth - 1) }),
    ...(error instanceof AggregateError &&
      deeper && { errors: shownValue(error.errors, depth - 1) }),
  };
}

function cut(text: string): string {
  return text.length <= TEXT_LENGTH ? text : `${text.slice(0, TEXT_LENGTH)}…`;
}
