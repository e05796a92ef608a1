import { Menu } from '@mantine/core';
import type { MenuItemProps, PolymorphicComponentProps } from '@mantine/core';
import type { Icon } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { SearchParams } from '../app/search-params';

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

interface LinkProps {
  readonly icon: Icon;
  readonly to: string;
  readonly search?: SearchParams;
  readonly children: ReactNode;
}

/** A menu item that opens a page. */
export function MenuLink({ icon, to, search = {}, children }: LinkProps) {
  return (
    <MenuItem
      icon={icon}
      renderRoot={(props) => <Link to={to} search={search as never} {...props} />}
    >
      {children}
    </MenuItem>
  );
}
