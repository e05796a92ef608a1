import { UnsupportedProviderError } from './adapter.errors.js';

/** Adapters of one kind by provider code. The list given is the whole list. */
export class AdapterRegistry<A extends { readonly code: string }> {
  private readonly byCode = new Map<string, A>();

  constructor(adapters: readonly A[]) {
    for (const adapter of adapters) {
      if (this.byCode.has(adapter.code)) {
        throw new Error(`Two adapters have the code ${adapter.code}. Remove one from the list.`);
      }
      this.byCode.set(adapter.code, adapter);
    }
  }

  /** Throws UnsupportedProviderError for a code without an adapter. */
  get(code: string): A {
    const adapter = this.byCode.get(code);
    if (adapter === undefined) throw new UnsupportedProviderError(code, this.codes());
    return adapter;
  }

  has(code: string): boolean {
    return this.byCode.has(code);
  }

  /** In the order of the list. */
  codes(): readonly string[] {
    return [...this.byCode.keys()];
  }
}
