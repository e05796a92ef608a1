/** A character that can be seen: no white space, no control character, and none that is shown as nothing. */
export const VISIBLE = /[^\s\p{Cc}\p{Default_Ignorable_Code_Point}]/u;

/** Whether a text has nothing to see: it is empty, white space, or made of characters such as the zero-width space. */
export function isBlank(text: string): boolean {
  return !VISIBLE.test(text);
}
