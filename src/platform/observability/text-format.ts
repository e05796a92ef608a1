/** Fields that the start of a line shows by themselves. */
const SHOWN_FIRST = new Set(['time', 'level', 'msg', 'err', 'pid', 'hostname']);

/** One JSON log line as text for people: time, level, message, then key=value; an error's stack below it. */
export function asText(line: string): string {
  const fields = JSON.parse(line) as Record<string, unknown>;
  const { time, level, msg = '', err } = fields;
  const rest = Object.entries(fields)
    .filter(([name, value]) => !SHOWN_FIRST.has(name) && value !== undefined && value !== null)
    .map(([name, value]) => ` ${name}=${shown(value)}`);
  const start = `${String(time).slice(11, 23)} ${String(level).toUpperCase().padEnd(5)}`;
  return `${start} ${oneLine(String(msg))}${rest.join('')}\n${stackOf(err)}`;
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /[\s"=]|[^\x20-\x7e\u00a0-\uffff]|^$/.test(text) ? JSON.stringify(text) : text;
}

/** Keeps what a stranger sent from looking like lines of the log. */
function oneLine(text: string): string {
  return text.replace(/[\x00-\x1f\x7f]+/g, ' ');
}

function stackOf(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '';
  const { stack, message, cause } = error as { stack?: string; message?: string; cause?: unknown };
  const lines = (stack ?? message ?? '').split('\n');
  const own = lines.map((line) => `    ${oneLine(line)}\n`).join('');
  const below = stackOf(cause);
  return below === '' ? own : `${own}    caused by\n${below}`;
}
