/** Names of tools that every model service takes. */
const MAX_NAME_CHARS = 64;
const OTHER_CHARACTER = /[^\w-]/g;

interface NamedTool {
  readonly name: string;
  readonly serverName: string;
}

/**
 * The names for a model, in the order of the tools. A name that several have or that is among `taken` gets the name of its server
 * as a prefix; without `taken` each does.
 */
export function distinctNames(tools: readonly NamedTool[], taken?: readonly string[]): string[] {
  const plain = tools.map(({ name }) => usableName(name));
  const names = new Set(taken);
  return tools.map(({ name: toolName, serverName }, place) => {
    const name = plain[place] ?? '';
    const isShared = plain.filter((one) => one === name).length > 1;
    const needsServer = taken === undefined || isShared || names.has(name) || name === '';
    const wanted = needsServer ? usableName(`${serverName}_${toolName}`) : name;
    const distinct = distinctName(wanted, names);
    names.add(distinct);
    return distinct;
  });
}

function usableName(name: string): string {
  return name.replaceAll(OTHER_CHARACTER, '_').slice(0, MAX_NAME_CHARS);
}

function distinctName(name: string, taken: ReadonlySet<string>): string {
  let distinct = name;
  for (let number = 2; taken.has(distinct); number += 1) {
    const suffix = `_${number}`;
    distinct = name.slice(0, MAX_NAME_CHARS - suffix.length) + suffix;
  }
  return distinct;
}
