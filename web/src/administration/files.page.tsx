import { Group, Image, Modal, Skeleton, Stack, Text } from '@mantine/core';
import {
  IconDownload,
  IconEye,
  IconFile,
  IconFileMusic,
  IconFileText,
  IconFileZip,
  IconFiles,
  IconMovie,
  IconPhoto,
} from '@tabler/icons-react';
import type { Icon } from '@tabler/icons-react';
import type { StoredFileView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import type { SearchParams } from '../app/search-params';
import { ActionButton } from '../ui/buttons';
import { useAction } from '../ui/action';
import { saveFile } from '../ui/download';
import { Failure } from '../ui/states';
import { choicesOf } from '../ui/filters';
import { bytes } from '../ui/format';
import { ListPage } from '../ui/list-page';
import { MenuItem } from '../ui/menu-item';
import styles from './files.module.css';

/** Image types that are safe to show because they cannot contain scripts. Other files are only downloaded. */
const IMAGES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/bmp'];

const KINDS = ['image', 'audio', 'video', 'text', 'application'] as const;

function isImage({ mimeType }: StoredFileView): boolean {
  return IMAGES.includes(mimeType);
}

function iconOf(mimeType: string): Icon {
  if (mimeType.startsWith('image/')) return IconPhoto;
  if (mimeType.startsWith('audio/')) return IconFileMusic;
  if (mimeType.startsWith('video/')) return IconMovie;
  if (/zip|rar|tar|7z|compress/.test(mimeType)) return IconFileZip;
  if (/text|pdf|word|document|sheet|presentation/.test(mimeType)) return IconFileText;
  return IconFile;
}

function contentOf({ ossId }: StoredFileView, signal?: AbortSignal): Promise<Blob | File> {
  return plinth.storageDownload({ path: { id: Number(ossId) }, ...(signal && { signal }) });
}

export default function FilesPage() {
  const { t } = useTranslation('administration');
  const { may } = useMe();
  const [openFile, setOpenFile] = useState<StoredFileView>();
  const canDownload = may('system:oss:download');
  const download = useAction(async (file: StoredFileView) =>
    saveFile(await contentOf(file), file.originalName),
  );
  return (
    <ListPage
      name="files"
      title={t('files.title')}
      description={t('files.about')}
      filters={[
        { name: 'q', label: t('files.search') },
        {
          name: 'kind',
          label: t('files.anyKind'),
          choices: choicesOf(KINDS, (kind) => t(`files.kinds.${kind}`)),
        },
      ]}
      query={({ q, kind }: SearchParams) => ({
        originalName: q,
        ...(kind && { mimeType: `${kind}/` }),
      })}
      load={(query, signal) => plinth.storageList({ query, signal })}
      rowKey={({ ossId }: StoredFileView) => ossId}
      columns={[
        {
          id: 'originalName',
          title: t('files.name'),
          sort: true,
          cell: ({ originalName, mimeType }) => {
            const Icon = iconOf(mimeType);
            return (
              <Group gap="xs" wrap="nowrap">
                <Icon size={18} stroke={1.5} className={styles['icon']} />
                <span>{originalName}</span>
              </Group>
            );
          },
        },
        {
          id: 'mimeType',
          title: t('files.type'),
          sort: true,
          cell: ({ mimeType }) => (
            <Text size="sm" c="dimmed">
              {mimeType.split(';')[0]}
            </Text>
          ),
        },
        { id: 'byteSize', title: t('files.size'), sort: true, align: 'right', show: 'bytes' },
        { id: 'createByName', title: t('files.by') },
        { id: 'createTime', title: t('files.uploaded'), sort: true, show: 'time' },
        { id: 'service', title: t('files.storage'), optional: true },
      ]}
      canOpen={canDownload}
      onOpen={(file) => (isImage(file) ? setOpenFile(file) : download.mutate(file))}
      rowActions={
        canDownload &&
        ((file) => (
          <>
            {isImage(file) && (
              <MenuItem icon={IconEye} onClick={() => setOpenFile(file)}>
                {t('files.preview')}
              </MenuItem>
            )}
            <MenuItem icon={IconDownload} onClick={() => download.mutate(file)}>
              {t('files.download')}
            </MenuItem>
          </>
        ))
      }
      remove={
        may('system:oss:remove') && {
          body: (files) => (
            <Stack gap="xs">
              <Text fw={600}>{files.map(({ originalName }) => originalName).join(', ')}</Text>
              <Text>{t('files.removeBody')}</Text>
            </Stack>
          ),
          action: (count) => t('files.remove', { count }),
          run: (files) => plinth.storageRemove({ path: { ids: files.map(({ ossId }) => ossId) } }),
          done: t('files.removed'),
        }
      }
      empty={{ icon: IconFiles, title: t('files.empty'), hint: t('files.emptyHint') }}
    >
      {openFile && (
        <Preview
          file={openFile}
          onDownload={() => download.mutate(openFile)}
          onClose={() => setOpenFile(undefined)}
        />
      )}
    </ListPage>
  );
}

interface PreviewProps {
  readonly file: StoredFileView;
  readonly onDownload: () => void;
  readonly onClose: () => void;
}

/** An image that is fetched with the sign-in, so the page contains neither a token nor a signed address. */
function Preview({ file, onDownload, onClose }: PreviewProps) {
  const { t } = useTranslation('administration');
  const [address, setAddress] = useState<string>();
  const { data, error, refetch } = useQuery({
    queryKey: ['files', 'content', file.ossId],
    queryFn: ({ signal }) => contentOf(file, signal),
    gcTime: 0,
  });
  useEffect(() => {
    if (!data) return undefined;
    // The type comes from the list, because the download has a generic content type.
    const objectUrl = URL.createObjectURL(new Blob([data], { type: file.mimeType }));
    setAddress(objectUrl);
    return () => URL.revokeObjectURL(objectUrl);
  }, [data, file.mimeType]);
  return (
    <Modal opened onClose={onClose} title={file.originalName} size="xl">
      <Stack>
        {error && <Failure error={error} onRetry={() => void refetch()} />}
        {!error && !address && <Skeleton height={240} />}
        {address && (
          <Image src={address} alt={file.originalName} fit="contain" className={styles['image']} />
        )}
        <Group justify="space-between">
          <Text size="sm" c="dimmed">
            {file.mimeType} · {bytes(file.byteSize)}
          </Text>
          <ActionButton variant="default" icon={IconDownload} onClick={onDownload}>
            {t('files.download')}
          </ActionButton>
        </Group>
      </Stack>
    </Modal>
  );
}
