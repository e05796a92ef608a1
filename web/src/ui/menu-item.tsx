import { Menu } from '@mantine/core';
import type { MenuItemProps, PolymorphicComponentProps } from '@mantine/core';
import type { Icon } from '@tabler/icons-react';

type Props = Omit<PolymorphicComponentProps<'button', MenuItemProps>, 'leftSection'> & {
  readonly icon: Icon;
};

/** An entry of a menu: an icon and words; red for what destroys. */
export function MenuItem({ icon: Icon, color, ...props }: Props) {
  return (
    <Menu.Item
      leftSection={<Icon size={16} stroke={1.5} />}
      // The red of Mantine is too dark on a dark menu.
      color={color === 'red' ? 'var(--plinth-bad)' : color}
      {...props}
    />
  );
}
