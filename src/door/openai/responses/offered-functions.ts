import { createHash } from 'node:crypto';
import type { ToolDefinition } from '../../../provider/index.js';
import { toolOf } from '../function.js';
import type { FunctionFields } from '../function.js';

/** A tool of a request: a function, or a namespace of several. */
type GivenTool =
  | (FunctionFields & { readonly type: 'function' })
  | {
      readonly type: 'namespace';
      readonly name: string;
      readonly tools: readonly FunctionFields[];
    };

/** How the protocol names a function. */
export interface FunctionName {
  readonly name: string;
  readonly namespace?: string | null | undefined;
}

/** As long as services take a name. */
const LONGEST = 64;

/** The functions of a request. No other protocol has namespaces: a model is offered them as part of the names. */
export class OfferedFunctions {
  readonly tools: readonly ToolDefinition[];
  /** The parameter of each tool. */
  readonly places: readonly string[];
  /** By the name that a model is offered. */
  private readonly named = new Map<string, FunctionName>();

  constructor(given: readonly GivenTool[]) {
    const functions = functionsIn(given);
    // A function without a namespace keeps its name, whatever stands before it.
    const plainFirst = functions.toSorted(
      (one, other) => Number(!!one.called.namespace) - Number(!!other.called.namespace),
    );
    for (const { called } of plainFirst) this.named.set(this.nameOf(called), called);
    this.tools = functions.map(({ called, fields }) =>
      toolOf({ ...fields, name: this.nameOf(called) }),
    );
    this.places = functions.map(({ place }) => place);
  }

  /** The name by which a model knows the function: the same for each request, unless another function has it. */
  nameOf({ namespace, name }: FunctionName): string {
    if (!namespace) return name;
    const joined = `${namespace}__${name}`;
    const other = this.named.get(joined);
    const isFree = !other || (other.namespace === namespace && other.name === name);
    if (isFree && joined.length <= LONGEST) return joined;
    const hash = createHash('sha256').update(`${namespace}\0${name}`).digest('hex').slice(0, 8);
    return `${joined.slice(0, LONGEST - hash.length - 1)}_${hash}`;
  }

  /** The function that a model calls by the name. */
  calledBy(offered: string): FunctionName {
    return this.named.get(offered) ?? { name: offered };
  }
}

interface GivenFunction {
  readonly called: FunctionName;
  readonly fields: FunctionFields;
  /** The path of its parameter. */
  readonly place: string;
}

export function functionsIn(given: readonly GivenTool[]): GivenFunction[] {
  return given.flatMap((one, at): GivenFunction[] => {
    const place = `tools[${at}]`;
    if (one.type === 'function') return [{ called: { name: one.name }, fields: one, place }];
    const { name: namespace } = one;
    return one.tools.map((fields, index) => {
      const called = { name: fields.name, namespace };
      return { called, fields, place: `${place}.tools[${index}]` };
    });
  });
}
