import { Alert, Badge, Button, Group, Menu, SegmentedControl, Skeleton, Text } from '@mantine/core';
import {
  IconAlertCircle,
  IconDotsVertical,
  IconDownload,
  IconPencil,
  IconRefresh,
  IconTags,
  IconTrash,
} from '@tabler/icons-react';
import { ApiError } from '@plinth/client';
import type { AttachmentView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useNavigate, useParams } from '@tanstack/react-router';
import { lazy, Suspense, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useSearchParams } from '../app/search-params';
import { useMe } from '../app/me';
import { ActionButton } from '../ui/buttons';
import { useAction } from '../ui/action';
import { confirmDestruction } from '../ui/confirm';
import { Failure, NotFound, RowsSkeleton } from '../ui/states';
import { bytes, number } from '../ui/format';
import { MenuItem } from '../ui/menu-item';
import { Page } from '../ui/page';
import { Time } from '../ui/time';
import { saveFile } from '../ui/download';
import { baseKey, baseQuery, useBaseAccess } from './base';
import {
  DocumentState,
  isMoving,
  PARSED,
  pollWhileMoving,
  useParseActions,
} from './document-state';
import { Fragments } from './fragments';
import { metadataText } from './metadata';
import { MetadataDrawer } from './metadata-drawer';
import { RenameDocument } from './rename-document';
import styles from './knowledge.module.css';

const SplitPreview = lazy(() => import('./split-preview'));

const VIEWS = ['text', 'fragments', 'split'] as const;
type View = (typeof VIEWS)[number];

/**
 * The page of a document: its text with the fragments, the editable fragments and a preview of other split settings.
 * `?fragment=` shows and highlights a fragment, given a source's fid or a fragment's id. The document is addressed by id or
 * docId, because sources of an answer have only the docId.
 */
