import { Alert, Button, Code, Group, Kbd, Stack, Text, Textarea } from '@mantine/core';
import {
  IconAlertTriangle,
  IconHelpCircle,
  IconListCheck,
  IconPlugConnectedX,
  IconShieldQuestion,
} from '@tabler/icons-react';
import type { Icon } from '@tabler/icons-react';
import { useEffect, useId, useRef, useState } from 'react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { useAction } from '../ui/action';
import { Diff } from '../ui/diff';
import { Time } from '../ui/time';
import { ApprovalFiles } from './approval-files';
import { ArtifactOutput } from './artifact';
import type { Approval, Decision, Plan, Uncertain } from './event-data';
import { FileName } from './file-name';
import styles from './harness.module.css';
import { newKey, timeOf } from './key';
import { PlanBody } from './plan-body';
import type { Pending } from './timeline';

interface Place {
  readonly sessionId: string;
  readonly runId: string;
}

interface Props<One extends Pending = Pending> extends Place {
  readonly item: One;
  /** Name of the model that asks. */
  readonly model?: string | undefined;
  /** Predefined answers of a question. */
  readonly options?: readonly string[];
  /** Reason why the run waits for its model, in the page's language. The event contains it in English. */
  readonly reason?: string | undefined;
  /** Whether the keys A and D decide on this card. */
  readonly keys?: boolean;
  readonly onDecided?: () => void;
}

/** A pending decision with everything that is needed to decide. */
export function DecisionCard(props: Props) {
  const { item } = props;
  switch (item.kind) {
    case 'approval':
      return <ApprovalCard {...props} item={item} key={item.key} />;
    case 'plan':
      return <PlanCard {...props} item={item} key={item.key} />;
    case 'question':
      return <QuestionCard {...props} item={item} key={item.key} />;
    case 'uncertain':
      return <UncertainCard {...props} item={item} key={item.key} />;
    case 'provider':
      return <ProviderCard {...props} item={item} key={item.key} />;
  }
}

interface ShellProps {
  readonly icon: Icon;
  readonly title: string;
  readonly about?: ReactNode;
  readonly bad?: boolean;
  readonly children: ReactNode;
}

function CardShell({ icon: Icon, title, about, bad = false, children }: ShellProps) {
  const id = useId();
  return (
    <section className={styles['decision']} data-bad={bad || undefined} aria-labelledby={id}>
      <Group gap="xs" wrap="nowrap" align="flex-start" mb="xs">
        <Icon size={18} stroke={1.5} className={styles[bad ? 'bad' : 'warn']} aria-hidden />
        <div className={styles['decisionTitle']}>
          <Text fw={600} id={id}>
            {title}
          </Text>
          {about && (
            <Text size="xs" c="dimmed" component="div">
              {about}
            </Text>
          )}
        </div>
      </Group>
      {children}
    </section>
  );
}

/** Reason why the buttons are hidden. */
function MissingPermission({ permission }: { readonly permission: string }) {
  const { t } = useTranslation('harness');
  return (
    <Text size="sm" c="dimmed">
      {t('decision.readOnly')} <Code>{permission}</Code>
    </Text>
  );
}

const APPROVE = 'coding:harness:approve';
const WRITE = 'coding:harness:write';

/** A key press meant for the previous card must not decide on this one. */
const SETTLED_MS = 600;

/** Handles the keys A and D, unless the user is typing or a dialog is open. */
function useDecisionKeys(active: boolean, approve: () => void, deny: () => void): void {
  const shownAt = useRef(Date.now());
  const actions = useRef({ approve, deny });
  actions.current = { approve, deny };
  useEffect(() => {
    if (!active) return;
    const press = (event: KeyboardEvent): void => {
      if (!isFree(event) || Date.now() - shownAt.current < SETTLED_MS) return;
      if (event.key === 'a') actions.current.approve();
      else if (event.key === 'd') actions.current.deny();
      else return;
      event.preventDefault();
    };
    addEventListener('keydown', press);
    return () => removeEventListener('keydown', press);
  }, [active]);
}

