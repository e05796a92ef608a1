import '@mantine/dropzone/styles.layer.css';
import { Alert, Badge, Button, Group, Stack, Switch, Text } from '@mantine/core';
import { Dropzone } from '@mantine/dropzone';
import type { FileRejection } from '@mantine/dropzone';
import {
  IconAlertTriangle,
  IconDownload,
  IconFileText,
  IconPencil,
  IconPlayerStop,
  IconRefresh,
  IconScissors,
  IconTags,
  IconUpload,
} from '@tabler/icons-react';
import { ApiError } from '@plinth/client';
import type { AttachmentView, KnowledgeView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useSearchParams } from '../app/search-params';
import type { SearchParams } from '../app/search-params';
import { useMe } from '../app/me';
import { queryClient } from '../app/query-client';
import { ActionButton } from '../ui/buttons';
import { useAction, useActionOnEach } from '../ui/action';
import { confirmDestruction } from '../ui/confirm';
import { DataTable } from '../ui/data-table';
import { Empty } from '../ui/states';
import { bytes, number } from '../ui/format';
import { MenuItem } from '../ui/menu-item';
import { saveFile } from '../ui/download';
import { useAccessDrawer } from '../access/access-drawer';
import { baseKey, useBaseAccess } from './base';
import {
  DocumentState,
  FAILED,
  isMoving,
  PENDING,
  pollWhileMoving,
  useParseActions,
} from './document-state';
import { metadataText } from './metadata';
import { MetadataDrawer } from './metadata-drawer';
import { MetadataFilter } from './metadata-filter';
import { RenameDocument } from './rename-document';
import { UploadList } from './upload-list';
import { addRefused, addUploads } from './uploads';
import styles from './knowledge.module.css';

const STATES = ['pending', 'parsing', 'parsed', 'failed'] as const;

