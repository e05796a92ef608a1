/** What every adapter says of itself. */
export interface AdapterNames {
  /** The provider code that selects it; case matters. */
  readonly code: string;
  /** Its name in lists for people. */
  readonly label: string;
  /**
   * The address of a model whose apiHost is empty; without one, apiHost is required. An empty text where the operator
   * sets the address for all models.
   */
  readonly defaultAddress?: string | undefined;
}

export abstract class NamedAdapter implements AdapterNames {
  readonly code: string;
  readonly label: string;
  readonly defaultAddress: string | undefined;

  constructor({ code, label, defaultAddress }: AdapterNames) {
    this.code = code;
    this.label = label;
    this.defaultAddress = defaultAddress;
  }
}
