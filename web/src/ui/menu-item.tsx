import { Menu } from '@mantine/core';
import type { MenuItemProps, PolymorphicComponentProps } from '@mantine/core';
import type { Icon } from '@tabler/icons-react';

type Props = Omit<PolymorphicComponentProps<'button', MenuItemProps>, 'leftSection'> & {
  readonly icon: Icon;
};

/** An entry of a menu: an icon and words. */
export function MenuItem({ icon: Icon, ...props }: Props) {
  return <Menu.Item leftSection={<Icon size={16} stroke={1.5} />} {...props} />;
}
