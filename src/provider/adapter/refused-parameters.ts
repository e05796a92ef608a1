import { isRecord, jsonIn } from './vendor-json.js';
import type { JsonRecord } from './vendor-json.js';
import { FILLED_IN, missingStateIn, withPlaceholder } from './missing-state.js';

/** The replacement for a refused value, '' to omit it; or a limit of the service. */
export type FindingValue = string | number;

/**
 * Facts about a service beyond the record of its model, by name: a parameter, `name=value` for one value of it alone,
 * `role`, or the name of a limit.
 */
export type Findings = ReadonlyMap<string, FindingValue>;

/** Stores what one call learns of a service. Without it a call still adapts itself, but nothing is remembered or reported. */
export interface ServiceFindings {
  readonly facts: Findings;
  /** Parameters whose absence would be noticed are sent, so that the service refuses them. */
  readonly isStrict?: boolean;
  /** Stores what a call has learned once the service has answered it. Never fails. */
  keep(learned: Findings): Promise<void>;
  /** Reports parameters that were omitted although a caller may have set them. */
  leftOut(names: readonly string[]): void;
}

interface Remedy {
  /** Omitting it loses nothing that was asked for, so it is not reported. */
  readonly isSilent?: true;
  /** An ordinary word, which counts as a name only where it is written as one. */
  readonly isWord?: true;
  /** The service may take other values of it. */
  readonly isByValue?: true;
  /** Omitted only for calls that declare it optional. */
  readonly isOptional?: true;
  /** Omitted as well when a refusal names nothing. */
  readonly isGuessed?: true;
  /** Spellings in refusals beside the name. */
  readonly spelling?: RegExp;
  /** Whether the body can do without it; every body when absent. */
  readonly isDispensable?: (body: JsonRecord) => boolean;
}

const SILENT: Remedy = { isSilent: true };
const NAMED: Remedy = {};
const WORD: Remedy = { isWord: true };
const BY_VALUE: Remedy = { isByValue: true };
const OPTIONAL: Remedy = { isSilent: true, isOptional: true };
/** A model of one fixed size refuses the number of dimensions in many words, even the right one. */
const SIZE: Remedy = { ...OPTIONAL, isGuessed: true };

/**
 * The parameters that a call can do without, by their places in a body. All others stay, because the answer would be one to
 * another request: model, messages, tools, formats, the number of answers.
 */
