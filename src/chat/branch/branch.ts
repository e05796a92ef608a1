/** A message of a session, by the one that it follows. A parent that does not exist counts as none. */
export interface Link {
  readonly id: number;
  readonly parentId: number | null;
}

/** The newest end of a branch that leads through the message; of all branches without one. Null without messages. */
export function newestLeaf(links: readonly Link[], through: number | null): number | null {
  const children = childrenOf(links);
  const ends: number[] = [];
  const open = through === null ? [...(children.get(null) ?? [])] : [through];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    const next = children.get(id) ?? [];
    if (next.length === 0) ends.push(id);
    else open.push(...next);
  }
  return ends.reduce<number | null>((newest, id) => Math.max(newest ?? 0, id), null);
}

/** The messages that stay after a deletion, and what has changed. */
export interface Detachment {
  readonly links: readonly Link[];
  /** The messages that followed a deleted one, with the message that they follow now. */
  readonly moved: readonly Link[];
  /** The last message of the current branch that stays; undefined when its end is not deleted. */
  readonly leaf: number | null | undefined;
}

/** The children of a deleted message follow what it followed. */
export function withoutMessages(
  links: readonly Link[],
  deleted: ReadonlySet<number>,
  leaf: number | null,
): Detachment {
  const parents = new Map(links.map(({ id, parentId }) => [id, parentId]));
  const remaining = (id: number | null): number | null => {
    let ancestorId = id;
    while (ancestorId !== null && deleted.has(ancestorId))
      ancestorId = parents.get(ancestorId) ?? null;
    return ancestorId;
  };
  const remainingLinks = links
    .filter(({ id }) => !deleted.has(id))
    .map(({ id, parentId }) => ({ id, parentId: remaining(parentId) }));
  return {
    links: remainingLinks,
    moved: remainingLinks.filter(({ id, parentId }) => parents.get(id) !== parentId),
    leaf: leaf !== null && deleted.has(leaf) ? remaining(leaf) : undefined,
  };
}

function childrenOf(links: readonly Link[]): Map<number | null, number[]> {
  const ids = new Set(links.map(({ id }) => id));
  const children = new Map<number | null, number[]>();
  for (const { id, parentId } of links) {
    const parent = parentId !== null && ids.has(parentId) ? parentId : null;
    const siblings = children.get(parent);
    if (siblings) siblings.push(id);
    else children.set(parent, [id]);
  }
  return children;
}
