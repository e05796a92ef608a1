import type { Saying } from './conversation.js';

/** Intent of a requirement; one requirement may have several. */
export type Intent =
  | 'explain'
  | 'repair'
  | 'add-function'
  | 'rename'
  | 'delete'
  | 'write'
  | 'check';

export interface Task {
  readonly text: string;
  readonly intents: ReadonlySet<Intent>;
  /** The function to add. */
  readonly functionName: string | undefined;
  readonly rename: { readonly from: string; readonly to: string } | undefined;
  /** Files that are named, as they are spelled. */
  readonly paths: readonly string[];
  /** The text in quotation marks or backticks that is no name, to be written as it is. */
  readonly quoted: string | undefined;
}

const STARTS_AS_QUESTION =
  /^\W*(?:please\s+|can you\s+|could you\s+)*(?:explain|describe|summari[sz]e|what|how|why|where|which|who|review|show|list|tell|is|are|does|do)\b|^\W*(?:请)?(?:解释|说明|介绍|什么|怎么|如何|为什么)/i;
const ASKS =
  /\b(?:explain|describe|summari[sz]e|review)\b|[?？]\s*$|解释|说明|介绍|什么|怎么|如何|为什么/i;
const REPAIR =
  /\b(?:fix|fixes|repair|debug|bugs?|broken|failing|fails|wrong|correct)\b|修复|修正|修好|失败|错误/i;
const ADD_FUNCTION =
  /\b(?:add|write|create|implement|introduce|make)\b[^.!?]*\b(?:function|method|helper)\b|(?:添加|新增|增加|实现|写)[^。！？]*(?:函数|方法)/i;
const RENAME =
  /\brename\s+(?:the\s+)?(?:function\s+)?[`"“]?([\w$]+)[`"”]?\s+(?:to|into|as)\s+[`"“]?([\w$]+)|把?\s*[`“]?([\w$]+)[`”]?\s*重命名为\s*[`“]?([\w$]+)/i;
const DELETE = /\b(?:delete|remove)\b|删除/i;
const WRITE =
  /\b(?:add|append|write|create|put|insert|document|mention|note)\b|添加|追加|写入|创建/i;
const CHECK =
  /\b(?:run|execute|start)\b[^.!?]*\b(?:tests?|suite|checks?)\b|(?:运行|执行|跑)[^。！？]*测试/i;
const PATH =
  /(?:[\w@-][\w@.-]*\/)*[\w@-][\w@.-]*\.(?:[cm]?[jt]sx?|json|md|txt|ya?ml|html|css|py|sh)\b/g;
const QUOTED = /"([^"\n]{3,})"|“([^”\n]{3,})”|「([^」\n]{3,})」|```\w*\n([^]*?)```/;

/** The task: the newest requirement with an intent, and everything said since. */
export function readTask(sayings: readonly Saying[]): Task {
  const start = sayings.findLastIndex(({ opens, text }) => opens && intentsIn(text).size > 0);
  const text = sayings
    .slice(Math.max(0, start))
    .map((saying) => saying.text)
    .join('\n\n');
  const intents = intentsIn(text);
  const rename = RENAME.exec(text);
  const from = rename?.[1] ?? rename?.[3];
  const to = rename?.[2] ?? rename?.[4];
  return {
    text,
    intents,
    functionName: intents.has('add-function') ? functionNameIn(text) : undefined,
    rename: from && to ? { from, to } : undefined,
    paths: [...new Set(text.match(PATH) ?? [])],
    quoted: quotedIn(text),
  };
}

function intentsIn(text: string): Set<Intent> {
  if (STARTS_AS_QUESTION.test(text)) return new Set(['explain']);
  const namesFile = text.match(PATH) !== null;
  if (RENAME.test(text)) return new Set(['rename']);
  if (DELETE.test(text) && namesFile && !ADD_FUNCTION.test(text)) return new Set(['delete']);
  const intents = new Set<Intent>();
  if (REPAIR.test(text)) intents.add('repair');
  if (ADD_FUNCTION.test(text)) intents.add('add-function');
  else if (WRITE.test(text) && namesFile && quotedIn(text) !== undefined) intents.add('write');
  if (CHECK.test(text)) intents.add('check');
  if (intents.size === 0 && ASKS.test(text)) intents.add('explain');
  return intents;
}

/** Words that stand where a name might, and are none. */
const NO_NAME = new Set(
  'that which to for called named in with and the a an of on it into test tests file'.split(' '),
);

function functionNameIn(text: string): string | undefined {
  const candidates = [
    /`([A-Za-z_$][\w$]*)(?:\([^`]*\))?`/.exec(text)?.[1],
    /\b(?:called|named)\s+["“]?([A-Za-z_$][\w$]*)/i.exec(text)?.[1],
    /\b([A-Za-z_$][\w$]*)\([^)]*\)/.exec(text)?.[1],
    /\bfunction\s+["“]?([A-Za-z_$][\w$]*)/i.exec(text)?.[1],
    /\b([a-z]+[A-Z][\w$]*)\b/.exec(text)?.[1],
    /\b(?:the|an?)\s+([A-Za-z_$][\w$]*)\s+(?:function|method|helper)\b/i.exec(text)?.[1],
    /(?:函数|方法)\s*([A-Za-z_$][\w$]*)/.exec(text)?.[1],
    /([A-Za-z_$][\w$]*)\s*(?:函数|方法)/.exec(text)?.[1],
  ];
  return candidates.find((name) => name !== undefined && !NO_NAME.has(name.toLowerCase()));
}

function quotedIn(text: string): string | undefined {
  const [, ...parts] = QUOTED.exec(text) ?? [];
  return parts.find((part) => part);
}
