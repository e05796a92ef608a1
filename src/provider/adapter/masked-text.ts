/**
 * Masks a text that comes in pieces, also where a secret lies in several of them: put together, what is answered is the
 * text masked as a whole. What may be the beginning of a secret is held back until more has come.
 */
export class MaskedText {
  private held = '';

  /** `secrets` answers those that are known now, `apply` masks what is certain. */
  constructor(
    private readonly secrets: () => readonly string[],
    private readonly apply: (text: string) => string,
  ) {}

  /** What can be shown of the text so far and was not yet. */
  add(piece: string): string {
    const text = this.held + piece;
    const end = this.certain(text);
    this.held = text.slice(end);
    return this.apply(text.slice(0, end));
  }

  /** The rest, once nothing more comes. */
  end(): string {
    const rest = this.held;
    this.held = '';
    return this.apply(rest);
  }

  /** Where the text can be cut: what follows does not touch a secret that begins before. */
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

/** Where the end of the text is the beginning of the secret, and not yet the whole of it; the text's length if nowhere. */
function openingIn(text: string, secret: string): number {
  const first = secret.charAt(0);
  let at = text.indexOf(first, Math.max(0, text.length - secret.length + 1));
  while (at >= 0 && !secret.startsWith(text.slice(at))) at = text.indexOf(first, at + 1);
  return at < 0 ? text.length : at;
}