/** Documents of a base with live states. Files dropped anywhere on the page are uploaded. */
export function Documents({ base }: { readonly base: KnowledgeView }) {
  const { t } = useTranslation('knowledge');
  const { may } = useMe();
  const { can } = useBaseAccess(base);
  const readers = useAccessDrawer('document');
  const navigate = useNavigate();
  const [address, change] = useSearchParams();
  const [describing, setDescribing] = useState<readonly AttachmentView[]>([]);
  const [renaming, setRenaming] = useState<AttachmentView>();
  const { parse, cancel } = useParseActions(base.id);
  const changes = [baseKey(base.id), ['documents']];
  const mayEdit = can('system:attach:edit');
  const mayAdd = can('system:attach:add');
  const reparseAll = useAction(() => plinth.attachReparseAll({ path: { knowledgeId: base.id } }), {
    done: ({ submitted, skipped }) =>
      t('document.reparsed', { count: submitted, skipped: number(skipped) }),
    changes,
  });
  const retryFailed = useAction(
    () => plinth.attachRetryFailed({ path: { knowledgeId: base.id } }),
    {
      done: ({ submitted }) => t('document.retried', { count: submitted }),
      changes,
    },
  );
  const parseMany = useActionOnEach(
    ({ id }: AttachmentView) => plinth.attachParse({ path: { id } }),
    {
      done: t('document.parseAsked'),
      changes,
    },
  );
  const cancelMany = useActionOnEach(({ id }: AttachmentView) => cancelIfMoving(id), {
    done: t('document.cancelled'),
    changes,
  });
  const download = useAction(async ({ id, name }: AttachmentView) =>
    saveFile(await plinth.attachContent({ path: { id } }), name),
  );
  const failuresKey = [...baseKey(base.id), 'failed'];
  const { data: failures } = useQuery({
    queryKey: failuresKey,
    queryFn: ({ signal }) =>
      plinth.attachList({ query: { knowledgeId: base.id, status: FAILED, pageSize: 1 }, signal }),
  });
  const open = ({ id }: AttachmentView, search: Record<string, string> = {}): void => {
    void navigate({
      to: '/knowledge/$knowledgeId/documents/$documentId',
      params: { knowledgeId: String(base.id), documentId: String(id) },
      search,
    });
  };
  const failed = failures?.total ?? 0;
  return (
    <Stack gap="md">
      {mayAdd && <UploadArea base={base} />}
      <UploadList knowledgeId={base.id} />
      {failed > 0 && mayEdit && address['status'] !== String(FAILED) && (
        <Alert
          variant="default"
          icon={<IconAlertTriangle size={18} stroke={1.5} className={styles['bad']} />}
          role="status"
        >
          <Group justify="space-between" gap="xs">
            <Text size="sm">{t('document.failures', { count: failed })}</Text>
            <Group gap="xs">
              <Button
                size="compact-sm"
                variant="default"
                onClick={() => change({ status: String(FAILED), page: undefined })}
              >
                {t('document.showFailed')}
              </Button>
              <Button
                size="compact-sm"
                variant="default"
                loading={retryFailed.isPending}
                onClick={() => retryFailed.mutate()}
              >
                {t('document.retryFailed')}
              </Button>
            </Group>
          </Group>
        </Alert>
      )}
      <DataTable
        name="documents"
        of={base.id}
        label={t('document.list')}
        filters={[
          { name: 'name', label: t('document.search') },
          {
            name: 'status',
            label: t('document.stateTitle'),
            choices: STATES.map((state, status) => ({
              value: String(status),
              label: t(`document.state.${state}`),
            })),
          },
          {
            name: 'filter',
            label: t('metadata.edit'),
            input: (
              <MetadataFilter
                knowledgeId={base.id}
                value={address['filter']}
                onChange={(filter) => change({ filter, page: undefined })}
              />
            ),
          },
        ]}
        query={({ name, status, filter }: SearchParams) => ({
          knowledgeId: base.id,
          ...(name && { name }),
          ...(status && { status: Number(status) }),
          ...(filter && { filter }),
        })}
        load={async (query, signal) => {
          const page = await plinth.attachList({ query, signal });
          // Parsing may fail while the list is open.
          void queryClient.invalidateQueries({ queryKey: failuresKey });
          return page;
        }}
        download={may('system:attach:export') && ((body) => plinth.attachExport({ body }))}
        rowKey={({ id }: AttachmentView) => id}
        columns={[
          {
            id: 'name',
            title: t('document.name'),
            sort: 'name',
            cell: (document) => <DocumentName document={document} />,
          },
          {
            id: 'state',
            title: t('document.stateTitle'),
            sort: 'status',
            width: 'min(330px, 42vw)',
            cell: (document) => (
              <DocumentState document={document} base={base} mayParse={mayEdit} />
            ),
          },
          {
            id: 'fragments',
            title: t('document.fragments'),
            sort: 'fragmentCount',
            align: 'right',
            width: 110,
            show: 'number',
          },
          {
            id: 'size',
            title: t('document.size'),
            sort: 'byteSize',
            align: 'right',
            width: 90,
            show: 'bytes',
          },
          {
            id: 'tokens',
            title: t('document.tokens'),
            optional: true,
            align: 'right',
            cell: ({ inputTokens, outputTokens }) => number(inputTokens + outputTokens),
          },
          {
            id: 'encoding',
            title: t('document.encoding'),
            sort: 'encoding',
            optional: true,
          },
          {
            id: 'parsed',
            title: t('document.parsedTime'),
            sort: 'parsedTime',
            optional: true,
            show: 'time',
          },
          {
            id: 'created',
            title: t('document.added'),
            sort: 'createTime',
            width: 130,
            show: 'time',
          },
        ]}
        refetchInterval={pollWhileMoving}
        tools={
          mayEdit &&
          base.documentCount > 0 && (
            <ActionButton
              variant="subtle"
              color="gray"
              icon={IconRefresh}
              onClick={() =>
                confirmDestruction({
                  title: t('document.reparseAll'),
                  body: t('document.reparseAllBody', { count: base.documentCount }),
                  action: t('document.reparseAll'),
                  run: () => reparseAll.mutateAsync(),
                })
              }
            >
              {t('document.reparseAll')}
            </ActionButton>
          )
        }
        empty={
          <Empty icon={IconFileText} title={t('document.none')}>
            {t(mayAdd ? 'document.noneHint' : 'document.noneReadable')}
          </Empty>
        }
        onOpen={open}
        bulkActions={
          mayEdit &&
          ((rows, clear) => (
            <>
              <ActionButton
                size="xs"
                variant="default"
                loading={parseMany.isPending}
                icon={IconRefresh}
                onClick={() =>
                  parseMany.mutate(
                    rows.filter((row) => !isMoving(row)),
                    { onSuccess: clear },
                  )
                }
              >
                {t('document.parseAgain')}
              </ActionButton>
              {rows.some(isMoving) && (
                <ActionButton
                  size="xs"
                  variant="default"
                  loading={cancelMany.isPending}
                  icon={IconPlayerStop}
                  onClick={() => cancelMany.mutate(rows.filter(isMoving), { onSuccess: clear })}
                >
                  {t('document.cancelParsing')}
                </ActionButton>
              )}
              <ActionButton
                size="xs"
                variant="default"
                icon={IconTags}
                onClick={() => setDescribing(rows)}
              >
                {t('metadata.edit')}
              </ActionButton>
            </>
          ))
        }
        rowActions={(document) => (
          <>
            <MenuItem
              icon={IconDownload}
              disabled={document.ossId === null || !may('system:attach:query')}
              onClick={() => download.mutate(document)}
            >
              {t('document.download')}
            </MenuItem>
            <MenuItem icon={IconScissors} onClick={() => open(document, { view: 'split' })}>
              {t('split.open')}
            </MenuItem>
            {mayEdit && (
              <>
                {isMoving(document) ? (
                  <MenuItem icon={IconPlayerStop} onClick={() => cancel.mutate(document.id)}>
                    {t('document.cancelParsing')}
                  </MenuItem>
                ) : (
                  <MenuItem icon={IconRefresh} onClick={() => parse.mutate(document.id)}>
                    {t(document.status === PENDING ? 'document.parse' : 'document.parseAgain')}
                  </MenuItem>
                )}
                <MenuItem icon={IconTags} onClick={() => setDescribing([document])}>
                  {t('metadata.edit')}
                </MenuItem>
                <MenuItem icon={IconPencil} onClick={() => setRenaming(document)}>
                  {t('document.rename')}
                </MenuItem>
                {readers.item(document)}
              </>
            )}
          </>
        )}
        remove={
          can('system:attach:remove') && {
            body: ([only, ...others]) =>
              only && others.length === 0
                ? t('document.deleteBody', { name: only.name, count: only.fragmentCount })
                : t('document.deleteManyBody', { count: others.length + 1 }),
            action: (count) => t('document.delete', { count }),
            run: (rows) => plinth.attachRemove({ path: { ids: rows.map(({ id }) => String(id)) } }),
            done: t('document.deleted'),
            changes,
          }
        }
      />
      {readers.drawer}
      {describing.length > 0 && (
        <MetadataDrawer
          knowledgeId={base.id}
          documents={describing}
          onClose={() => setDescribing([])}
        />
      )}
      {renaming && (
        <RenameDocument
          knowledgeId={base.id}
          document={renaming}
          onClose={() => setRenaming(undefined)}
        />
      )}
    </Stack>
  );
}

