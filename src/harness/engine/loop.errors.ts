/** The user whose run it is may no longer let the harness change files: the run ends. */
export class PermissionRevokedError extends Error {
  override readonly name = 'PermissionRevokedError';
}

/** A call was carried out, and how it ended could not be written down: only a settlement can say what it has done. */
export class UnrecordedError extends Error {
  override readonly name = 'UnrecordedError';
}

/** The operator no longer lets the tenant work in the folder, or the folder is no longer the one it was. */
export class WorkspaceRefusedError extends Error {
  override readonly name = 'WorkspaceRefusedError';
}
