import { Transform } from 'class-transformer';
import type { TransformFnParams } from 'class-transformer';

/**
 * An empty text arrives as null, which empties the field; absent and null leave it as it is. It stands below the
 * field's other decorator, because class-transformer applies the lowest last.
 */
export function Clearable(): PropertyDecorator {
  return Transform(({ value, obj, key }: TransformFnParams): unknown => {
    const sent: unknown = (obj as Record<string, unknown>)[key];
    return sent === '' ? null : value;
  });
}
