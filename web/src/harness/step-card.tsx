import { Collapse, UnstyledButton } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { IconChevronRight } from '@tabler/icons-react';
import type { Icon } from '@tabler/icons-react';
import type { ReactNode } from 'react';
import styles from './harness.module.css';

interface Props {
  readonly icon: Icon;
  readonly title: ReactNode;
  /** Details on the right, such as duration, changed lines or exit code. */
  readonly meta?: ReactNode;
  readonly tone?: 'plain' | 'warn' | 'bad';
  readonly open?: boolean;
  readonly children?: ReactNode;
}

/** A step of a run: one line that expands. */
export function StepCard({
  icon: Icon,
  title,
  meta,
  tone = 'plain',
  open = false,
  children,
}: Props) {
  const [opened, { toggle }] = useDisclosure(open);
  const head = (
    <>
      <Icon size={16} stroke={1.5} aria-hidden className={styles['stepIcon']} />
      <span className={styles['stepTitle']}>{title}</span>
      {meta && <span className={styles['stepMeta']}>{meta}</span>}
    </>
  );
  if (!children) {
    return (
      <div className={styles['step']} data-tone={tone}>
        <div className={styles['stepHead']}>{head}</div>
      </div>
    );
  }
  return (
    <div className={styles['step']} data-tone={tone}>
      <UnstyledButton className={styles['stepHead']} onClick={toggle} aria-expanded={opened}>
        {head}
        <IconChevronRight
          size={14}
          stroke={1.5}
          aria-hidden
          className={styles['chevron']}
          data-opened={opened || undefined}
        />
      </UnstyledButton>
      <Collapse expanded={opened} transitionDuration={120}>
        {opened && <div className={styles['stepBody']}>{children}</div>}
      </Collapse>
    </div>
  );
}
