import type { AddressForm } from './address.js';

/** The names that every adapter declares. */
export interface AdapterNames {
  /** The provider code that selects it; case matters. */
  readonly code: string;
  /** The display name. */
  readonly label: string;
  /**
   * The address of a model whose apiHost is empty; without one, apiHost is required. An empty text where the operator
   * sets the address for all models.
   */
  readonly defaultAddress?: string | undefined;
}

/** The settings that a vendor's adapters for several kinds of models share. */
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
