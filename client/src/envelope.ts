interface Envelope {
  readonly code: number;
  readonly msg: string;
  readonly data?: unknown;
}

export function isEnvelope(body: unknown): body is Envelope {
  return (
    typeof body === 'object' &&
    body !== null &&
    'code' in body &&
    typeof body.code === 'number' &&
    'msg' in body &&
    typeof body.msg === 'string'
  );
}

/**
 * `data` where it stands alone, otherwise the fields beside code and msg: `{ total, rows }` of a list. A body without an
 * envelope stays as it is.
 */
export function contentsOf(body: unknown): unknown {
  if (!isEnvelope(body)) return body;
  const { code: _code, msg: _msg, ...fields } = body;
  return Object.keys(fields).join() === 'data' ? fields.data : fields;
}
