import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { bytes } from '../ui/format';
import type { Approval, ApprovalFile } from './event-data';
import { FileName } from './file-name';
import styles from './harness.module.css';
import { Lines } from './lines';
import { callTitle } from './words';

/** Maximum number of files listed by name; further files are only counted. */
const NAMED_FILES = 5;

/** One-line description of what an approval would do. */
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

/** Lists the effect on each file, or describes a call that changes no files. */
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

/** Whether the server's title contains the path unchanged. It marks invisible characters and shortens long paths. */
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
