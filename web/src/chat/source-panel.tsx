import { Anchor, Button, CloseButton, Skeleton, Stack, Text } from '@mantine/core';
import { ApiError } from '@plinth/client';
import type { FragmentView } from '@plinth/client';
import { IconDownload, IconExternalLink } from '@tabler/icons-react';
import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useEffect, useRef } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { ActionButton, LinkButton } from '../ui/buttons';
import { useAction } from '../ui/action';
import { saveFile } from '../ui/download';
import { Failure } from '../ui/states';
import { Markdown } from '../ui/markdown';
import { absolute } from '../ui/time';
import type { ShownSource } from './actions';
import { sourceTextOf } from './turns';
import styles from './source-panel.module.css';

const FRAGMENTS_PER_PAGE = 20;

interface Props {
  readonly source: ShownSource;
  readonly onClose: () => void;
}

/** A fragment in the text of its document, with the fragments around it. */
export default function SourcePanel({ source, onClose }: Props) {
  const { t } = useTranslation('chat');
  const { may } = useMe();
  const heading = useRef<HTMLHeadingElement>(null);
  const mayRead = may('system:fragment:list');
  useEffect(() => heading.current?.focus(), [source]);
  return (
    <section className={styles['panel']} aria-label={t('source.panel')}>
      <header className={styles['head']}>
        <div className={styles['title']}>
          <h2 ref={heading} tabIndex={-1}>
            <span className={styles['number']}>{source.number}</span> {source.document}
          </h2>
          <p className={styles['place']}>
            {[
              source.page !== null && t('source.pageOf', { page: source.page }),
              source.headings,
              source.location,
            ]
              .filter(Boolean)
              .join(' · ')}
          </p>
        </div>
        <CloseButton aria-label={t('source.close')} onClick={onClose} />
      </header>
      {source.url === undefined ? (
        mayRead ? (
          <DocumentText source={source} />
        ) : (
          <SentText source={source} reason="permission" />
        )
      ) : (
        <WebText source={source} url={source.url} />
      )}
    </section>
  );
}

/** A page of the web: its address, when it was read, and what the model read, if the page still has it. */
function WebText({ source, url }: { readonly source: ShownSource; readonly url: string }) {
  const { t } = useTranslation('chat');
  const { readTime } = source;
  return (
    <>
      <div className={styles['text']}>
        <Anchor href={url} target="_blank" rel="noopener noreferrer nofollow" size="sm">
          {url}
        </Anchor>
        {readTime !== undefined && (
          <Text size="sm" c="dimmed">
            {t('source.readAt', { time: absolute(new Date(readTime)) })}
          </Text>
        )}
      </div>
      <SentText source={source} reason="web" />
    </>
  );
}

/** The text that was sent to the model, if the page still has it. */
function SentText({
  source,
  reason,
}: {
  readonly source: ShownSource;
  readonly reason: 'permission' | 'gone' | 'web';
}) {
  const { t } = useTranslation('chat');
  const text = sourceTextOf(source.fid);
  return (
    <div className={styles['text']}>
      <Text size="sm" c="dimmed" mb="sm">
        {t(`source.${reason}`)}
      </Text>
      {text !== undefined && (
        <mark className={styles['fragment']}>
          <FragmentText text={text} document={source.document} />
        </mark>
      )}
    </div>
  );
}

