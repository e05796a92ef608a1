import { Button, Group, Image, Modal, Skeleton, Stack, Text } from '@mantine/core';
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
  IconTrash,
} from '@tabler/icons-react';
import type { Icon } from '@tabler/icons-react';
import type { StoredFileView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useEffect, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { useAction } from '../ui/action';
import { AddressSearch, AddressSelect } from '../ui/address-fields';
import { confirmDestruction } from '../ui/confirm';
import { DataTable } from '../ui/data-table';
import { saveFile } from '../ui/download';
import { Empty } from '../ui/empty';
import { Failure } from '../ui/failure';
import { bytes } from '../ui/format';
import { MenuItem } from '../ui/menu-item';
import { Page } from '../ui/page';
import { Time } from '../ui/time';
import styles from './files.module.css';

/** Image types that are safe to show because they cannot contain scripts. Other files are only downloaded. */
const IMAGES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/bmp'];

const KINDS = ['image', 'audio', 'video', 'text', 'application'] as const;

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
  const canRemove = may('system:oss:remove');
  const canDownload = may('system:oss:download');
  const download = useAction(async (file: StoredFileView) =>
    saveFile(await contentOf(file), file.originalName),
  );
  const remove = useAction(
    (files: readonly StoredFileView[]) =>
      plinth.storageRemove({ path: { ids: files.map(({ ossId }) => ossId) } }),
    { done: t('files.removed'), changes: [['files']] },
  );
  const askToRemove = (files: readonly StoredFileView[], after?: () => void): void =>
    confirmDestruction({
      title: t('files.remove', { count: files.length }),
      body: (
        <Stack gap="xs">
          <Text fw={600}>{files.map(({ originalName }) => originalName).join(', ')}</Text>
          <Text>{t('files.removeBody')}</Text>
        </Stack>
      ),
      action: t('files.remove', { count: files.length }),
      run: async () => {
        await remove.mutateAsync(files);
        after?.();
      },
    });
  return (
    <Page title={t('files.title')} description={t('files.about')}>
      <DataTable
        name="files"
        label={t('files.title')}
        filters={['q', 'kind']}
        columns={[
          {
            id: 'originalName',
            title: t('files.name'),
            sort: 'originalName',
            cell: ({ originalName, mimeType }: StoredFileView) => {
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
            sort: 'mimeType',
            cell: ({ mimeType }) => (
              <Text size="sm" c="dimmed">
                {mimeType.split(';')[0]}
              </Text>
            ),
          },
          {
            id: 'byteSize',
            title: t('files.size'),
            sort: 'byteSize',
            align: 'right',
            cell: ({ byteSize }) => bytes(byteSize),
          },
          {
            id: 'createByName',
            title: t('files.by'),
            cell: ({ createByName }) => createByName ?? '–',
          },
          {
            id: 'createTime',
            title: t('files.uploaded'),
            sort: 'createTime',
            cell: ({ createTime }) => <Time value={createTime} />,
          },
          {
            id: 'service',
            title: t('files.storage'),
            optional: true,
            cell: ({ service }) => service,
          },
        ]}
        load={(query, { q, kind }, signal) =>
          plinth.storageList({
            query: { ...query, originalName: q, ...(kind && { mimeType: `${kind}/` }) },
            signal,
          })
        }
        rowKey={({ ossId }) => ossId}
        toolbar={
          <>
            <AddressSearch name="q" label={t('files.search')} />
            <AddressSelect
              name="kind"
              label={t('files.anyKind')}
              data={KINDS.map((value) => ({ value, label: t(`files.kinds.${value}`) }))}
            />
          </>
        }
        empty={
          <Empty icon={IconFiles} title={t('files.empty')}>
            {t('files.emptyHint')}
          </Empty>
        }
        {...(canDownload && {
          onOpen: (file: StoredFileView) =>
            IMAGES.includes(file.mimeType) ? setOpenFile(file) : download.mutate(file),
        })}
        {...((canDownload || canRemove) && {
          rowActions: (file: StoredFileView) => (
            <>
              {canDownload && IMAGES.includes(file.mimeType) && (
                <MenuItem icon={IconEye} onClick={() => setOpenFile(file)}>
                  {t('files.preview')}
                </MenuItem>
              )}
              {canDownload && (
                <MenuItem icon={IconDownload} onClick={() => download.mutate(file)}>
                  {t('files.download')}
                </MenuItem>
              )}
              {canRemove && (
                <MenuItem color="red" icon={IconTrash} onClick={() => askToRemove([file])}>
                  {t('files.remove', { count: 1 })}
                </MenuItem>
              )}
            </>
          ),
        })}
        {...(canRemove && {
          bulkActions: (files: readonly StoredFileView[], clear: () => void) => (
            <Button variant="light" color="red" onClick={() => askToRemove(files, clear)}>
              {t('files.remove', { count: files.length })}
            </Button>
          ),
        })}
      />
      {openFile && (
        <Preview
          file={openFile}
          onDownload={() => download.mutate(openFile)}
          onClose={() => setOpenFile(undefined)}
        />
      )}
    </Page>
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
    <Modal
      opened
      onClose={onClose}
      title={file.originalName}
      size="xl"
      closeButtonProps={{ 'aria-label': t('close') }}
    >
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
          <Button
            variant="default"
            leftSection={<IconDownload size={16} stroke={1.5} />}
            onClick={onDownload}
          >
            {t('files.download')}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
