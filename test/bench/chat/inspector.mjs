import { WebSocket } from 'undici';

/** The few calls of the Chrome DevTools protocol that a profile takes. */
export class Inspector {
  #open = new Map();
  #lastId = 0;

  static async connect(port) {
    const [{ webSocketDebuggerUrl }] = await (
      await fetch(`http://127.0.0.1:${port}/json/list`)
    ).json();
    const inspector = new Inspector();
    inspector.socket = new WebSocket(webSocketDebuggerUrl);
    inspector.socket.onmessage = ({ data }) => inspector.#answer(JSON.parse(data));
    await new Promise((done, fail) => {
      inspector.socket.onopen = done;
      inspector.socket.onerror = () => fail(new Error('The inspector does not answer'));
    });
    return inspector;
  }

  call(method, params = {}) {
    this.#lastId += 1;
    this.socket.send(JSON.stringify({ id: this.#lastId, method, params }));
    return new Promise((done, fail) => this.#open.set(this.#lastId, { done, fail }));
  }

  close() {
    this.socket.close();
  }

  #answer({ id, result, error }) {
    const waiting = this.#open.get(id);
    this.#open.delete(id);
    if (error) waiting?.fail(new Error(error.message));
    else waiting?.done(result);
  }
}
