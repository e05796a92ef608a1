import { parseAddress } from '../address.js';
import type { ModelCallOptions, ModelConnection } from '../model-call.js';
import type { ChatAdapter, ChatCall, ChatCompletion, ChatPart } from './chat.adapter.js';

interface PathChoice {
  readonly code: string;
  readonly label: string;
  /** Addresses whose path matches go to `matching`, all others to `otherwise`. */
  readonly path: RegExp;
  readonly matching: ChatAdapter;
  readonly otherwise: ChatAdapter;
}

/** A vendor that speaks two protocols and tells them apart by the path of the address. */
export class PathChoiceAdapter implements ChatAdapter {
  readonly code: string;
  readonly label: string;

  constructor(private readonly choice: PathChoice) {
    this.code = choice.code;
    this.label = choice.label;
  }

  endpoint(address: string): string {
    return this.adapterFor(address).endpoint(address);
  }

  async *stream(
    call: ChatCall,
    connection: ModelConnection,
    options: ModelCallOptions,
  ): AsyncGenerator<readonly ChatPart[], void, void> {
    yield* this.adapterFor(connection.address).stream(call, connection, options);
  }

  async complete(
    call: ChatCall,
    connection: ModelConnection,
    options: ModelCallOptions,
  ): Promise<ChatCompletion> {
    return this.adapterFor(connection.address).complete(call, connection, options);
  }

  private adapterFor(address: string): ChatAdapter {
    const { path, matching, otherwise } = this.choice;
    return path.test(parseAddress(address).pathname) ? matching : otherwise;
  }
}
