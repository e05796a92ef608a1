import type { AddressForm } from './address.js';

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

/** What the adapters of one vendor for several kinds of models have in common. */
export interface Vendor extends AdapterNames {
  /** `prefix` is the path that the vendor's documentation gives for a bare domain. */
  readonly address: Omit<AddressForm, 'endpoint' | 'siblings'>;
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
