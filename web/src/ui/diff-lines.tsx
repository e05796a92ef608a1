import 'react-diff-view/style/index.css';
import { useMemo } from 'react';
import { Decoration, Diff, Hunk, markEdits, parseDiff, tokenize } from 'react-diff-view';
import type { FileData, HunkTokens } from 'react-diff-view';
import { diffLines, formatLines } from 'unidiff';
import styles from './diff.module.css';

interface Props {
  readonly label: string;
  readonly text?: string;
  readonly before?: string;
  readonly after?: string;
  readonly wraps?: boolean;
}

const CONTEXT = 3;

export default function DiffLines({ label, text, before = '', after = '', wraps }: Props) {
  const diff = useMemo(
    () => text ?? formatLines(diffLines(before, after), { context: CONTEXT }),
    [text, before, after],
  );
  const files = useMemo(() => filesOf(diff), [diff]);
  if (files.every(({ hunks }) => hunks.length === 0)) {
    return (
      <pre className={styles['plain']} tabIndex={0} aria-label={label}>
        {diff.trim()}
      </pre>
    );
  }
  return (
    <div
      className={`${styles['diff']} ${wraps ? styles['wraps'] : ''}`}
      tabIndex={0}
      role="region"
      aria-label={label}
    >
      {files.map((file) => (
        <Diff
          key={`${file.oldPath} ${file.newPath}`}
          viewType="unified"
          diffType={file.type}
          hunks={file.hunks}
          tokens={wraps ? editsOf(file) : null}
        >
          {(hunks) =>
            hunks.flatMap((hunk, place) => [
              ...(files.length > 1 && place === 0
                ? [
                    <Decoration key="path" className={styles['path'] ?? ''}>
                      {file.newPath === '/dev/null' ? file.oldPath : file.newPath}
                    </Decoration>,
                  ]
                : []),
              ...(place > 0
                ? [
                    <Decoration key={`gap ${hunk.content}`} className={styles['gap'] ?? ''}>
                      ⋯
                    </Decoration>,
                  ]
                : []),
              <Hunk key={hunk.content} hunk={hunk} />,
            ])
          }
        </Diff>
      ))}
    </div>
  );
}

/** The changed words of changed lines. */
function editsOf({ hunks }: FileData): HunkTokens {
  return tokenize(hunks, { enhancers: [markEdits(hunks, { type: 'block' })] });
}

/** Text that cannot be parsed as a diff, such as a truncated one, is shown unchanged. */
function filesOf(diff: string): FileData[] {
  try {
    return parseDiff(diff);
  } catch {
    return [];
  }
}
