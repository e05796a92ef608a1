import { Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { AttachmentView } from '@plinth/client';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { FormDrawer } from '../ui/form';
import { baseKey } from './base';

interface Props {
  readonly knowledgeId: number;
  readonly document: AttachmentView;
  readonly onClose: () => void;
}

export function RenameDocument({ knowledgeId, document, onClose }: Props) {
  const { t } = useTranslation('knowledge');
  const isFailed = document.status === 3;
  const form = useForm({
    initialValues: { name: document.name, remark: isFailed ? '' : (document.remark ?? '') },
    validate: { name: (name) => (name.trim() === '' ? t('document.nameMissing') : null) },
  });
  const save = async ({ name, remark }: typeof form.values): Promise<void> => {
    // The remark of a failed document contains the failure reason.
    await plinth.attachUpdate({
      body: { id: document.id, name: name.trim(), ...(!isFailed && { remark }) },
    });
  };
  return (
    <FormDrawer
      title={t('document.rename')}
      record={document.id}
      form={form}
      action={t('document.saveName')}
      onSubmit={save}
      done={t('document.renamed')}
      changes={[baseKey(knowledgeId), ['documents']]}
      onClose={onClose}
    >
      <TextInput
        label={t('document.name')}
        description={t('document.suffixStays', { suffix: document.type })}
        maxLength={255}
        required
        data-autofocus
        {...form.getInputProps('name')}
      />
      {!isFailed && (
        <Textarea label={t('field.remark')} maxLength={500} {...form.getInputProps('remark')} />
      )}
    </FormDrawer>
  );
}
