import { ActionIcon, Anchor, Button, Tooltip } from '@mantine/core';
import type {
  ActionIconProps,
  AnchorProps,
  ButtonProps,
  PolymorphicComponentProps,
} from '@mantine/core';
import type { Icon } from '@tabler/icons-react';
import { createLink } from '@tanstack/react-router';

interface WithIcon {
  readonly icon?: Icon;
}

/** A button with an icon before its text. */
export function ActionButton({
  icon,
  ...props
}: WithIcon & PolymorphicComponentProps<'button', ButtonProps>) {
  return <Button leftSection={sectionOf(icon, props.size)} {...props} />;
}

/** A link that looks like a button. */
export const LinkButton = createLink(
  ({ icon, ...props }: WithIcon & PolymorphicComponentProps<'a', ButtonProps>) => (
    <Button component="a" leftSection={sectionOf(icon, props.size)} {...props} />
  ),
);

function sectionOf(Icon: Icon | undefined, size: unknown) {
  return Icon && <Icon size={/xs|compact/.test(String(size)) ? 14 : 16} stroke={1.5} />;
}

export const TextLink = createLink((props: PolymorphicComponentProps<'a', AnchorProps>) => (
  <Anchor {...props} />
));

/** Size of the icon in a button of each size. */
const ICON_SIZES: Readonly<Record<string, number>> = { xs: 12, sm: 14, lg: 18 };

type IconButtonProps = PolymorphicComponentProps<'button', ActionIconProps> & {
  readonly icon: Icon;
  readonly iconSize?: number;
  /** Accessible name and tooltip. */
  readonly label: string;
};

/** A button that shows only an icon; its label is a tooltip. */
export function IconButton({ icon: Icon, iconSize, label, ...props }: IconButtonProps) {
  const size = iconSize ?? ICON_SIZES[String(props.size)] ?? 16;
  return (
    <Tooltip label={label}>
      <ActionIcon aria-label={label} {...props}>
        <Icon size={size} stroke={1.5} />
      </ActionIcon>
    </Tooltip>
  );
}