/** Ignores documents whose parsing has already ended. */
async function cancelIfMoving(id: number): Promise<void> {
  try {
    await plinth.attachCancel({ path: { id } });
  } catch (error) {
    if (!(error instanceof ApiError && error.code === 409)) throw error;
  }
}

function DocumentName({ document: { name, metadata } }: { readonly document: AttachmentView }) {
  const entries = Object.entries(metadata);
  return (
    <Stack gap={2} py={4} align="flex-start">
      <span>{name}</span>
      {entries.length > 0 && (
        <Group gap={4}>
          {entries.slice(0, 4).map(([key, value]) => (
            <Badge key={key} size="sm" variant="default" fw={400}>
              {key}: {metadataText(value)}
            </Badge>
          ))}
          {entries.length > 4 && (
            <Text size="xs" c="dimmed" fw={400}>
              +{entries.length - 4}
            </Text>
          )}
        </Group>
      )}
    </Stack>
  );
}

/** Upload area with the file limits. The whole page accepts dropped files as well. */
function UploadArea({ base }: { readonly base: KnowledgeView }) {
  const { t } = useTranslation('knowledge');
  const choose = useRef<() => void>(null);
  const [autoParse, setAutoParse] = useState(true);
  const { data: limits } = useQuery({
    queryKey: ['upload limits'],
    queryFn: ({ signal }) => plinth.attachLimits({ signal }),
    staleTime: Infinity,
  });
  const take = (files: File[]): void => addUploads(base.id, files, { autoParse });
  const refuse = (rejections: FileRejection[]): void =>
    addRefused(
      base.id,
      rejections.map(({ file }) => ({
        file,
        reason: t('upload.tooLarge', { limit: bytes(limits?.fileBytes ?? 0) }),
      })),
    );
  const sizeLimit = limits ? { maxSize: limits.fileBytes } : {};
  return (
    <>
      <Dropzone.FullScreen active onDrop={take} onReject={refuse} {...sizeLimit}>
        <Stack
          align="center"
          justify="center"
          mih="calc(100dvh - 80px)"
          className={styles['passive']}
        >
          <IconUpload size={40} stroke={1.5} />
          <Text size="xl" fw={600}>
            {t('upload.dropHere', { name: base.name })}
          </Text>
        </Stack>
      </Dropzone.FullScreen>
      <Dropzone
        openRef={choose}
        onDrop={take}
        onReject={refuse}
        activateOnClick={false}
        enablePointerEvents
        className={styles['dropzone']}
        inputProps={{ 'aria-label': t('upload.choose') }}
        {...sizeLimit}
      >
        <Group justify="space-between" gap="sm">
          <Group gap="sm" wrap="nowrap" flex="1 1 320px">
            <IconUpload size={22} stroke={1.5} className={styles['dim']} />
            <div>
              <Text size="sm">{t('upload.drop')}</Text>
              <Text size="xs" c="dimmed">
                {t('upload.kinds')}{' '}
                {limits && t('upload.limit', { limit: bytes(limits.fileBytes) })}
              </Text>
            </div>
          </Group>
          <Group gap="md">
            <Switch
              size="sm"
              label={t('upload.autoParse')}
              checked={autoParse}
              onChange={({ currentTarget }) => setAutoParse(currentTarget.checked)}
            />
            <ActionButton icon={IconUpload} onClick={() => choose.current?.()}>
              {t('upload.button')}
            </ActionButton>
          </Group>
        </Group>
      </Dropzone>
    </>
  );
}
