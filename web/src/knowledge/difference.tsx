import { Badge } from '@mantine/core';

/** Shows a change of a score with its sign. */
export function Difference({ value }: { readonly value: number }) {
  const rounded = Math.round(value * 1_000) / 1_000;
  if (rounded === 0)
    return (
      <Badge variant="default" fw={400}>
        ±0
      </Badge>
    );
  return (
    <Badge
      flex="none"
      miw="max-content"
      variant="light"
      color={rounded > 0 ? 'teal' : 'red'}
      c={rounded > 0 ? 'var(--plinth-good)' : 'var(--plinth-bad)'}
    >
      {rounded > 0 ? '+' : '−'}
      {Math.abs(rounded).toFixed(3)}
    </Badge>
  );
}
