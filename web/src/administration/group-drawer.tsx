import { Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { GroupView } from '@plinth/client';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { FormDrawer } from '../ui/form';

interface Props {
  /** The group to edit; undefined to add one. */
  readonly group: GroupView | undefined;
  readonly onClose: () => void;
}

/** Form of a group. Groups of other sources are shown, and changed there. */
export function GroupDrawer({ group, onClose }: Props) {
  const { t } = useTranslation('administration');
  const { may } = useMe();
  const canEdit = may(group ? 'system:group:edit' : 'system:group:add');
  const fixed = useFixedText(group);
  const form = useForm({
    initialValues: valuesOf(group),
    validate: {
      displayName: (value) => (value.trim() === '' ? t('groups.nameMissing') : null),
    },
  });
  const save = async (values: typeof form.values) => {
    await (group
      ? plinth.groupUpdate({ body: { ...values, groupId: group.groupId } })
      : plinth.groupCreate({ body: values }));
  };
  return (
    <FormDrawer
      title={group ? t('groups.editNamed', { name: group.displayName }) : t('groups.add')}
      form={form}
      action={t(group ? 'groups.save' : 'groups.add')}
      onSubmit={save}
      done={t(group ? 'groups.saved' : 'groups.added')}
      changes={[['groups']]}
      onClose={onClose}
      valuesOf={valuesOf}
      readOnly={canEdit ? (fixed ?? false) : t('groups.mayNotEdit')}
    >
      <TextInput
        label={t('groups.name')}
        maxLength={255}
        required
        data-autofocus={!group || undefined}
        {...form.getInputProps('displayName')}
      />
      <Textarea
        label={t('groups.remark')}
        maxRows={6}
        maxLength={500}
        {...form.getInputProps('remark')}
      />
    </FormDrawer>
  );
}

/** Says where a group of another source is changed; undefined for a group of this service. */
export function useFixedText(group: GroupView | undefined): string | undefined {
  const { t } = useTranslation('administration');
  if (group?.source === 'scim') return t('groups.fixedScim');
  if (group?.source === 'sso') return t('groups.fixedSso', { provider: group.providerName });
  return undefined;
}

function valuesOf(group: GroupView | undefined) {
  return {
    revision: group?.revision,
    displayName: group?.displayName ?? '',
    remark: group?.remark ?? '',
  };
}
