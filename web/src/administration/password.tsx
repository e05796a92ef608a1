import { Alert, Button, Code, Group, Modal, Stack, Text, TextInput } from '@mantine/core';
import { IconRefresh } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { IconButton } from '../ui/buttons';
import { CopyButton } from '../ui/copy-button';
import styles from './password.module.css';

/** Characters of generated passwords, without ones that look alike. */
const PASSWORD_CHARACTERS = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';
const GENERATED_CHARS = 16;

export const MIN_PASSWORD_CHARS = 5;
export const MAX_PASSWORD_CHARS = 72;

/** Generates 16 random characters, about 93 bits of entropy. */
export function newPassword(): string {
  let password = '';
  while (password.length < GENERATED_CHARS) {
    const [byte = 0] = crypto.getRandomValues(new Uint8Array(1));
    // Bytes above the last whole multiple are skipped, because they would favour the first characters.
    if (byte < 256 - (256 % PASSWORD_CHARACTERS.length))
      password += PASSWORD_CHARACTERS[byte % PASSWORD_CHARACTERS.length] ?? '';
  }
  return password;
}

interface FieldProps {
  readonly label: string;
  readonly description?: string;
  readonly onGenerate: (password: string) => void;
}

/** Shows the password in clear text, because the administrator passes it on to the user. */
export function NewPasswordField({ label, description, onGenerate, ...input }: FieldProps) {
  const { t } = useTranslation('administration');
  return (
    <TextInput
      label={label}
      description={description}
      autoComplete="new-password"
      spellCheck={false}
      classNames={{ input: styles['input'] ?? '' }}
      rightSection={
        <IconButton
          icon={IconRefresh}
          label={t('password.generate')}
          onClick={() => onGenerate(newPassword())}
        />
      }
      {...input}
    />
  );
}

export interface Credentials {
  readonly userName: string;
  readonly password: string;
}

interface OnceProps {
  readonly title: string;
  readonly credentials: Credentials;
  readonly onClose: () => void;
}

/** Shows a password once; the service stores only its hash. */
export function PasswordOnce({ title, credentials, onClose }: OnceProps) {
  const { t } = useTranslation('administration');
  const { userName, password } = credentials;
  return (
    <Modal
      opened
      onClose={onClose}
      title={title}
      closeOnClickOutside={false}
      withCloseButton={false}
    >
      <Stack>
        <Text>{t('password.once', { name: userName })}</Text>
        <dl className={styles['facts']}>
          <dt>{t('password.userName')}</dt>
          <dd>
            <Code>{userName}</Code>
            <CopyButton value={userName} label={t('password.copyUserName')} />
          </dd>
          <dt>{t('password.password')}</dt>
          <dd>
            <Code>{password}</Code>
            <CopyButton value={password} label={t('password.copyPassword')} />
          </dd>
        </dl>
        <Alert color="yellow">{t('password.changeIt')}</Alert>
        <Group justify="flex-end">
          <Button onClick={onClose} data-autofocus>
            {t('password.passedOn')}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
