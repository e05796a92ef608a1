import {
  ActionIcon,
  Badge,
  Checkbox,
  Group,
  Highlight,
  Menu,
  Pagination,
  Stack,
  Text,
  Tooltip,
} from '@mantine/core';
import {
  IconDotsVertical,
  IconFileText,
  IconLink,
  IconPencil,
  IconPlus,
  IconTrash,
} from '@tabler/icons-react';
import type { AttachmentView, FragmentView, KnowledgeView } from '@plinth/client';
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useSearchParams } from '../app/search-params';
import { ActionButton } from '../ui/buttons';
import { useAction } from '../ui/action';
import { AddressSearch } from '../ui/filters';
import { confirmDestruction } from '../ui/confirm';
import { Empty, Failure, RowsSkeleton } from '../ui/states';
import { number } from '../ui/format';
import { useLastPage } from '../ui/last-page';
import { MenuItem } from '../ui/menu-item';
import { notifySuccess } from '../ui/notify';
import { baseKey, useBaseAccess } from './base';
import { FAILED, isMoving } from './document-state';
import { FragmentDrawer } from './fragment-drawer';
import styles from './knowledge.module.css';

const PER_PAGE = 50;

interface Props {
  readonly document: AttachmentView;
  readonly base: KnowledgeView;
  /** Whether to show the document's text with overlaps dimmed instead of an editable list. */
  readonly asText: boolean;
}

/** Paginated fragments of a document. The fragment in the URL is scrolled to and highlighted. */
export function Fragments({ document, base, asText }: Props) {
  const { t } = useTranslation('knowledge');
  const { can } = useBaseAccess(base);
  const [address, change] = useSearchParams();
  const [editing, setEditing] = useState<FragmentView | 'new'>();
  const [chosen, setChosen] = useState<ReadonlySet<number>>(new Set());
  const wantedFragment = address['fragment'];
  const find = asText ? undefined : address['find'];
  const target = useQuery({
    queryKey: [...baseKey(base.id), 'fragment', document.docId, wantedFragment],
    queryFn: ({ signal }) => fragmentOf(document.docId, wantedFragment ?? '', signal),
    enabled: wantedFragment !== undefined,
    staleTime: 60_000,
  });
  // A fragment's index is its position, unless earlier fragments were deleted. It is then on an earlier page.
  const guess = target.data ? Math.floor(target.data.idx / PER_PAGE) + 1 : 1;
  const page = address['page'] ? Number(address['page']) : find ? 1 : guess;
  const waits = wantedFragment !== undefined && target.isPending && !address['page'];
  const { data, error, refetch, isPlaceholderData } = useQuery({
    queryKey: [
      ...baseKey(base.id),
      'fragments',
      document.docId,
      document.parsedTime,
      { page, find },
    ],
    queryFn: ({ signal }) =>
      plinth.fragmentList({
        query: {
          docId: document.docId,
          pageNum: page,
          pageSize: PER_PAGE,
          ...(find && { content: find }),
        },
        signal,
      }),
    enabled: !waits,
    placeholderData: keepPreviousData,
    refetchInterval: isMoving(document) ? 3_000 : false,
  });
  const rows = data?.rows ?? [];
  const total = data?.total ?? 0;
  const isKnown = data !== undefined && !isPlaceholderData;
  const last = useLastPage({ page, size: PER_PAGE, total, isKnown }, (one) =>
    change({ page: String(one) }),
  );
  const onPage = target.data && rows.some(({ id }) => id === target.data?.id);
  const first = rows[0]?.idx;
  useEffect(() => {
    if (!target.data || onPage || address['page'] || first === undefined) return;
    if (target.data.idx < first && page > 1) change({ page: String(page - 1) });
  }, [target.data, onPage, first, page, address, change]);
  const remove = useAction(
    (ids: readonly number[]) => plinth.fragmentRemove({ path: { ids: ids.map(String) } }),
    {
      done: t('fragment.deleted'),
      changes: [baseKey(base.id), ['documents']],
      after: () => setChosen(new Set()),
    },
  );
  const deleteAll = (ids: readonly number[]): void =>
    confirmDestruction({
      title: t('fragment.delete', { count: ids.length }),
      body: t('fragment.deleteBody', { count: ids.length, name: document.name }),
      action: t('fragment.delete', { count: ids.length }),
      run: () => remove.mutateAsync(ids),
    });
  if (error && !data) return <Failure error={error} onRetry={() => void refetch()} />;
  const hasFailed = document.status === FAILED;
  const mayRemove = can('system:fragment:remove');
  const mayEdit = can('system:fragment:edit');
  const toggle = (id: number): void => {
    const next = new Set(chosen);
    if (!next.delete(id)) next.add(id);
    setChosen(next);
  };
  return (
    <Stack gap="md">
      {!asText && (
        <Group justify="space-between" gap="xs">
          <AddressSearch name="find" label={t('fragment.search')} />
          <Group gap="xs">
            {chosen.size > 0 && mayRemove && (
              <ActionButton
                variant="default"
                c="var(--plinth-bad)"
                icon={IconTrash}
                onClick={() => deleteAll([...chosen])}
              >
                {t('fragment.delete', { count: chosen.size })}
              </ActionButton>
            )}
            {can('system:fragment:add') && (
              <ActionButton variant="default" icon={IconPlus} onClick={() => setEditing('new')}>
                {t('fragment.add')}
              </ActionButton>
            )}
          </Group>
        </Group>
      )}
      {wantedFragment !== undefined && target.data === null && (
        <Text size="sm" c="dimmed" role="status">
          {t('fragment.gone')}
        </Text>
      )}
      {(waits || !data) && <RowsSkeleton rows={4} height={110} />}
      {data && total === 0 && !find && (
        <Empty icon={IconFileText} title={t(hasFailed ? 'fragment.noneFailed' : 'fragment.none')}>
          {t(hasFailed ? 'fragment.noneFailedHint' : 'fragment.noneHint')}
        </Empty>
      )}
      {data && total === 0 && find && (
        <Text c="dimmed" ta="center" py="xl">
          {t('fragment.noMatch')}
        </Text>
      )}
      {rows.length > 0 && asText && (
        <DocumentText
          rows={rows}
          marked={target.data?.id}
          onOpen={(id) => change({ fragment: String(id) })}
        />
      )}
      {rows.length > 0 && !asText && (
        <Stack component="ol" gap="sm" className={styles['plain']}>
          {rows.map((fragment) => (
            <FragmentCard
              key={fragment.id}
              fragment={fragment}
              marked={fragment.id === target.data?.id}
              find={find}
              chosen={chosen.has(fragment.id)}
              onChoose={mayRemove ? () => toggle(fragment.id) : undefined}
              onEdit={mayEdit ? () => setEditing(fragment) : undefined}
              onDelete={mayRemove ? () => deleteAll([fragment.id]) : undefined}
            />
          ))}
        </Stack>
      )}
      {last > 1 && (
        <Group justify="space-between">
          <Text size="sm" c="dimmed">
            {t('document.fragmentCount', { count: total, shown: number(total) })}
          </Text>
          <Pagination
            size="sm"
            total={last}
            value={page}
            onChange={(next) => change({ page: String(next), fragment: undefined })}
            getControlProps={(control) => ({ 'aria-label': t(`pagination.${control}`) })}
          />
        </Group>
      )}
      {editing && (
        <FragmentDrawer
          base={base}
          document={document}
          fragment={editing === 'new' ? undefined : editing}
          onClose={() => setEditing(undefined)}
        />
      )}
    </Stack>
  );
}

