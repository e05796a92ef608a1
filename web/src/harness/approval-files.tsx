import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { bytes } from '../ui/format';
import type { Approval, ApprovalFile } from './event-data';
import { FileName } from './file-name';
import styles from './harness.module.css';
import { Lines } from './lines';
import { callTitle } from './words';

/** Files that are named; of the others there is a number. */
const NAMED_FILES = 5;

/** What an approval would do, on one line. */
export function ApprovalTitle({ approval }: { readonly approval: Approval }) {
  const { t } = useTranslation('harness');
  const { command, files, summary } = approval;
  if (command !== null) return <code className={styles['mono']}>{command}</code>;
  const [first] = files;
  if (!first) return callTitle(t, { ...approval, title: summary });
  if (!areShown(approval)) return summary;
  if (files.length > 1) return t('approval.files', { count: files.length });
  return <FileName operation={t(`approval.op.${first.op}`)} path={first.path} />;
}

/** What would happen to each file, or what the call would do that changes none. */
export function ApprovalFiles({ approval }: { readonly approval: Approval }) {
  const { t } = useTranslation('harness');
  const { files, summary } = approval;
  if (files.length === 0 || !areShown(approval)) {
    return (
      <Text size="sm" className={styles['mono']}>
        {files.length === 0 ? callTitle(t, { ...approval, title: summary }) : summary}
      </Text>
    );
  }
  const more = files.length - NAMED_FILES;
  return (
    <ul className={styles['paths']}>
      {files.slice(0, NAMED_FILES).map((file) => (
        <li key={file.path}>
          <FileName operation={t(`approval.op.${file.op}`)} path={file.path} /> <Size file={file} />
        </li>
      ))}
      {more > 0 && <li>{t('approval.moreFiles', { count: more })}</li>}
    </ul>
  );
}

/** The server's own line marks what cannot be seen in a path, and shortens a long one: such a path is not in it as it is. */
function areShown({ files, summary }: Approval): boolean {
  return files.slice(0, NAMED_FILES).every(({ path }) => summary.includes(path));
}

function Size({ file }: { readonly file: ApprovalFile }) {
  const { t } = useTranslation('harness');
  const { additions, deletions, sizeBefore, sizeAfter } = file;
  if (additions !== null && deletions !== null) {
    return <Lines additions={additions} deletions={deletions} />;
  }
  return t('approval.size', { before: bytes(sizeBefore ?? 0), after: bytes(sizeAfter ?? 0) });
}
