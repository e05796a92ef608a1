/** Times on the wire are `yyyy-MM-dd HH:mm:ss` in the process' time zone, which the configuration sets. */
export function wireTime(date: Date): string;
export function wireTime(date: Date | null | undefined): string | null;
export function wireTime(date: Date | null | undefined): string | null {
  if (!date) return null;
  const two = (n: number): string => String(n).padStart(2, '0');
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}
