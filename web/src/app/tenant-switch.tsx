import { Button, Group, Modal, Select, Stack } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { plinth } from './plinth';
import { useAction } from '../ui/action';
import { useMe } from './me';
import { session } from './session';

/** Lets a super administrator work in another tenant. */
export default function TenantSwitch({ onClose }: { readonly onClose: () => void }) {
  const { t } = useTranslation();
  const { user, tenantId: current } = useMe();
  const [tenantId, setTenantId] = useState(current ?? null);
  // Opens with its list: Mantine's Select drops what was typed before its options came.
  const { data, isPending } = useQuery({
    queryKey: ['tenants', 'choices'],
    queryFn: ({ signal }) => plinth.tenantList({ query: { pageSize: 1_000 }, signal }),
  });
  const after = (entered: string): void => {
    onClose();
    session.enter(entered);
  };
  const rows = data?.rows ?? [];
  const name = rows.find((one) => one.tenantId === tenantId)?.companyName ?? '';
  const enter = useAction((id: string) => plinth.tenantEnter({ path: { tenantId: id } }), {
    done: t('tenant.entered', { name }),
    after: (_result, id) => after(id),
  });
  const leave = useAction(() => plinth.tenantLeave(), {
    done: t('tenant.left'),
    after: () => user && after(user.tenantId),
  });
  return (
    <Modal opened={!isPending} onClose={onClose} title={t('tenant.switch')}>
      <Stack>
        <Select
          label={t('tenant.current')}
          data={rows.map((one) => ({ value: one.tenantId, label: one.companyName }))}
          value={tenantId}
          onChange={setTenantId}
          searchable
          data-autofocus
        />
        <Group justify="flex-end">
          <Button variant="default" loading={leave.isPending} onClick={() => leave.mutate()}>
            {t('tenant.leave')}
          </Button>
          <Button
            loading={enter.isPending}
            disabled={tenantId === null}
            onClick={() => tenantId !== null && enter.mutate(tenantId)}
          >
            {t('tenant.switch')}
          </Button>
        </Group>
      </Stack>
    </Modal>
  );
}
