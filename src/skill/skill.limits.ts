/** Limits of skill packages (docs/WIRE.md, Skills); the last three bound the work of one scan. Sizes are bytes. */
export const SKILL_LIMITS = {
  descriptionCharacters: 1_000,
  entryFileBytes: 256 * 1024,
  resourceBytes: 1024 * 1024,
  skills: 100,
  depth: 6,
  /** The time to parse YAML grows with the square of its length. */
  frontmatterBytes: 16 * 1024,
  /** Files and folders per scan. */
  entries: 10_000,
  /** Time limit of a scan. */
  seconds: 30,
} as const;
