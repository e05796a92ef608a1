import {
  Badge,
  Blockquote,
  Button,
  Drawer,
  Group,
  Modal,
  Select,
  Stack,
  Text,
  Title,
} from '@mantine/core';
import { IconEye, IconFlask, IconThumbDown, IconThumbUp } from '@tabler/icons-react';
import type { FeedbackListQuery, FeedbackView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import type { SearchParams } from '../app/search-params';
import { useMe } from '../app/me';
import { ActionButton, LinkButton } from '../ui/buttons';
import { useAction } from '../ui/action';
import { Failure } from '../ui/states';
import { choicesOf, daysOf } from '../ui/filters';
import { FormFailure } from '../ui/form';
import { ListPage } from '../ui/list-page';
import { MenuItem } from '../ui/menu-item';
import { Time } from '../ui/time';
import { Verdict } from './verdict';
import styles from './feedback.module.css';

function filterOf({ vote, model, ...days }: SearchParams): Partial<FeedbackListQuery> {
  const isVote = vote === 'up' || vote === 'down';
  return { modelName: model, ...(isVote && { vote }), ...daysOf(days) };
}

/** User feedback on answers. A question can become a test query of a knowledge base. */
export default function FeedbackPage() {
  const { t } = useTranslation('administration');
  const { may } = useMe();
  const [openFeedback, setOpenFeedback] = useState<FeedbackView>();
  const [tested, setTested] = useState<FeedbackView>();
  const canTest = may('system:info:edit');
  return (
    <ListPage
      name="feedback"
      title={t('feedback.title')}
      description={t('feedback.about')}
      filters={[
        {
          name: 'vote',
          label: t('feedback.anyVote'),
          choices: choicesOf(['up', 'down'], (vote) => t(`feedback.votes.${vote}`)),
        },
        { name: 'model', label: t('feedback.searchModel') },
        { name: 'from', label: t('audit.from'), isDay: true },
        { name: 'to', label: t('audit.to'), isDay: true },
      ]}
      query={filterOf}
      load={(query, signal) => plinth.feedbackList({ query, signal })}
      download={may('chat:feedback:export') && ((body) => plinth.feedbackExport({ body }))}
      rowKey={({ id }: FeedbackView) => id}
      columns={[
        {
          id: 'question',
          title: t('feedback.question'),
          cell: ({ question }) => (
            <Text span lineClamp={2} fw={600}>
              {question ?? t('feedback.questionDeleted')}
            </Text>
          ),
        },
        {
          id: 'vote',
          title: t('feedback.vote'),
          sort: true,
          cell: ({ vote }) => <Vote vote={vote} />,
        },
        {
          id: 'text',
          title: t('feedback.comment'),
          sort: true,
          cell: ({ text }) => (
            <Text size="sm" lineClamp={2}>
              {text ?? '–'}
            </Text>
          ),
        },
        {
          id: 'user',
          title: t('feedback.by'),
          cell: ({ userName, userId }) => userName ?? t('feedback.userId', { id: userId }),
        },
        { id: 'modelName', title: t('feedback.model'), sort: true },
        { id: 'updateTime', title: t('feedback.time'), sort: true, show: 'time' },
      ]}
      onOpen={setOpenFeedback}
      rowActions={(one) => (
        <>
          <MenuItem icon={IconEye} onClick={() => setOpenFeedback(one)}>
            {t('feedback.open')}
          </MenuItem>
          {canTest && (
            <MenuItem
              icon={IconFlask}
              disabled={one.question === null}
              onClick={() => setTested(one)}
            >
              {t('feedback.test.open')}
            </MenuItem>
          )}
        </>
      )}
      empty={{ icon: IconThumbUp, title: t('feedback.empty'), hint: t('feedback.emptyHint') }}
    >
      {openFeedback && (
        <FeedbackDrawer
          feedback={openFeedback}
          onTest={
            canTest && openFeedback.question !== null ? () => setTested(openFeedback) : undefined
          }
          onClose={() => setOpenFeedback(undefined)}
        />
      )}
      {tested && <MakeTestQuery feedback={tested} onClose={() => setTested(undefined)} />}
    </ListPage>
  );
}

function Vote({ vote }: { readonly vote: FeedbackView['vote'] }) {
  const { t } = useTranslation('administration');
  const Mark = vote === 'up' ? IconThumbUp : IconThumbDown;
  return (
    <Verdict good={vote === 'up'} icon={<Mark size={12} stroke={1.5} />}>
      {t(`feedback.votes.${vote}`)}
    </Verdict>
  );
}

interface DrawerProps {
  readonly feedback: FeedbackView;
  readonly onTest: (() => void) | undefined;
  readonly onClose: () => void;
}

function FeedbackDrawer({ feedback, onTest, onClose }: DrawerProps) {
  const { t } = useTranslation('administration');
  const { question, answer, text, sources, userName, userId, modelName } = feedback;
  return (
    <Drawer opened onClose={onClose} size="xl" title={t('feedback.title')}>
      <Stack>
        <Group gap="xs">
          <Vote vote={feedback.vote} />
          <Text size="sm" c="dimmed">
            {userName ?? t('feedback.userId', { id: userId })} · {modelName ?? '–'} ·{' '}
            <Time value={feedback.updateTime} />
          </Text>
        </Group>
        {text && (
          <Blockquote className={styles['comment']} p="sm">
            {text}
          </Blockquote>
        )}
        <section>
          <Title order={3}>{t('feedback.question')}</Title>
          <Text className={styles['text']}>{question ?? t('feedback.questionDeleted')}</Text>
        </section>
        <section>
          <Title order={3}>{t('feedback.answer')}</Title>
          <Text className={styles['text']}>{answer}</Text>
        </section>
        {sources.length > 0 && (
          <section>
            <Title order={3} mb={4}>
              {t('feedback.sources')}
            </Title>
            <ol className={styles['sources']}>
              {sources.map(({ number, document, page, cited }) => (
                <li key={number} value={number}>
                  {document}
                  {page !== null && ` · ${t('feedback.page', { page })}`}
                  {cited && (
                    <Badge ml="xs" size="sm" variant="light">
                      {t('feedback.cited')}
                    </Badge>
                  )}
                </li>
              ))}
            </ol>
          </section>
        )}
        {onTest && (
          <Group>
            <ActionButton variant="default" icon={IconFlask} onClick={onTest}>
              {t('feedback.test.open')}
            </ActionButton>
          </Group>
        )}
      </Stack>
    </Drawer>
  );
}

interface TestProps {
  readonly feedback: FeedbackView;
  readonly onClose: () => void;
}

/** Adds the question to a cited knowledge base as a test query that expects the cited fragments. */
function MakeTestQuery({ feedback, onClose }: TestProps) {
  const { t } = useTranslation('administration');
  const cited = feedback.sources.filter((source) => source.cited);
  const [chosen, setChosen] = useState(
    cited[0] === undefined ? null : String(cited[0].knowledgeId),
  );
  const [failure, setFailure] = useState<unknown>();
  const [isMade, setIsMade] = useState(false);
  const bases = useQuery({
    queryKey: ['knowledge', 'choices'],
    queryFn: ({ signal }) => plinth.knowledgeList({ query: { pageSize: 1_000 }, signal }),
  });
  const make = useAction(
    (knowledgeId: number) =>
      plinth.feedbackMakeTestQuery({ path: { id: feedback.id }, body: { knowledgeId } }),
    {
      changes: [['test-sets']],
      after: () => setIsMade(true),
      onFailure: setFailure,
    },
  );
  return (
    <Modal opened onClose={onClose} title={t('feedback.test.open')}>
      {isMade ? (
        <Stack>
          <Text role="status">{t('feedback.test.done')}</Text>
          <Group justify="flex-end">
            <Button variant="default" onClick={onClose}>
              {t('close')}
            </Button>
            <LinkButton
              to="/knowledge/$knowledgeId"
              params={{ knowledgeId: chosen ?? '' }}
              search={{ tab: 'tests' } as never}
            >
              {t('feedback.test.show')}
            </LinkButton>
          </Group>
        </Stack>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            setFailure(undefined);
            if (chosen !== null) make.mutate(Number(chosen));
          }}
        >
          <Stack>
            <Text>{t('feedback.test.about')}</Text>
            <Text fw={600}>{feedback.question}</Text>
            {bases.error && <Failure error={bases.error} onRetry={() => void bases.refetch()} />}
            <Select
              label={t('feedback.test.base')}
              description={t(
                cited.length > 0 ? 'feedback.test.baseHelp' : 'feedback.test.nothingCited',
              )}
              data={(bases.data?.rows ?? []).map(({ id, name }) => ({
                value: String(id),
                label: name,
              }))}
              value={chosen}
              onChange={setChosen}
              searchable
            />
            {failure !== undefined && <FormFailure error={failure} />}
            <Group justify="flex-end">
              <Button variant="default" onClick={onClose}>
                {t('cancel')}
              </Button>
              <Button type="submit" loading={make.isPending} disabled={chosen === null}>
                {t('feedback.test.make')}
              </Button>
            </Group>
          </Stack>
        </form>
      )}
    </Modal>
  );
}