/** Whether the key press belongs to neither a field nor a dialog. */
export function isFree(event: KeyboardEvent): boolean {
  if (event.ctrlKey || event.metaKey || event.altKey || event.repeat) return false;
  const target = event.target instanceof Element ? event.target : undefined;
  const field = 'input, textarea, select, [contenteditable="true"], [role="dialog"], [role="menu"]';
  return !target?.closest(field) && !document.querySelector('[role="dialog"]');
}

function KeyHint({ shown, name }: { readonly shown: boolean; readonly name: string }) {
  return shown ? (
    <Kbd size="xs" className={styles['key'] ?? ''} aria-hidden>
      {name}
    </Kbd>
  ) : null;
}

/** Describes the effects of an approval. */
function riskOf({ toolName, files }: Approval): 'command' | 'delete' | 'edit' | 'read' {
  if (toolName === 'shell') return 'command';
  if (toolName === 'delete_file' || files.some(({ op }) => op === 'DELETE')) return 'delete';
  return files.length > 0 ? 'edit' : 'read';
}

function ApprovalCard(props: Props<Extract<Pending, { kind: 'approval' }>>) {
  const { item, sessionId, runId, model, keys = false, onDecided } = props;
  const { approval } = item;
  const { t } = useTranslation('harness');
  const { may } = useMe();
  const [denying, setDenying] = useState(false);
  const [reason, setReason] = useState('');
  const decide = useAction(
    (decision: Decision) =>
      plinth.approvalResolve({
        path: { sessionId, runId, approvalId: approval.approvalId },
        body: {
          decisionId: newKey(),
          decision,
          expectedRevision: approval.expectedRevision,
          argumentsSha256: approval.argumentsSha256,
          ...(reason.trim() !== '' && { note: reason.trim() }),
        },
      }),
    { changes: [['approvals']], after: () => onDecided?.() },
  );
  const allowed = may(APPROVE);
  const can = (decision: Decision): boolean => approval.available.includes(decision);
  useDecisionKeys(
    keys && allowed && !denying && !decide.isPending,
    () => decide.mutate('APPROVE'),
    () => setDenying(true),
  );
  const risk = riskOf(approval);
  return (
    <CardShell
      icon={IconShieldQuestion}
      title={t(`approval.title.${risk}`)}
      about={
        <Group gap={6} component="span">
          {model && <span>{t('approval.askedBy', { model })}</span>}
          <Time value={timeOf(approval.at)} size="xs" />
          <span>
            {t('approval.expires')} <Time value={timeOf(approval.expiresAt)} size="xs" />
          </span>
        </Group>
      }
    >
      <Stack gap="xs">
        <ApprovalSubject approval={approval} />
        <Text size="sm">{t(`approval.risk.${risk}`)}</Text>
        {approval.notes.map((note) => (
          <Text key={note} size="sm" className={styles['warn']}>
            {note}
          </Text>
        ))}
        {approval.modelDescription && (
          <Text size="sm" c="dimmed">
            {t('approval.modelSays')} “{approval.modelDescription}”
          </Text>
        )}
        {!allowed && <MissingPermission permission={APPROVE} />}
        {allowed && denying && (
          <Textarea
            label={t('approval.reason')}
            description={t('approval.reasonHint')}
            value={reason}
            maxLength={2_048}
            maxRows={6}
            autoFocus
            onChange={({ currentTarget }) => setReason(currentTarget.value)}
          />
        )}
        {allowed && (
          <Group gap="xs">
            {denying ? (
              <>
                <Button
                  color="red.9"
                  loading={decide.isPending}
                  onClick={() => decide.mutate('DENY')}
                >
                  {t('approval.denyNow')}
                </Button>
                {can('DENY_AND_STOP') && (
                  <Button
                    variant="default"
                    disabled={decide.isPending}
                    onClick={() => decide.mutate('DENY_AND_STOP')}
                  >
                    {t('approval.denyAndStop')}
                  </Button>
                )}
                <Button variant="subtle" color="gray" onClick={() => setDenying(false)}>
                  {t('approval.back')}
                </Button>
              </>
            ) : (
              <>
                <Button
                  loading={decide.isPending}
                  aria-keyshortcuts={keys ? 'a' : undefined}
                  onClick={() => decide.mutate('APPROVE')}
                >
                  {t('approval.approveOnce')}
                  <KeyHint shown={keys} name="A" />
                </Button>
                {can('APPROVE_SESSION') && (
                  <Button
                    variant="default"
                    disabled={decide.isPending}
                    onClick={() => decide.mutate('APPROVE_SESSION')}
                  >
                    {t('approval.approveSession')}
                  </Button>
                )}
                <Button
                  variant="default"
                  disabled={decide.isPending}
                  aria-keyshortcuts={keys ? 'd' : undefined}
                  onClick={() => setDenying(true)}
                >
                  {t('approval.deny')}
                  <KeyHint shown={keys} name="D" />
                </Button>
              </>
            )}
          </Group>
        )}
      </Stack>
    </CardShell>
  );
}

