import { Switch, Tooltip } from '@mantine/core';
import type { QueryKey } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { useAction } from '../ui/action';
import { confirmDestruction } from '../ui/confirm';

interface Props {
  /** Name of the record, used for screen readers and notices. */
  readonly name: string;
  readonly enabled: boolean;
  /** Effect of disabling, shown in a confirmation first. */
  readonly consequence: string;
  /** Reason why the switch is disabled. */
  readonly fixed?: string | undefined;
  readonly change: (status: '0' | '1') => Promise<unknown>;
  readonly changes: readonly QueryKey[];
}

/** Enables a record immediately; asks for confirmation before disabling it. */
export function EnabledSwitch({ name, enabled, consequence, fixed, change, changes }: Props) {
  const { t } = useTranslation('administration');
  const enable = useAction(() => change('0'), { done: t('status.nowEnabled', { name }), changes });
  const disable = useAction(() => change('1'), {
    done: t('status.nowDisabled', { name }),
    changes,
  });
  const toggle = (): void => {
    if (!enabled) {
      enable.mutate();
      return;
    }
    confirmDestruction({
      title: t('status.disableTitle', { name }),
      body: consequence,
      action: t('status.disable'),
      run: () => disable.mutateAsync(),
    });
  };
  return (
    <Tooltip label={fixed ?? t(enabled ? 'status.clickToDisable' : 'status.clickToEnable')}>
      <div>
        <Switch
          aria-label={t('status.enabledNamed', { name })}
          checked={enabled}
          disabled={fixed !== undefined || enable.isPending || disable.isPending}
          onChange={toggle}
        />
      </div>
    </Tooltip>
  );
}
