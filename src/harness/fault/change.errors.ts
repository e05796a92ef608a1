/**
 * Some files of a change are as after it and could not be put back, because somebody else has changed them meanwhile or
 * the disk refuses: what has happened is uncertain.
 */
export class RollBackFailedError extends Error {
  override readonly name = 'RollBackFailedError';

  constructor(
    /** The paths that are not as they were before. */
    readonly paths: readonly string[],
    options: { readonly cause: unknown },
  ) {
    super(
      `A change could be carried out in part only, and ${paths.length} file(s) could not be put back.`,
      options,
    );
  }
}
