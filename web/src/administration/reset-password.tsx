import { Text } from '@mantine/core';
import { useForm } from '@mantine/form';
import type { UserView } from '@plinth/client';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { FormDrawer } from '../ui/form';
import { MAX_PASSWORD_CHARS, newPassword, NewPasswordField, MIN_PASSWORD_CHARS } from './password';
import type { Credentials } from './password';

interface Props {
  readonly user: UserView;
  readonly onDone: (credentials: Credentials) => void;
  readonly onClose: () => void;
}

/** Resets a user's password to a generated or typed one and ends their sign-ins. */
export function ResetPasswordDrawer({ user, onDone, onClose }: Props) {
  const { t } = useTranslation('administration');
  const { userId, userName } = user;
  const form = useForm({
    initialValues: { password: newPassword() },
    validate: {
      password: ({ length }) =>
        length < MIN_PASSWORD_CHARS || length > MAX_PASSWORD_CHARS ? t('password.rule') : null,
    },
  });
  const reset = ({ password }: typeof form.values) =>
    plinth.userResetPassword({ body: { userId, password } });
  return (
    <FormDrawer
      title={t('users.reset.title', { name: userName })}
      form={form}
      action={t('users.reset.open')}
      onSubmit={reset}
      changes={[['sign-ins']]}
      after={(_result, { password }) => onDone({ userName, password })}
      onClose={onClose}
    >
      <Text>{t('users.reset.body', { name: userName })}</Text>
      <NewPasswordField
        label={t('password.new')}
        description={t('password.shownAfter')}
        onGenerate={(password) => form.setFieldValue('password', password)}
        {...form.getInputProps('password')}
      />
    </FormDrawer>
  );
}
