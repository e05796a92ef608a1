/**
 * Routes of other callers: clients of model services, of SCIM and of OAuth, which speak another protocol, browsers that are led
 * through a sign-in, and identity providers that end one.
 */
const OTHER_CALLERS =
  /^\/(v1|v1beta|scim|\.well-known)\/|^\/oauth\/(register|token|revoke)$|^\/auth\/sso\/[^/]+\/(start|callback|backchannel-logout)$/;

/**
 * The OpenAPI document as the functions of the client answer: the contents of an envelope in place of the envelope, and no
 * failures, which are thrown.
 */
export function clientDocument(document) {
  const { schemas } = document.components;
  const wrappers = Object.keys(schemas).filter((name) => isFailure(schemas[name]));
  for (const name of wrappers) delete schemas[name];
  const isDropped = (schema) =>
    wrappers.some((name) => schema.$ref === `#/components/schemas/${name}`) || isFailure(schema);

  for (const path of Object.keys(document.paths)) {
    if (OTHER_CALLERS.test(path)) delete document.paths[path];
  }
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, operation] of Object.entries(operations)) {
      const route = `${method.toUpperCase()} ${path}`;
      const content = operation.responses['200']?.content;
      if (content?.['text/event-stream']) {
        // streams.ts reads them. Some routes answer JSON as well.
        delete content['text/event-stream'];
        if (alternatives(content).every(isDropped)) {
          delete operations[method];
          continue;
        }
      }
      delete operation.security;
      // A failed health check has the status 503, which is thrown as well.
      operation.responses = { 200: withoutEnvelope(operation.responses['200'], isDropped, route) };
      const accepted = operation.requestBody?.content;
      if (accepted?.['application/json']) {
        operation.requestBody.content = { 'application/json': accepted['application/json'] };
      }
    }
  }
  for (const [path, operations] of Object.entries(document.paths)) {
    if (Object.keys(operations).length === 0) delete document.paths[path];
  }
  return withTypedNulls(document);
}

/** The schemas of JSON answers: of successes and failures. */
function alternatives(content) {
  const json = content['application/json']?.schema;
  return json?.oneOf ?? (json ? [json] : []);
}

function withoutEnvelope(response, isDropped, route) {
  const content = { ...response?.content };
  if (content['application/json']) {
    const kept = alternatives(content).filter((schema) => !isDropped(schema));
    if (kept.length > 1) throw new Error(`${route} answers several kinds of successes.`);
    if (kept.length === 0) delete content['application/json'];
    else content['application/json'] = { schema: unwrapped(kept[0], route) };
  }
  return { ...response, content: inOneType(content) };
}

/** Of several types the generator takes JSON alone. */
function inOneType(content) {
  const schemas = Object.values(content).map(({ schema }) => schema);
  return schemas.length > 1 ? { 'application/json': { schema: { anyOf: schemas } } } : content;
}

/** The same rule as contentsOf in src/envelope.ts, which knows no schemas: a field beside `data` must always be there. */
function unwrapped(schema, route) {
  if (!schema.properties?.code) return schema;
  const names = Object.keys(schema.properties).filter((name) => !['code', 'msg'].includes(name));
  const fields = Object.fromEntries(names.map((name) => [name, schema.properties[name]]));
  if (names.join() === 'data') return fields.data;
  const required = schema.required.filter((name) => names.includes(name));
  if (!required.some((name) => name !== 'data')) {
    throw new Error(`${route} has only optional fields beside data.`);
  }
  return { type: 'object', required, properties: fields };
}

function isFailure(schema) {
  const codes = schema?.properties?.code?.enum;
  // Records may have a code, too, which is a text.
  return codes !== undefined && codes.every(Number.isInteger) && !codes.includes(200);
}

/** OpenAPI 3.1, which has a type for null. */
function withTypedNulls(document) {
  const rewrite = (part) => {
    if (Array.isArray(part)) return part.map(rewrite);
    if (typeof part !== 'object' || part === null) return part;
    const { nullable, ...rest } = Object.fromEntries(
      Object.entries(part).map(([name, value]) => [name, rewrite(value)]),
    );
    if (nullable !== true) return rest;
    if (rest.enum?.length === 1 && rest.enum[0] === null) return { type: 'null' };
    return { ...rest, type: [rest.type, 'null'] };
  };
  return { ...rewrite(document), openapi: '3.1.0' };
}
