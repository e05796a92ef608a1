import { Avatar } from '@mantine/core';

const COLOURS = ['indigo', 'teal', 'grape', 'orange', 'cyan', 'pink', 'lime', 'blue'] as const;

/** A coloured tile with a letter, made from the code of a provider; it is not the provider's logo. */
export function VendorMark({ code, size = 24 }: { readonly code: string; readonly size?: number }) {
  const sum = [...code].reduce(
    (total, sign) => (total * 31 + (sign.codePointAt(0) ?? 0)) % 9_973,
    7,
  );
  return (
    <Avatar
      size={size}
      radius="sm"
      color={COLOURS[sum % COLOURS.length] ?? 'indigo'}
      variant="light"
      aria-hidden
    >
      {code.slice(0, 1).toUpperCase()}
    </Avatar>
  );
}