export default function DocumentPage() {
  const { t } = useTranslation('knowledge');
  const { t: ofApp } = useTranslation('app');
  const { may } = useMe();
  const { knowledgeId = '', documentId = '' } = useParams({ strict: false });
  const id = Number(knowledgeId);
  const navigate = useNavigate();
  const [address, change] = useSearchParams();
  const [panel, setPanel] = useState<'metadata' | 'rename'>();
  const view: View = VIEWS.find((one) => one === address['view']) ?? 'text';
  const { data: base, error: baseError } = useQuery(baseQuery(id));
  const {
    data: document,
    error,
    refetch,
  } = useQuery({
    queryKey: [...baseKey(id), 'document', documentId],
    queryFn: ({ signal }) => documentOf(id, documentId, signal),
    refetchInterval: ({ state }) => (state.data ? pollWhileMoving([state.data]) : false),
  });
  const access = useBaseAccess(base);
  const { parse } = useParseActions(id);
  const download = useAction(async ({ id: ofDocument, name }: AttachmentView) =>
    saveFile(await plinth.attachContent({ path: { id: ofDocument } }), name),
  );
  const remove = useAction(
    (ofDocument: number) => plinth.attachRemove({ path: { ids: [String(ofDocument)] } }),
    {
      done: t('document.deleted'),
      changes: [['documents']],
      after: () => void navigate({ to: '/knowledge/$knowledgeId', params: { knowledgeId } }),
    },
  );
  const failure = error ?? baseError;
  if (failure instanceof ApiError && failure.code === 404) return <NotFound />;
  if (failure && (!document || !base))
    return <Failure error={failure} onRetry={() => void refetch()} />;
  if (document === null) return <NotFound />;
  const mayEdit = access.can('system:attach:edit');
  const entries = Object.entries(document?.metadata ?? {});
  return (
    <Page
      title={document?.name ?? ''}
      width={view === 'split' ? 'full' : 'table'}
      above={[
        { title: ofApp('pages.knowledge'), path: '/knowledge' },
        { title: base?.name ?? '…', path: `/knowledge/${knowledgeId}` },
      ]}
      description={
        document ? (
          <Group component="span" gap={8} renderRoot={(props) => <span {...props} />}>
            <span>{bytes(document.byteSize)}</span>
            <span aria-hidden>·</span>
            <span>
              {t('document.fragmentCount', {
                count: document.fragmentCount,
                shown: number(document.fragmentCount),
              })}
            </span>
            <span aria-hidden>·</span>
            <span>
              {t('document.added')} <Time value={document.createTime} />
            </span>
          </Group>
        ) : (
          <Skeleton component="span" display="block" height={14} width={280} />
        )
      }
      actions={
        document && (
          <>
            {document.ossId !== null && may('system:attach:query') && (
              <ActionButton
                variant="default"
                icon={IconDownload}
                loading={download.isPending}
                onClick={() => download.mutate(document)}
              >
                {t('document.download')}
              </ActionButton>
            )}
            {(mayEdit || access.can('system:attach:remove')) && (
              <Menu>
                <Menu.Target>
                  <Button variant="default" px={10} aria-label={t('document.more')}>
                    <IconDotsVertical size={16} stroke={1.5} />
                  </Button>
                </Menu.Target>
                <Menu.Dropdown>
                  {mayEdit && (
                    <>
                      <MenuItem
                        disabled={isMoving(document)}
                        icon={IconRefresh}
                        onClick={() => parse.mutate(document.id)}
                      >
                        {t('document.parseAgain')}
                      </MenuItem>
                      <MenuItem icon={IconTags} onClick={() => setPanel('metadata')}>
                        {t('metadata.edit')}
                      </MenuItem>
                      <MenuItem icon={IconPencil} onClick={() => setPanel('rename')}>
                        {t('document.rename')}
                      </MenuItem>
                    </>
                  )}
                  {access.can('system:attach:remove') && (
                    <MenuItem
                      color="red"
                      icon={IconTrash}
                      onClick={() =>
                        confirmDestruction({
                          title: t('document.delete', { count: 1 }),
                          body: t('document.deleteBody', {
                            name: document.name,
                            count: document.fragmentCount,
                          }),
                          action: t('document.delete', { count: 1 }),
                          run: () => remove.mutateAsync(document.id),
                        })
                      }
                    >
                      {t('document.delete', { count: 1 })}
                    </MenuItem>
                  )}
                </Menu.Dropdown>
              </Menu>
            )}
          </>
        )
      }
    >
      {document && base ? (
        <>
          {entries.length > 0 && (
            <Group
              gap={6}
              mb="md"
              component="ul"
              className={styles['plain']}
              aria-label={t('metadata.title')}
            >
              {entries.map(([key, value]) => (
                <li key={key}>
                  <Badge variant="default" fw={400}>
                    {key}: {metadataText(value)}
                  </Badge>
                </li>
              ))}
            </Group>
          )}
          {document.status !== PARSED && (
            <Alert
              variant="default"
              mb="md"
              role="status"
              icon={<IconAlertCircle size={18} stroke={1.5} />}
            >
              <DocumentState document={document} base={base} mayParse={mayEdit} />
              {document.fragmentCount > 0 && (
                <Text size="sm" c="dimmed">
                  {t('document.fragmentsOfBefore')}
                </Text>
              )}
            </Alert>
          )}
          <SegmentedControl
            mb="md"
            aria-label={t('view.title')}
            data={VIEWS.map((one) => ({ value: one, label: t(`view.${one}`) }))}
            value={view}
            onChange={(next) =>
              change({ view: next === 'text' ? undefined : next, page: undefined, find: undefined })
            }
          />
          {view === 'split' ? (
            <Suspense fallback={<RowsSkeleton rows={3} height={120} />}>
              <SplitPreview base={base} document={document} />
            </Suspense>
          ) : (
            <Fragments document={document} base={base} asText={view === 'text'} />
          )}
          {panel === 'metadata' && (
            <MetadataDrawer
              knowledgeId={id}
              documents={[document]}
              onClose={() => setPanel(undefined)}
            />
          )}
          {panel === 'rename' && (
            <RenameDocument
              knowledgeId={id}
              document={document}
              onClose={() => setPanel(undefined)}
            />
          )}
        </>
      ) : (
        <RowsSkeleton rows={4} height={96} />
      )}
    </Page>
  );
}

/** Loads a document by id or docId; null if there is no document with that docId. */
async function documentOf(
  knowledgeId: number,
  name: string,
  signal: AbortSignal,
): Promise<AttachmentView | null> {
  if (/^\d+$/.test(name)) return plinth.attachGet({ path: { id: Number(name) }, signal });
  const { rows } = await plinth.attachList({
    query: { knowledgeId, docId: name, pageSize: 1 },
    signal,
  });
  return rows[0] ?? null;
}
