/** The beginning of an element in which documents and results of tool servers are quoted for a model. */
const QUOTING_TAG = /<(?=\s*(?:\/\s*)?(?:fragment|file|tool_result)\b)/gi;

/**
 * Control tokens in angle brackets, without the first one. Between bars any name counts (`<|im_start|>`,
 * `<|start_header_id|>`, `<｜User｜>`); the others are those of the templates of Llama, Mistral, Gemma, GLM, Qwen,
 * Command R, StarCoder and BERT.
 */
const ANGLE_TOKEN = [
  String.raw`[|｜][^|｜<>\n]{1,64}[|｜]>`,
  String.raw`<\/?(?:SYS|sys)>>`,
  String.raw`\/?(?:s|bos|eos|pad|unk|mask|sop|eop|sep|cls)>`,
  String.raw`(?:BOS|EOS|PAD|UNK|CLS|SEP|EOP|MASK)_TOKEN>`,
  String.raw`(?:start|end)_of_(?:turn|image|text|document|role|audio)>`,
  String.raw`\/?(?:tool_call|tool_response|think)>`,
  String.raw`(?:fim_(?:prefix|middle|suffix|pad)|file_sep|repo_name|unused\d{1,4}|reserved_\d{1,4})>`,
].join('|');

/** Control tokens in square brackets, without the first one. Lower case is code, such as `x[mask]`. */
const SQUARE_TOKEN = String.raw`\/?(?:INST|inst|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_CONTENT|TOOL_RESULTS|CALL_ID|ARGS|THINK|PREFIX|MIDDLE|SUFFIX|IMG|IMG_BREAK|IMG_END|gMASK|sMASK|MASK|CLS|SEP|PAD|UNK|BOS|EOS)\]`;

const CONTROL_TOKEN = new RegExp(String.raw`<(?=${ANGLE_TOKEN})|\[(?=${SQUARE_TOKEN})`, 'g');

/** A text for the model, quoted as data in tags that neither it nor the facts about it can close. */
export function quoted(
  tag: 'fragment' | 'file' | 'tool_result',
  facts: Readonly<Record<string, string | number>>,
  text: string,
): string {
  const attributes = Object.entries(facts).map(
    ([name, value]) => ` ${name}="${quotableName(String(value))}"`,
  );
  return `<${tag}${attributes.join('')}>\n${quotable(text)}\n</${tag}>`;
}

/**
 * A text that a document or a tool has brought, without what steers a model: the control tokens of chat templates, which
 * some services read out of any text. Their first character becomes an entity; nothing else changes, and a text without
 * them stays as it is.
 */
export function withoutControlTokens(text: string): string {
  return text.replaceAll(CONTROL_TOKEN, (first) => (first === '<' ? '&lt;' : '&#91;'));
}

/**
 * The same, and without the tags in which documents are quoted, whichever of them it is quoted in: it can neither end its
 * quotation nor begin another one.
 */
export function quotable(text: string): string {
  return withoutControlTokens(text.replaceAll(QUOTING_TAG, '&lt;'));
}

/** A quotable text on one line without double quotes, for an attribute or within a sentence. */
export function quotableName(text: string): string {
  return quotable(text.replaceAll(/\s+/g, ' ')).replaceAll('"', '&quot;');
}
