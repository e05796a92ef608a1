/** A configuration that cannot be used. The message names the variable, the problem and what to set or run. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';
}
