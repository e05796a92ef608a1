import { Code, Stack, Text, Textarea } from '@mantine/core';
import {
  IconCircle,
  IconCircleCheck,
  IconCircleDashed,
  IconCircleMinus,
} from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import type { Plan, PlanStep } from './event-data';
import styles from './harness.module.css';

const STEP_ICONS = {
  PENDING: IconCircle,
  IN_PROGRESS: IconCircleDashed,
  DONE: IconCircleCheck,
  SKIPPED: IconCircleMinus,
} as const;

interface Props {
  readonly plan: Plan;
  /** Comments by step id while the user requests changes. */
  readonly comments?: Readonly<Record<string, string>> | undefined;
  readonly onComment?: (id: string, comment: string) => void;
}

/** Body of a plan: summary, steps, files and risks. */
export function PlanBody({ plan, comments, onComment }: Props) {
  const { t } = useTranslation('harness');
  return (
    <Stack gap="xs">
      <Text>
        <InlineCode text={plan.summary} />
      </Text>
      <ol className={styles['planSteps']}>
        {plan.steps.map((step, place) => (
          <Step
            key={step.id}
            step={step}
            number={place + 1}
            comment={comments?.[step.id] ?? (comments ? '' : undefined)}
            onComment={(comment) => onComment?.(step.id, comment)}
          />
        ))}
      </ol>
      {plan.files.length > 0 && (
        <div>
          <Text size="sm" c="dimmed">
            {t('plan.files')}
          </Text>
          <ul className={styles['paths']}>
            {plan.files.map((path) => (
              <li key={path}>{path}</li>
            ))}
          </ul>
        </div>
      )}
      {plan.risks.length > 0 && (
        <div>
          <Text size="sm" c="dimmed">
            {t('plan.risks')}
          </Text>
          <ul className={styles['risks']}>
            {plan.risks.map((risk) => (
              <li key={risk}>{risk}</li>
            ))}
          </ul>
        </div>
      )}
    </Stack>
  );
}

interface StepProps {
  readonly step: PlanStep;
  readonly number: number;
  /** Comment on the step; undefined while comments are disabled. */
  readonly comment: string | undefined;
  readonly onComment: (comment: string) => void;
}

function Step({ step, number, comment, onComment }: StepProps) {
  const { t } = useTranslation('harness');
  const Icon = STEP_ICONS[step.status];
  return (
    <li className={styles['planStep']} data-status={step.status}>
      <Icon size={16} stroke={1.5} aria-hidden />
      <div className={styles['grow']}>
        <span className="only-for-readers">{t(`step.${step.status}`)}: </span>
        <InlineCode text={step.text} />
        {comment !== undefined && (
          <Textarea
            minRows={1}
            size="xs"
            mt={4}
            aria-label={t('plan.commentOn', { number })}
            placeholder={t('plan.commentOn', { number })}
            value={comment}
            maxLength={2_000}
            maxRows={5}
            onChange={({ currentTarget }) => onComment(currentTarget.value)}
          />
        )}
      </div>
    </li>
  );
}

/** Renders text between backticks as code. */
function InlineCode({ text }: { readonly text: string }) {
  return text
    .split(/(`[^`]+`)/)
    .map((part, place) =>
      /^`[^`]+`$/.test(part) ? <Code key={place}>{part.slice(1, -1)}</Code> : part,
    );
}
