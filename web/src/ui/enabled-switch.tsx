import { Switch, Tooltip } from '@mantine/core';
import type { QueryKey } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useAction } from './action';
import { confirmDestruction } from './confirm';

interface Props {
  /** Name of the record, used for screen readers and notices. */
  readonly name: string;
  readonly enabled: boolean;
  /** Effect of disabling, shown in a confirmation first. Without it there is none. */
  readonly consequence?: string;
  /** Reason why the switch is disabled. */
  readonly fixed?: string | false | undefined;
  /** Returns the notice to show if it is not the usual one. */
  readonly change: (status: '0' | '1') => Promise<unknown>;
  readonly changes: readonly QueryKey[];
}

/** Enables a record immediately; asks for confirmation before disabling it if that has consequences. */
export function EnabledSwitch({ name, enabled, consequence, fixed, change, changes }: Props) {
  const { t } = useTranslation('ui');
  const set = useAction(change, {
    done: (notice) =>
      typeof notice === 'string'
        ? notice
        : t(enabled ? 'status.nowDisabled' : 'status.nowEnabled', { name }),
    changes,
  });
  const toggle = (): void => {
    if (!enabled || consequence === undefined) {
      set.mutate(enabled ? '1' : '0');
      return;
    }
    confirmDestruction({
      title: t('status.disableTitle', { name }),
      body: consequence,
      action: t('status.disable'),
      run: () => set.mutateAsync('1'),
    });
  };
  return (
    <Tooltip label={fixed || t(enabled ? 'status.clickToDisable' : 'status.clickToEnable')}>
      <div>
        <Switch
          aria-label={t('status.enabledNamed', { name })}
          checked={enabled}
          disabled={Boolean(fixed) || set.isPending}
          onChange={toggle}
        />
      </div>
    </Tooltip>
  );
}
