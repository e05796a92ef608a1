const SIZE_BY_RATIO: ReadonlyMap<string, string> = new Map([
  ['1:1', '1024*1024'],
  ['3:2', '1152*768'],
  ['4:3', '1152*864'],
  ['16:9', '1360*768'],
  ['9:16', '768*1360'],
]);
const DEFAULT_SIZE = '1024*1024';

/** The size that is sent: ratios of the table become sizes, `W*H` and `WxH` stay, anything else is the default. */
export function imageSize(size: string | undefined): string {
  const wanted = size?.trim() ?? '';
  return SIZE_BY_RATIO.get(wanted) ?? (/[*x]/i.test(wanted) ? wanted : DEFAULT_SIZE);
}

/** The same for models of the gpt-image family, which have one square, one landscape and one portrait size. */
export function gptImageSize(size: string | undefined): string {
  const [, width, height] = /^\s*(\d+)\s*[:*x]\s*(\d+)\s*$/i.exec(size ?? '') ?? [];
  const surplus = Number(width ?? 1) - Number(height ?? 1);
  if (surplus === 0) return '1024x1024';
  return surplus > 0 ? '1536x1024' : '1024x1536';
}
