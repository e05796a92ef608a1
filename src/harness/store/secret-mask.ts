import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { ModelResolver } from '../../model/index.js';
import type { Caller } from '../../platform/access/index.js';
import { CONFIG } from '../../platform/config/index.js';
import type { Config } from '../../platform/config/index.js';
import { boundTenant } from '../../platform/database/index.js';
import { DomainError } from '../../platform/error/index.js';
import { secretForms } from '../../provider/index.js';
import type { HarnessRun } from './harness.entity.js';

/** Shorter secrets would mask ordinary words. */
const MIN_SECRET_CHARS = 8;
const MASK = '[secret]';

/** Keys of model services that are remembered; those that were not used for longest are forgotten first. */
const MAX_LEARNED_SECRETS = 1_000;

interface LearnedKey {
  /** Undefined for a key that was learned by work that is bound to no tenant. */
  readonly tenantId: string | undefined;
  /** The key in every form in which texts repeat it, the longest first. */
  readonly forms: readonly string[];
}

/**
 * Takes the service's own secrets out of whatever a tool, a model or a command brings up. The keys of a tenant's models are
 * masked for that tenant alone, because what one chooses as a key may be a word of another's texts. Work that is bound to
 * no tenant knows the keys of all.
 */
@Injectable()
export class SecretMask {
  private readonly secrets: readonly string[];
  private readonly learned = new LRUCache<string, LearnedKey>({ max: MAX_LEARNED_SECRETS });

  constructor(@Inject(CONFIG) config: Config) {
    this.secrets = usable(config.secrets);
  }

  /** Adds secrets for the bound tenant: the keys of the model services that its runs use in this process. */
  learn(secrets: readonly string[]): void {
    const tenantId = boundTenant();
    for (const secret of secrets) {
      const forms = usable([secret]);
      if (forms.length > 0)
        this.learned.set(JSON.stringify([tenantId, secret]), { tenantId, forms });
    }
  }

  /** The text with every known secret replaced by `[secret]`; `more` are secrets of this occasion. */
  apply(text: string, more: readonly string[] = []): string {
    return masked(text, this.knownSecrets(more));
  }

  /** The value with every text in it masked, at any depth; the names of properties stay. */
  applyIn<Value>(value: Value): Value {
    const secrets = this.knownSecrets([]);
    const text = JSON.stringify(value, (_, part: unknown) =>
      typeof part === 'string' ? masked(part, secrets) : part,
    );
    return JSON.parse(text) as Value;
  }

  /** Masks a text that arrives in chunks. */
  pieces(): MaskedText {
    return new MaskedText(
      () => this.knownSecrets([]),
      (text) => this.apply(text),
    );
  }

  /** Masks the beginning of a longer text, and leaves out what may be the beginning of a secret at its end. */
  applyToBeginning(text: string): string {
    return this.pieces().add(text);
  }

  /** Masks the end of a longer text, and leaves out what may be the end of a secret at its beginning. */
  applyToEnd(text: string): string {
    const backwards = new MaskedText(
      () => this.knownSecrets([]).map(reversed),
      (part) => reversed(this.apply(reversed(part))),
    );
    return reversed(backwards.add(reversed(text)));
  }

  /** Size of the longest known secret in bytes of UTF-8. */
  longest(): number {
    return Math.max(0, ...this.knownSecrets([]).map((secret) => Buffer.byteLength(secret)));
  }

  /** The same as `apply` for bytes, whatever else they hold. */
  applyToBytes(bytes: Buffer, more: readonly string[] = []): Buffer {
    const occurring = this.knownSecrets(more).filter((secret) => bytes.includes(secret));
    if (occurring.length === 0) return bytes;
    // Latin 1 turns every byte into one character and back.
    let text = bytes.toString('latin1');
    for (const secret of occurring)
      text = text.replaceAll(Buffer.from(secret).toString('latin1'), MASK);
    return Buffer.from(text, 'latin1');
  }

  private knownSecrets(more: readonly string[]): string[] {
    const bound = boundTenant();
    const learned = [...this.learned.values()].filter(
      ({ tenantId }) => bound === undefined || tenantId === undefined || tenantId === bound,
    );
    return [...this.secrets, ...learned.flatMap(({ forms }) => forms), ...usable(more)];
  }
}

function masked(text: string, secrets: readonly string[]): string {
  let result = text;
  for (const secret of secrets) {
    if (result.includes(secret)) result = result.replaceAll(secret, MASK);
  }
  return result;
}

/**
 * Masks a text that comes in pieces, also where a secret lies in several of them: the pieces returned, put together, equal
 * the text masked as a whole. What may be the beginning of a secret is held back until more has come.
 */
export class MaskedText {
  private pending = '';

  /** `secrets` returns the secrets known now, `apply` masks what is certain. */
  constructor(
    private readonly secrets: () => readonly string[],
    private readonly apply: (text: string) => string,
  ) {}

  /** Adds a chunk and returns the text that can be shown now and was not shown before. */
  add(piece: string): string {
    const text = this.pending + piece;
    const end = this.certain(text);
    this.pending = text.slice(end);
    return this.apply(text.slice(0, end));
  }

  /** The rest, once nothing more comes. */
  end(): string {
    const rest = this.pending;
    this.pending = '';
    return this.apply(rest);
  }

  /** Position at which the text can be cut without splitting a secret. */
  private certain(text: string): number {
    const secrets = this.secrets();
    let end = text.length;
    for (const secret of secrets) end = Math.min(end, openingIn(text, secret));
    if (end === text.length) return end;
    for (let before = -1; before !== end;) {
      before = end;
      for (const secret of secrets) {
        const at = end === 0 ? -1 : text.lastIndexOf(secret, end - 1);
        if (at >= 0 && at + secret.length > end) end = at;
      }
    }
    return end;
  }
}

/** Position at which the text's end is an incomplete beginning of the secret; the text's length if there is none. */
function openingIn(text: string, secret: string): number {
  const first = secret.charAt(0);
  let at = text.indexOf(first, Math.max(0, text.length - secret.length + 1));
  while (at >= 0 && !secret.startsWith(text.slice(at))) at = text.indexOf(first, at + 1);
  return at < 0 ? text.length : at;
}

/** Reverses UTF-16 units, so that reversing twice restores the text. */
function reversed(text: string): string {
  return text.split('').reverse().join('');
}

/** The secrets in every form in which they are written. The longest first, so that an address is masked before the password in it. */
function usable(secrets: readonly string[]): string[] {
  const forms = secrets.flatMap((credential) =>
    secretForms({ credential, address: '' }, MIN_SECRET_CHARS),
  );
  return [...new Set(forms)].sort((a, b) => b.length - a.length);
}

/** Acquaints this process with the key of a run's model, which it need not have worked with itself. */
@Injectable()
export class ModelSecrets {
  constructor(
    private readonly models: ModelResolver,
    private readonly mask: SecretMask,
  ) {}

  /** A model that is gone, or cannot be used now, has no key that could be known. */
  async learn(caller: Caller, { modelName }: Pick<HarnessRun, 'modelName'>): Promise<void> {
    try {
      const model = await this.models.resolveChat(caller, modelName);
      const keys = [model, ...(model.variants ?? [])];
      this.mask.learn(keys.map(({ connection }) => connection.credential ?? ''));
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
    }
  }
}