/** Shows the exact command or the complete diff. */
export function ApprovalSubject({ approval }: { readonly approval: Approval }) {
  const { t } = useTranslation('harness');
  const { command, diff, diffTruncated, files, argumentsJson } = approval;
  if (command !== null) {
    return (
      <pre className={styles['command']} tabIndex={0} aria-label={t('approval.command')}>
        {command}
      </pre>
    );
  }
  return (
    <Stack gap={6}>
      <ApprovalFiles approval={approval} />
      {diff ? (
        <div className={styles['boundedDiff']}>
          <Diff text={diff} label={files.map(({ path }) => path).join(', ')} />
        </div>
      ) : (
        <pre className={styles['command']} tabIndex={0} aria-label={t('approval.arguments')}>
          {prettyJson(argumentsJson)}
        </pre>
      )}
      {diffTruncated && (
        <>
          <Text size="sm" className={styles['warn']}>
            {t('approval.cut')}
          </Text>
          <pre className={styles['command']} tabIndex={0} aria-label={t('approval.arguments')}>
            {prettyJson(argumentsJson)}
          </pre>
        </>
      )}
    </Stack>
  );
}

export function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

/** Joins the comments on steps and on the whole plan into one text for the model. */
function feedbackOf(plan: Plan, comments: Readonly<Record<string, string>>, whole: string): string {
  const ofSteps = plan.steps.flatMap(({ id, text }, place) => {
    const comment = comments[id]?.trim();
    return comment ? [`Step ${place + 1} ("${text}"): ${comment}`] : [];
  });
  return [...ofSteps, whole.trim()].filter((part) => part !== '').join('\n\n');
}