const REMEDIES: Readonly<Record<string, Remedy>> = {
  stream_options: SILENT,
  encoding_format: SILENT,
  return_documents: SILENT,
  prompt_cache_key: SILENT,
  prompt_cache_retention: SILENT,
  temperature: NAMED,
  top_p: NAMED,
  top_k: NAMED,
  min_p: NAMED,
  seed: WORD,
  presence_penalty: NAMED,
  frequency_penalty: NAMED,
  repetition_penalty: NAMED,
  stop: { ...OPTIONAL, isWord: true, spelling: /\bon this model: stop\b/i },
  stop_sequences: OPTIONAL,
  dimensions: SIZE,
  output_dimension: SIZE,
  logit_bias: NAMED,
  logprobs: NAMED,
  top_logprobs: NAMED,
  parallel_tool_calls: NAMED,
  disable_parallel_tool_use: NAMED,
  tool_choice: BY_VALUE,
  reasoning_effort: BY_VALUE,
  'reasoning.effort': BY_VALUE,
  'reasoning.summary': NAMED,
  reasoning: WORD,
  'output_config.effort': { isByValue: true, spelling: /\boutput_config\b|\beffort\b/i },
  verbosity: BY_VALUE,
  'text.verbosity': BY_VALUE,
  thinking: { isWord: true, spelling: /(?<!\w)thinking(?:\.\w+)+/i },
  think: { isWord: true, spelling: /\b(?:does not|doesn't) support thinking\b/i },
  enable_thinking: NAMED,
  chat_template_kwargs: NAMED,
  strict: WORD,
  // Services of the responses protocol store every answer unless told not to.
  store: { isWord: true, isDispensable: (body) => 'messages' in body },
  metadata: WORD,
  user: WORD,
  include: WORD,
  truncation: WORD,
  safety_identifier: NAMED,
  service_tier: BY_VALUE,
  input_type: NAMED,
};

/** The two names of the limit of an answer. The finding is kept under the first and says which one is sent. */
const OUTPUT_LIMITS = ['max_tokens', 'max_completion_tokens'] as const;
/** The two roles of instructions. The finding is kept as `role` and says which one is sent. */
const ROLE = 'role';
const ROLES = ['system', 'developer'] as const;
/** Anthropic's newest models take only one of the two. */
const TOP_P_BESIDE = 'top_p beside temperature';
/** A finding that is not stored: the states of another conversation may be accepted. */
const STATES = 'provider states';

/** A service names one parameter at a time. */
export const MAX_REPEATS = 4;
const MAX_FINDING_CHARS = 60;

interface AdaptedBodySettings {
  /** See ServiceFindings. */
  readonly isStrict?: boolean | undefined;
  /** See ModelRequest. */
  readonly optional?: readonly string[] | undefined;
}

/** A body that is adapted to what its service refuses, from earlier calls and from refusals of this one. */
export class AdaptedBody {
  /** Findings from the refusals of this call, stored once the service has accepted the body. */
  readonly learned = new Map<string, FindingValue>();
  private readonly tried = new Set<string>();
  private readonly omitted = new Set<string>();
  private adaptedBody: unknown;

  constructor(
    original: unknown,
    facts: Findings = new Map(),
    private readonly settings: AdaptedBodySettings = {},
  ) {
    this.adaptedBody = original;
    for (const [name, value] of facts) {
      if (typeof value === 'string') this.apply(name, value);
    }
  }

  get body(): unknown {
    return this.adaptedBody;
  }

  /** The parameters that are left out and may be missed. */
  get leftOut(): readonly string[] {
    return [...this.omitted];
  }

  /**
   * Whether the body is another one now, because the text of a refusal names what the service does not take, or, with status 400 or
   * 422, names nothing.
   */
  adapt(refusal: string, status?: number): boolean {
    if (!isRecord(this.adaptedBody)) return false;
    const isChanged = this.adaptTo(refusedIn(refusal, this.adaptedBody));
    if (isChanged || (status !== 400 && status !== 422) || OF_INPUTS.test(refusal))
      return isChanged;
    return this.adaptTo(guessedIn(this.adaptedBody));
  }

  private adaptTo(refused: readonly Refused[]): boolean {
    let isChanged = false;
    for (const { name, value, isLasting } of refused) {
      // A service that refuses both of two names is not asked again and again.
      if (this.tried.has(`${name}:${value}`) || !this.apply(name, value)) continue;
      isChanged = true;
      if (isLasting && name.length <= MAX_FINDING_CHARS) this.learned.set(name, value);
    }
    return isChanged;
  }

  private apply(name: string, value: string): boolean {
    if (!isRecord(this.adaptedBody)) return false;
    const missed = value === '' ? missedWithout(name, this.adaptedBody) : undefined;
    if (missed !== undefined && this.settings.isStrict) return false;
    if (REMEDIES[name]?.isOptional && !this.settings.optional?.includes(name)) return false;
    const changed = changedBody(this.adaptedBody, name, value);
    if (changed === this.adaptedBody) return false;
    if (
      value === FILLED_IN &&
      has(this.adaptedBody, 'thinking') &&
      changed['thinking'] !== this.adaptedBody['thinking']
    ) {
      this.omitted.add('thinking');
    }
    this.adaptedBody = changed;
    this.tried.add(`${name}:${value}`);
    if (missed !== undefined) this.omitted.add(missed);
    return true;
  }
}

/** The parameter that may be missed without what a finding takes out; null stands for one that is not given. */
function missedWithout(finding: string, body: JsonRecord): string | undefined {
  const [name = finding] = finding === TOP_P_BESIDE ? ['top_p'] : finding.split('=');
  const isSilent = REMEDIES[name]?.isSilent ?? !(name in REMEDIES);
  return isSilent || valueAt(body, name) === null ? undefined : name;
}

interface Refused {
  readonly name: string;
  readonly value: string;
  /** False where the refusal concerns this request, not the service. */
  readonly isLasting: boolean;
}

/** The parameters of the body that the text of a refusal names. */
function refusedIn(refusal: string, body: JsonRecord): readonly Refused[] {
  const refused: Refused[] = [];
  for (const clause of clausesOf(refusal)) {
    const missing = missingStateIn(clause);
    if (missing) refused.push(missing);
    else if (STATE_REFUSED.test(clause))
      refused.push({ name: STATES, value: '', isLasting: false });
    else refused.push(...refusedByClause(clause, body));
  }
  return refused;
}

/** Refusals of too many or too long texts. */
const OF_INPUTS = /batch|too many|at most|tokens?\b|\blength\b|too long/i;

function guessedIn(body: JsonRecord): readonly Refused[] {
  return Object.entries(REMEDIES).flatMap(([name, { isGuessed }]) =>
    isGuessed && has(body, name) ? [{ name, value: '', isLasting: true }] : [],
  );
}

function refusedByClause(clause: string, body: JsonRecord): readonly Refused[] {
  const role = refusedRole(clause, body);
  if (role) return [{ name: ROLE, value: role, isLasting: true }];
  if (!UNSUPPORTED.test(clause) || OF_VALUE.test(clause) || OF_SCHEMA.test(clause)) return [];
  const isLasting = !OF_THIS_REQUEST.test(clause);
  if (/cannot both|one of (?:them|the two)/i.test(clause) && has(body, 'top_p')) {
    return named('top_p', clause) ? [{ name: TOP_P_BESIDE, value: '', isLasting }] : [];
  }
  const remainder = clause.replace(ALTERNATIVES, '');
  const [older, newer] = OUTPUT_LIMITS;
  for (const [one, other] of [
    [older, newer],
    [newer, older],
  ] as const) {
    if (has(body, one) && named(one, remainder)) return [{ name: older, value: other, isLasting }];
  }
  return Object.entries(REMEDIES).flatMap(([name, { isByValue }]) => {
    if (!isDispensable(body, name) || !named(name, remainder)) return [];
    const value = valueAt(body, name);
    const isOfValue = isByValue && typeof value === 'string' && quotes(value, remainder);
    return [{ name: isOfValue ? `${name}=${value}` : name, value: '', isLasting }];
  });
}

/** Phrases of a refusal, as vendors write them. */
const UNSUPPORTED =
  /unsupported|(?:not|n['’]t) support|not[ _]supported|unrecogni[sz]ed|unknown|unexpected|extra(?:neous)? (?:inputs?|fields?|keys?|parameters?|propert)|extra_forbidden|not (?:permitted|allowed|accepted|valid|available|recogni[sz]ed|implemented)|additional propert|forbidden|deprecated|no longer|cannot find field|no such|only .{1,30}?(?:is|are) (?:allowed|supported)|may only be|can only be|cannot (?:both )?be (?:specified|used|set)|incompatible|不支持|不允许|未知/iu;

/** The value is wrong, which its sender has to know. */
const OF_VALUE =
  /\brange\b|\bbetween\b|\bat (?:most|least)\b|\b(?:less|greater|larger|smaller) than\b|\bexceeds?\b|\btoo (?:large|high|low|small|long|many)\b|\b(?:above|below) (?:the )?(?:maximum|minimum)\b|\bmust be (?:an?|positive)\b|\bpositive\b|[<>]=?\s*\d/i;

/** A tool's or a format's own parameters may have the same names. */
const OF_SCHEMA = /\bproperties\b|json.?schema|input_schema/i;

/** Text that a clause recommends, lists, quotes or presupposes, which is not what it refuses. */
const ALTERNATIVES =
  /[,;:(-]*\s*(?:\bexpected (?:one of|fields?|keys?)|\b(?:supported|allowed|accepted|valid|permitted) (?:parameters|arguments|values|fields|keys|properties|names)\b|\bmust be (?:one of|null)|\b(?:please )?use ['"`]|['"]?\binput(?:_value)?['"]?\s*[:=]|\bwhen\b|\bwhile\b|\bunless\b).*$/is;

const OF_THIS_REQUEST = /\bthinking\b|\breasoning mode\b|\bwhen\b|\bwhile\b|\btogether with\b/i;

const STATE_REFUSED =
  /signature.{0,40}thinking|thinking.{0,60}signature|invalid_encrypted_content|encrypted.content.{0,80}(?:not|n['’]t) be (?:verified|decrypted|parsed)|(?:corrupt\w*|invalid).{0,20}thought.?signature|thought.?signature.{0,40}(?:invalid|corrupt|not valid)/i;

/** A role of the body that the clause refuses: the one to send instead. */
function refusedRole(clause: string, body: JsonRecord): (typeof ROLES)[number] | undefined {
  if (!/\brole\b|\bvariant\b|is not one of/i.test(clause)) return undefined;
  if (
    !/unknown|unexpected|invalid|unsupported|not support|not one of|does not match/i.test(clause)
  ) {
    return undefined;
  }
  const remainder = clause.replace(
    /(?:expected|is not one of|does not match|must be one of|supported).*$/is,
    '',
  );
  const roles = rolesIn(body);
  if (
    roles.has('developer') &&
    (/developer/i.test(remainder) || !/system|user|assistant|tool/i.test(remainder))
  ) {
    return 'system';
  }
  const saysSystem = /['"`]system['"`]/i.test(clause) && /not support/i.test(clause);
  return roles.has('system') && saysSystem ? 'developer' : undefined;
}

function rolesIn(body: JsonRecord): ReadonlySet<unknown> {
  return new Set(messageLists(body).flatMap(([, list]) => list.map((one) => one['role'])));
}

function messageLists(body: JsonRecord): (readonly [field: string, messages: JsonRecord[]])[] {
  return ['messages', 'input'].flatMap((field) => {
    const list = body[field];
    return Array.isArray(list) && list.every(isRecord) ? [[field, list] as const] : [];
  });
}

/** Whether the text writes the parameter, in snake or camel case. */
function named(name: string, text: string): boolean {
  const { isWord, spelling } = REMEDIES[name] ?? {};
  if (spelling?.test(text)) return true;
  const word = name.replaceAll('.', '\\.').replaceAll('_', '[_ ]?');
  const pattern = isWord
    ? `["'\`\\[]${word}["'\`\\].:]|(?:parameters?|arguments?|fields?|propert(?:y|ies)|keys?|name|supplied|input):?\\s+${word}\\b|^${word}:|\\.${word}\\b`
    : `(?<![\\w-])${word}(?![\\w-])`;
  return new RegExp(pattern, 'i').test(text);
}

function quotes(value: string, text: string): boolean {
  const literal = value.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return value !== '' && new RegExp(`(?<!\\w)${literal}(?!\\w)`, 'i').test(text);
}

/** The sentences of a refusal, in all of the texts in it; a place that is named beside a text stands before it. */
function clausesOf(refusal: string): readonly string[] {
  const texts: string[] = [];
  collectTexts(jsonIn(refusal) ?? refusal, texts, 0);
  return texts.flatMap((text) =>
    text
      .slice(0, MAX_TEXT_CHARS)
      .replace(/^\s*<\d{3}>\s*/, '')
      .replace(/\n\s{2,}/g, ': ')
      .split(/[.;!](?=\s|$)|\n|[。；]/u)
      .map((clause) => clause.trim())
      .filter((clause) => clause !== ''),
  );
}

const MAX_TEXT_CHARS = 4_000;
const MAX_TEXTS = 50;
const MAX_DEPTH = 6;

function collectTexts(value: unknown, texts: string[], depth: number): void {
  if (texts.length >= MAX_TEXTS || depth > MAX_DEPTH) return;
  if (typeof value === 'string') {
    const inner = jsonIn(value);
    if (inner === undefined) texts.push(value);
    else collectTexts(inner, texts, depth + 1);
  } else if (Array.isArray(value)) {
    for (const one of value) collectTexts(one, texts, depth + 1);
  } else if (isRecord(value)) {
    const place = placeIn(value);
    const { msg = value['message'], code, type, error_code: other } = value;
    if (place !== undefined && typeof msg === 'string') {
      const kind = [code, type, other].find(
        (one) => typeof one === 'string' && UNSUPPORTED.test(one),
      );
      texts.push(`${place}: ${typeof kind === 'string' ? `${kind}: ` : ''}${msg}`);
    }
    for (const [field, one] of Object.entries(value)) {
      // These fields repeat the request.
      if (field !== 'input' && field !== 'url' && field !== 'loc')
        collectTexts(one, texts, depth + 1);
    }
  }
}

/** The parameter that an error is about: `param` (OpenAI), or `loc` (FastAPI), whose inner places are parts of something else. */
function placeIn({ param, loc }: JsonRecord): string | undefined {
  if (typeof param === 'string' && param !== '') return param;
  if (!Array.isArray(loc)) return undefined;
  const places = loc.filter((one) => one !== 'body');
  const last: unknown = places.at(-1);
  if (typeof last !== 'string') return undefined;
  if (places[0] === 'stream_options') return 'stream_options';
  return places.length === 1 || last === 'strict' ? last : undefined;
}

/** Whether the body has the parameter and can do without it. */
function isDispensable(body: JsonRecord, name: string): boolean {
  const remedy = REMEDIES[name];
  return remedy !== undefined && has(body, name) && (remedy.isDispensable?.(body) ?? true);
}

function has(body: JsonRecord, name: string): boolean {
  return name === 'strict' ? withoutStrict(body) !== body : valueAt(body, name) !== undefined;
}

/** The value at a place; of a record, its type or what it holds. */
function valueAt(body: JsonRecord, name: string): unknown {
  if (name === 'disable_parallel_tool_use') return valueAt(body, `tool_choice.${name}`);
  let value: unknown = body;
  for (const field of name.split('.')) value = isRecord(value) ? value[field] : undefined;
  return isRecord(value) && name === 'tool_choice' ? 'object' : value;
}

/** The body as the finding says; the same object where it has nothing to do with it. */
function changedBody(body: JsonRecord, finding: string, value: string): JsonRecord {
  if (finding === STATES) return withoutStates(body);
  if (value === FILLED_IN) return withPlaceholder(body, finding);
  if (finding === TOP_P_BESIDE) {
    return has(body, 'temperature') && has(body, 'top_p') ? without(body, 'top_p') : body;
  }
  if (finding === ROLE) return withRole(body, value);
  if (finding === OUTPUT_LIMITS[0]) return withLimitAs(body, value);
  const [name = '', only] = finding.split('=');
  if (!isDispensable(body, name)) return body;
  if (name === 'strict') return withoutStrict(body);
  if (only !== undefined && valueAt(body, name) !== only) return body;
  return without(body, name === 'disable_parallel_tool_use' ? `tool_choice.${name}` : name);
}

function without(body: JsonRecord, name: string): JsonRecord {
  const [first = name, ...inner] = name.split('.');
  const { [first]: value, ...rest } = body;
  if (inner.length === 0 || !isRecord(value)) return rest;
  const remaining = without(value, inner.join('.'));
  return Object.keys(remaining).length === 0 ? rest : { ...rest, [first]: remaining };
}

function withLimitAs(body: JsonRecord, field: string): JsonRecord {
  const other = OUTPUT_LIMITS.find((one) => one !== field);
  if (other === undefined || body[other] === undefined) return body;
  const { [other]: limit, ...rest } = body;
  return { [field]: limit, ...rest };
}

function withRole(body: JsonRecord, role: string): JsonRecord {
  const replaced = ROLES.find((one) => one !== role);
  if (!rolesIn(body).has(replaced)) return body;
  return withMessages(body, (messages) =>
    messages.map((one) => (one['role'] === replaced ? { ...one, role } : one)),
  );
}

function withMessages(
  body: JsonRecord,
  change: (messages: readonly JsonRecord[]) => readonly JsonRecord[],
): JsonRecord {
  const changed: Record<string, unknown> = { ...body };
  for (const [field, messages] of messageLists(body)) changed[field] = change(messages);
  return changed;
}

/** Removes `strict` only where it is a setting of a tool or a format, not where a schema has a property of the name. */
function withoutStrict(body: JsonRecord): JsonRecord {
  const changed: Record<string, unknown> = {};
  const { tools, response_format: format } = body;
  if (Array.isArray(tools)) {
    const adaptedTools = tools.map((tool: unknown) =>
      withoutAt(withoutAt(tool, 'strict'), 'function.strict'),
    );
    if (adaptedTools.some((tool, at) => tool !== tools[at])) changed['tools'] = adaptedTools;
  }
  const looser = withoutAt(format, 'json_schema.strict');
  if (looser !== format) changed['response_format'] = looser;
  return Object.keys(changed).length === 0 ? body : { ...body, ...changed };
}

function withoutAt(value: unknown, name: string): unknown {
  return isRecord(value) && valueAt(value, name) !== undefined ? without(value, name) : value;
}

/** Removes provider state that the service no longer accepts: signed thinking, encrypted reasoning, signatures of calls. */
function withoutStates(body: JsonRecord): JsonRecord {
  const hasStates = messageLists(body).some(([, messages]) => messages.some(hasState));
  if (!hasStates) return body;
  // A conversation without its thinking can only be continued without thinking.
  const { thinking: _thinking, ...rest } = body;
  return withMessages(rest, (messages) =>
    messages.filter((one) => one['type'] !== 'reasoning').map(withoutState),
  );
}

function hasState(message: JsonRecord): boolean {
  return message['type'] === 'reasoning' || withoutState(message) !== message;
}

const STATE_BLOCKS: readonly unknown[] = ['thinking', 'redacted_thinking'];

function withoutState(message: JsonRecord): JsonRecord {
  const { content, tool_calls: calls, reasoning_details: details } = message;
  const isState = (block: unknown): boolean =>
    isRecord(block) && STATE_BLOCKS.includes(block['type']);
  const hasBlocks = Array.isArray(content) && content.some(isState);
  const hasSignatures =
    Array.isArray(calls) && calls.some((one) => has(toRecord(one), 'extra_content'));
  if (!hasBlocks && !hasSignatures && details === undefined) return message;
  const { reasoning_details: _details, ...rest } = message;
  return {
    ...rest,
    ...(hasBlocks && { content: content.filter((block) => !isState(block)) }),
    ...(hasSignatures && { tool_calls: calls.map((one) => withoutAt(one, 'extra_content')) }),
  };
}

function toRecord(value: unknown): JsonRecord {
  return isRecord(value) ? value : {};
}
