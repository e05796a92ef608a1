import { Modal, Skeleton, Stack, Text, UnstyledButton } from '@mantine/core';
import { IconFile, IconFolder } from '@tabler/icons-react';
import type { ChangedFileView } from '@plinth/client';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { Diff } from '../ui/diff';
import { Failure, RowsSkeleton } from '../ui/states';
import styles from './harness.module.css';
import { Lines } from './lines';

interface Props {
  readonly sessionId: string;
  readonly runId: string;
  /** Increases whenever files change. */
  readonly changes: number;
}

interface Folder {
  readonly name: string;
  readonly folders: readonly Folder[];
  readonly files: readonly ChangedFileView[];
}

/** The changed files of a run as a tree; a file opens its diff. */
export function FileTree({ sessionId, runId, changes }: Props) {
  const { t } = useTranslation('harness');
  const [opened, setOpened] = useState<string>();
  const { data, error, refetch } = useQuery({
    queryKey: ['harness', 'files', runId, changes],
    queryFn: ({ signal }) => plinth.changeFiles({ path: { sessionId, runId }, signal }),
    placeholderData: keepPreviousData,
  });
  const tree = useMemo(() => treeOf(data?.data ?? []), [data]);
  if (error && !data) return <Failure error={error} onRetry={() => void refetch()} />;
  if (!data) return <RowsSkeleton rows={3} height={24} />;
  if (data.total === 0) {
    return (
      <Text size="sm" c="dimmed">
        {t('files.none')}
      </Text>
    );
  }
  return (
    <>
      <FolderView folder={tree} onOpen={setOpened} isRoot />
      {data.more && (
        <Text size="xs" c="dimmed" mt="xs">
          {t('files.more', { count: data.total - data.data.length })}
        </Text>
      )}
      {opened !== undefined && (
        <DiffDialog
          sessionId={sessionId}
          runId={runId}
          path={opened}
          onClose={() => setOpened(undefined)}
        />
      )}
    </>
  );
}

interface FolderProps {
  readonly folder: Folder;
  readonly onOpen: (path: string) => void;
  readonly isRoot?: boolean;
}

function FolderView({ folder, onOpen, isRoot = false }: FolderProps) {
  const { t } = useTranslation('harness');
  return (
    <>
      {!isRoot && (
        <span className={styles['folder']}>
          <IconFolder size={14} stroke={1.5} aria-hidden /> {folder.name}
        </span>
      )}
      <ul className={styles['tree']} aria-label={isRoot ? t('files.label') : undefined}>
        {folder.folders.map((one) => (
          <li key={one.name}>
            <FolderView folder={one} onOpen={onOpen} />
          </li>
        ))}
        {folder.files.map((file) => (
          <li key={file.path}>
            <UnstyledButton className={styles['file']} onClick={() => onOpen(file.path)}>
              <IconFile size={14} stroke={1.5} aria-hidden />
              <span className={styles['fileName']} data-op={file.op}>
                {file.path.slice(file.path.lastIndexOf('/') + 1)}
              </span>
              {file.op !== 'UPDATE' && <span className={styles['op']}>{t(`op.${file.op}`)}</span>}
              {file.changeIds.length === 0 && (
                <span className={styles['op']}>{t('files.undone')}</span>
              )}
              <Lines additions={file.additions} deletions={file.deletions} />
            </UnstyledButton>
          </li>
        ))}
      </ul>
    </>
  );
}

/** Folders that contain only one folder share its line. */
function treeOf(files: readonly ChangedFileView[], name = '', depth = 0): Folder {
  const partOf = ({ path }: ChangedFileView): string | undefined => {
    const parts = path.split('/');
    return parts.length > depth + 1 ? parts[depth] : undefined;
  };
  const groups = Map.groupBy(files, partOf);
  const folders = [...groups].flatMap(([part, inside]) =>
    part === undefined ? [] : [merged(treeOf(inside, part, depth + 1))],
  );
  return { name, folders, files: groups.get(undefined) ?? [] };
}

function merged(folder: Folder): Folder {
  const [only] = folder.folders;
  if (folder.files.length > 0 || folder.folders.length !== 1 || !only) return folder;
  return { ...only, name: `${folder.name}/${only.name}` };
}

interface DialogProps extends Omit<Props, 'changes'> {
  readonly path: string;
  readonly onClose: () => void;
}

function DiffDialog({ sessionId, runId, path, onClose }: DialogProps) {
  const { t } = useTranslation('harness');
  const { data, error, refetch } = useQuery({
    queryKey: ['harness', 'diff', runId, path],
    queryFn: ({ signal }) =>
      plinth.changeDiff({ path: { sessionId, runId }, query: { format: 'json', path }, signal }),
    staleTime: 0,
  });
  const file = data?.files?.find((one) => one.path === path);
  return (
    <Modal
      opened
      onClose={onClose}
      size="80rem"
      title={<code className={styles['mono']}>{path}</code>}
    >
      {error && <Failure error={error} onRetry={() => void refetch()} />}
      {!data && !error && <Skeleton height={160} />}
      {data && !file && <Text c="dimmed">{t('files.asBefore')}</Text>}
      {file && (
        <Stack gap="xs">
          <Diff text={file.diff} label={path} />
          {file.truncated && (
            <Text size="sm" c="dimmed">
              {t('diff.cut')}
            </Text>
          )}
        </Stack>
      )}
    </Modal>
  );
}
