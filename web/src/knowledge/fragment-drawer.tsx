import { Alert, Textarea, TextInput } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { AttachmentView, FragmentView, KnowledgeView } from '@plinth/client';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { FormDrawer } from '../ui/form';
import { baseKey } from './base';

interface Props {
  readonly base: KnowledgeView;
  readonly document: AttachmentView;
  /** The fragment to edit; absent to add one. */
  readonly fragment: FragmentView | undefined;
  readonly onClose: () => void;
}

/** Adds or edits a fragment. Explains the effect on search, because no model is called. */
export function FragmentDrawer({ base, document, fragment, onClose }: Props) {
  const { t } = useTranslation('knowledge');
  const form = useForm({
    initialValues: { content: fragment?.content ?? '', remark: fragment?.remark ?? '' },
    validate: {
      content: (content) => (content.trim() === '' ? t('fragment.contentMissing') : null),
    },
  });
  const save = async ({ content, remark }: typeof form.values): Promise<void> => {
    if (fragment) await plinth.fragmentUpdate({ body: { id: fragment.id, content, remark } });
    else await plinth.fragmentCreate({ body: { docId: document.docId, content, remark } });
  };
  return (
    <FormDrawer
      title={t(fragment ? 'fragment.edit' : 'fragment.add')}
      record={fragment?.id}
      form={form}
      action={t(fragment ? 'fragment.save' : 'fragment.add')}
      onSubmit={save}
      done={t(fragment ? 'fragment.saved' : 'fragment.added')}
      changes={[baseKey(base.id), ['documents']]}
      onClose={onClose}
    >
      <Alert variant="light" color="yellow">
        {t(fragment ? 'fragment.editHint' : 'fragment.addHint')}
      </Alert>
      <Textarea
        label={t('fragment.content')}
        required
        minRows={8}
        maxRows={24}
        maxLength={100_000}
        data-autofocus
        {...form.getInputProps('content')}
      />
      <TextInput label={t('field.remark')} maxLength={500} {...form.getInputProps('remark')} />
    </FormDrawer>
  );
}
