import {
  Alert,
  Avatar,
  Badge,
  Button,
  FileButton,
  Group,
  PasswordInput,
  SegmentedControl,
  Select,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
  Title,
  useMantineColorScheme,
} from '@mantine/core';
import { useForm } from '@mantine/form';
import type { ProfileView } from '@plinth/client';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import type { ReactNode } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from '../app/plinth';
import { useMe } from '../app/me';
import { changeLanguage, language, LANGUAGES } from '../i18n';
import type { Language } from '../i18n';
import { LinkButton } from '../ui/buttons';
import { useAction } from '../ui/action';
import { Failure, RowsSkeleton } from '../ui/states';
import { focusFirstInvalid, FormFailure, LeaveGuard } from '../ui/form';
import { Page } from '../ui/page';
import { Connections, useConnections } from './connections';
import { OwnSignIns } from './own-sign-ins';
import { RetentionForm, retentionKey } from './retention-form';
import { SecondFactors } from './second-factors';
import styles from './account.module.css';

/** The page where users view and change their own account. */
export default function AccountPage() {
  const { t } = useTranslation('account');
  const { may } = useMe();
  const profile = useQuery({
    queryKey: ['profile'],
    queryFn: ({ signal }) => plinth.profileGet({ signal }),
  });
  const connections = useConnections();
  return (
    <Page title={t('title')} description={t('about')} width="reading">
      <Section title={t('profile.title')}>
        {profile.error && <Failure error={profile.error} onRetry={() => void profile.refetch()} />}
        {profile.isPending && <RowsSkeleton rows={4} />}
        {profile.data && <Profile key={profile.data.user.userId} profile={profile.data} />}
      </Section>
      <Section title={t('appearance.title')}>
        <Appearance />
      </Section>
      <Section title={t('password.title')}>
        <Password userName={profile.data?.user.userName ?? ''} />
      </Section>
      <Section title={t('second.title')}>
        <SecondFactors />
      </Section>
      {connections.length > 0 && (
        <Section title={t('connections.title')}>
          <Connections connections={connections} />
        </Section>
      )}
      {may('system:apikey:list') && (
        <Section title={t('keys.title')}>
          <Stack gap="sm" align="flex-start">
            <Text c="dimmed">{t('keys.about')}</Text>
            <LinkButton variant="default" to="/account/keys">
              {t('keys.open')}
            </LinkButton>
          </Stack>
        </Section>
      )}
      <Section title={t('retention.title')}>
        <OwnRetention />
      </Section>
      <Section title={t('signIns.title')}>
        <Stack gap="sm">
          <Text c="dimmed">{t('signIns.about')}</Text>
          <OwnSignIns />
        </Stack>
      </Section>
    </Page>
  );
}

function Section({ title, children }: { readonly title: string; readonly children: ReactNode }) {
  return (
    <section className={styles['section']} aria-label={title}>
      <Title order={2} mb="md">
        {title}
      </Title>
      {children}
    </section>
  );
}

