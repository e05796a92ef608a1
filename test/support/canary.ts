import { randomBytes } from 'node:crypto';

/** Shorter texts, and single words, stand in answers and logs by chance. */
const SHORTEST = 8;
const PLAIN_WORD = /^[a-z]+$/i;

/** The fields of requests that hold secrets; the id of a key is none. */
const SECRET_FIELD = /password|api_?key(?!id)|secret/i;

/** A token in JSON Web Token form. */
const TOKEN = /eyJ[\w-]{8,}\.eyJ[\w-]{8,}\.[\w-]*/;

/**
 * Knows the secrets of a test file: those that it plants, and those that its requests carry. Whatever leaves the service
 * is searched for them: answers at once, the log at the end.
 */
export class Canary {
  /** What each secret is and how it may be spelled, by the secret. */
  private readonly secrets = new Map<string, { kind: string; spellings: readonly string[] }>();

  forget(): void {
    this.secrets.clear();
  }

  /** Makes a secret, always of one length, that must never be seen again outside the vault. */
  plant(label: string): string {
    const secret = `sk-canary-${label}-${randomBytes(12).toString('hex')}`;
    this.add(secret, 'A planted secret');
    return secret;
  }

  /** Must never be seen again either. */
  protect(kind: string, secret: string): void {
    if (secret.length < SHORTEST || PLAIN_WORD.test(secret) || this.secrets.has(secret)) return;
    this.add(secret, `A ${kind}`);
  }

  /** Spelled once here: every answer and every log line is searched for it. */
  private add(secret: string, kind: string): void {
    const spellings = [
      secret,
      encodeURIComponent(secret.toWellFormed()),
      JSON.stringify(secret).slice(1, -1),
    ];
    this.secrets.set(secret, { kind, spellings: [...new Set(spellings)] });
  }

  /** Protects what the body of a request holds in its password and key fields. */
  protectFieldsOf(body: unknown): void {
    if (typeof body !== 'object' || body === null) return;
    for (const [name, value] of Object.entries(body) as [string, unknown][]) {
      if (typeof value === 'string' && SECRET_FIELD.test(name)) this.protect(name, value);
      else this.protectFieldsOf(value);
    }
  }

  /** Throws when the text holds a secret. */
  check(where: string, text: string): void {
    for (const { kind, spellings } of this.secrets.values()) {
      const found = spellings.find((spelling) => text.includes(spelling));
      if (found !== undefined)
        throw new Error(`${kind} leaked in ${where}: ${around(text, found)}`);
    }
  }

  /** `check` for log lines, which hold no token of any kind either. */
  checkLog(lines: readonly string[]): void {
    for (const line of lines) {
      this.check('the log', line);
      const [token] = TOKEN.exec(line) ?? [];
      if (token !== undefined) throw new Error(`A token leaked in the log: ${around(line, token)}`);
    }
  }
}

/** What stands before and after the secret, to find the place that wrote it. */
function around(text: string, secret: string): string {
  const at = text.indexOf(secret);
  const before = text.slice(Math.max(0, at - 80), at);
  return `${before}[it]${text.slice(at + secret.length, at + secret.length + 80)}`;
}

export const canary = new Canary();