/** Loads a fragment by fid or id; null if it no longer exists. */
async function fragmentOf(
  docId: string,
  name: string,
  signal: AbortSignal,
): Promise<FragmentView | null> {
  const { rows } = await plinth.fragmentList({ query: { docId, fid: name, pageSize: 1 }, signal });
  if (rows[0]) return rows[0];
  if (!/^\d+$/.test(name)) return null;
  return plinth.fragmentGet({ path: { id: Number(name) }, signal }).catch(() => null);
}

/** Scrolls to the element when `wanted` becomes true. */
function useScrollTo<E extends HTMLElement>(wanted: boolean) {
  const place = useRef<E>(null);
  useEffect(() => {
    if (wanted) place.current?.scrollIntoView({ block: 'center' });
  }, [wanted]);
  return place;
}

interface TextProps {
  readonly rows: readonly FragmentView[];
  readonly marked: number | undefined;
  readonly onOpen: (id: number) => void;
}

/** The parsed text of the document, one paragraph per fragment, with page numbers. */
function DocumentText({ rows, marked, onOpen }: TextProps) {
  return (
    <article className={styles['text']}>
      {rows.map((fragment, place) => (
        <TextPart
          key={fragment.id}
          fragment={fragment}
          before={rows[place - 1]}
          marked={fragment.id === marked}
          onOpen={() => onOpen(fragment.id)}
        />
      ))}
    </article>
  );
}

interface TextPartProps {
  readonly fragment: FragmentView;
  readonly before: FragmentView | undefined;
  readonly marked: boolean;
  readonly onOpen: () => void;
}