function Profile({ profile: { user } }: { readonly profile: ProfileView }) {
  const { t } = useTranslation('account');
  const [failure, setFailure] = useState<unknown>();
  const form = useForm({
    initialValues: {
      nickName: user.nickName,
      email: user.email,
      phonenumber: user.phonenumber,
      sex: user.sex,
    },
    validate: {
      nickName: (value) => (value.trim() === '' ? t('profile.nickNameMissing') : null),
      email: (value) => (value === '' || /^\S+@\S+$/.test(value) ? null : t('profile.emailRule')),
    },
  });
  const save = useAction((body: typeof form.values) => plinth.profileUpdate({ body }), {
    done: t('profile.saved'),
    changes: [['profile'], ['me'], ['users']],
    onFailure: setFailure,
    after: (_result, values) => {
      form.resetDirty(values);
      setFailure(undefined);
    },
  });
  const picture = {
    changes: [['profile'], ['me'], ['users']],
    onFailure: setFailure,
    after: () => setFailure(undefined),
  };
  const replace = useAction(
    (avatarfile: File) => plinth.profileReplaceAvatar({ body: { avatarfile } }),
    {
      ...picture,
      done: t('profile.pictureSaved'),
    },
  );
  const remove = useAction(() => plinth.profileRemoveAvatar(), {
    ...picture,
    done: t('profile.pictureRemoved'),
  });
  return (
    <form noValidate onSubmit={form.onSubmit((values) => save.mutate(values), focusFirstInvalid)}>
      <LeaveGuard form={form} dirty={form.isDirty() && !save.isPending} />
      <Stack>
        <Group>
          <Stack gap={4} align="center">
            <Avatar
              alt=""
              size={56}
              radius="xl"
              color="indigo"
              name={user.nickName}
              src={user.avatar}
            />
            <FileButton
              accept="image/png,image/jpeg,image/gif,image/webp,image/bmp"
              onChange={(image) => image && replace.mutate(image)}
            >
              {(props) => (
                <Button {...props} variant="subtle" size="compact-xs" loading={replace.isPending}>
                  {t('profile.picture')}
                </Button>
              )}
            </FileButton>
            {user.avatar && (
              <Button
                variant="subtle"
                size="compact-xs"
                loading={remove.isPending}
                onClick={() => remove.mutate()}
              >
                {t('profile.removePicture')}
              </Button>
            )}
          </Stack>
          <Stack gap={4}>
            <Text fw={600}>{user.userName}</Text>
            <Group gap={4}>
              {user.roles.length === 0 && (
                <Text size="sm" c="dimmed">
                  {t('profile.noRole')}
                </Text>
              )}
              {user.roles.map(({ roleId, roleName }) => (
                <Badge key={roleId} variant="light">
                  {roleName}
                </Badge>
              ))}
              <Text size="sm" c="dimmed">
                {t('profile.tenant', { id: user.tenantId })}
              </Text>
            </Group>
          </Stack>
        </Group>
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <TextInput
            label={t('profile.nickName')}
            autoComplete="nickname"
            maxLength={64}
            {...form.getInputProps('nickName')}
          />
          <TextInput
            label={t('profile.email')}
            type="email"
            autoComplete="email"
            maxLength={100}
            {...form.getInputProps('email')}
          />
          <TextInput
            label={t('profile.phone')}
            type="tel"
            autoComplete="tel"
            maxLength={20}
            {...form.getInputProps('phonenumber')}
          />
          <Select
            label={t('profile.sex')}
            data={(['0', '1', '2'] as const).map((value) => ({
              value,
              label: t(`sexes.${value}`),
            }))}
            allowDeselect={false}
            {...form.getInputProps('sex')}
          />
        </SimpleGrid>
        {failure !== undefined && <FormFailure error={failure} />}
        <Group>
          <Button type="submit" loading={save.isPending} disabled={!form.isDirty()}>
            {t('profile.save')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}

/** How long the own records are kept. */
function OwnRetention() {
  const { t } = useTranslation('account');
  const { data, error, isPending, refetch } = useQuery({
    queryKey: [...retentionKey, 'own'],
    queryFn: ({ signal }) => plinth.ownRetentionRules({ signal }),
  });
  if (error) return <Failure error={error} onRetry={() => void refetch()} />;
  if (isPending) return <RowsSkeleton rows={3} />;
  return (
    <Stack gap="sm">
      <Text c="dimmed">{t('retention.about')}</Text>
      <RetentionForm
        retention={data}
        save={(rules) => plinth.ownRetentionUpdate({ body: { rules } })}
      />
    </Stack>
  );
}

function Appearance() {
  const { t } = useTranslation('account');
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <SimpleGrid cols={{ base: 1, xs: 2 }}>
      <Stack gap={4}>
        <Text fw={600} size="sm" id="theme-label">
          {t('appearance.theme')}
        </Text>
        <SegmentedControl
          aria-labelledby="theme-label"
          value={colorScheme}
          onChange={(value) => setColorScheme(value)}
          data={(['light', 'dark', 'auto'] as const).map((value) => ({
            value,
            label: t(`appearance.themes.${value}`),
          }))}
        />
      </Stack>
      <Stack gap={4}>
        <Text fw={600} size="sm" id="language-label">
          {t('appearance.language')}
        </Text>
        <SegmentedControl
          aria-labelledby="language-label"
          value={language()}
          onChange={(value) => void changeLanguage(value as Language)}
          data={Object.entries(LANGUAGES).map(([value, label]) => ({ value, label }))}
        />
      </Stack>
    </SimpleGrid>
  );
}

const MIN_PASSWORD_CHARS = 5;
const MAX_PASSWORD_CHARS = 72;

function Password({ userName }: { readonly userName: string }) {
  const { t } = useTranslation('account');
  const [failure, setFailure] = useState<unknown>();
  const form = useForm({
    initialValues: { oldPassword: '', newPassword: '', again: '' },
    validate: {
      oldPassword: (value) => (value === '' ? t('password.oldMissing') : null),
      newPassword: ({ length }) =>
        length < MIN_PASSWORD_CHARS || length > MAX_PASSWORD_CHARS ? t('password.rule') : null,
      again: (value, { newPassword }) => (value === newPassword ? null : t('password.differ')),
    },
  });
  const change = useAction(
    ({ oldPassword, newPassword }: typeof form.values) =>
      plinth.profileChangePassword({ body: { oldPassword, newPassword } }),
    {
      done: t('password.changed'),
      changes: [['sign-ins']],
      onFailure: setFailure,
      after: () => {
        form.reset();
        setFailure(undefined);
      },
    },
  );
  const show = { 'aria-label': t('password.show') };
  return (
    <form noValidate onSubmit={form.onSubmit((values) => change.mutate(values), focusFirstInvalid)}>
      {/* A password manager needs the name that the password belongs to. */}
      <input type="text" name="username" autoComplete="username" value={userName} readOnly hidden />
      <Stack>
        <Alert color="gray">{t('password.endsOthers')}</Alert>
        <PasswordInput
          label={t('password.old')}
          autoComplete="current-password"
          visibilityToggleButtonProps={show}
          {...form.getInputProps('oldPassword')}
        />
        <SimpleGrid cols={{ base: 1, xs: 2 }}>
          <PasswordInput
            label={t('password.new')}
            autoComplete="new-password"
            visibilityToggleButtonProps={show}
            {...form.getInputProps('newPassword')}
          />
          <PasswordInput
            label={t('password.again')}
            autoComplete="new-password"
            visibilityToggleButtonProps={show}
            {...form.getInputProps('again')}
          />
        </SimpleGrid>
        {failure !== undefined && <FormFailure error={failure} />}
        <Group>
          <Button type="submit" loading={change.isPending}>
            {t('password.change')}
          </Button>
        </Group>
      </Stack>
    </form>
  );
}
