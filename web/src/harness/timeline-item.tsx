import { Group, Loader, Stack, Text } from '@mantine/core';
import {
  IconAlertTriangle,
  IconBulb,
  IconCheck,
  IconClock,
  IconEye,
  IconHelpCircle,
  IconListCheck,
  IconPencil,
  IconPlugConnectedX,
  IconTerminal2,
  IconTrash,
  IconUser,
  IconX,
} from '@tabler/icons-react';
import type { TFunction } from 'i18next';
import { memo } from 'react';
import { useTranslation } from 'react-i18next';
import { Diff } from '../ui/diff';
import { duration } from '../ui/format';
import { Time } from '../ui/time';
import { ApprovalTitle } from './approval-files';
import { ArtifactOutput } from './artifact';
import { ApprovalSubject, prettyJson, UncertainFacts } from './decision-card';
import { commandIn } from './event-data';
import type { Approval, Call, FileChange, Plan } from './event-data';
import { FileName } from './file-name';
import styles from './harness.module.css';
import { timeOf } from './key';
import { Lines } from './lines';
import { PlanBody } from './plan-body';
import { Prose } from './prose';
import { StepCard } from './step-card';
import { RunSummary } from './summary';
import type { Item } from './timeline';
import { callTitle, warningText } from './words';

interface Props {
  readonly item: Item;
  readonly sessionId: string;
  readonly runId: string;
}

/** One step of the timeline. Unchanged items are not rendered again. */
export const TimelineItem = memo(function TimelineItem({ item, sessionId, runId }: Props) {
  const { t } = useTranslation('harness');
  switch (item.kind) {
    case 'requirement':
      return <Requirement text={item.text} at={item.at} />;
    case 'answer':
      return <Answer item={item} />;
    case 'plan':
      return <PlanItem plan={item.plan} />;
    case 'reads':
      return <Reads calls={item.calls} />;
    case 'call':
      return <CallItem call={item.call} sessionId={sessionId} runId={runId} />;
    case 'approval':
      return <ApprovalItem approval={item.approval} />;
    case 'uncertain':
      return (
        <StepCard
          icon={IconAlertTriangle}
          tone={item.uncertain.resolution ? 'plain' : 'bad'}
          title={t('uncertain.line', { title: callTitle(t, item.uncertain) })}
          meta={
            item.uncertain.resolution
              ? t(`uncertain.as.${item.uncertain.resolution}`)
              : t('uncertain.open')
          }
        >
          <UncertainFacts uncertain={item.uncertain} sessionId={sessionId} runId={runId} />
          {item.uncertain.note && <Text size="sm">{item.uncertain.note}</Text>}
        </StepCard>
      );
    case 'question':
      return (
        <StepCard
          icon={IconHelpCircle}
          tone={item.answered ? 'plain' : 'warn'}
          title={item.question}
          meta={t(item.answered ? 'question.answered' : 'question.open')}
        />
      );
    case 'provider':
      return (
        <StepCard
          icon={IconPlugConnectedX}
          tone={item.resolved ? 'plain' : 'warn'}
          title={t('provider.title')}
          meta={item.resolved ? t('provider.resolved') : undefined}
        >
          <Text size="sm">{item.message}</Text>
        </StepCard>
      );
    case 'input':
      return (
        <div className={styles['said']}>
          <Text className={styles['preLine']}>{item.content}</Text>
          <Text size="xs" c="dimmed">
            {t(item.inputKind === 'STEER' ? 'input.steer' : 'input.followUp')} ·{' '}
            {t(item.consumed ? 'input.consumed' : 'input.waiting')}
          </Text>
        </div>
      );
    case 'note':
      return (
        <Text size="sm" className={item.bad ? styles['warn'] : styles['note']}>
          {t(`note.${item.name}`, noteValues(t, item.values))}{' '}
          <Time value={timeOf(item.at)} size="xs" />
        </Text>
      );
    case 'end':
      return <RunSummary item={item} sessionId={sessionId} runId={runId} />;
  }
});

