import { Alert, Button, Drawer, Group, Stack } from '@mantine/core';
import type { UseFormReturnType } from '@mantine/form';
import { ApiError } from '@plinth/client';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { messageOf, RequestId } from './failure';
import { focusFirstInvalid } from './first-invalid';
import { usePersistedForm } from './persisted-form';
import { RestoredNote } from './restored-note';
import { ConflictChoice, conflictOf } from './record-form';
import styles from './form-drawer.module.css';

interface Props<Values> {
  readonly title: string;
  /** Id of the record if the title does not identify it; undefined for a new one. */
  readonly record?: number | string | undefined;
  readonly form: UseFormReturnType<Values>;
  /** Button label: a verb with its object, such as "Add user". */
  readonly action: string;
  readonly onSubmit: (values: Values) => Promise<unknown>;
  readonly onClose: () => void;
  /** Values of the stored record, for records that several people can edit. */
  readonly valuesOf?: (record: never) => Values;
  /** Reason why the form is read-only. */
  readonly readOnly?: string | false;
  readonly children: ReactNode;
}

/**
 * Form of a small record in a drawer. Errors of the service are shown in the drawer and input is kept. Closing a changed
 * form asks for confirmation.
 */
export function FormDrawer<Values>({
  title,
  record,
  form,
  action,
  onSubmit,
  onClose,
  valuesOf,
  readOnly = false,
  children,
}: Props<Values>) {
  const { t } = useTranslation('ui');
  const [failure, setFailure] = useState<unknown>();
  const [saving, setSaving] = useState(false);
  const [leaving, setLeaving] = useState(false);
  const { isRestored, discard } = usePersistedForm(form, `${title}.${record ?? ''}`);
  const submit = form.onSubmit(async (values) => {
    setSaving(true);
    setFailure(undefined);
    try {
      await onSubmit(values);
      onClose();
    } catch (error) {
      setFailure(error);
    } finally {
      setSaving(false);
    }
  }, focusFirstInvalid);
  const close = (): void => {
    if (form.isDirty() && !leaving) setLeaving(true);
    else onClose();
  };
  return (
    <Drawer opened onClose={close} title={title} closeButtonProps={{ 'aria-label': t('close') }}>
      <form onSubmit={submit} noValidate>
        <Stack>
          {readOnly && <Alert color="gray">{readOnly}</Alert>}
          {isRestored && <RestoredNote onDiscard={discard} />}
          <fieldset className={styles['fields']} disabled={readOnly !== false}>
            <Stack>{children}</Stack>
          </fieldset>
          {failure !== undefined && (
            <FormFailure
              error={failure}
              {...(valuesOf && {
                edited: { form, valuesOf, onDone: () => setFailure(undefined) },
              })}
            />
          )}
          {leaving && (
            <Alert color="yellow" role="alert">
              {t('unsaved')}
            </Alert>
          )}
          <Group justify="flex-end">
            <Button variant="default" onClick={close}>
              {t(leaving ? 'discard' : readOnly ? 'close' : 'cancel')}
            </Button>
            {!readOnly && (
              <Button type="submit" loading={saving}>
                {action}
              </Button>
            )}
          </Group>
        </Stack>
      </form>
    </Drawer>
  );
}

interface FailureProps<Values> {
  readonly error: unknown;
  /** Form of a record that several people can edit. */
  readonly edited?: {
    readonly form: UseFormReturnType<Values>;
    readonly valuesOf: (record: never) => Values;
    readonly onDone: () => void;
  };
}

/** Shows why the service refused the input. If someone else saved the record meanwhile, the user resolves the conflict. */
export function FormFailure<Values>({ error, edited }: FailureProps<Values>) {
  const conflict = conflictOf(error);
  if (conflict && edited) return <ConflictChoice conflict={conflict} {...edited} />;
  return (
    <Alert color="red" role="alert">
      <Stack gap={4}>
        {messageOf(error)}
        {error instanceof ApiError && error.requestId && <RequestId id={error.requestId} />}
      </Stack>
    </Alert>
  );
}
