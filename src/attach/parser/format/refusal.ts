/** Why a document cannot be parsed, in words for its owner: what is wrong and what to do. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
}