function noteValues(t: TFunction<'harness'>, values: Extract<Item, { kind: 'note' }>['values']) {
  const { kind, count = 0 } = values;
  return {
    ...values,
    ...(typeof kind === 'string' && { kind: warningText(t, kind) }),
    count: Number(count),
  };
}

function Requirement({ text, at }: { readonly text: string; readonly at: number }) {
  const { t } = useTranslation('harness');
  return (
    <section className={styles['requirement']} aria-label={t('requirement.label')}>
      <Group gap={6} mb={4}>
        <IconUser size={14} stroke={1.5} aria-hidden />
        <Text size="xs" c="dimmed">
          {t('requirement.label')} · <Time value={timeOf(at)} size="xs" />
        </Text>
      </Group>
      <Text className={styles['preLine']}>{text}</Text>
    </section>
  );
}

function Answer({ item }: { readonly item: Extract<Item, { kind: 'answer' }> }) {
  const { t } = useTranslation('harness');
  return (
    <Stack gap={4}>
      {item.thinking !== '' && (
        <StepCard
          icon={IconBulb}
          title={t(item.thinkingMs === undefined ? 'answer.thinking' : 'answer.thought')}
          meta={item.thinkingMs === undefined ? undefined : duration(item.thinkingMs)}
        >
          <Text size="sm" c="dimmed" className={styles['preLine']}>
            {item.thinking}
          </Text>
        </StepCard>
      )}
      {item.text !== '' && <Prose text={item.text} />}
      {item.state === 'abandoned' && (
        <Text size="sm" className={styles['warn']}>
          {t('answer.abandoned')}
        </Text>
      )}
    </Stack>
  );
}

function PlanItem({ plan }: { readonly plan: Plan }) {
  const { t } = useTranslation('harness');
  const done = plan.steps.filter(({ status }) => status === 'DONE').length;
  return (
    <StepCard
      icon={IconListCheck}
      title={t('plan.line', { revision: plan.revision })}
      tone={plan.state === 'AWAITING_APPROVAL' ? 'warn' : 'plain'}
      open={plan.state === 'APPROVED' || plan.state === 'DRAFT'}
      meta={
        plan.state === 'APPROVED'
          ? t('plan.progress', { done, all: plan.steps.length })
          : t(`plan.state.${plan.state}`)
      }
    >
      <PlanBody plan={plan} />
      {plan.feedback && (
        <Text size="sm" mt="xs" className={styles['said']}>
          {plan.feedback}
        </Text>
      )}
    </StepCard>
  );
}

function Reads({ calls }: { readonly calls: readonly Call[] }) {
  const { t } = useTranslation('harness');
  const [first] = calls;
  const failed = calls.filter(({ error }) => error).length;
  const running = calls.some(({ status }) => status === 'RUNNING');
  return (
    <StepCard
      icon={IconEye}
      title={
        calls.length === 1 && first ? callTitle(t, first) : t('reads.line', { count: calls.length })
      }
      meta={
        running ? (
          <Loader size={12} />
        ) : failed > 0 ? (
          t('reads.failed', { count: failed })
        ) : undefined
      }
    >
      <ul className={styles['lines']}>
        {calls.map((call) => (
          <li key={call.toolCallId}>
            <span>{callTitle(t, call)}</span>
            <Text span size="xs" c="dimmed">
              {call.summary}
            </Text>
          </li>
        ))}
      </ul>
    </StepCard>
  );
}

