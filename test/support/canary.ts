/** Secrets that tests plant. Whatever leaves the service is searched for them; logs are searched at the end. */
class Canary {
  private readonly secrets = new Set<string>();

  /** Makes a secret that must never be seen again outside the vault. */
  plant(label: string): string {
    const secret = `sk-canary-${label}-${Math.random().toString(36).slice(2, 14)}`;
    this.secrets.add(secret);
    return secret;
  }

  /** Throws when the text holds a planted secret. */
  check(where: string, text: string): void {
    for (const secret of this.secrets) {
      if (text.includes(secret)) throw new Error(`A planted secret leaked in ${where}.`);
    }
  }
}

export const canary = new Canary();
