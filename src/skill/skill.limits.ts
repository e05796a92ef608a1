/** Limits of skill packages (specification, Limits; the last three bound the work of one scan). Sizes are bytes. */
export const SKILL_LIMITS = {
  descriptionCharacters: 1_000,
  entryFileBytes: 256 * 1024,
  resourceBytes: 1024 * 1024,
  skills: 100,
  depth: 6,
  /** Parsing YAML takes time that grows with the square of its length. */
  frontmatterBytes: 16 * 1024,
  /** Files and folders that one scan looks at. */
  entries: 10_000,
  /** A folder that is slower than this is not worth waiting for. */
  seconds: 30,
} as const;
