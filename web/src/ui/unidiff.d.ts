declare module 'unidiff' {
  interface Change {
    readonly value: string;
  }
  export function diffLines(before: string, after: string): Change[];
  export function formatLines(
    changes: readonly Change[],
    options: { readonly context: number; readonly aname?: string; readonly bname?: string },
  ): string;
}
