import { Menu } from '@mantine/core';
import type { MenuItemProps, PolymorphicComponentProps } from '@mantine/core';
import type { Icon } from '@tabler/icons-react';

type Props = Omit<PolymorphicComponentProps<'button', MenuItemProps>, 'leftSection'> & {
  readonly icon: Icon;
};

/** A menu item with an icon; red for destructive actions. */
export function MenuItem({ icon: Icon, color, ...props }: Props) {
  return (
    <Menu.Item
      leftSection={<Icon size={16} stroke={1.5} />}
      // Mantine's red is too dark on a dark menu.
      color={color === 'red' ? 'var(--plinth-bad)' : color}
      {...props}
    />
  );
}