function CallItem({
  call,
  sessionId,
  runId,
}: {
  readonly call: Call;
  readonly sessionId: string;
  readonly runId: string;
}) {
  const { t } = useTranslation('harness');
  const running = call.status === 'RUNNING';
  if (call.effectClass === 'SHELL') {
    return (
      <StepCard
        icon={IconTerminal2}
        open
        tone={call.error ? 'bad' : 'plain'}
        title={
          <code className={styles['mono']}>{commandIn(call.argumentsJson) || call.title}</code>
        }
        meta={running ? <Loader size={12} /> : <CommandMeta call={call} />}
      >
        {call.description && (
          <Text size="sm" c="dimmed" px="sm" pt={6}>
            {t('approval.modelSays')} “{call.description}”
          </Text>
        )}
        {running ? (
          <Text size="sm" c="dimmed" p="sm">
            {t('command.running')}
          </Text>
        ) : (
          <pre className={styles['terminal']} tabIndex={0} aria-label={t('output.label')}>
            {call.output ?? call.summary}
          </pre>
        )}
        {call.artifactId && (
          <ArtifactOutput sessionId={sessionId} runId={runId} artifactId={call.artifactId} />
        )}
        <Changes files={call.files} />
      </StepCard>
    );
  }
  if (call.files.length > 0) return <Edit call={call} />;
  return (
    <StepCard
      icon={call.toolName === 'delete_file' ? IconTrash : IconPencil}
      tone={call.error ? 'bad' : 'plain'}
      title={callTitle(t, call)}
      meta={running ? <Loader size={12} /> : call.error ? call.summary : undefined}
    >
      <pre className={styles['command']} tabIndex={0} aria-label={t('approval.arguments')}>
        {prettyJson(call.argumentsJson)}
      </pre>
    </StepCard>
  );
}

function CommandMeta({ call }: { readonly call: Call }) {
  const { t } = useTranslation('harness');
  return (
    <>
      {call.exitCode === undefined
        ? t(`call.${call.status as 'TIMED_OUT'}`)
        : t('command.exit', { code: call.exitCode })}
      {call.durationMs !== undefined && ` · ${duration(call.durationMs)}`}
    </>
  );
}

function Edit({ call }: { readonly call: Call }) {
  const { t } = useTranslation('harness');
  const [first] = call.files;
  const one = call.files.length === 1 && first;
  return (
    <StepCard
      icon={IconPencil}
      open
      tone={call.error ? 'bad' : 'plain'}
      title={
        one ? (
          <FileName operation={t(`op.${one.op}`)} path={one.path} />
        ) : (
          t('files.several', { count: call.files.length })
        )
      }
      meta={one ? <Lines additions={one.additions} deletions={one.deletions} /> : undefined}
    >
      {one ? <FileDiff file={one} /> : <Changes files={call.files} />}
    </StepCard>
  );
}

function FileDiff({ file }: { readonly file: FileChange }) {
  const { t } = useTranslation('harness');
  return (
    <>
      <Diff text={file.diff} label={file.path} />
      {file.diffTruncated && (
        <Text size="xs" c="dimmed" px="sm" py={4}>
          {t('diff.cut')}
        </Text>
      )}
    </>
  );
}

function Changes({ files }: { readonly files: readonly FileChange[] }) {
  const { t } = useTranslation('harness');
  return files.map((file) => (
    <StepCard
      key={file.path}
      icon={IconPencil}
      title={<FileName operation={t(`op.${file.op}`)} path={file.path} />}
      meta={<Lines additions={file.additions} deletions={file.deletions} />}
    >
      <FileDiff file={file} />
    </StepCard>
  ));
}

function ApprovalItem({ approval }: { readonly approval: Approval }) {
  const { t } = useTranslation('harness');
  const pending = approval.state === 'PENDING';
  const denied = approval.state === 'DENIED';
  const decided =
    approval.decision === 'APPROVE_SESSION' ? 'APPROVED_SESSION' : (approval.state as 'APPROVED');
  return (
    <StepCard
      icon={pending ? IconClock : approval.state === 'APPROVED' ? IconCheck : IconX}
      tone={pending ? 'warn' : 'plain'}
      title={<ApprovalTitle approval={approval} />}
      meta={t(`approval.state.${decided}`)}
    >
      <Stack gap="xs" p="sm">
        <ApprovalSubject approval={approval} />
        {approval.note && (
          <Text size="sm">
            {t(denied ? 'approval.deniedBecause' : 'approval.noted')} {approval.note}
          </Text>
        )}
      </Stack>
    </StepCard>
  );
}