function TextPart({ fragment, before, marked, onOpen }: TextPartProps) {
  const { t } = useTranslation('knowledge');
  const place = useScrollTo<HTMLDivElement>(marked);
  const { content, idx, page, headings } = fragment;
  const repeated = repeatedOf(fragment, before);
  const newPage = page !== null && page !== before?.page;
  return (
    <>
      {newPage && (
        <div className={styles['pageMark']}>
          <span>{t('fragment.page', { page: number(page) })}</span>
        </div>
      )}
      <div
        ref={place}
        className={styles['part']}
        data-marked={marked || undefined}
        aria-current={marked ? 'true' : undefined}
      >
        <Tooltip label={headings ?? t('fragment.number', { number: number(idx + 1) })}>
          <button
            type="button"
            className={styles['partNumber']}
            aria-label={t('fragment.mark', { number: number(idx + 1) })}
            onClick={onOpen}
          >
            {number(idx + 1)}
          </button>
        </Tooltip>
        <div className={styles['partText']}>
          {repeated > 0 && <span className={styles['repeated']}>{content.slice(0, repeated)}</span>}
          {content.slice(repeated)}
        </div>
      </div>
    </>
  );
}

/** Number of leading characters that repeat the end of the previous fragment. */
function repeatedOf(
  { content, charStart }: FragmentView,
  before: FragmentView | undefined,
): number {
  if (!before || charStart === null || before.charEnd === null) return 0;
  const length = before.charEnd - charStart;
  if (length <= 0 || length > content.length) return 0;
  return before.content.endsWith(content.slice(0, length)) ? length : 0;
}

interface CardProps {
  readonly fragment: FragmentView;
  readonly marked: boolean;
  readonly find: string | undefined;
  readonly chosen: boolean;
  readonly onChoose: (() => void) | undefined;
  readonly onEdit: (() => void) | undefined;
  readonly onDelete: (() => void) | undefined;
}

function FragmentCard({ fragment, marked, find, chosen, onChoose, onEdit, onDelete }: CardProps) {
  const { t } = useTranslation('knowledge');
  const place = useScrollTo<HTMLLIElement>(marked);
  const { idx, content, context, page, headings, location, edited, remark, fid } = fragment;
  const copyAddress = (): void => {
    const address = new URL(window.location.href);
    address.search = new URLSearchParams({ fragment: fid }).toString();
    void navigator.clipboard
      .writeText(address.href)
      .then(() => notifySuccess(t('fragment.linkCopied')));
  };
  return (
    <li ref={place} className={styles['card']} data-marked={marked || undefined}>
      <Group justify="space-between" wrap="nowrap" gap="xs" mb={6}>
        <Group gap={8} className={styles['facts']}>
          {onChoose && (
            <Checkbox
              size="xs"
              aria-label={t('fragment.choose', { number: number(idx + 1) })}
              checked={chosen}
              onChange={onChoose}
            />
          )}
          <Text fw={600} size="sm">
            {number(idx + 1)}
          </Text>
          {page !== null && <span>{t('fragment.page', { page: number(page) })}</span>}
          {location && <span>{location}</span>}
          <span>
            {t('fragment.characters', { count: content.length, shown: number(content.length) })}
          </span>
          {edited && (
            <Tooltip label={t('fragment.editedHint')} multiline maw={320}>
              <Badge size="sm" color="yellow" c="var(--plinth-warn)" variant="light">
                {t('fragment.edited')}
              </Badge>
            </Tooltip>
          )}
        </Group>
        <Menu>
          <Menu.Target>
            <ActionIcon aria-label={t('fragment.actions', { number: number(idx + 1) })}>
              <IconDotsVertical size={16} stroke={1.5} />
            </ActionIcon>
          </Menu.Target>
          <Menu.Dropdown>
            <MenuItem icon={IconLink} onClick={copyAddress}>
              {t('fragment.copyLink')}
            </MenuItem>
            {onEdit && (
              <MenuItem icon={IconPencil} onClick={onEdit}>
                {t('fragment.edit')}
              </MenuItem>
            )}
            {onDelete && (
              <MenuItem color="red" icon={IconTrash} onClick={onDelete}>
                {t('fragment.delete', { count: 1 })}
              </MenuItem>
            )}
          </Menu.Dropdown>
        </Menu>
      </Group>
      {headings && (
        <Text size="xs" c="dimmed" mb={4}>
          {headings}
        </Text>
      )}
      {context && (
        <Text size="sm" fs="italic" c="dimmed" mb={4} title={t('fragment.contextHint')}>
          {context}
        </Text>
      )}
      <Highlight
        component="div"
        highlight={find ?? ''}
        className={styles['content']}
        highlightStyles={HIGHLIGHT}
      >
        {content}
      </Highlight>
      {remark && (
        <Text size="xs" c="dimmed" mt={6}>
          {remark}
        </Text>
      )}
    </li>
  );
}

const HIGHLIGHT = { background: 'var(--knowledge-mark)', color: 'inherit' };
