/** A message of a session and its parent. A missing parent counts as none. */
export interface Link {
  readonly id: number;
  readonly parentId: number | null;
}

/** The newest leaf below the message, or of the whole session without one. Null without messages. */
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

/** Links that remain after a deletion, and the changed ones. */
export interface Detachment {
  readonly links: readonly Link[];
  /** Messages whose parent was deleted, with their new parent. */
  readonly moved: readonly Link[];
  /** The new leaf of the current branch; undefined if the leaf was not deleted. */
  readonly leaf: number | null | undefined;
}

/** Children of a deleted message are attached to its parent. */
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