function PlanCard(props: Props<Extract<Pending, { kind: 'plan' }>>) {
  const { item, sessionId, runId, model, keys = false, onDecided } = props;
  const { plan } = item;
  const { t } = useTranslation('harness');
  const { may } = useMe();
  const [changing, setChanging] = useState(false);
  const [comments, setComments] = useState<Readonly<Record<string, string>>>({});
  const [whole, setWhole] = useState('');
  const named = {
    taskId: plan.taskId,
    expectedRevision: plan.revision,
    expectedHash: plan.hash ?? '',
  };
  const path = { sessionId, runId };
  const after = { changes: [['approvals']], after: () => onDecided?.() };
  const approve = useAction(
    () => plinth.planApprove({ path, body: { ...named, idempotencyKey: newKey() } }),
    after,
  );
  const feedback = feedbackOf(plan, comments, whole);
  const revise = useAction(
    () => plinth.planRevise({ path, body: { ...named, feedbackId: newKey(), content: feedback } }),
    after,
  );
  const mayApprove = may(APPROVE) && may(WRITE);
  const busy = approve.isPending || revise.isPending;
  useDecisionKeys(
    keys && mayApprove && !changing && !busy,
    () => approve.mutate(),
    () => setChanging(true),
  );
  return (
    <CardShell
      icon={IconListCheck}
      title={t('plan.review')}
      about={
        <Group gap={6} component="span">
          {model && <span>{t('plan.by', { model })}</span>}
          <Time value={timeOf(item.at)} size="xs" />
        </Group>
      }
    >
      <Stack gap="xs">
        <div className={styles['boundedPlan']}>
          <PlanBody
            plan={plan}
            comments={changing ? comments : undefined}
            onComment={(id, comment) => setComments({ ...comments, [id]: comment })}
          />
        </div>
        {changing && (
          <Textarea
            label={t('plan.changes')}
            description={t('plan.changesHint')}
            value={whole}
            maxLength={18_000}
            maxRows={8}
            autoFocus
            onChange={({ currentTarget }) => setWhole(currentTarget.value)}
          />
        )}
        {!mayApprove && <MissingPermission permission={APPROVE} />}
        <Group gap="xs">
          {changing ? (
            <>
              <Button
                loading={revise.isPending}
                disabled={feedback === ''}
                onClick={() => revise.mutate()}
              >
                {t('plan.sendChanges')}
              </Button>
              <Button variant="subtle" color="gray" onClick={() => setChanging(false)}>
                {t('approval.back')}
              </Button>
            </>
          ) : (
            <>
              {mayApprove && (
                <Button
                  loading={approve.isPending}
                  aria-keyshortcuts={keys ? 'a' : undefined}
                  onClick={() => approve.mutate()}
                >
                  {t('plan.approve')}
                  <KeyHint shown={keys} name="A" />
                </Button>
              )}
              {may(WRITE) && (
                <Button
                  variant="default"
                  disabled={busy}
                  aria-keyshortcuts={keys ? 'd' : undefined}
                  onClick={() => setChanging(true)}
                >
                  {t('plan.ask')}
                  <KeyHint shown={keys && mayApprove} name="D" />
                </Button>
              )}
            </>
          )}
        </Group>
      </Stack>
    </CardShell>
  );
}

function QuestionCard(props: Props<Extract<Pending, { kind: 'question' }>>) {
  const { item, sessionId, runId, model, options = [], onDecided } = props;
  const { t } = useTranslation('harness');
  const [answer, setAnswer] = useState('');
  const send = useAction(
    (content: string) =>
      plinth.runAddInput({
        path: { sessionId, runId },
        body: { kind: 'STEER', content, idempotencyKey: newKey() },
      }),
    { changes: [['approvals']], after: () => onDecided?.() },
  );
  return (
    <CardShell
      icon={IconHelpCircle}
      title={t('question.title', { model: model ?? t('question.model') })}
      about={<Time value={timeOf(item.at)} size="xs" />}
    >
      <Stack gap="xs">
        <Text>{item.question}</Text>
        {options.length > 0 && (
          <Group gap="xs">
            {options.map((option) => (
              <Button
                key={option}
                variant="default"
                disabled={send.isPending}
                onClick={() => send.mutate(option)}
              >
                {option}
              </Button>
            ))}
          </Group>
        )}
        <Textarea
          label={t('question.answer')}
          value={answer}
          maxRows={8}
          onChange={({ currentTarget }) => setAnswer(currentTarget.value)}
        />
        <Group>
          <Button
            loading={send.isPending}
            disabled={answer.trim() === ''}
            onClick={() => send.mutate(answer)}
          >
            {t('question.send')}
          </Button>
        </Group>
      </Stack>
    </CardShell>
  );
}

