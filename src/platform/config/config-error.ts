/** A configuration that cannot be used. The message names the variable, the problem and what to set or run. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  /** The text for the person who started the process. */
  get explanation(): string {
    return `Plinth cannot start with this configuration:\n${this.message}`;
  }
}