function DocumentText({ source }: { readonly source: ShownSource }) {
  const { t } = useTranslation('chat');
  const { docId, fid } = source;
  const mark = useRef<HTMLElement>(null);
  const {
    data: citedFragment,
    error,
    refetch,
  } = useQuery({
    queryKey: ['chat', 'source', docId, fid],
    queryFn: async ({ signal }) => {
      const { rows } = await plinth.fragmentList({
        query: { docId, fid, pageNum: 1, pageSize: 1 },
        signal,
      });
      return rows[0] ?? null;
    },
    staleTime: 60_000,
  });
  const text = useInfiniteQuery({
    queryKey: ['chat', 'source', docId, fid, 'text'],
    enabled: Boolean(citedFragment),
    initialPageParam: Math.floor((citedFragment?.idx ?? 0) / FRAGMENTS_PER_PAGE) + 1,
    queryFn: ({ pageParam, signal }) =>
      plinth.fragmentList({
        query: { docId, pageNum: pageParam, pageSize: FRAGMENTS_PER_PAGE },
        signal,
      }),
    getNextPageParam: ({ total }, _pages, page) =>
      page * FRAGMENTS_PER_PAGE < total ? page + 1 : undefined,
    getPreviousPageParam: (_page, _pages, page) => (page > 1 ? page - 1 : undefined),
    staleTime: 60_000,
  });
  const isLoaded = text.data !== undefined;
  useEffect(() => {
    if (isLoaded) mark.current?.scrollIntoView({ block: 'center' });
  }, [isLoaded, fid]);

  const failure = error ?? text.error;
  if (failure instanceof ApiError && failure.code === 404)
    return <SentText source={source} reason="gone" />;
  if (failure && !text.data) return <Failure error={failure} onRetry={() => void refetch()} />;
  if (citedFragment === null) return <SentText source={source} reason="gone" />;
  const fragments = text.data?.pages.flatMap((page) => page.rows) ?? [];
  return (
    <>
      <Links source={source} />
      <div
        className={styles['text']}
        tabIndex={0}
        role="region"
        aria-label={t('source.text', { name: source.document })}
      >
        {!text.data && (
          <Stack gap={10} aria-hidden>
            {[100, 94, 97, 60, 99, 92, 40].map((width) => (
              <Skeleton key={width} height={14} width={`${width}%`} />
            ))}
          </Stack>
        )}
        {text.hasPreviousPage && (
          <Button
            variant="subtle"
            size="xs"
            loading={text.isFetchingPreviousPage}
            onClick={() => void text.fetchPreviousPage()}
          >
            {t('source.before')}
          </Button>
        )}
        {fragments.map((fragment, place) => {
          const newText = withoutRepetition(fragment, fragments[place - 1], fid);
          const isNewPage = fragment.page !== null && fragment.page !== fragments[place - 1]?.page;
          return (
            <div key={fragment.id}>
              {isNewPage && (
                <p className={styles['page']}>{t('source.pageOf', { page: fragment.page })}</p>
              )}
              {fragment.fid === fid ? (
                <mark ref={mark} className={styles['fragment']}>
                  <FragmentText text={newText} document={source.document} />
                </mark>
              ) : (
                <div className={styles['fragment']}>
                  <FragmentText text={newText} document={source.document} />
                </div>
              )}
            </div>
          );
        })}
        {text.hasNextPage && (
          <Button
            variant="subtle"
            size="xs"
            loading={text.isFetchingNextPage}
            onClick={() => void text.fetchNextPage()}
          >
            {t('source.after')}
          </Button>
        )}
      </div>
    </>
  );
}

/** Files shown as plain text. Parsers convert all others to Markdown. */
const PLAIN =
  /\.(?:log|csv|tsv|jsonl?|ya?ml|toml|xml|sql|sh|py|[cm]?[jt]sx?|java|kt|go|rs|rb|php|cs|c|h|cpp|hpp|css|ini|properties)$/i;

/** Markdown files, in which single line breaks have no meaning. */
const MARKDOWN = /\.(?:md|markdown)$/i;

function FragmentText({ text, document }: { readonly text: string; readonly document: string }) {
  if (PLAIN.test(document)) return <div className={styles['plain']}>{text}</div>;
  return (
    <div className={MARKDOWN.test(document) ? undefined : styles['lines']}>
      <Markdown text={text} />
    </div>
  );
}

/** Text of a fragment without its overlap with the previous one. The cited fragment stays complete. */
function withoutRepetition(
  fragment: FragmentView,
  before: FragmentView | undefined,
  cited: string,
): string {
  const { content, charStart } = fragment;
  if (before?.charEnd == null || charStart === null || fragment.fid === cited) return content;
  const repeated = before.charEnd - charStart;
  const isWhole = fragment.charEnd !== null && fragment.charEnd - charStart === content.length;
  return repeated > 0 && repeated < content.length && isWhole ? content.slice(repeated) : content;
}

/** Links to the source file and to the document's page. */
function Links({ source }: { readonly source: ShownSource }) {
  const { t } = useTranslation('chat');
  const { may } = useMe();
  const { docId, knowledgeId } = source;
  const { data: document } = useQuery({
    queryKey: ['chat', 'document', docId],
    queryFn: async ({ signal }) =>
      (await plinth.attachList({ query: { docId, pageNum: 1, pageSize: 1 }, signal })).rows[0] ??
      null,
    enabled: may('system:attach:list'),
    staleTime: 60_000,
  });
  const download = useAction(async () => {
    if (!document) return;
    saveFile(await plinth.attachContent({ path: { id: document.id } }));
  });
  if (!document) return null;
  return (
    <div className={styles['links']}>
      {may('system:attach:query') && (
        <ActionButton
          variant="default"
          size="xs"
          icon={IconDownload}
          loading={download.isPending}
          onClick={() => download.mutate()}
        >
          {t('source.download')}
        </ActionButton>
      )}
      <LinkButton
        variant="subtle"
        size="xs"
        icon={IconExternalLink}
        to="/knowledge/$knowledgeId/documents/$documentId"
        params={{ knowledgeId: String(knowledgeId), documentId: String(document.id) }}
      >
        {t('source.document')}
      </LinkButton>
    </div>
  );
}