function UncertainCard(props: Props<Extract<Pending, { kind: 'uncertain' }>>) {
  const { item, sessionId, runId, onDecided } = props;
  const { uncertain } = item;
  const { t } = useTranslation('harness');
  const { may } = useMe();
  const [note, setNote] = useState('');
  const resolve = useAction(
    (resolution: 'EXECUTED' | 'NOT_EXECUTED') =>
      plinth.effectResolve({
        path: { sessionId, runId, toolCallId: uncertain.toolCallId },
        body: { resolution, ...(note.trim() !== '' && { note: note.trim() }) },
      }),
    { changes: [['approvals']], after: () => onDecided?.() },
  );
  return (
    <CardShell
      bad
      icon={IconAlertTriangle}
      title={t('uncertain.title')}
      about={<Time value={timeOf(item.at)} size="xs" />}
    >
      <Stack gap="xs">
        <pre className={styles['command']} tabIndex={0} aria-label={t('approval.command')}>
          {uncertain.title}
        </pre>
        <UncertainFacts uncertain={uncertain} sessionId={sessionId} runId={runId} />
        <Text size="sm">{t('uncertain.what')}</Text>
        {may(APPROVE) ? (
          <>
            <Textarea
              minRows={1}
              label={t('uncertain.note')}
              value={note}
              maxLength={2_000}
              maxRows={6}
              onChange={({ currentTarget }) => setNote(currentTarget.value)}
            />
            <Group gap="xs">
              <Button
                color="red.9"
                disabled={resolve.isPending}
                onClick={() => resolve.mutate('EXECUTED')}
              >
                {t('uncertain.executed')}
              </Button>
              <Button
                variant="default"
                disabled={resolve.isPending}
                onClick={() => resolve.mutate('NOT_EXECUTED')}
              >
                {t('uncertain.notExecuted')}
              </Button>
            </Group>
          </>
        ) : (
          <MissingPermission permission={APPROVE} />
        )}
      </Stack>
    </CardShell>
  );
}

/** Shows when an uncertain call started, what has changed since and its output. */
export function UncertainFacts({
  uncertain: { startedAt, fileCount, files, artifactId },
  sessionId,
  runId,
}: Place & { readonly uncertain: Uncertain }) {
  const { t } = useTranslation('harness');
  return (
    <Stack gap={6}>
      {startedAt !== undefined && (
        <Text size="sm" c="dimmed">
          {t('uncertain.began')} <Time value={timeOf(startedAt)} />
        </Text>
      )}
      {fileCount !== undefined && fileCount > 0 && (
        <>
          <Text size="sm">{t('uncertain.changed', { count: fileCount })}</Text>
          <ul className={styles['paths']}>
            {files.slice(0, 20).map(({ path, op }) => (
              <li key={path}>
                <FileName operation={t(`op.${op as 'CREATE'}`)} path={path} />
              </li>
            ))}
          </ul>
        </>
      )}
      {artifactId !== undefined && (
        <ArtifactOutput sessionId={sessionId} runId={runId} artifactId={artifactId} />
      )}
    </Stack>
  );
}

function ProviderCard(props: Props<Extract<Pending, { kind: 'provider' }>>) {
  const { item, sessionId, runId, reason, onDecided } = props;
  const { t } = useTranslation('harness');
  const { may } = useMe();
  const path = { sessionId, runId };
  const after = { changes: [['approvals']], after: () => onDecided?.() };
  const resume = useAction(() => plinth.runResume({ path }), after);
  const cancel = useAction(() => plinth.runCancel({ path }), after);
  return (
    <CardShell
      icon={IconPlugConnectedX}
      title={t('provider.title')}
      about={<Time value={timeOf(item.at)} size="xs" />}
    >
      <Stack gap="xs">
        <Alert color="yellow">{reason || item.message || item.code}</Alert>
        <Text size="sm">{t('provider.what')}</Text>
        <Group gap="xs">
          {may(WRITE) && (
            <Button loading={resume.isPending} onClick={() => resume.mutate()}>
              {t('provider.resume')}
            </Button>
          )}
          <Button variant="default" disabled={resume.isPending} onClick={() => cancel.mutate()}>
            {t('run.cancel')}
          </Button>
        </Group>
      </Stack>
    </CardShell>
  );
}
