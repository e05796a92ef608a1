/** A file as it was when a tool read or wrote it in this run: what an edit is checked against. */
export interface SeenFile {
  readonly path: string;
  readonly sha256: string;
}

/** What has been seen in this run; the last sight of a path counts. */
export interface SeenFiles {
  /** SHA-256 of the path's content when it was last seen whole or in part; undefined when it never was. */
  get(path: string): string | undefined;
}
